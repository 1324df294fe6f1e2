//! Rows about databases, tables, columns and keys: of the catalogue, and of the virtual tables themselves.
//!
//! A row's first values are MySQL's: catalogue `def`, database, table. Tables come by database and name, virtual ones
//! in their place.

use super::ShowContext;
use super::pruning::Pruning;
use super::virtual_tables::{VIRTUAL_DATABASES, count, optional_number, optional_text, text, yes_or_no};
use catalogue::{column_default_text, column_type_text};
use planner::privileges::is_free;
use std::collections::BTreeMap;
use std::sync::Arc;
use types::{
    BlobSize, Collation, ColumnDefinition, ColumnIndex, DefaultValue, IndexDefinition, IndexKind,
    IntegerWidth, Privileges, Schema, SqlType, TableDefinition, Value, ViewDefinition,
};

/// MySQL's only catalogue.
const CATALOG: &str = "def";

/// A table that can be shown.
#[derive(Clone, Copy)]
pub(super) struct ShownTable<'a> {
    pub(super) definition: &'a TableDefinition,
    pub(super) kind: ShownKind,
}

/// The kinds of things that have columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ShownKind {
    /// A table.
    Stored,
    /// A table that is made when it is read.
    Virtual,
    /// A view.
    View,
}

impl<'a> ShownTable<'a> {
    fn stored(definition: &'a TableDefinition) -> Self {
        Self { definition, kind: ShownKind::Stored }
    }

    fn made(definition: &'a TableDefinition) -> Self {
        Self { definition, kind: ShownKind::Virtual }
    }

    fn view(view: &'a ViewDefinition) -> Self {
        Self { definition: &view.table, kind: ShownKind::View }
    }

    fn is_stored(self) -> bool {
        self.kind == ShownKind::Stored
    }
}

/// The visible tables that pass, by database and name.
fn tables_that<'a>(
    context: &'a ShowContext<'_>,
    passes: impl Fn(&TableDefinition) -> bool,
) -> Vec<ShownTable<'a>> {
    let stored = context.schema.named_tables().map(|table| ShownTable::stored(table));
    let views = context.schema.views().map(|view| ShownTable::view(view));
    let made = context.virtual_tables.all().map(|known| ShownTable::made(&known.definition));
    let shown = stored
        .chain(views)
        .chain(made)
        .filter(|table| passes(table.definition) && may_see(context, table.definition));
    let by_name =
        |table: ShownTable<'a>| ((table.definition.database.as_str(), table.definition.name.as_str()), table);
    shown.map(by_name).collect::<BTreeMap<_, _>>().into_values().collect()
}

/// Whether the account may know that the table is there.
fn may_see(context: &ShowContext<'_>, table: &TableDefinition) -> bool {
    is_free(&table.database, &table.name) || context.privileges.sees_table(&table.database, &table.name)
}

fn wanted_tables<'a>(context: &'a ShowContext<'_>, pruning: &Pruning<'_>) -> Vec<ShownTable<'a>> {
    tables_that(context, |table| pruning.wants_table(&table.database, &table.name))
}

/// The tables of one database; names of virtual databases are taken in any case.
pub(super) fn tables_of<'a>(context: &'a ShowContext<'_>, database: &str) -> Vec<ShownTable<'a>> {
    let name = virtual_database(database).unwrap_or(database);
    tables_that(context, |table| table.database == name)
}

/// The name of a virtual database, in any case.
pub(super) fn virtual_database(name: &str) -> Option<&'static str> {
    VIRTUAL_DATABASES.into_iter().find(|known| known.eq_ignore_ascii_case(name))
}

/// True if there is such a database; names of virtual ones are taken in any case.
pub(crate) fn database_exists(schema: &Schema, name: &str) -> bool {
    schema.database(name).is_some() || virtual_database(name).is_some()
}

/// A table by name.
pub(super) fn table<'a>(context: &'a ShowContext<'_>, database: &str, name: &str) -> Option<ShownTable<'a>> {
    let temporary = context.temporary.and_then(|temporary| temporary.table(database, name));
    let stored = temporary.or_else(|| context.schema.table(database, name));
    let stored = stored.map(|table| ShownTable::stored(table));
    let view = || context.schema.view(database, name).map(|view| ShownTable::view(view));
    let made = || {
        let known = context.virtual_tables.known(database, name);
        known.map(|known| ShownTable::made(&known.definition))
    };
    stored.or_else(view).or_else(made)
}

/// All databases with their collations, by name.
pub(super) fn databases<'a>(context: &'a ShowContext<'_>) -> BTreeMap<&'a str, Collation> {
    let stored =
        context.schema.databases.values().map(|database| (database.name.as_str(), database.collation));
    let made = VIRTUAL_DATABASES.into_iter().map(|name| (name, Collation::Utf8mb4GeneralCi));
    let is_seen = |name: &str| name == "information_schema" || context.privileges.sees_database(name);
    made.chain(stored).filter(|(name, _)| is_seen(name)).collect()
}

impl ShownTable<'_> {
    pub(super) fn table_type(self) -> &'static str {
        match self.kind {
            ShownKind::Stored => "BASE TABLE",
            ShownKind::Virtual => "SYSTEM VIEW",
            ShownKind::View => "VIEW",
        }
    }

    /// The privileges that the account has on a column.
    fn privileges(self, column: &str, context: &ShowContext<'_>) -> String {
        let TableDefinition { database, name, .. } = self.definition;
        if is_free(database, name) {
            return "select".to_owned();
        }
        let is_own = self.definition.id.is_temporary();
        let held = if is_own {
            Privileges::OF_COLUMN
        } else {
            context.privileges.on_column(database, name, column).of(Privileges::OF_COLUMN)
        };
        let held = if self.kind == ShownKind::Virtual { held.of(Privileges::SELECT) } else { held };
        held.names().map(str::to_ascii_lowercase).collect::<Vec<_>>().join(",")
    }

    /// The columns that the account may see.
    fn seen_columns<'c>(
        self,
        context: &'c ShowContext<'_>,
    ) -> impl Iterator<Item = (ColumnIndex, &'c ColumnDefinition)>
    where
        Self: 'c,
    {
        let TableDefinition { database, name, .. } = self.definition;
        let is_seen = move |(_, column): &(ColumnIndex, &ColumnDefinition)| {
            let is_own = self.definition.id.is_temporary();
            is_own || is_free(database, name) || context.privileges.sees_column(database, name, &column.name)
        };
        self.definition.visible_columns().filter(is_seen)
    }

    /// `def`, database, table.
    fn place(self) -> [Value; 3] {
        [text(CATALOG), text(&self.definition.database), text(&self.definition.name)]
    }

    /// Engine, version, row format, rows, sizes, next AUTO_INCREMENT value, times, collation, checksum, options,
    /// comment.
    pub(super) fn status(self, context: &ShowContext<'_>) -> Vec<Value> {
        let mut values = Vec::with_capacity(17);
        if self.kind == ShownKind::View {
            values.resize(16, Value::Null);
            values.push(text("VIEW"));
            return values;
        }
        if !self.is_stored() {
            values.extend([Value::Null, Value::Int(10), Value::Null]);
        } else {
            values.extend([text(catalogue::show::ENGINE), Value::Int(10), text("Dynamic")]);
        }
        values.push(optional_number(
            context.statistics.row_count(self.definition).filter(|_| self.is_stored()),
        ));
        // Average row length, sizes of data and indexes, times: no node knows them for the whole cluster. Of
        // AUTO_INCREMENT each node knows what it would draw next, if it has drawn any value since it started.
        values.extend(std::iter::repeat_n(Value::Null, 5));
        values.push(optional_number((context.next_id)(self.definition)));
        values.extend(std::iter::repeat_n(Value::Null, 3));
        values.extend([
            text(self.definition.collation.name()),
            Value::Null,
            text(""),
            text(&self.definition.comment),
        ]);
        values
    }
}

pub(super) fn schemata(context: &ShowContext<'_>, pruning: &Pruning<'_>) -> Vec<Vec<Value>> {
    let row = |(name, collation): (&str, Collation)| {
        let set = collation.character_set();
        vec![text(CATALOG), text(name), text(set), text(collation.name()), Value::Null, text("NO")]
    };
    databases(context).into_iter().filter(|(name, _)| pruning.wants_database(name)).map(row).collect()
}

pub(super) fn tables(context: &ShowContext<'_>, pruning: &Pruning<'_>) -> Vec<Vec<Value>> {
    let row = |table: ShownTable<'_>| {
        let mut row = table.place().to_vec();
        row.push(text(table.table_type()));
        row.extend(table.status(context));
        row
    };
    wanted_tables(context, pruning).into_iter().map(row).collect()
}

/// Tables are spread by hash without a PARTITION clause: for MySQL's clients they are not partitioned.
pub(super) fn partitions(context: &ShowContext<'_>, pruning: &Pruning<'_>) -> Vec<Vec<Value>> {
    let row = |table: ShownTable<'_>| {
        let mut row = table.place().to_vec();
        row.extend(std::iter::repeat_n(Value::Null, 9));
        row.push(optional_number(context.statistics.row_count(table.definition)));
        row.extend(std::iter::repeat_n(Value::Null, 9));
        row.extend([text(""), Value::Null, Value::Null]);
        row
    };
    wanted_tables(context, pruning).into_iter().filter(|table| table.is_stored()).map(row).collect()
}

pub(super) fn views(context: &ShowContext<'_>, pruning: &Pruning<'_>) -> Vec<Vec<Value>> {
    let row = |view: &Arc<ViewDefinition>| {
        let (database, name) = view.full_name();
        // Only an account that may see a view's query does.
        let held = context.privileges.on_table(database, name);
        let query = if held.has(Privileges::SHOW_VIEW) { view.query.as_str() } else { "" };
        vec![
            text(CATALOG),
            text(database),
            text(name),
            text(query),
            text(view.check.name()),
            yes_or_no(view.is_updatable),
            text(&format!("{}@{}", view.definer.name, view.definer.host)),
            text(view.security.name()),
            text(&view.character_set),
            text(view.collation.name()),
        ]
    };
    let is_wanted = |view: &&Arc<ViewDefinition>| {
        let (database, name) = view.full_name();
        pruning.wants_table(database, name) && may_see(context, &view.table)
    };
    context.schema.views().filter(is_wanted).map(row).collect()
}

pub(super) fn columns(context: &ShowContext<'_>, pruning: &Pruning<'_>) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for table in wanted_tables(context, pruning) {
        for (position, (index, column)) in table.seen_columns(context).enumerate() {
            rows.push(column_row(table, position, index, column, context));
        }
    }
    rows
}

fn column_row(
    table: ShownTable<'_>,
    position: usize,
    index: ColumnIndex,
    column: &ColumnDefinition,
    context: &ShowContext<'_>,
) -> Vec<Value> {
    let signed = |number: Option<u32>| number.map_or(Value::Null, |number| Value::Int(number.into()));
    let facts = TypeFacts::of_column(column);
    let type_text = column_type_text(column);
    let base_type = type_text.split(['(', ' ']).next().unwrap_or_default();
    let collation = column.sql_type.character_collation();
    let mut row = table.place().to_vec();
    row.extend([
        text(&column.name),
        count(position + 1),
        optional_text(column_default_text(column).as_deref()),
        yes_or_no(column.flags.nullable),
        text(base_type),
        signed(facts.characters),
        signed(facts.bytes),
        optional_number(facts.precision.map(u64::from)),
        optional_number(facts.scale.map(u64::from)),
        optional_number(facts.fraction.map(u64::from)),
        optional_text(collation.map(Collation::character_set)),
        optional_text(collation.map(Collation::name)),
        text(&type_text),
        text(column_key(table.definition, index)),
        text(&extra(column)),
        text(&table.privileges(&column.name, context)),
        text(&column.comment),
        text(generation_text(column)),
        Value::Null,
    ]);
    row
}

/// The expression of a generated column.
fn generation_text(column: &ColumnDefinition) -> &str {
    if let DefaultValue::Generated { text, .. } = &column.default { text } else { "" }
}

/// SHOW COLUMNS: Field, Type, Null, Key, Default, Extra; with `full` also Collation, Privileges, Comment, in MySQL's
/// order.
pub(super) fn shown_columns(table: ShownTable<'_>, full: bool, context: &ShowContext<'_>) -> Vec<Vec<Value>> {
    let row = |(index, column): (ColumnIndex, &ColumnDefinition)| {
        let mut row = vec![text(&column.name), text(&column_type_text(column))];
        if full {
            row.push(optional_text(column.sql_type.character_collation().map(Collation::name)));
        }
        row.extend([
            yes_or_no(column.flags.nullable),
            text(column_key(table.definition, index)),
            optional_text(column_default_text(column).as_deref()),
            text(&extra(column)),
        ]);
        if full {
            row.extend([text(&table.privileges(&column.name, context)), text(&column.comment)]);
        }
        row
    };
    table.seen_columns(context).map(row).collect()
}

/// PRI, UNI, MUL or nothing. As in MySQL, a unique key without NULLs stands in for a missing primary key.
pub(super) fn column_key(table: &TableDefinition, column: ColumnIndex) -> &'static str {
    let is_unique = |index: &&IndexDefinition| matches!(index.kind, IndexKind::Unique { .. });
    let is_whole = |index: &&IndexDefinition| {
        index
            .parts
            .iter()
            .all(|part| part.prefix_length.is_none() && !table.column_at(part.column).flags.nullable)
    };
    let declared = table.public_indexes().find(|index| index.kind == IndexKind::Primary);
    let primary =
        declared.or_else(|| table.public_indexes().find(|index| is_unique(index) && is_whole(index)));
    if primary.is_some_and(|index| index.parts.iter().any(|part| part.column == column)) {
        return "PRI";
    }
    let leads = |index: &&IndexDefinition| index.parts.first().is_some_and(|part| part.column == column);
    let is_alone = |index: &IndexDefinition| is_unique(&index) && index.parts.len() == 1;
    match table.public_indexes().filter(leads).map(is_alone).max() {
        Some(true) => "UNI",
        Some(false) => "MUL",
        None => "",
    }
}

/// The text that SHOW COLUMNS prints behind the default.
fn extra(column: &ColumnDefinition) -> String {
    let default = match &column.default {
        DefaultValue::AutoIncrement => "auto_increment",
        DefaultValue::CurrentTimestamp | DefaultValue::Expression { .. } => "DEFAULT_GENERATED",
        DefaultValue::Generated { is_stored: true, .. } => "STORED GENERATED",
        DefaultValue::Generated { is_stored: false, .. } => "VIRTUAL GENERATED",
        DefaultValue::Missing | DefaultValue::Literal(_) => "",
    };
    if !column.flags.on_update_now {
        return default.to_owned();
    }
    let update = match TypeFacts::of(&column.sql_type).fraction {
        Some(fraction) if fraction > 0 => format!("on update CURRENT_TIMESTAMP({fraction})"),
        Some(_) | None => "on update CURRENT_TIMESTAMP".to_owned(),
    };
    if default.is_empty() { update } else { format!("{default} {update}") }
}

/// The keys that are constraints: the primary key and unique keys. CHECK constraints are beside them.
fn constraints(table: &TableDefinition) -> impl Iterator<Item = &IndexDefinition> {
    table.public_indexes().filter(|index| index.kind != IndexKind::Ordered)
}

pub(super) fn table_constraints(context: &ShowContext<'_>, pruning: &Pruning<'_>) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for table in wanted_tables(context, pruning) {
        let (database, name) = (&table.definition.database, &table.definition.name);
        rows.extend(constraints(table.definition).map(|index| {
            let kind = if index.kind == IndexKind::Primary { "PRIMARY KEY" } else { "UNIQUE" };
            let constraint = [text(CATALOG), text(database), text(&index.name)];
            constraint.into_iter().chain([text(database), text(name), text(kind), text("YES")]).collect()
        }));
        rows.extend(table.definition.checks.iter().map(|check| {
            let constraint = [text(CATALOG), text(database), text(&check.name)];
            let enforced = if check.is_enforced { "YES" } else { "NO" };
            constraint
                .into_iter()
                .chain([text(database), text(name), text("CHECK"), text(enforced)])
                .collect()
        }));
    }
    rows
}

pub(super) fn check_constraints(context: &ShowContext<'_>, pruning: &Pruning<'_>) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for table in wanted_tables(context, pruning) {
        rows.extend(table.definition.checks.iter().map(|check| {
            let clause = format!("({})", check.text);
            vec![text(CATALOG), text(&table.definition.database), text(&check.name), text(&clause)]
        }));
    }
    rows
}

pub(super) fn key_column_usage(context: &ShowContext<'_>, pruning: &Pruning<'_>) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for table in wanted_tables(context, pruning) {
        for index in constraints(table.definition) {
            for (position, part) in index.parts.iter().enumerate() {
                let mut row = vec![text(CATALOG), text(&table.definition.database), text(&index.name)];
                row.extend(table.place());
                row.extend([text(&table.definition.column_at(part.column).name), count(position + 1)]);
                row.extend(std::iter::repeat_n(Value::Null, 4));
                rows.push(row);
            }
        }
    }
    rows
}

pub(super) fn statistics(context: &ShowContext<'_>, pruning: &Pruning<'_>) -> Vec<Vec<Value>> {
    let tables = wanted_tables(context, pruning);
    let is_sampled = tables.iter().filter(|table| table.is_stored()).count() <= SAMPLED_TABLES_MAX;
    let mut rows = Vec::new();
    for table in tables {
        for part in index_parts(table, context, is_sampled) {
            let mut row = table.place().to_vec();
            row.extend([
                part.non_unique,
                text(&table.definition.database),
                part.key_name,
                part.position,
                part.column,
            ]);
            row.extend([part.order, part.cardinality, part.prefix, Value::Null, part.nullable]);
            row.extend([text(INDEX_TYPE), text(""), text(""), text("YES"), Value::Null]);
            rows.push(row);
        }
    }
    rows
}

/// SHOW INDEX.
pub(super) fn shown_indexes(table: ShownTable<'_>, context: &ShowContext<'_>) -> Vec<Vec<Value>> {
    let row = |part: IndexPart| {
        let mut row =
            vec![text(&table.definition.name), part.non_unique, part.key_name, part.position, part.column];
        row.extend([part.order, part.cardinality, part.prefix, Value::Null, part.nullable]);
        row.extend([text(INDEX_TYPE), text(""), text(""), text("YES"), Value::Null]);
        row
    };
    index_parts(table, context, true).into_iter().map(row).collect()
}

/// A question about more tables is answered without looking into their indexes.
const SAMPLED_TABLES_MAX: usize = 100;

/// MySQL's name for an ordered index.
const INDEX_TYPE: &str = "BTREE";

/// A column of an index.
struct IndexPart {
    non_unique: Value,
    key_name: Value,
    position: Value,
    column: Value,
    /// A: ascending, D: descending.
    order: Value,
    cardinality: Value,
    prefix: Value,
    nullable: Value,
}

/// The columns of a table's indexes; `is_sampled`: how many values they have is looked up, where it does not follow
/// from the number of rows.
fn index_parts(table: ShownTable<'_>, context: &ShowContext<'_>, is_sampled: bool) -> Vec<IndexPart> {
    let definition = table.definition;
    let row_count = context.statistics.row_count(definition).filter(|_| table.is_stored());
    let mut parts = Vec::new();
    for index in definition.public_indexes() {
        for (position, part) in index.parts.iter().enumerate() {
            let column = definition.column_at(part.column);
            let is_unique = index.kind != IndexKind::Ordered;
            let is_complete = is_unique && position + 1 == index.parts.len();
            let cardinality = match row_count {
                Some(rows) if is_complete || rows == 0 => Some(rows),
                Some(rows) if is_sampled => {
                    let per_value = context.statistics.entries_per_key(definition, index.id, position + 1);
                    per_value.map(|per_value| value_count(rows, per_value))
                }
                Some(_) | None => None,
            };
            parts.push(IndexPart {
                non_unique: Value::Int(i64::from(!is_unique)),
                key_name: text(&index.name),
                position: count(position + 1),
                column: text(&column.name),
                order: text(if part.descending { "D" } else { "A" }),
                cardinality: cardinality
                    .map_or(Value::Null, |count| Value::Int(i64::try_from(count).unwrap_or(i64::MAX))),
                prefix: part.prefix_length.map_or(Value::Null, |length| Value::Int(length.into())),
                nullable: text(if column.flags.nullable { "YES" } else { "" }),
            });
        }
    }
    parts
}

/// How many values so many rows have, if each value is there so often.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an estimate"
)]
fn value_count(rows: u64, per_value: f64) -> u64 {
    ((rows as f64 / per_value.max(1.0)).round() as u64).max(1)
}

/// The facts about a type in `information_schema.COLUMNS`.
#[derive(Clone, Copy, Default)]
struct TypeFacts {
    characters: Option<u32>,
    bytes: Option<u32>,
    precision: Option<u16>,
    scale: Option<u8>,
    /// Digits of a second.
    fraction: Option<u8>,
}

impl TypeFacts {
    fn of_column(column: &ColumnDefinition) -> Self {
        match (column.format.width, column.format.scale) {
            (Some(width), Some(scale)) => Self::number(width, Some(scale)),
            _ => Self::of(&column.sql_type),
        }
    }

    fn of(sql_type: &SqlType) -> Self {
        match sql_type {
            SqlType::Integer { width, unsigned } => {
                let precision = match width {
                    IntegerWidth::Tiny => 3,
                    IntegerWidth::Small => 5,
                    IntegerWidth::Medium => 7,
                    IntegerWidth::Normal => 10,
                    IntegerWidth::Big => 19 + u16::from(*unsigned),
                };
                Self::number(precision, Some(0))
            }
            SqlType::Float => Self::number(12, None),
            SqlType::Double => Self::number(22, None),
            SqlType::Decimal { precision, scale, .. } => Self::number(u16::from(*precision), Some(*scale)),
            SqlType::Bit { length } => Self::number(u16::from(*length), None),
            SqlType::Char { length, collation } | SqlType::VarChar { length, collation } => {
                Self::characters(*length, *collation)
            }
            SqlType::Binary { length } | SqlType::VarBinary { length } => Self::bytes(*length),
            SqlType::Text { size, .. } | SqlType::Blob { size } => Self::bytes(size_max(*size)),
            SqlType::Enum { members, collation } => Self::characters(
                members.iter().map(|member| length_of(member)).max().unwrap_or(0),
                *collation,
            ),
            SqlType::Set { members, collation } => {
                let all: u32 = members.iter().map(|member| length_of(member) + 1).sum();
                Self::characters(all.saturating_sub(1), *collation)
            }
            SqlType::Time { fraction } | SqlType::DateTime { fraction } | SqlType::Timestamp { fraction } => {
                Self { fraction: Some(*fraction), ..Self::default() }
            }
            SqlType::Null | SqlType::Date | SqlType::Year | SqlType::Json => Self::default(),
        }
    }

    fn number(precision: u16, scale: Option<u8>) -> Self {
        Self { precision: Some(precision), scale, ..Self::default() }
    }

    fn characters(length: u32, collation: Collation) -> Self {
        let bytes = length.saturating_mul(collation.set().size_max());
        Self { characters: Some(length), bytes: Some(bytes), ..Self::default() }
    }

    fn bytes(length: u32) -> Self {
        Self { characters: Some(length), bytes: Some(length), ..Self::default() }
    }
}

fn length_of(text: &str) -> u32 {
    u32::try_from(text.chars().count()).unwrap_or(u32::MAX)
}

fn size_max(size: BlobSize) -> u32 {
    match size {
        BlobSize::Tiny => 255,
        BlobSize::Normal => 65_535,
        BlobSize::Medium => 16_777_215,
        BlobSize::Long => u32::MAX,
    }
}
