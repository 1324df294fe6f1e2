//! Makes and fills the tables, over several connections at once.

use super::{GROUPS_OF_C, GROUPS_OF_PAD, Tables, digits};
use crate::connection::{Connection, Patience, Trouble};
use mysql_protocol::client::ClientOptions;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::thread;
use std::time::Duration;
use stdx::Prng;

/// Rows of one INSERT.
const ROWS_PER_INSERT: u64 = 500;

const CONNECTIONS: u64 = 4;

const PATIENCE: Patience = Patience { connect: Duration::from_secs(10), statement: Duration::from_secs(120) };

/// Makes the database and its tables anew on the server. `engine` may be empty: the server's default.
pub fn load(server: SocketAddr, login: &ClientOptions, tables: &Tables, engine: &str) -> Result<(), String> {
    let told = |trouble: Trouble| format!("loading {} at {server}: {trouble}", tables.database);
    let mut connection = Connection::open_as(server, login.clone(), PATIENCE).map_err(told)?;
    for statement in definitions(tables, engine) {
        connection.run(&statement).map_err(told)?;
    }
    thread::scope(|scope| {
        let loaders: Vec<_> =
            (0..CONNECTIONS).map(|loader| scope.spawn(move || fill(server, login, tables, loader))).collect();
        for loader in loaders {
            loader.join().map_err(|_| "a loading thread panicked".to_owned())?.map_err(told)?;
        }
        Ok(())
    })
}

fn definitions(tables: &Tables, engine: &str) -> Vec<String> {
    let database = &tables.database;
    let engine = if engine.is_empty() { String::new() } else { format!(" ENGINE = {engine}") };
    let mut statements =
        vec![format!("DROP DATABASE IF EXISTS {database}"), format!("CREATE DATABASE {database}")];
    statements.extend((1..=tables.count).map(|table| {
        format!(
            "CREATE TABLE {database}.sbtest{table} (id INT NOT NULL AUTO_INCREMENT, k INT NOT NULL DEFAULT 0, \
             c CHAR(120) NOT NULL DEFAULT '', pad CHAR(60) NOT NULL DEFAULT '', PRIMARY KEY (id), \
             KEY k_{table} (k)){engine}"
        )
    }));
    statements
}

/// One loader's share: every [`CONNECTIONS`]th INSERT of each table.
fn fill(server: SocketAddr, login: &ClientOptions, tables: &Tables, loader: u64) -> Result<(), Trouble> {
    let mut connection = Connection::open_as(server, login.clone(), PATIENCE)?;
    let mut prng = Prng::new(1 + loader);
    for table in 1..=tables.count {
        let inserts = tables.rows.div_ceil(ROWS_PER_INSERT);
        for insert in (0..inserts).filter(|insert| insert % CONNECTIONS == loader) {
            let first = 1 + insert * ROWS_PER_INSERT;
            let last = tables.rows.min(first + ROWS_PER_INSERT - 1);
            connection.run(&insertion(&tables.database, table, first..=last, tables.rows, &mut prng))?;
        }
    }
    Ok(())
}

fn insertion(
    database: &str,
    table: u32,
    ids: std::ops::RangeInclusive<u64>,
    rows: u64,
    prng: &mut Prng,
) -> String {
    let mut text = format!("INSERT INTO {database}.sbtest{table} (id, k, c, pad) VALUES ");
    let first = *ids.start();
    for id in ids {
        let separator = if id == first { "" } else { ", " };
        let k = 1 + prng.below(rows);
        let (c, pad) = (digits(prng, GROUPS_OF_C), digits(prng, GROUPS_OF_PAD));
        // Writing into a String can't fail.
        let _ = write!(text, "{separator}({id}, {k}, '{c}', '{pad}')");
    }
    text
}
