//! The one error that a client sees: MySQL's number, SQLSTATE and message.

use wire_derive::Wire;

/// A report for a human and a number for a program.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct SqlError {
    /// MySQL's error number.
    pub code: u16,
    /// What happened, to what, and what to do.
    pub message: String,
}

impl SqlError {
    /// An error with MySQL's number.
    #[must_use]
    pub fn new(code: u16, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// The five characters that belong to the number (one table for all of LatsDB).
    #[must_use]
    pub fn sqlstate(&self) -> &'static str {
        match self.code {
            1022 | 1062 | 1169 | 1451 | 1452 | 1557 | 1586 | 1761 | 1762 | 1048 | 1216 | 1217 => "23000",
            1040 | 1043 | 1047 | 1053 | 1080 | 1081 | 1152 | 1153 | 1154 | 1155 | 1156 | 1157 | 1158 | 1159
            | 1160 | 1161 | 1184 | 1189 | 1190 | 1218 => "08S01",
            1044 | 1049..=1051 | 1054..=1061 | 1063..=1075 | 1090 | 1091 | 1099..=1104 | 1106..=1113 | 1115
            | 1118 | 1120 | 1121 | 1131..=1133 | 1138 | 1139 | 1141..=1149 | 1162..=1167 | 1170..=1173 | 1176
            | 1177 | 1178 | 1203 | 1211 | 1226 | 1227 | 1230..=1235 | 1239 | 1247..=1253 | 1280 | 1281
            | 1286 | 1304 | 1305 | 1318 | 1327 | 1330..=1332 | 1337 | 1338 | 1364 | 1370 | 1382 | 1410 | 1412
            | 1413 | 1414 | 1415 | 1582 | 1583 => sqlstate_of_syntax_or_access(self.code),
            1045 | 1698 | 1873 => "28000",
            1046 => "3D000",
            1205 => "HY000",
            1213 => "40001",
            1317 => "70100",
            1222 => "21000",
            1136 => "21S01",
            1241 | 1242 => "21000",
            1264 | 1690 => "22003",
            1265 => "01000",
            1292 | 1367 | 1411 => "22007",
            1365 => "22012",
            1406 => "22001",
            1418 => "HY000",
            1568 => "25001",
            1792 => "25006",
            1179 => "25000",
            3140 => "22032",
            3819 => "HY000",
            _ => "HY000",
        }
    }

    /// 1235: a feature that is not there, by name.
    #[must_use]
    pub fn unsupported(feature: &str) -> Self {
        Self::new(1235, format!("This version of LatsDB doesn't yet support '{feature}'"))
    }

    /// 1213: the transaction was rolled back; the text says why.
    #[must_use]
    pub fn deadlock(reason: &str) -> Self {
        Self::new(1213, format!("Deadlock found when trying to get lock; try restarting transaction ({reason})"))
    }

    /// 1114: a memory region is full.
    #[must_use]
    pub fn region_full(table: &str, region: &str) -> Self {
        Self::new(1114, format!("The table '{table}' is full ({region} exhausted)"))
    }
}

/// The numbers whose SQLSTATE is of class 42, or an exception in their midst.
fn sqlstate_of_syntax_or_access(code: u16) -> &'static str {
    match code {
        1050 => "42S01",
        1051 | 1109 | 1146 => "42S02",
        1054 | 1247 => "42S22",
        1060 => "42S21",
        1061 => "42000",
        1058 => "21S01",
        1364 | 1412 | 1131..=1133 | 1235 | 1178 | 1176 | 1177 | 1332 | 1286 | 1167 => match code {
            1132 | 1133 | 1131 => "42000",
            1178 | 1176 | 1177 | 1235 | 1286 | 1167 => "42000",
            _ => "HY000",
        },
        1052 => "23000",
        1110 => "42000",
        1059 => "42000",
        _ => "42000",
    }
}
