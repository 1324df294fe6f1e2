//! `sql_safe_updates`: which changes name rows by a key.
//!
//! A change is safe if it has LIMIT, or if no table that it changes is read as a whole. A WHERE that can never be true
//! reads nothing, but one that compares constants may not be known by then. Of several tables a joined one is found by
//! a key if its rows are looked up.

use super::{AccessPath, ChangePlan, Plan, Relation, Source, TableAccess};

impl Plan {
    /// UPDATE or DELETE of rows that no key tells, without LIMIT.
    #[must_use]
    pub fn is_unsafe_change(&self) -> bool {
        if let Plan::Update(update) = self {
            update.limit.count.is_none() && is_whole(&update.access)
        } else if let Plan::Delete(delete) = self {
            delete.limit.count.is_none() && is_whole(&delete.access)
        } else if let Plan::Change(change) = self {
            change.is_unsafe()
        } else {
            false
        }
    }
}

impl ChangePlan {
    fn is_unsafe(&self) -> bool {
        let is_whole = match &self.query.source {
            Source::Nothing => false,
            Source::Table(access) => is_whole(access),
            Source::Joined { relation, .. } => self.reads_whole(relation),
        };
        is_whole && self.query.limit.count.is_none()
    }

    /// Whether a table that is changed is read as a whole in this relation.
    fn reads_whole(&self, relation: &Relation) -> bool {
        match relation {
            Relation::Scan(scan) => self.changes(&scan.access) && is_whole(&scan.access),
            Relation::Join(join) => {
                let is_found = join.lookup.is_some() || join.apply.is_some();
                self.reads_whole(&join.left) || (!is_found && self.reads_whole(&join.right))
            }
            Relation::With { input, .. } | Relation::Filter { input, .. } => self.reads_whole(input),
            Relation::One
            | Relation::Values(_)
            | Relation::Groups
            | Relation::Derived(_)
            | Relation::Set(_)
            | Relation::Common(_)
            | Relation::Virtual(_)
            | Relation::Locked(_) => false,
        }
    }

    fn changes(&self, access: &TableAccess) -> bool {
        let is_target =
            |found: &super::FoundTable| found.table.id == access.table.id && found.alias == access.alias;
        self.targets.iter().any(|target| is_target(&target.found))
    }
}

/// All rows of the table are read.
fn is_whole(access: &TableAccess) -> bool {
    matches!(&access.path, AccessPath::Ranges { ranges, .. } if ranges.iter().any(super::RangeTemplate::is_whole))
}
