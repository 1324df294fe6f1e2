//! CHECK constraints of tables: their names, and what they allow to become of columns.
//!
//! Names are those of a database: two tables cannot have a constraint of one name. A constraint without a name is
//! called after its table: `t_chk_1`. Such names follow the table when it gets another name.

use crate::error::{self, Named, check_name};
use crate::request::CheckSpec;
use expression::Expression;
use protocol::SqlError;
use types::{CheckConstraint, ColumnIndex, Schema, TableDefinition, equal_without_case};

/// Adds constraints to a table; `schema` has the other ones of its database.
pub(crate) fn add(
    definition: &mut TableDefinition,
    specs: &[CheckSpec],
    schema: &Schema,
) -> Result<(), SqlError> {
    for spec in specs {
        let name = match &spec.name {
            Some(name) => {
                check_name(name, Named::Constraint)?;
                name.clone()
            }
            None => generated_name(definition),
        };
        if is_taken(definition, &name, schema) {
            return Err(error::duplicate_check(&name));
        }
        definition.checks.push(CheckConstraint {
            name,
            encoded: spec.encoded.clone(),
            text: spec.text.clone(),
            is_enforced: spec.is_enforced,
        });
    }
    sort(definition);
    Ok(())
}

fn sort(definition: &mut TableDefinition) {
    definition.checks.sort_by_cached_key(|check| check.name.to_lowercase());
}

fn is_taken(definition: &TableDefinition, name: &str, schema: &Schema) -> bool {
    let mut others = schema
        .tables_of(&definition.database)
        .filter(|table| table.id != definition.id && Some(table.id) != copied_table(definition));
    position(definition, name).is_some() || others.any(|table| position(table, name).is_some())
}

/// The table that a copy will replace.
fn copied_table(definition: &TableDefinition) -> Option<types::TableId> {
    if let types::TableKind::Copy { of } = definition.kind { Some(of) } else { None }
}

/// The start of generated names of a table's constraints.
fn prefix_of(table: &str) -> String {
    format!("{table}_chk_")
}

/// The number of a generated name.
fn number_of(table: &str, name: &str) -> Option<u32> {
    name.strip_prefix(table)?.strip_prefix("_chk_")?.parse().ok()
}

fn generated_name(definition: &TableDefinition) -> String {
    let numbers = definition.checks.iter().filter_map(|check| number_of(&definition.name, &check.name));
    let number = numbers.max().unwrap_or(0).saturating_add(1);
    format!("{}{number}", prefix_of(&definition.name))
}

/// Gives constraints with generated names those that follow from the table's new name.
pub(crate) fn rename(definition: &mut TableDefinition, before: &str) {
    let name = definition.name.clone();
    for check in &mut definition.checks {
        if let Some(number) = number_of(before, &check.name) {
            check.name = format!("{}{number}", prefix_of(&name));
        }
    }
    sort(definition);
}

/// Gives all constraints of a table that was made LIKE another one generated names.
pub(crate) fn name_again(definition: &mut TableDefinition) {
    let prefix = prefix_of(&definition.name);
    for (number, check) in (1..).zip(&mut definition.checks) {
        check.name = format!("{prefix}{number}");
    }
}

/// The position of the constraint with this name.
pub(crate) fn position(definition: &TableDefinition, name: &str) -> Option<usize> {
    definition.checks.iter().position(|check| equal_without_case(&check.name, name))
}

/// The columns that a constraint names.
pub(crate) fn columns_of(check: &CheckConstraint) -> Vec<ColumnIndex> {
    let expression: Result<Expression, _> = stdx::wire::from_bytes(&check.encoded);
    let columns = expression.map(|expression| expression.columns()).unwrap_or_default();
    columns.into_iter().map(|slot| ColumnIndex(slot.0)).collect()
}
