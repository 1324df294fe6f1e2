//! The eight tables of TPC-H: their definitions, and their rows as crate `tpchgen` makes them.
//!
//! Keys are those of the specification. A column that refers to another table has a secondary index, as it would with
//! foreign keys; no other column has one. Rows are cut into parts, so that several connections load one table.
//!
//! **Invariants.** The rows of a scale are the same in every run, whatever the number of parts.

use crate::connection::{Connection, Trouble};
use std::fmt::Display;
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator, PartSuppGenerator,
    RegionGenerator, SupplierGenerator,
};

/// The database of the tables.
pub(super) const DATABASE: &str = "tpch";

/// Rows of one INSERT: some 64 KiB of text.
const ROWS_PER_INSERT: usize = 500;

/// A table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table {
    pub(super) name: &'static str,
    /// A letter for each column: `n` for a number, `t` for what stands in quotes.
    kinds: &'static str,
    /// Columns and keys.
    definition: &'static str,
}

pub(super) const TABLES: &[Table] = &[
    Table {
        name: "region",
        kinds: "ntt",
        definition: "r_regionkey INT NOT NULL PRIMARY KEY, r_name CHAR(25) NOT NULL, r_comment VARCHAR(152)",
    },
    Table {
        name: "nation",
        kinds: "ntnt",
        definition: "n_nationkey INT NOT NULL PRIMARY KEY, n_name CHAR(25) NOT NULL, n_regionkey INT NOT NULL,
            n_comment VARCHAR(152), KEY (n_regionkey)",
    },
    Table {
        name: "part",
        kinds: "nttttntnt",
        definition: "p_partkey INT NOT NULL PRIMARY KEY, p_name VARCHAR(55) NOT NULL, p_mfgr CHAR(25) NOT NULL,
            p_brand CHAR(10) NOT NULL, p_type VARCHAR(25) NOT NULL, p_size INT NOT NULL,
            p_container CHAR(10) NOT NULL, p_retailprice DECIMAL(15,2) NOT NULL, p_comment VARCHAR(23) NOT NULL",
    },
    Table {
        name: "supplier",
        kinds: "nttntnt",
        definition: "s_suppkey INT NOT NULL PRIMARY KEY, s_name CHAR(25) NOT NULL, s_address VARCHAR(40) NOT NULL,
            s_nationkey INT NOT NULL, s_phone CHAR(15) NOT NULL, s_acctbal DECIMAL(15,2) NOT NULL,
            s_comment VARCHAR(101) NOT NULL, KEY (s_nationkey)",
    },
    Table {
        name: "partsupp",
        kinds: "nnnnt",
        definition: "ps_partkey INT NOT NULL, ps_suppkey INT NOT NULL, ps_availqty INT NOT NULL,
            ps_supplycost DECIMAL(15,2) NOT NULL, ps_comment VARCHAR(199) NOT NULL,
            PRIMARY KEY (ps_partkey, ps_suppkey), KEY (ps_suppkey)",
    },
    Table {
        name: "customer",
        kinds: "nttntntt",
        definition: "c_custkey INT NOT NULL PRIMARY KEY, c_name VARCHAR(25) NOT NULL, c_address VARCHAR(40) NOT NULL,
            c_nationkey INT NOT NULL, c_phone CHAR(15) NOT NULL, c_acctbal DECIMAL(15,2) NOT NULL,
            c_mktsegment CHAR(10) NOT NULL, c_comment VARCHAR(117) NOT NULL, KEY (c_nationkey)",
    },
    Table {
        name: "orders",
        kinds: "nntntttnt",
        definition: "o_orderkey INT NOT NULL PRIMARY KEY, o_custkey INT NOT NULL, o_orderstatus CHAR(1) NOT NULL,
            o_totalprice DECIMAL(15,2) NOT NULL, o_orderdate DATE NOT NULL, o_orderpriority CHAR(15) NOT NULL,
            o_clerk CHAR(15) NOT NULL, o_shippriority INT NOT NULL, o_comment VARCHAR(79) NOT NULL,
            KEY (o_custkey)",
    },
    Table {
        name: "lineitem",
        kinds: "nnnnnnnntttttttt",
        definition: "l_orderkey INT NOT NULL, l_partkey INT NOT NULL, l_suppkey INT NOT NULL,
            l_linenumber INT NOT NULL, l_quantity DECIMAL(15,2) NOT NULL, l_extendedprice DECIMAL(15,2) NOT NULL,
            l_discount DECIMAL(15,2) NOT NULL, l_tax DECIMAL(15,2) NOT NULL, l_returnflag CHAR(1) NOT NULL,
            l_linestatus CHAR(1) NOT NULL, l_shipdate DATE NOT NULL, l_commitdate DATE NOT NULL,
            l_receiptdate DATE NOT NULL, l_shipinstruct CHAR(25) NOT NULL, l_shipmode CHAR(10) NOT NULL,
            l_comment VARCHAR(44) NOT NULL, PRIMARY KEY (l_orderkey, l_linenumber),
            KEY (l_partkey, l_suppkey), KEY (l_suppkey)",
    },
];

/// The view of query 15.
const VIEW: &str = "CREATE VIEW revenue0 (supplier_no, total_revenue) AS
    SELECT l_suppkey, SUM(l_extendedprice * (1 - l_discount)) FROM lineitem
    WHERE l_shipdate >= DATE '1996-01-01' AND l_shipdate < DATE '1996-01-01' + INTERVAL '3' MONTH
    GROUP BY l_suppkey";

/// Makes the database and its empty tables; what was there is dropped.
pub(super) fn create(connection: &mut Connection) -> Result<(), Trouble> {
    connection.run(&format!("DROP DATABASE IF EXISTS {DATABASE}"))?;
    // TPC-H compares texts byte by byte, and both servers have this collation.
    connection.run(&format!("CREATE DATABASE {DATABASE} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"))?;
    connection.run(&format!("USE {DATABASE}"))?;
    for table in TABLES {
        connection.run(&format!("CREATE TABLE {} ({})", table.name, table.definition))?;
    }
    connection.run(VIEW).map(drop)
}

/// Part `part` (counted from 1) of `parts` of all tables' rows; gives how many these are.
pub(super) fn load(connection: &mut Connection, scale: f64, part: i32, parts: i32) -> Result<usize, Trouble> {
    connection.run(&format!("USE {DATABASE}"))?;
    let mut count = 0;
    for table in TABLES {
        let mut rows = rows(table.name, scale, part, parts);
        loop {
            let piece: Vec<String> = rows.by_ref().take(ROWS_PER_INSERT).collect();
            if piece.is_empty() {
                break;
            }
            count += piece.len();
            connection.run(&insert(table, &piece))?;
        }
    }
    Ok(count)
}

fn texts<Row: Display + 'static>(
    rows: impl Iterator<Item = Row> + 'static,
) -> Box<dyn Iterator<Item = String>> {
    Box::new(rows.map(|row| row.to_string()))
}

/// Rows as dbgen writes them: each value is followed by `|`.
fn rows(table: &str, scale: f64, part: i32, parts: i32) -> Box<dyn Iterator<Item = String>> {
    match table {
        // These two are small, and whole in the first part.
        "region" if part == 1 => texts(RegionGenerator::new(scale, 1, 1).iter()),
        "nation" if part == 1 => texts(NationGenerator::new(scale, 1, 1).iter()),
        "part" => texts(PartGenerator::new(scale, part, parts).iter()),
        "supplier" => texts(SupplierGenerator::new(scale, part, parts).iter()),
        "partsupp" => texts(PartSuppGenerator::new(scale, part, parts).iter()),
        "customer" => texts(CustomerGenerator::new(scale, part, parts).iter()),
        "orders" => texts(OrderGenerator::new(scale, part, parts).iter()),
        "lineitem" => texts(LineItemGenerator::new(scale, part, parts).iter()),
        _ => Box::new(std::iter::empty()),
    }
}

fn insert(table: &Table, rows: &[String]) -> String {
    let mut text = format!("INSERT INTO {} VALUES ", table.name);
    for (index, row) in rows.iter().enumerate() {
        text.push_str(if index == 0 { "(" } else { ",(" });
        for (column, (kind, value)) in table.kinds.chars().zip(row.split('|')).enumerate() {
            if column > 0 {
                text.push(',');
            }
            if kind == 'n' {
                text.push_str(value);
            } else {
                text.push('\'');
                text.push_str(&value.replace('\\', "\\\\").replace('\'', "''"));
                text.push('\'');
            }
        }
        text.push(')');
    }
    text
}

#[cfg(test)]
mod tests;
