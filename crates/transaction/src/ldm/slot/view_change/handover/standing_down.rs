//! A node that is about to stop leaves when nobody needs to hear anything from it any more.
//!
//! Sessions are told by signals to their modules. Each such module gets a last word, and answers it in the view in
//! which this node leads nothing, or a newer one. So do all others in reach, whether they were told anything or not. A
//! request that one of them sent in the view before may be on its way here still, and with the answer it has come.
//! Nobody here knows how many modules an SQL node has: its `main` answers for those that have nothing here, when all
//! use the view. Invariant: a last word is sent behind everything that the module was told, and is answered by one.

use crate::ldm::Ldm;
use protocol::{Address, ModuleKind, NodeInfo, NodeRole, Outputs, Signal};
use query::{NodeMap, Shared};
use std::collections::BTreeSet;
use types::{NodeId, SlotId};

/// The node is about to stop, or was.
#[derive(Debug, Default)]
pub(in crate::ldm) struct StandingDown {
    /// The module that is told when nothing is left to be handed over or answered, if there still is one.
    pub(in crate::ldm) main: Option<Address>,
    /// Modules of sessions that were told of moves, or have something open here, and were sent no last word since.
    pub(super) told: BTreeSet<Address>,
    /// Modules of sessions that have not answered a last word, once for each.
    unheard: Vec<Address>,
}

impl StandingDown {
    /// The node is about to stop: `main` wants to know when this module is not needed any more.
    pub(in crate::ldm) fn begin(&mut self, main: Address, map: &NodeMap) {
        self.main = Some(main);
        let in_reach = map.view.nodes.iter().filter(|info| !map.is_out(info.node));
        self.told.extend(in_reach.flat_map(|info| match info.role {
            NodeRole::Data if map.view.in_sync(SlotId(0)).contains(&info.node) => session_modules(info),
            NodeRole::Sql => vec![Address::main(info.node)],
            NodeRole::Data | NodeRole::Management => Vec::new(),
        }));
    }

    /// Modules of nodes that were out of reach know that they may have missed something, and are perhaps no more.
    pub(in crate::ldm) fn forget_listeners(&mut self, gone: &[NodeId]) {
        self.told.retain(|module| !gone.contains(&module.node));
        self.unheard.retain(|module| !gone.contains(&module.node));
    }

    /// A module of sessions has heard everything that this one said before.
    pub(in crate::ldm) fn on_last_word_heard(&mut self, module: Address) {
        if let Some(position) = self.unheard.iter().position(|missing| *missing == module) {
            self.unheard.remove(position);
        }
    }
}

impl Ldm {
    /// Says so once this module leads nothing, has nothing that another one waits for, and all sessions have heard
    /// what it said.
    pub(in crate::ldm) fn stand_down(&mut self, outputs: &mut Outputs<Shared>) {
        let is_done = self
            .slots
            .iter()
            .all(|slot| !slot.is_primary() && slot.role.hand_out().is_none() && slot.owed.is_empty());
        let Some(main) = self.progress.standing_down.main.filter(|_| is_done) else { return };
        let (map, standing_down) = (&self.map, &mut self.progress.standing_down);
        // Each time that something was said.
        for module in std::mem::take(&mut standing_down.told) {
            outputs.send(self.address, module, Signal::LastWord);
            standing_down.unheard.push(module);
        }
        standing_down.unheard.retain(|module| !map.is_out(module.node));
        if standing_down.unheard.is_empty() {
            outputs.send(self.address, main, Signal::StoodDown);
            standing_down.main = None;
        }
    }
}

fn session_modules(info: &NodeInfo) -> Vec<Address> {
    (0..info.sql_count).map(|instance| Address::new(info.node, ModuleKind::Sql, instance)).collect()
}
