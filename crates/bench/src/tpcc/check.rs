//! The twelve conditions of clause 3.3.2, each as a query that gives the rows that break it.
//!
//! The clause states the eleventh for the first rows only; here deliveries are added, which customers count.
//!
//! **Invariants.** The conditions hold between transactions: nobody may write while they are checked.

use super::random::CUSTOMERS;
use super::tables::DATABASE;
use crate::connection::{Connection, TextRow};
use crate::driver::rows;
use std::time::Instant;

/// In the order of the clause: what must hold, and a query for what breaks it.
const CONDITIONS: [(&str, &str); 12] = [
    (
        "W_YTD is the sum of D_YTD",
        "SELECT w_id, w_ytd FROM warehouse WHERE NOT w_ytd <=> (SELECT SUM(d_ytd) FROM district WHERE d_w_id = w_id)",
    ),
    (
        "D_NEXT_O_ID follows the last order and the last new order",
        "SELECT d_w_id, d_id, d_next_o_id FROM district
         WHERE NOT d_next_o_id - 1 <=> (SELECT MAX(o_id) FROM orders WHERE o_w_id = d_w_id AND o_d_id = d_id)
         OR d_next_o_id - 1 <> (SELECT MAX(no_o_id) FROM new_order WHERE no_w_id = d_w_id AND no_d_id = d_id)",
    ),
    (
        "new orders have consecutive numbers",
        "SELECT no_w_id, no_d_id, MIN(no_o_id), MAX(no_o_id), COUNT(*) FROM new_order GROUP BY no_w_id, no_d_id
         HAVING MAX(no_o_id) - MIN(no_o_id) + 1 <> COUNT(*)",
    ),
    (
        "the sum of O_OL_CNT is the number of order lines",
        "SELECT o.w, o.d, o.n, l.n FROM
         (SELECT o_w_id AS w, o_d_id AS d, SUM(o_ol_cnt) AS n FROM orders GROUP BY o_w_id, o_d_id) o LEFT JOIN
         (SELECT ol_w_id AS w, ol_d_id AS d, COUNT(*) AS n FROM order_line GROUP BY ol_w_id, ol_d_id) l
         ON l.w = o.w AND l.d = o.d WHERE NOT o.n <=> l.n",
    ),
    (
        "an order has no carrier exactly if it is a new order",
        "SELECT o_w_id, o_d_id, o_id, o_carrier_id FROM orders
         LEFT JOIN new_order ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id
         WHERE (o_carrier_id IS NULL) <> (no_o_id IS NOT NULL)
         UNION ALL
         SELECT no_w_id, no_d_id, no_o_id, NULL FROM new_order
         LEFT JOIN orders ON o_w_id = no_w_id AND o_d_id = no_d_id AND o_id = no_o_id WHERE o_id IS NULL",
    ),
    (
        "O_OL_CNT is the number of the order's lines",
        "SELECT o_w_id, o_d_id, o_id, o_ol_cnt, l.n FROM orders LEFT JOIN
         (SELECT ol_w_id, ol_d_id, ol_o_id, COUNT(*) AS n FROM order_line GROUP BY ol_w_id, ol_d_id, ol_o_id) l
         ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE NOT o_ol_cnt <=> l.n",
    ),
    (
        "lines have no day of delivery exactly if their order has no carrier",
        "SELECT ol_w_id, ol_d_id, ol_o_id, ol_number FROM order_line
         LEFT JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id
         WHERE o_id IS NULL OR (ol_delivery_d IS NULL) <> (o_carrier_id IS NULL)",
    ),
    (
        "W_YTD is the sum of H_AMOUNT",
        "SELECT w_id, w_ytd, h.s FROM warehouse LEFT JOIN
         (SELECT h_w_id, SUM(h_amount) AS s FROM history GROUP BY h_w_id) h ON h_w_id = w_id WHERE NOT w_ytd <=> h.s",
    ),
    (
        "D_YTD is the sum of H_AMOUNT",
        "SELECT d_w_id, d_id, d_ytd, h.s FROM district LEFT JOIN
         (SELECT h_w_id, h_d_id, SUM(h_amount) AS s FROM history GROUP BY h_w_id, h_d_id) h
         ON h_w_id = d_w_id AND h_d_id = d_id WHERE NOT d_ytd <=> h.s",
    ),
    (
        "C_BALANCE is what was delivered less what was paid",
        "SELECT c_w_id, c_d_id, c_id, c_balance, l.s, h.s FROM customer LEFT JOIN
         (SELECT o_w_id, o_d_id, o_c_id, SUM(ol_amount) AS s FROM orders JOIN order_line
          ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
          WHERE ol_delivery_d IS NOT NULL GROUP BY o_w_id, o_d_id, o_c_id) l
         ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id LEFT JOIN
         (SELECT h_c_w_id, h_c_d_id, h_c_id, SUM(h_amount) AS s FROM history GROUP BY h_c_w_id, h_c_d_id, h_c_id) h
         ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id
         WHERE c_balance <> COALESCE(l.s, 0) - COALESCE(h.s, 0)",
    ),
    (
        "orders are new ones and those delivered",
        "SELECT o.w, o.d, o.n, n.n, c.delivered FROM
         (SELECT o_w_id AS w, o_d_id AS d, COUNT(*) AS n FROM orders GROUP BY o_w_id, o_d_id) o LEFT JOIN
         (SELECT no_w_id AS w, no_d_id AS d, COUNT(*) AS n FROM new_order GROUP BY no_w_id, no_d_id) n
         ON n.w = o.w AND n.d = o.d LEFT JOIN
         (SELECT c_w_id AS w, c_d_id AS d, SUM(c_delivery_cnt) AS delivered FROM customer GROUP BY c_w_id, c_d_id) c
         ON c.w = o.w AND c.d = o.d WHERE NOT o.n - COALESCE(n.n, 0) <=> 2100 + c.delivered",
    ),
    (
        "C_BALANCE and C_YTD_PAYMENT together are what was delivered",
        "SELECT c_w_id, c_d_id, c_id, c_balance, c_ytd_payment, l.s FROM customer LEFT JOIN
         (SELECT o_w_id, o_d_id, o_c_id, SUM(ol_amount) AS s FROM orders JOIN order_line
          ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
          WHERE ol_delivery_d IS NOT NULL GROUP BY o_w_id, o_d_id, o_c_id) l
         ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id
         WHERE c_balance + c_ytd_payment <> COALESCE(l.s, 0)",
    ),
];

/// Tests all conditions; those that are broken become lines of the error.
pub(super) fn check(connection: &mut Connection, warehouses: u64, say: &dyn Fn(&str)) -> Result<(), String> {
    let mut ask = |query: &str| -> Result<Vec<TextRow>, String> {
        connection.run(query).and_then(rows).map_err(|trouble| format!("{query}: {trouble}"))
    };
    // Empty tables would meet every condition.
    let counted = ask(&format!(
        "SELECT (SELECT COUNT(*) FROM {DATABASE}.warehouse), (SELECT COUNT(*) FROM {DATABASE}.customer)"
    ))?;
    let wanted =
        [warehouses, warehouses * super::tables::DISTRICTS * CUSTOMERS].map(|count| Some(count.to_string()));
    if counted != [wanted.to_vec()] {
        return Err(format!("there are not {wanted:?} warehouses and customers, but {counted:?}"));
    }
    let mut faults = Vec::new();
    let begun = Instant::now();
    for ((what, query), number) in CONDITIONS.iter().zip(1..) {
        let broken = ask(query)?;
        if let Some(first) = broken.first() {
            faults.push(format!(
                "condition {number} ({what}): {} rows break it, first {first:?}",
                broken.len()
            ));
        }
    }
    let held = CONDITIONS.len() - faults.len();
    say(&format!("{held} of 12 conditions hold, checked in {:.1} s", begun.elapsed().as_secs_f64()));
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}
