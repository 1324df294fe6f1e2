//! `sys`: what tools read there of the server's version. MySQL's other views summarise instruments that are not here.

use super::server_rows;
use super::virtual_tables::{Column, Kind, Layout, Origin, column};

const NAME: &str = "sys";

const VERSION: &[Column] = &[column("sys_version", Kind::Text(5)), column("mysql_version", Kind::Text(60))];

pub(super) const TABLES: &[Layout] = &[Layout {
    database: NAME,
    name: "version",
    columns: VERSION,
    origin: Origin::Made(|_, _| server_rows::sys_version()),
}];
