//! slab
/// A row on which a transaction has a version.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RowHandle {
    index: u32,
    generation: u32,
}
