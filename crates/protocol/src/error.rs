//! The one error that a client sees: MySQL's number, SQLSTATE and message.

use crate::program::ROW_SIZE_MAX;
use crate::redo_room::REDO_LOG;
use wire_derive::Wire;

/// A report for a human and a number for a program.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct SqlError {
    /// MySQL's error number.
    pub code: u16,
    /// The text: what happened, to what, and what to do.
    pub message: String,
}

impl SqlError {
    /// An error with MySQL's number.
    #[must_use]
    pub fn new(code: u16, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// The five characters that belong to the number.
    #[must_use]
    pub fn sqlstate(&self) -> &'static str {
        match SQLSTATES.binary_search_by_key(&self.code, |(code, _)| *code) {
            Ok(position) => SQLSTATES[position].1,
            Err(_) => "HY000",
        }
    }

    /// 1235: a feature that is not there, by name.
    #[must_use]
    pub fn unsupported(feature: &str) -> Self {
        Self::new(1235, format!("This version of LatsDB doesn't yet support '{feature}'"))
    }

    /// 1213: the transaction was rolled back; the text says first why. Clients know by the number that the same may go
    /// well another time.
    #[must_use]
    pub fn deadlock(reason: &str) -> Self {
        let mut text = String::new();
        let mut letters = reason.chars();
        text.extend(letters.next().into_iter().flat_map(char::to_uppercase));
        text.push_str(letters.as_str());
        Self::new(1213, format!("{text}; try restarting transaction"))
    }

    /// 1317: KILL QUERY; nothing of the statement stays.
    #[must_use]
    pub fn interrupted() -> Self {
        Self::new(1317, "Query execution was interrupted")
    }

    /// 1053: the node is about to stop; nothing of the statement was done.
    #[must_use]
    pub fn shutdown() -> Self {
        Self::new(1053, "Server shutdown in progress")
    }

    /// 1118: a row is larger than any that is stored.
    #[must_use]
    pub fn row_too_large() -> Self {
        Self::new(
            1118,
            format!(
                "Row size too large. The maximum row size for the used table type is {ROW_SIZE_MAX}. This includes storage overhead, \
                 check the manual."
            ),
        )
    }

    /// 1153: what a statement makes of one row is larger than any packet.
    #[must_use]
    pub fn packet_too_large() -> Self {
        Self::new(1153, "Got a packet bigger than 'max_allowed_packet' bytes")
    }

    /// 1114: a memory region is full; 1297: the redo log is. The refusal of a whole transaction names no table.
    #[must_use]
    pub fn region_full(table: &str, region: &str) -> Self {
        if region == REDO_LOG {
            let text = "Got temporary error 410 'REDO log files overloaded: no room was made in RedoWaitTimeout; checkpoints \
                        are slower than writes, or the disk is full' from LatsDB";
            return Self::new(1297, text);
        }
        if table.is_empty() {
            return Self::new(1114, format!("A table of this transaction is full ({region} exhausted)"));
        }
        Self::new(1114, format!("The table '{table}' is full ({region} exhausted)"))
    }
}

/// SQLSTATEs by error number, ascending; numbers that are not here have the general `HY000`.
const SQLSTATES: &[(u16, &str)] = &[
    (1022, "23000"),
    (1037, "HY001"),
    (1038, "HY001"),
    (1040, "08004"),
    (1042, "08S01"),
    (1043, "08S01"),
    (1044, "42000"),
    (1045, "28000"),
    (1046, "3D000"),
    (1047, "08S01"),
    (1048, "23000"),
    (1049, "42000"),
    (1050, "42S01"),
    (1051, "42S02"),
    (1052, "23000"),
    (1053, "08S01"),
    (1054, "42S22"),
    (1055, "42000"),
    (1056, "42000"),
    (1057, "42000"),
    (1058, "21S01"),
    (1059, "42000"),
    (1060, "42S21"),
    (1061, "42000"),
    (1062, "23000"),
    (1063, "42000"),
    (1064, "42000"),
    (1065, "42000"),
    (1066, "42000"),
    (1067, "42000"),
    (1068, "42000"),
    (1069, "42000"),
    (1070, "42000"),
    (1071, "42000"),
    (1072, "42000"),
    (1073, "42000"),
    (1074, "42000"),
    (1075, "42000"),
    (1080, "08S01"),
    (1081, "08S01"),
    (1082, "42S12"),
    (1083, "42000"),
    (1084, "42000"),
    (1090, "42000"),
    (1091, "42000"),
    (1101, "42000"),
    (1102, "42000"),
    (1103, "42000"),
    (1104, "42000"),
    (1106, "42000"),
    (1107, "42000"),
    (1109, "42S02"),
    (1110, "42000"),
    (1112, "42S21"),
    (1113, "42000"),
    (1115, "42000"),
    (1118, "42000"),
    (1120, "42000"),
    (1121, "42000"),
    (1131, "42000"),
    (1132, "42000"),
    (1133, "42000"),
    (1136, "21S01"),
    (1138, "22004"),
    (1139, "42000"),
    (1140, "42000"),
    (1141, "42000"),
    (1142, "42000"),
    (1143, "42000"),
    (1144, "42000"),
    (1145, "42000"),
    (1146, "42S02"),
    (1147, "42000"),
    (1148, "42000"),
    (1149, "42000"),
    (1152, "08S01"),
    (1153, "08S01"),
    (1154, "08S01"),
    (1155, "08S01"),
    (1156, "08S01"),
    (1157, "08S01"),
    (1158, "08S01"),
    (1159, "08S01"),
    (1160, "08S01"),
    (1161, "08S01"),
    (1162, "42000"),
    (1163, "42000"),
    (1164, "42000"),
    (1166, "42000"),
    (1167, "42000"),
    (1169, "23000"),
    (1170, "42000"),
    (1171, "42000"),
    (1172, "42000"),
    (1173, "42000"),
    (1176, "42000"),
    (1177, "42000"),
    (1178, "42000"),
    (1179, "25000"),
    (1184, "08S01"),
    (1189, "08S01"),
    (1190, "08S01"),
    (1203, "42000"),
    (1207, "25000"),
    (1211, "42000"),
    (1213, "40001"),
    (1216, "23000"),
    (1217, "23000"),
    (1218, "08S01"),
    (1222, "21000"),
    (1226, "42000"),
    (1227, "42000"),
    (1230, "42000"),
    (1231, "42000"),
    (1232, "42000"),
    (1234, "42000"),
    (1235, "42000"),
    (1239, "42000"),
    (1241, "21000"),
    (1242, "21000"),
    (1247, "42S22"),
    (1248, "42000"),
    (1249, "01000"),
    (1250, "42000"),
    (1251, "08004"),
    (1252, "42000"),
    (1253, "42000"),
    (1261, "01000"),
    (1262, "01000"),
    (1263, "22004"),
    (1264, "22003"),
    (1265, "01000"),
    (1280, "42000"),
    (1281, "42000"),
    (1286, "42000"),
    (1292, "22007"),
    (1303, "2F003"),
    (1304, "42000"),
    (1305, "42000"),
    (1308, "42000"),
    (1309, "42000"),
    (1310, "42000"),
    (1311, "01000"),
    (1312, "0A000"),
    (1313, "42000"),
    (1314, "0A000"),
    (1315, "42000"),
    (1316, "42000"),
    (1317, "70100"),
    (1318, "42000"),
    (1319, "42000"),
    (1320, "42000"),
    (1321, "2F005"),
    (1322, "42000"),
    (1323, "42000"),
    (1324, "42000"),
    (1325, "24000"),
    (1326, "24000"),
    (1327, "42000"),
    (1329, "02000"),
    (1330, "42000"),
    (1331, "42000"),
    (1332, "42000"),
    (1333, "42000"),
    (1335, "0A000"),
    (1336, "0A000"),
    (1337, "42000"),
    (1338, "42000"),
    (1339, "20000"),
    (1365, "22012"),
    (1367, "22007"),
    (1370, "42000"),
    (1397, "XAE04"),
    (1398, "XAE05"),
    (1399, "XAE07"),
    (1400, "XAE09"),
    (1401, "XAE03"),
    (1402, "XA100"),
    (1403, "42000"),
    (1406, "22001"),
    (1407, "42000"),
    (1410, "42000"),
    (1413, "42000"),
    (1414, "42000"),
    (1415, "0A000"),
    (1416, "22003"),
    (1425, "42000"),
    (1426, "42000"),
    (1427, "42000"),
    (1437, "42000"),
    (1439, "42000"),
    (1440, "XAE08"),
    (1441, "22008"),
    (1451, "23000"),
    (1452, "23000"),
    (1453, "42000"),
    (1458, "42000"),
    (1460, "42000"),
    (1461, "42000"),
    (1463, "42000"),
    (1557, "23000"),
    (1568, "25001"),
    (1582, "42000"),
    (1583, "42000"),
    (1584, "42000"),
    (1586, "23000"),
    (1613, "XA106"),
    (1614, "XA102"),
    (1630, "42000"),
    (1641, "42000"),
    (1687, "42000"),
    (1690, "22003"),
    (1698, "28000"),
    (1701, "42000"),
    (1761, "23000"),
    (1762, "23000"),
    (1792, "25006"),
    (1859, "23000"),
    (1873, "28000"),
    (3057, "42000"),
    (3140, "22032"),
    (3141, "22032"),
    (3143, "42000"),
    (3156, "22018"),
    (3636, "42000"),
    (3946, "42000"),
    (4163, "42000"),
];

#[cfg(test)]
mod tests {
    use super::{SQLSTATES, SqlError};

    #[test]
    fn the_table_is_sorted_and_well_formed() {
        assert!(SQLSTATES.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert!(SQLSTATES.iter().all(|(_, state)| state.len() == 5 && state.is_ascii()));
    }

    #[test]
    fn a_full_region_is_told_with_the_table_if_there_is_one() {
        let of_table = SqlError::region_full("item", "DataMemory");
        assert_eq!(of_table.message, "The table 'item' is full (DataMemory exhausted)");
        let of_transaction = SqlError::region_full("", "DataMemory");
        assert_eq!((of_transaction.code, of_transaction.message.contains("''")), (1114, false));
    }

    #[test]
    fn numbers_have_the_states_that_drivers_expect() {
        let expected = [
            (1062, "23000"),
            (1064, "42000"),
            (1146, "42S02"),
            (1205, "HY000"),
            (1213, "40001"),
            (1235, "42000"),
            (1364, "HY000"),
            (1412, "HY000"),
            (3572, "HY000"),
        ];
        for (code, state) in expected {
            assert_eq!(SqlError::new(code, "").sqlstate(), state, "{code}");
        }
    }
}
