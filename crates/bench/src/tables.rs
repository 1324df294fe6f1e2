//! A table as the nodes define it, for measurements of storage and for the places of partitions.

use types::{
    Collation, ColumnDefinition, ColumnFlags, ColumnIndex, DefaultValue, IndexDefinition, IndexId, IndexKind,
    IndexState, IntegerWidth, KeyPart, NumberFormat, SqlType, TableDefinition, TableId, TableKind,
    TableSlots,
};

/// `t (id INT PRIMARY KEY, k INT, c VARBINARY)`.
pub(crate) fn definition() -> TableDefinition {
    let int = SqlType::Integer { width: IntegerWidth::Normal, unsigned: false };
    let parts = vec![KeyPart { column: ColumnIndex(0), prefix_length: None, descending: false }];
    let primary = IndexDefinition {
        id: IndexId(0),
        name: "PRIMARY".to_owned(),
        kind: IndexKind::Primary,
        parts,
        state: IndexState::Public,
    };
    TableDefinition {
        id: TableId(1),
        version: 1,
        database: "bench".to_owned(),
        name: "t".to_owned(),
        kind: TableKind::User,
        columns: vec![
            column("id", int.clone()),
            column("k", int),
            column("c", SqlType::VarBinary { length: 200 }),
        ],
        indexes: vec![primary],
        auto_increment: None,
        comment: String::new(),
        collation: Collation::Binary,
        slots: TableSlots::ONE_RANK,
        copied_to: None,
        checks: Vec::new(),
    }
}

fn column(name: &str, sql_type: SqlType) -> ColumnDefinition {
    ColumnDefinition {
        name: name.to_owned(),
        sql_type,
        default: DefaultValue::Missing,
        flags: ColumnFlags::default(),
        comment: String::new(),
        format: NumberFormat::default(),
        absent: None,
    }
}
