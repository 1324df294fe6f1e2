//! The five transactions of TPC-C (clauses 2.4 to 2.8): their inputs, and their statements, all prepared.
//!
//! Inputs are drawn first, so that a transaction that was refused is tried again with the same ones. Everybody locks in
//! one order: a district before the stock of items, and items by number. That leaves few deadlocks.
//!
//! **Invariants.** A statement that must find one row and does not ends the run as a fault. Amounts are DECIMAL on the
//! way, too: nothing is rounded.

use super::random::{ITEMS, Inputs, Phase, money};
use super::tables::DISTRICTS;
use crate::connection::{Answer, Connection, TextRow, Trouble};
use crate::driver::{Step, number, rows};
use mysql_protocol::ParameterValue;

/// The kinds, in the order of the report.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    NewOrder,
    Payment,
    OrderStatus,
    Delivery,
    StockLevel,
}

impl Kind {
    pub const ALL: [Self; 5] =
        [Self::NewOrder, Self::Payment, Self::OrderStatus, Self::Delivery, Self::StockLevel];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NewOrder => "new-order",
            Self::Payment => "payment",
            Self::OrderStatus => "order-status",
            Self::Delivery => "delivery",
            Self::StockLevel => "stock-level",
        }
    }
}

/// Where a client sits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terminal {
    pub(super) warehouse: u64,
    pub(super) district: u64,
    /// Warehouses that there are.
    pub(super) warehouses: u64,
}

/// How a customer is named.
enum Named {
    Number(u64),
    Last(String),
}

impl Named {
    /// By name in 60 of 100 cases.
    fn draw(inputs: &mut Inputs) -> Self {
        if inputs.percent(60) {
            Self::Last(inputs.last_name(Phase::Run))
        } else {
            Self::Number(inputs.customer())
        }
    }
}

struct Line {
    item: u64,
    supplier: u64,
    quantity: u64,
}

/// A transaction with its inputs.
pub(super) struct Work {
    terminal: Terminal,
    district: u64,
    task: Task,
}

enum Task {
    NewOrder { customer: u64, lines: Vec<Line> },
    Payment { warehouse: u64, district: u64, customer: Named, cents: u64 },
    OrderStatus { customer: Named },
    Delivery { carrier: u64 },
    StockLevel { threshold: u64 },
}

impl Work {
    /// The standard mix: 45, 43, 4, 4, 4 of 100.
    pub(super) fn draw(inputs: &mut Inputs, terminal: Terminal) -> Self {
        let district = inputs.between(1, DISTRICTS);
        let task = match inputs.between(1, 100) {
            1..=45 => new_order(inputs, terminal),
            46..=88 => payment(inputs, terminal, district),
            89..=92 => Task::OrderStatus { customer: Named::draw(inputs) },
            93..=96 => Task::Delivery { carrier: inputs.between(1, 10) },
            _ => Task::StockLevel { threshold: inputs.between(10, 20) },
        };
        Self { terminal, district, task }
    }

    pub(super) fn kind(&self) -> Kind {
        match &self.task {
            Task::NewOrder { .. } => Kind::NewOrder,
            Task::Payment { .. } => Kind::Payment,
            Task::OrderStatus { .. } => Kind::OrderStatus,
            Task::Delivery { .. } => Kind::Delivery,
            Task::StockLevel { .. } => Kind::StockLevel,
        }
    }

    /// Its statements, between BEGIN and COMMIT.
    pub(super) fn run(&self, connection: &mut Connection) -> Step<()> {
        let mut session = Session { connection, warehouse: self.terminal.warehouse, district: self.district };
        match &self.task {
            Task::NewOrder { customer, lines } => session.new_order(*customer, lines),
            Task::Payment { warehouse, district, customer, cents } => {
                session.payment((*warehouse, *district), customer, *cents)
            }
            Task::OrderStatus { customer } => session.order_status(customer),
            Task::Delivery { carrier } => session.delivery(*carrier),
            Task::StockLevel { threshold } => {
                session.district = self.terminal.district;
                session.stock_level(*threshold)
            }
        }
    }
}

/// Another warehouse than the terminal's, if there is one.
fn elsewhere(inputs: &mut Inputs, terminal: Terminal) -> u64 {
    if terminal.warehouses == 1 {
        return terminal.warehouse;
    }
    let other = inputs.between(1, terminal.warehouses - 1);
    if other < terminal.warehouse { other } else { other + 1 }
}

fn new_order(inputs: &mut Inputs, terminal: Terminal) -> Task {
    let (customer, count, is_wrong) = (inputs.customer(), inputs.between(5, 15), inputs.percent(1));
    let mut lines: Vec<Line> = (0..count)
        .map(|_| {
            let supplier = if inputs.percent(1) { elsewhere(inputs, terminal) } else { terminal.warehouse };
            Line { item: inputs.item(), supplier, quantity: inputs.between(1, 10) }
        })
        .collect();
    lines.sort_by_key(|line| (line.item, line.supplier));
    if let (true, Some(last)) = (is_wrong, lines.last_mut()) {
        // One order of a hundred ends with an item that does not exist, and is rolled back.
        last.item = ITEMS + 1;
    }
    Task::NewOrder { customer, lines }
}

fn payment(inputs: &mut Inputs, terminal: Terminal, district: u64) -> Task {
    let (warehouse, district) = if inputs.percent(85) {
        (terminal.warehouse, district)
    } else {
        (elsewhere(inputs, terminal), inputs.between(1, DISTRICTS))
    };
    let cents = inputs.between(100, 500_000);
    Task::Payment { warehouse, district, customer: Named::draw(inputs), cents }
}

/// A transaction at work.
struct Session<'connection> {
    connection: &'connection mut Connection,
    warehouse: u64,
    district: u64,
}

/// A whole number as a parameter.
fn int(value: u64) -> ParameterValue<'static> {
    ParameterValue::Int(value.cast_signed())
}

fn text(value: &str) -> ParameterValue<'_> {
    ParameterValue::Bytes(value.as_bytes())
}

/// The text in a cell; NULL is none.
fn cell(row: &TextRow, column: usize) -> &str {
    row.get(column).and_then(|cell| cell.as_deref()).unwrap_or_default()
}

/// The whole number in a cell that must have one.
fn whole(row: &TextRow, column: usize) -> Step<u64> {
    number(row, column).ok_or_else(|| fault(format!("no number in column {column} of {row:?}")))
}

fn fault(what: String) -> Trouble {
    Trouble::Refused(0, what)
}

/// The district's part of a stock row.
const DISTRICT_OF_STOCK: [&str; 10] = [
    "SELECT s_quantity, s_data, s_dist_01 FROM stock WHERE s_w_id = ? AND s_i_id = ? FOR UPDATE",
    "SELECT s_quantity, s_data, s_dist_02 FROM stock WHERE s_w_id = ? AND s_i_id = ? FOR UPDATE",
    "SELECT s_quantity, s_data, s_dist_03 FROM stock WHERE s_w_id = ? AND s_i_id = ? FOR UPDATE",
    "SELECT s_quantity, s_data, s_dist_04 FROM stock WHERE s_w_id = ? AND s_i_id = ? FOR UPDATE",
    "SELECT s_quantity, s_data, s_dist_05 FROM stock WHERE s_w_id = ? AND s_i_id = ? FOR UPDATE",
    "SELECT s_quantity, s_data, s_dist_06 FROM stock WHERE s_w_id = ? AND s_i_id = ? FOR UPDATE",
    "SELECT s_quantity, s_data, s_dist_07 FROM stock WHERE s_w_id = ? AND s_i_id = ? FOR UPDATE",
    "SELECT s_quantity, s_data, s_dist_08 FROM stock WHERE s_w_id = ? AND s_i_id = ? FOR UPDATE",
    "SELECT s_quantity, s_data, s_dist_09 FROM stock WHERE s_w_id = ? AND s_i_id = ? FOR UPDATE",
    "SELECT s_quantity, s_data, s_dist_10 FROM stock WHERE s_w_id = ? AND s_i_id = ? FOR UPDATE",
];

impl Session<'_> {
    fn rows(&mut self, statement: &str, parameters: &[ParameterValue<'_>]) -> Step<Vec<TextRow>> {
        rows(self.connection.execute(statement, parameters)?)
    }

    /// The row of a key that exists.
    fn row(&mut self, statement: &str, parameters: &[ParameterValue<'_>]) -> Step<TextRow> {
        let mut found = self.rows(statement, parameters)?;
        match (found.pop(), found.is_empty()) {
            (Some(row), true) => Ok(row),
            (row, _) => Err(fault(format!(
                "{} rows of {statement} {parameters:?}",
                found.len() + usize::from(row.is_some())
            ))),
        }
    }

    /// A change of one row that exists.
    fn change(&mut self, statement: &str, parameters: &[ParameterValue<'_>]) -> Step<()> {
        match self.connection.execute(statement, parameters)? {
            Answer::Done(1) => Ok(()),
            other @ (Answer::Done(_) | Answer::Rows(_)) => {
                Err(fault(format!("{other:?} of {statement} {parameters:?}")))
            }
        }
    }

    fn new_order(&mut self, customer: u64, lines: &[Line]) -> Step<()> {
        let (warehouse, district) = (int(self.warehouse), int(self.district));
        self.row(
            "SELECT c_discount, c_last, c_credit, w_tax FROM warehouse JOIN customer ON c_w_id = w_id
             WHERE w_id = ? AND c_d_id = ? AND c_id = ?",
            &[warehouse, district, int(customer)],
        )?;
        let found = self.row(
            "SELECT d_next_o_id, d_tax FROM district WHERE d_w_id = ? AND d_id = ? FOR UPDATE",
            &[warehouse, district],
        )?;
        let order = whole(&found, 0)?;
        self.change(
            "UPDATE district SET d_next_o_id = ? WHERE d_w_id = ? AND d_id = ?",
            &[int(order + 1), warehouse, district],
        )?;
        let is_local = lines.iter().all(|line| line.supplier == self.warehouse);
        let counts = [int(lines.len() as u64), int(u64::from(is_local))];
        self.change(
            "INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
             VALUES (?, ?, ?, ?, NOW(), ?, ?)",
            &[warehouse, district, int(order), int(customer), counts[0], counts[1]],
        )?;
        self.change(
            "INSERT INTO new_order (no_w_id, no_d_id, no_o_id) VALUES (?, ?, ?)",
            &[warehouse, district, int(order)],
        )?;
        for (number, line) in (1..).zip(lines) {
            if !self.order_line(order, number, line)? {
                // The driver's COMMIT finds nothing to do.
                self.connection.run("ROLLBACK")?;
                return Ok(());
            }
        }
        Ok(())
    }

    /// Takes an item from the stock; says whether there is such an item.
    fn order_line(&mut self, order: u64, number: u64, line: &Line) -> Step<bool> {
        let item = self.rows("SELECT i_price, i_name, i_data FROM item WHERE i_id = ?", &[int(line.item)])?;
        let Some(item) = item.first() else { return Ok(false) };
        let price: u64 = cell(item, 0)
            .replace('.', "")
            .parse()
            .map_err(|_| fault(format!("price {:?} of item {}", cell(item, 0), line.item)))?;
        let key = [int(line.supplier), int(line.item)];
        let index = usize::try_from(self.district - 1).unwrap_or_default();
        let stock = self.row(DISTRICT_OF_STOCK[index], &key)?;
        let quantity = whole(&stock, 0)?;
        let left = if quantity >= line.quantity + 10 { quantity } else { quantity + 91 } - line.quantity;
        let is_remote = u64::from(line.supplier != self.warehouse);
        self.change(
            "UPDATE stock SET s_quantity = ?, s_ytd = s_ytd + ?, s_order_cnt = s_order_cnt + 1,
             s_remote_cnt = s_remote_cnt + ? WHERE s_w_id = ? AND s_i_id = ?",
            &[int(left), int(line.quantity), int(is_remote), key[0], key[1]],
        )?;
        let amount = money(price * line.quantity);
        self.change(
            "INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity,
             ol_amount, ol_dist_info) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            &[
                int(self.warehouse),
                int(self.district),
                int(order),
                int(number),
                int(line.item),
                int(line.supplier),
                int(line.quantity),
                text(&amount),
                text(cell(&stock, 2)),
            ],
        )?;
        Ok(true)
    }

    /// The number of a customer; of those with one name it is the one in the middle.
    fn customer(&mut self, (warehouse, district): (u64, u64), named: &Named) -> Step<u64> {
        let last = match named {
            Named::Number(number) => return Ok(*number),
            Named::Last(last) => last,
        };
        let found = self.rows(
            "SELECT c_id FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? ORDER BY c_first",
            &[int(warehouse), int(district), text(last)],
        )?;
        match found.get(found.len().div_ceil(2).saturating_sub(1)) {
            Some(row) => whole(row, 0),
            None => Err(fault(format!("no customer {last} in {warehouse}, {district}"))),
        }
    }

    fn payment(&mut self, of: (u64, u64), named: &Named, cents: u64) -> Step<()> {
        let amount = money(cents);
        let (warehouse, district) = (int(self.warehouse), int(self.district));
        self.change(
            "UPDATE warehouse SET w_ytd = w_ytd + CAST(? AS DECIMAL(12,2)) WHERE w_id = ?",
            &[text(&amount), warehouse],
        )?;
        let warehouse_row = self.row(
            "SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM warehouse WHERE w_id = ?",
            &[warehouse],
        )?;
        self.change(
            "UPDATE district SET d_ytd = d_ytd + CAST(? AS DECIMAL(12,2)) WHERE d_w_id = ? AND d_id = ?",
            &[text(&amount), warehouse, district],
        )?;
        let district_row = self.row(
            "SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM district WHERE d_w_id = ? AND d_id = ?",
            &[warehouse, district],
        )?;
        let customer = self.customer(of, named)?;
        let key = [int(of.0), int(of.1), int(customer)];
        let row = self.row(
            "SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since,
             c_credit, c_credit_lim, c_discount, c_balance, c_data FROM customer
             WHERE c_w_id = ? AND c_d_id = ? AND c_id = ? FOR UPDATE",
            &key,
        )?;
        let mut data = cell(&row, 14).to_owned();
        if cell(&row, 10) == "BC" {
            let (w, d) = (self.warehouse, self.district);
            data =
                format!("{customer} {} {} {d} {w} {amount}|{data}", of.1, of.0).chars().take(500).collect();
        }
        self.change(
            "UPDATE customer SET c_balance = c_balance - CAST(? AS DECIMAL(12,2)),
             c_ytd_payment = c_ytd_payment + CAST(? AS DECIMAL(12,2)), c_payment_cnt = c_payment_cnt + 1, c_data = ?
             WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
            &[text(&amount), text(&amount), text(&data), key[0], key[1], key[2]],
        )?;
        let names = format!("{}    {}", cell(&warehouse_row, 0), cell(&district_row, 0));
        self.change(
            "INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
             VALUES (?, ?, ?, ?, ?, NOW(), ?, ?)",
            &[key[2], key[1], key[0], district, warehouse, text(&amount), text(&names)],
        )
    }

    fn order_status(&mut self, named: &Named) -> Step<()> {
        let (warehouse, district) = (int(self.warehouse), int(self.district));
        let customer = self.customer((self.warehouse, self.district), named)?;
        self.row(
            "SELECT c_balance, c_first, c_middle, c_last FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
            &[warehouse, district, int(customer)],
        )?;
        let order = self.row(
            "SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ?
             ORDER BY o_id DESC LIMIT 1",
            &[warehouse, district, int(customer)],
        )?;
        let lines = self.rows(
            "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line
             WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
            &[warehouse, district, int(whole(&order, 0)?)],
        )?;
        if lines.len() < 5 { Err(fault(format!("{} lines of order {order:?}", lines.len()))) } else { Ok(()) }
    }

    /// Delivers the oldest order of each district that has one.
    fn delivery(&mut self, carrier: u64) -> Step<()> {
        for district in 1..=DISTRICTS {
            let place = [int(self.warehouse), int(district)];
            let oldest = self.rows(
                "SELECT no_o_id FROM new_order WHERE no_w_id = ? AND no_d_id = ? ORDER BY no_o_id LIMIT 1 FOR UPDATE",
                &place,
            )?;
            let Some(oldest) = oldest.first() else { continue };
            let key = [place[0], place[1], int(whole(oldest, 0)?)];
            self.change("DELETE FROM new_order WHERE no_w_id = ? AND no_d_id = ? AND no_o_id = ?", &key)?;
            let order =
                self.row("SELECT o_c_id FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?", &key)?;
            self.change(
                "UPDATE orders SET o_carrier_id = ? WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?",
                &[int(carrier), key[0], key[1], key[2]],
            )?;
            self.connection.execute(
                "UPDATE order_line SET ol_delivery_d = NOW() WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
                &key,
            )?;
            let sum = self.row(
                "SELECT SUM(ol_amount) FROM order_line WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
                &key,
            )?;
            self.change(
                "UPDATE customer SET c_balance = c_balance + CAST(? AS DECIMAL(12,2)),
                 c_delivery_cnt = c_delivery_cnt + 1 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
                &[text(cell(&sum, 0)), key[0], key[1], int(whole(&order, 0)?)],
            )?;
        }
        Ok(())
    }

    fn stock_level(&mut self, threshold: u64) -> Step<()> {
        let (warehouse, district) = (int(self.warehouse), int(self.district));
        let next = self
            .row("SELECT d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ?", &[warehouse, district])?;
        let next = whole(&next, 0)?;
        self.row(
            "SELECT COUNT(DISTINCT s_i_id) FROM order_line JOIN stock ON s_i_id = ol_i_id
             WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id < ? AND ol_o_id >= ? AND s_w_id = ? AND s_quantity < ?",
            &[warehouse, district, int(next), int(next.saturating_sub(20)), warehouse, int(threshold)],
        )
        .map(drop)
    }
}
