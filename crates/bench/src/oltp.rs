//! The clients of sysbench's OLTP tests: tables, statements, and the order in which a transaction sends them.
//!
//! ```text
//! BEGIN · point selects · ranges: simple, SUM, ORDER BY, DISTINCT · UPDATE of k · of c · DELETE and INSERT · COMMIT
//! ```
//! A [`Mix`] says how many of each. Tables are those of sysbench (`sbtest1` …: `id`, an indexed `k`, `c`, `pad`), so
//! its scripts run on them as well. Keys are drawn evenly. A client of this driver sends its statements prepared.
//!
//! **Invariants.** The ids of a table are 1 to its number of rows, before and after each transaction: a DELETE is
//! followed by the INSERT of the same id. So a range of `range_size` ids has so many rows, and with the filter one.
//!
//! **Deliberately not here**: sockets and clocks (`generator`).

use mysql_protocol::ParameterValue;
use stdx::Prng;

mod load;

pub use load::load;

/// Groups of eleven digits in `c` and in `pad`.
const GROUPS_OF_C: usize = 10;
const GROUPS_OF_PAD: usize = 5;

/// The tables of one instance.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tables {
    pub database: String,
    pub count: u32,
    /// Rows of each table.
    pub rows: u64,
}

/// How many statements of which kind a transaction has.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Mix {
    /// BEGIN and COMMIT stand around the others; otherwise each is a transaction of its own.
    pub has_brackets: bool,
    pub point_selects: u32,
    /// Keys of one select by primary key: more than one is an IN list.
    pub keys_per_select: u32,
    pub simple_ranges: u32,
    pub sum_ranges: u32,
    pub order_ranges: u32,
    pub distinct_ranges: u32,
    /// Ids in a range.
    pub range_size: u32,
    /// A condition leaves one row of each range.
    pub has_filter: bool,
    pub index_updates: u32,
    pub non_index_updates: u32,
    /// Pairs of DELETE and INSERT of one id.
    pub delete_inserts: u32,
    /// Counts of all rows of a table that meet a condition.
    pub scans: u32,
}

/// A kind of statement.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    Begin,
    PointSelect,
    SimpleRange,
    SumRange,
    OrderRange,
    DistinctRange,
    IndexUpdate,
    NonIndexUpdate,
    Delete,
    Insert,
    Scan,
    Commit,
}

impl Kind {
    /// Whether it names a table: BEGIN and COMMIT are prepared once.
    #[must_use]
    pub fn has_table(self) -> bool {
        !matches!(self, Self::Begin | Self::Commit)
    }
}

impl Mix {
    /// sysbench's oltp_read_only.
    #[must_use]
    pub fn read_only() -> Self {
        Self {
            has_brackets: true,
            point_selects: 10,
            keys_per_select: 1,
            simple_ranges: 1,
            sum_ranges: 1,
            order_ranges: 1,
            distinct_ranges: 1,
            range_size: 100,
            ..Self::default()
        }
    }

    /// sysbench's oltp_read_write.
    #[must_use]
    pub fn read_write() -> Self {
        Self { index_updates: 1, non_index_updates: 1, delete_inserts: 1, ..Self::read_only() }
    }

    /// The statements of a transaction, in the order in which they are sent.
    #[must_use]
    pub fn script(&self) -> Vec<Kind> {
        let mut script = Vec::new();
        let mut add =
            |kind, count| script.extend(std::iter::repeat_n(kind, usize::try_from(count).unwrap_or(0)));
        add(Kind::Begin, u32::from(self.has_brackets));
        add(Kind::PointSelect, self.point_selects);
        add(Kind::SimpleRange, self.simple_ranges);
        add(Kind::SumRange, self.sum_ranges);
        add(Kind::OrderRange, self.order_ranges);
        add(Kind::DistinctRange, self.distinct_ranges);
        add(Kind::IndexUpdate, self.index_updates);
        add(Kind::NonIndexUpdate, self.non_index_updates);
        for _ in 0..self.delete_inserts {
            script.extend([Kind::Delete, Kind::Insert]);
        }
        script.extend((0..self.scans).map(|_| Kind::Scan));
        script.extend(self.has_brackets.then_some(Kind::Commit));
        script
    }

    /// The statement with its parameters as question marks. Tables are numbered from 1.
    #[must_use]
    pub fn text(&self, kind: Kind, table: u32) -> String {
        let filter =
            if self.has_filter { format!(" AND id % {} = ?", self.range_size) } else { String::new() };
        let range = format!("FROM sbtest{table} WHERE id BETWEEN ? AND ?{filter}");
        match kind {
            Kind::Begin => "BEGIN".to_owned(),
            Kind::PointSelect if self.keys_per_select > 1 => {
                let marks = vec!["?"; usize::try_from(self.keys_per_select).unwrap_or(1)].join(", ");
                format!("SELECT c FROM sbtest{table} WHERE id IN ({marks})")
            }
            Kind::PointSelect => format!("SELECT c FROM sbtest{table} WHERE id = ?"),
            Kind::SimpleRange => format!("SELECT c {range}"),
            Kind::SumRange => format!("SELECT SUM(k) {range}"),
            Kind::OrderRange => format!("SELECT c {range} ORDER BY c"),
            Kind::DistinctRange => format!("SELECT DISTINCT c {range} ORDER BY c"),
            Kind::IndexUpdate => format!("UPDATE sbtest{table} SET k = k + 1 WHERE id = ?"),
            Kind::NonIndexUpdate => format!("UPDATE sbtest{table} SET c = ? WHERE id = ?"),
            Kind::Delete => format!("DELETE FROM sbtest{table} WHERE id = ?"),
            Kind::Insert => format!("INSERT INTO sbtest{table} (id, k, c, pad) VALUES (?, ?, ?, ?)"),
            Kind::Scan => format!("SELECT COUNT(*) FROM sbtest{table} WHERE k % 7 = ?"),
            Kind::Commit => "COMMIT".to_owned(),
        }
    }
}

/// The inputs of one client.
#[derive(Debug)]
pub struct Inputs {
    prng: Prng,
    /// Rows of each table.
    rows: u64,
    /// The table and the id that the last DELETE named.
    deleted: (u32, u64),
    /// Texts that parameters lend.
    c: String,
    pad: String,
}

impl Inputs {
    #[must_use]
    pub fn new(seed: u64, rows: u64) -> Self {
        Self { prng: Prng::new(seed), rows, deleted: (1, 1), c: String::new(), pad: String::new() }
    }

    /// The table of the next statement, of so many.
    pub fn table(&mut self, kind: Kind, tables: u32) -> u32 {
        if kind == Kind::Insert {
            return self.deleted.0;
        }
        let drawn = self.prng.below(u64::from(tables.max(1)));
        1 + u32::try_from(drawn).unwrap_or(0)
    }

    /// Draws the parameters of a statement on this table, in the order of [`Mix::text`].
    pub fn parameters(&mut self, mix: &Mix, kind: Kind, table: u32) -> Vec<ParameterValue<'_>> {
        let id = ParameterValue::UInt;
        match kind {
            Kind::Begin | Kind::Commit => Vec::new(),
            Kind::Scan => vec![id(self.prng.below(7))],
            Kind::PointSelect => (0..mix.keys_per_select.max(1)).map(|_| id(self.id())).collect(),
            Kind::SimpleRange | Kind::SumRange | Kind::OrderRange | Kind::DistinctRange => {
                let size = u64::from(mix.range_size.max(1));
                let first = 1 + self.prng.below(self.rows.saturating_sub(size) + 1);
                let mut range = vec![id(first), id(first + size - 1)];
                if mix.has_filter {
                    range.push(id(self.prng.below(size)));
                }
                range
            }
            Kind::IndexUpdate => vec![id(self.id())],
            Kind::NonIndexUpdate => {
                self.c = digits(&mut self.prng, GROUPS_OF_C);
                let updated = self.id();
                vec![ParameterValue::Bytes(self.c.as_bytes()), id(updated)]
            }
            Kind::Delete => {
                self.deleted = (table, self.id());
                vec![id(self.deleted.1)]
            }
            Kind::Insert => {
                let k = self.id();
                self.c = digits(&mut self.prng, GROUPS_OF_C);
                self.pad = digits(&mut self.prng, GROUPS_OF_PAD);
                let texts = [self.c.as_bytes(), self.pad.as_bytes()].map(ParameterValue::Bytes);
                [id(self.deleted.1), id(k)].into_iter().chain(texts).collect()
            }
        }
    }

    fn id(&mut self) -> u64 {
        1 + self.prng.below(self.rows.max(1))
    }
}

/// Groups of eleven digits, separated by hyphens.
fn digits(prng: &mut Prng, groups: usize) -> String {
    let mut text = String::with_capacity(groups * 12);
    for group in 0..groups {
        if group > 0 {
            text.push('-');
        }
        let mut number = prng.below(100_000_000_000);
        let from = text.len();
        for _ in 0..11 {
            text.insert(from, char::from(b'0' + u8::try_from(number % 10).unwrap_or(0)));
            number /= 10;
        }
    }
    text
}

#[cfg(test)]
mod tests;
