//! The one that statements run for: its requests and answers, transaction, memory and warnings.

use crate::diagnostics::Diagnostics;
use crate::inbox::Inbox;
use crate::measure::Measures;
use crate::scratch::Scratch;
use crate::transaction_client::TransactionClient;
use memory::{Ledger, MemoryManager, Region};
use protocol::{Outputs, SqlError};
use query::Shared;
use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;
use types::{Incarnation, TransactionId};

/// The one that statements run for: a session, or what ends the DDL jobs that others have left.
#[derive(Debug)]
pub struct Client {
    /// Unique on the node, and the high half of its request ids.
    pub id: u32,
    /// Requests that are on their way, and answers that are not taken yet.
    pub inbox: Inbox,
    /// Its transaction, or the one of the statement that runs.
    pub transaction: TransactionClient,
    /// The id of the last transaction that wrote or locked something, as the site knows it.
    pub last_transaction: Option<TransactionId>,
    /// QueryMemory of the statement that runs.
    pub memory: QueryMemory,
    /// Rows of the statement that runs for which there is no memory.
    pub scratch: Scratch,
    /// Rows that an operator lends to those below it while they run, by number. Of their type only `with` knows.
    pub(crate) lent: BTreeMap<u32, Box<dyn Any + Send>>,
    /// Warnings and the error of the last statement.
    pub diagnostics: Diagnostics,
    /// LAST_INSERT_ID().
    pub last_insert_id: u64,
    /// The work of the statement's steps, if somebody wants to know it.
    pub measures: Option<Box<Measures>>,
}

impl Client {
    /// A client without a transaction, in this life of the node.
    pub fn new(id: u32, incarnation: Incarnation, memory: &Arc<MemoryManager>) -> Self {
        Self {
            id,
            inbox: Inbox::new(id, incarnation),
            transaction: TransactionClient::default(),
            last_transaction: None,
            memory: QueryMemory::new(memory),
            scratch: Scratch::new(id),
            lent: BTreeMap::new(),
            diagnostics: Diagnostics::default(),
            last_insert_id: 0,
            measures: None,
        }
    }

    /// The statement is over: what was kept for it goes.
    #[inline]
    pub fn end_statement(&mut self, outputs: &mut Outputs<Shared>) {
        if !self.lent.is_empty() {
            self.lent.clear();
        }
        self.measures = None;
        self.memory.release_all();
        self.scratch.end(outputs);
    }
}

/// The memory of a client's statement.
#[derive(Debug)]
pub struct QueryMemory {
    memory: Arc<MemoryManager>,
    ledger: Ledger,
}

impl QueryMemory {
    pub fn new(memory: &Arc<MemoryManager>) -> Self {
        let ledger = Ledger::new(Arc::clone(memory), Region::QueryMemory);
        Self { memory: Arc::clone(memory), ledger }
    }

    /// The node's memory.
    pub fn manager(&self) -> Arc<MemoryManager> {
        Arc::clone(&self.memory)
    }

    /// An account of its own for a part of the statement that gives everything back before the statement ends.
    pub(crate) fn beside(&self) -> Self {
        Self::new(&self.memory)
    }

    /// Takes memory for rows that are kept.
    pub fn charge(&mut self, bytes: usize) -> Result<(), SqlError> {
        self.ledger.charge(bytes as u64).map_err(|full| {
            SqlError::new(
                1041,
                format!("Out of memory; {} is exhausted by this statement and others", full.name()),
            )
        })
    }

    /// Bytes in use.
    #[inline]
    pub(crate) fn used(&self) -> u64 {
        self.ledger.used()
    }

    /// Gives back memory of rows that are kept no longer.
    pub fn release(&mut self, bytes: usize) {
        self.ledger.release(bytes as u64);
    }

    /// The statement is over.
    #[inline]
    pub fn release_all(&mut self) {
        let used = self.ledger.used();
        if used > 0 {
            self.ledger.release(used);
        }
    }
}
