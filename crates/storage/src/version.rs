//! version
use types::{Epoch, TransactionId};
/// How far a version has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VersionState {
    /// Only its transaction sees it.
    Staged(TransactionId),
    /// The outcome of its transaction is not known here.
    Prepared(TransactionId),
    /// It is there for everyone since this epoch.
    Committed(Epoch),
}
