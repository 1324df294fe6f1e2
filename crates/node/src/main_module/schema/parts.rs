//! Telling the catalogue to nodes without a replica of it, and taking it there.
//!
//! A node that knows a version that is not long ago is told what changed since, at once. Another one is told all of it
//! in parts, a part in a call, so that neither node is busy with it for long.
//!
//! Invariant: parts of one answer are taken in order. If one is missing (a connection broke), the node asks again.

use super::{FETCH_AGAIN, MainModule};
use catalogue::SchemaChanges;
use memory::Guard;
use protocol::signal::RequestId;
use protocol::{Address, Outputs, Signal};
use query::Shared;
use std::sync::Arc;
use types::{Assembled, NodeId, Schema, SchemaAssembly, SchemaPart, SchemaParts, SchemaVersion};

/// A node that is told the whole catalogue.
pub(super) struct Telling {
    pub(super) to: Address,
    request: RequestId,
    parts: SchemaParts,
}

/// The catalogue that a node tells this one.
pub(super) struct Taking {
    request: RequestId,
    assembly: SchemaAssembly,
}

/// The contents of an answer to the question for the catalogue.
pub(super) enum Told {
    /// More parts follow; or the beginning is missing, and it is asked for again.
    Part,
    /// The catalogue.
    Whole(Schema),
    /// A newer version by what changed; None: since a version that this node has no more.
    Changes(SchemaVersion, Option<Schema>),
}

impl MainModule {
    /// Tells a node that knows version `known`: what changed since, if that is known here, else all.
    pub(in crate::main_module) fn tell_catalogue(
        &mut self,
        to: Address,
        request: RequestId,
        known: Option<SchemaVersion>,
        schema: &Arc<Schema>,
        outputs: &mut Outputs<Shared>,
    ) {
        let changes = known.and_then(|known| self.read_changes(&Guard::enter(), known, schema.version));
        if let Some(changes) = changes {
            let schema = stdx::wire::to_bytes(&changes).into();
            return outputs.send(self.me(), to, Signal::SchemaFetched { request, schema, since: known });
        }
        let telling = &mut self.schema_reading.telling;
        telling.retain(|telling| telling.to != to);
        telling.push_back(Telling { to, request, parts: SchemaParts::of(schema) });
        self.tell_part(outputs);
    }

    /// Tells a node the next part.
    pub(super) fn tell_part(&mut self, outputs: &mut Outputs<Shared>) {
        let me = self.me();
        let reading = &mut self.schema_reading;
        if let Some(mut telling) = reading.telling.pop_front()
            && let Some(part) = telling.parts.next()
        {
            let (request, schema) = (telling.request, stdx::wire::to_bytes(&part).into());
            outputs.send(me, telling.to, Signal::SchemaFetched { request, schema, since: None });
            if !part.is_last() {
                reading.telling.push_back(telling);
            }
        }
        reading.tell_at = (!reading.telling.is_empty()).then_some(self.now.monotonic);
    }

    /// The catalogue that a data node has told: a part of it, or what changed since the version that this node had
    /// when it asked. None: bytes that are no answer.
    pub(super) fn take_catalogue(
        &mut self,
        from: NodeId,
        request: RequestId,
        bytes: &[u8],
        since: Option<SchemaVersion>,
    ) -> Option<Told> {
        let Some(since) = since else {
            return self.take_part(from, request, stdx::wire::from_bytes(bytes).ok()?);
        };
        let changes = stdx::wire::from_bytes::<SchemaChanges>(bytes).ok()?;
        if since != self.schema.version {
            return Some(Told::Changes(changes.version(), None));
        }
        let schema = changes.apply(&self.schema)?;
        Some(Told::Changes(schema.version, Some(schema)))
    }

    fn take_part(&mut self, from: NodeId, request: RequestId, part: SchemaPart) -> Option<Told> {
        let reading = &mut self.schema_reading;
        let taking = reading.taking.remove(&from).filter(|taking| taking.request == request);
        let assembly = match taking {
            _ if part.number == 0 => SchemaAssembly::new(part.version),
            Some(taking) => taking.assembly,
            None => return Some(Told::Part),
        };
        match assembly.add(part, &self.schema)? {
            Assembled::Whole(schema) => Some(Told::Whole(schema)),
            Assembled::More(assembly) => {
                reading.taking.insert(from, Taking { request, assembly });
                // It goes on: nobody need be asked again.
                reading.read_at = reading.read_at.map(|_| self.now.monotonic + FETCH_AGAIN);
                Some(Told::Part)
            }
        }
    }
}
