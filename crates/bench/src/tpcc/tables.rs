//! The nine tables of TPC-C: their definitions, and their first rows (clause 4.3.3).
//!
//! Each warehouse is loaded by one connection with a seed of its own; items belong to the first warehouse. Keys are
//! those of the specification. Transactions look for rows by two secondary indexes: customers by name, and the last
//! order of a customer.
//!
//! **Deliberately not here**: foreign keys.

use super::random::{CUSTOMERS, ITEMS, Inputs, Phase, last_name, money};
use crate::connection::{Connection, Trouble};

/// The database of the tables.
pub(super) const DATABASE: &str = "tpcc";

pub(super) const DISTRICTS: u64 = 10;
/// First orders of a district, one for each customer; those from here on are not delivered.
const FIRST_UNDELIVERED: u64 = 2_101;

/// Rows of one INSERT.
const ROWS_PER_INSERT: usize = 200;

/// When everything was loaded; the wall clock would say nothing more.
const LOADED: &str = "'2024-01-01 00:00:00'";

const TABLES: &[(&str, &str)] = &[
    (
        "warehouse",
        "w_id SMALLINT NOT NULL PRIMARY KEY, w_name VARCHAR(10), w_street_1 VARCHAR(20), w_street_2 VARCHAR(20),
         w_city VARCHAR(20), w_state CHAR(2), w_zip CHAR(9), w_tax DECIMAL(4,4), w_ytd DECIMAL(12,2)",
    ),
    (
        "district",
        "d_w_id SMALLINT NOT NULL, d_id TINYINT NOT NULL, d_name VARCHAR(10), d_street_1 VARCHAR(20),
         d_street_2 VARCHAR(20), d_city VARCHAR(20), d_state CHAR(2), d_zip CHAR(9), d_tax DECIMAL(4,4),
         d_ytd DECIMAL(12,2), d_next_o_id INT, PRIMARY KEY (d_w_id, d_id)",
    ),
    (
        "customer",
        "c_w_id SMALLINT NOT NULL, c_d_id TINYINT NOT NULL, c_id INT NOT NULL, c_first VARCHAR(16), c_middle CHAR(2),
         c_last VARCHAR(16), c_street_1 VARCHAR(20), c_street_2 VARCHAR(20), c_city VARCHAR(20), c_state CHAR(2),
         c_zip CHAR(9), c_phone CHAR(16), c_since DATETIME, c_credit CHAR(2), c_credit_lim DECIMAL(12,2),
         c_discount DECIMAL(4,4), c_balance DECIMAL(12,2), c_ytd_payment DECIMAL(12,2), c_payment_cnt INT,
         c_delivery_cnt INT, c_data VARCHAR(500), PRIMARY KEY (c_w_id, c_d_id, c_id),
         KEY (c_w_id, c_d_id, c_last, c_first)",
    ),
    (
        "history",
        "h_c_id INT, h_c_d_id TINYINT, h_c_w_id SMALLINT, h_d_id TINYINT, h_w_id SMALLINT, h_date DATETIME,
         h_amount DECIMAL(6,2), h_data VARCHAR(24)",
    ),
    (
        "new_order",
        "no_w_id SMALLINT NOT NULL, no_d_id TINYINT NOT NULL, no_o_id INT NOT NULL,
         PRIMARY KEY (no_w_id, no_d_id, no_o_id)",
    ),
    (
        "orders",
        "o_w_id SMALLINT NOT NULL, o_d_id TINYINT NOT NULL, o_id INT NOT NULL, o_c_id INT, o_entry_d DATETIME,
         o_carrier_id TINYINT, o_ol_cnt TINYINT, o_all_local TINYINT, PRIMARY KEY (o_w_id, o_d_id, o_id),
         KEY (o_w_id, o_d_id, o_c_id, o_id)",
    ),
    (
        "order_line",
        "ol_w_id SMALLINT NOT NULL, ol_d_id TINYINT NOT NULL, ol_o_id INT NOT NULL, ol_number TINYINT NOT NULL,
         ol_i_id INT, ol_supply_w_id SMALLINT, ol_delivery_d DATETIME, ol_quantity TINYINT, ol_amount DECIMAL(6,2),
         ol_dist_info CHAR(24), PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number)",
    ),
    (
        "item",
        "i_id INT NOT NULL PRIMARY KEY, i_im_id INT, i_name VARCHAR(24), i_price DECIMAL(5,2), i_data VARCHAR(50)",
    ),
    (
        "stock",
        "s_w_id SMALLINT NOT NULL, s_i_id INT NOT NULL, s_quantity SMALLINT, s_dist_01 CHAR(24), s_dist_02 CHAR(24),
         s_dist_03 CHAR(24), s_dist_04 CHAR(24), s_dist_05 CHAR(24), s_dist_06 CHAR(24), s_dist_07 CHAR(24),
         s_dist_08 CHAR(24), s_dist_09 CHAR(24), s_dist_10 CHAR(24), s_ytd INT, s_order_cnt INT, s_remote_cnt INT,
         s_data VARCHAR(50), PRIMARY KEY (s_w_id, s_i_id)",
    ),
];

/// Makes the database and its empty tables; what was there is dropped.
pub(super) fn create(connection: &mut Connection) -> Result<(), Trouble> {
    connection.run(&format!("DROP DATABASE IF EXISTS {DATABASE}"))?;
    connection.run(&format!("CREATE DATABASE {DATABASE} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"))?;
    connection.run(&format!("USE {DATABASE}"))?;
    for (name, definition) in TABLES {
        connection.run(&format!("CREATE TABLE {name} ({definition})"))?;
    }
    Ok(())
}

/// Statistics that are not there yet would be gathered while transactions run.
pub(super) fn analyze(connection: &mut Connection) -> Result<(), Trouble> {
    TABLES.iter().try_for_each(|(name, _)| connection.run(&format!("ANALYZE TABLE {name}")).map(drop))
}

/// Loads a warehouse; the first one brings the items.
pub(super) fn load(connection: &mut Connection, warehouse: u64) -> Result<(), Trouble> {
    let mut inputs = Inputs::new(warehouse);
    if warehouse == 1 {
        let mut items = Batch::new(connection, "item");
        for item in 1..=ITEMS {
            let (image, name) = (inputs.between(1, 10_000), inputs.text(14, 24));
            let (price, data) = (money(inputs.between(100, 10_000)), inputs.data());
            items.add(&format!("{item},{image},'{name}',{price},'{data}'"))?;
        }
        items.finish()?;
    }
    let mut rows = Batch::new(connection, "warehouse");
    let (name, place, tax) = (inputs.text(6, 10), address(&mut inputs), inputs.between(0, 2_000));
    rows.add(&format!("{warehouse},'{name}',{place},0.{tax:04},300000.00"))?;
    rows.finish()?;
    stock(connection, &mut inputs, warehouse)?;
    for district in 1..=DISTRICTS {
        let mut rows = Batch::new(connection, "district");
        let (name, place, tax) = (inputs.text(6, 10), address(&mut inputs), inputs.between(0, 2_000));
        let next = CUSTOMERS + 1;
        rows.add(&format!("{warehouse},{district},'{name}',{place},0.{tax:04},30000.00,{next}"))?;
        rows.finish()?;
        customers(connection, &mut inputs, warehouse, district)?;
        orders(connection, &mut inputs, warehouse, district)?;
    }
    Ok(())
}

/// Two streets, city, state and zip.
fn address(inputs: &mut Inputs) -> String {
    let (one, other, city) = (inputs.text(10, 20), inputs.text(10, 20), inputs.text(10, 20));
    format!("'{one}','{other}','{city}','{}','{}'", inputs.text(2, 2), inputs.zip())
}

fn stock(connection: &mut Connection, inputs: &mut Inputs, warehouse: u64) -> Result<(), Trouble> {
    let mut rows = Batch::new(connection, "stock");
    for item in 1..=ITEMS {
        let quantity = inputs.between(10, 100);
        let districts: Vec<String> = (0..DISTRICTS).map(|_| format!("'{}'", inputs.text(24, 24))).collect();
        let data = inputs.data();
        rows.add(&format!("{warehouse},{item},{quantity},{},0,0,0,'{data}'", districts.join(",")))?;
    }
    rows.finish()
}

fn customers(
    connection: &mut Connection,
    inputs: &mut Inputs,
    warehouse: u64,
    district: u64,
) -> Result<(), Trouble> {
    let mut rows = Batch::new(connection, "customer");
    for customer in 1..=CUSTOMERS {
        let last = if customer <= 1_000 { last_name(customer - 1) } else { inputs.last_name(Phase::Load) };
        let (first, place, phone) = (inputs.text(8, 16), address(inputs), inputs.digits(16));
        let credit = if inputs.percent(10) { "BC" } else { "GC" };
        let (discount, data) = (inputs.between(0, 5_000), inputs.text(300, 500));
        rows.add(&format!(
            "{warehouse},{district},{customer},'{first}','OE','{last}',{place},'{phone}',{LOADED},'{credit}',\
             50000.00,0.{discount:04},-10.00,10.00,1,0,'{data}'"
        ))?;
    }
    rows.finish()?;
    let mut rows = Batch::new(connection, "history");
    for customer in 1..=CUSTOMERS {
        let data = inputs.text(12, 24);
        rows.add(&format!(
            "{customer},{district},{warehouse},{district},{warehouse},{LOADED},10.00,'{data}'"
        ))?;
    }
    rows.finish()
}

fn orders(
    connection: &mut Connection,
    inputs: &mut Inputs,
    warehouse: u64,
    district: u64,
) -> Result<(), Trouble> {
    let line_counts: Vec<u64> = (0..CUSTOMERS).map(|_| inputs.between(5, 15)).collect();
    let mut rows = Batch::new(connection, "orders");
    for ((order, customer), count) in (1..).zip(inputs.permutation(CUSTOMERS)).zip(&line_counts) {
        let carrier =
            if order < FIRST_UNDELIVERED { inputs.between(1, 10).to_string() } else { "NULL".to_owned() };
        rows.add(&format!("{warehouse},{district},{order},{customer},{LOADED},{carrier},{count},1"))?;
    }
    rows.finish()?;
    let mut rows = Batch::new(connection, "order_line");
    for (order, count) in (1..).zip(line_counts) {
        for number in 1..=count {
            let item = inputs.between(1, ITEMS);
            let (delivered, amount) = if order < FIRST_UNDELIVERED {
                (LOADED, "0.00".to_owned())
            } else {
                ("NULL", money(inputs.between(1, 999_999)))
            };
            let text = inputs.text(24, 24);
            rows.add(&format!(
                "{warehouse},{district},{order},{number},{item},{warehouse},{delivered},5,{amount},'{text}'"
            ))?;
        }
    }
    rows.finish()?;
    let mut rows = Batch::new(connection, "new_order");
    for order in FIRST_UNDELIVERED..=CUSTOMERS {
        rows.add(&format!("{warehouse},{district},{order}"))?;
    }
    rows.finish()
}

/// Rows on their way to one table.
struct Batch<'connection> {
    connection: &'connection mut Connection,
    table: &'static str,
    text: String,
    count: usize,
}

impl<'connection> Batch<'connection> {
    fn new(connection: &'connection mut Connection, table: &'static str) -> Self {
        Self { connection, table, text: String::new(), count: 0 }
    }

    fn add(&mut self, row: &str) -> Result<(), Trouble> {
        if self.count == 0 {
            self.text = format!("INSERT INTO {} VALUES ", self.table);
        } else {
            self.text.push(',');
        }
        self.text.push('(');
        self.text.push_str(row);
        self.text.push(')');
        self.count += 1;
        if self.count == ROWS_PER_INSERT { self.send() } else { Ok(()) }
    }

    fn send(&mut self) -> Result<(), Trouble> {
        self.count = 0;
        self.connection.run(&self.text).map(drop)
    }

    fn finish(mut self) -> Result<(), Trouble> {
        if self.count > 0 { self.send() } else { Ok(()) }
    }
}
