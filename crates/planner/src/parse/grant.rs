//! GRANT, REVOKE, and the statements about roles.
//!
//! Whether a list is one of privileges or of roles is known only behind it: at ON, or at TO and FROM. A word that is no
//! static privilege is kept as a name until then: of a role, or of a dynamic privilege.

use crate::cursor::Cursor;
use crate::statement::{
    Account, DdlStatement, GrantItem, GrantStatement, GrantVerb, GrantedObject, RoleList, Statement,
    WrittenLevel,
};
use protocol::SqlError;
use sqlparser::tokenizer::Token;
use types::{AdminOption, DynamicPrivileges, Privileges};

/// An entry of the list.
enum Item {
    Privilege(GrantItem),
    /// A role, or a dynamic privilege.
    Name(Account),
}

/// GRANT or REVOKE, behind its verb.
pub(super) fn statement(cursor: &mut Cursor<'_>, verb: GrantVerb) -> Result<Statement, SqlError> {
    if verb == GrantVerb::Revoke && cursor.take_words("IF EXISTS") {
        return Err(SqlError::unsupported("REVOKE IF EXISTS"));
    }
    if cursor.is_word("PROXY") && cursor.is_word_ahead(1, "ON") {
        return Err(SqlError::unsupported("proxy users"));
    }
    if verb == GrantVerb::Revoke
        && (cursor.take_words("ALL PRIVILEGES") || cursor.are_words("ALL") && cursor.take_words("ALL"))
    {
        if cursor.take(&Token::Comma) {
            cursor.expect_words("GRANT OPTION FROM")?;
            let accounts = cursor.list(Cursor::account)?;
            end(cursor)?;
            return Ok(whole(verb, GrantedObject::Everything, accounts));
        }
        return privileges(cursor, verb, vec![Item::Privilege(GrantItem::All)]);
    }
    let items = cursor.list(item)?;
    if cursor.is_word("ON") {
        return privileges(cursor, verb, items);
    }
    let name = |item| match item {
        Item::Name(role) => Some(role),
        Item::Privilege(_) => None,
    };
    let Some(roles) = items.into_iter().map(name).collect::<Option<Vec<Account>>>() else {
        return Err(cursor.unexpected());
    };
    cursor.expect_words(verb.preposition())?;
    let accounts = cursor.list(Cursor::account)?;
    let is_grant = verb == GrantVerb::Grant;
    let admin =
        if is_grant && cursor.take_words("WITH ADMIN OPTION") { AdminOption::Yes } else { AdminOption::No };
    end(cursor)?;
    Ok(whole(verb, GrantedObject::Roles { roles, admin }, accounts))
}

fn whole(verb: GrantVerb, object: GrantedObject, accounts: Vec<Account>) -> Statement {
    Statement::Grant(Box::new(GrantStatement { verb, object, accounts }))
}

/// Clauses that MySQL has behind the accounts.
fn end(cursor: &Cursor<'_>) -> Result<(), SqlError> {
    for clause in ["AS", "IGNORE UNKNOWN USER"] {
        if cursor.are_words(clause) {
            return Err(SqlError::unsupported(&format!("GRANT and REVOKE with {clause}")));
        }
    }
    Ok(())
}

fn item(cursor: &mut Cursor<'_>) -> Result<Item, SqlError> {
    if cursor.take_words("ALL") {
        cursor.take_words("PRIVILEGES");
        return Ok(Item::Privilege(GrantItem::All));
    }
    if cursor.take_words("GRANT OPTION") {
        return Ok(Item::Privilege(GrantItem::Static { privilege: Privileges::GRANT, columns: Vec::new() }));
    }
    if cursor.take_words("USAGE") {
        return Ok(Item::Privilege(GrantItem::Usage));
    }
    // If several names begin alike the longest is meant: CREATE ROUTINE before CREATE.
    let named =
        Privileges::NAMES.iter().filter(|(bit, name, _)| *bit != Privileges::GRANT && cursor.are_words(name));
    let Some((privilege, name, _)) = named.max_by_key(|(_, name, _)| name.len()) else {
        return cursor.account().map(Item::Name);
    };
    cursor.expect_words(name)?;
    let mut columns = Vec::new();
    if *cursor.peek() == Token::LParen {
        if !Privileges::OF_COLUMN.has(*privilege) {
            return Err(cursor.unexpected());
        }
        cursor.next();
        columns = cursor.list(Cursor::identifier)?;
        cursor.expect(&Token::RParen)?;
    }
    Ok(Item::Privilege(GrantItem::Static { privilege: *privilege, columns }))
}

/// `ON [TABLE] level TO | FROM accounts [WITH GRANT OPTION]`.
fn privileges(cursor: &mut Cursor<'_>, verb: GrantVerb, items: Vec<Item>) -> Result<Statement, SqlError> {
    cursor.expect_words("ON")?;
    let known = |item| match item {
        Item::Privilege(item) => Ok(item),
        Item::Name(Account::Named { name, .. }) => match DynamicPrivileges::by_name(&name) {
            Some(privilege) => Ok(GrantItem::Dynamic(privilege)),
            None => Err(SqlError::new(
                1149,
                "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version \
                 for the right syntax to use",
            )),
        },
        Item::Name(Account::Current) => Err(cursor.unexpected()),
    };
    let items = items.into_iter().map(known).collect::<Result<Vec<GrantItem>, SqlError>>()?;
    for kind in ["FUNCTION", "PROCEDURE"] {
        if cursor.is_word(kind) {
            return Err(SqlError::unsupported(&format!("privileges of a stored {kind}")));
        }
    }
    cursor.take_words("TABLE");
    let level = level(cursor)?;
    cursor.expect_words(verb.preposition())?;
    let accounts = cursor.list(Cursor::account)?;
    let mut items = items;
    if cursor.is_word("IDENTIFIED") || cursor.is_word("REQUIRE") {
        return Err(cursor.unexpected());
    }
    let with_grant_option = verb == GrantVerb::Grant && cursor.take_words("WITH GRANT OPTION");
    if with_grant_option {
        items.push(GrantItem::GrantOption);
    }
    end(cursor)?;
    Ok(whole(verb, GrantedObject::Privileges { items, level }, accounts))
}

/// `*.*`, `*`, `database.*`, `[database.]table`.
fn level(cursor: &mut Cursor<'_>) -> Result<WrittenLevel, SqlError> {
    if cursor.take(&Token::Mul) {
        if cursor.take(&Token::Period) {
            cursor.expect(&Token::Mul)?;
            return Ok(WrittenLevel::Global);
        }
        return Ok(WrittenLevel::Database(None));
    }
    let first = cursor.identifier()?;
    if !cursor.take(&Token::Period) {
        return Ok(WrittenLevel::Table { database: None, name: first });
    }
    if cursor.take(&Token::Mul) {
        return Ok(WrittenLevel::Database(Some(first)));
    }
    Ok(WrittenLevel::Table { database: Some(first), name: cursor.identifier_part()? })
}

// ---- roles ----------------------------------------------------------------------------------------------------------

/// NONE, ALL, ALL EXCEPT, DEFAULT, or roles.
pub(super) fn role_list(cursor: &mut Cursor<'_>) -> Result<RoleList, SqlError> {
    Ok(if cursor.take_words("NONE") {
        RoleList::None
    } else if cursor.take_words("DEFAULT") {
        RoleList::Default
    } else if cursor.take_words("ALL EXCEPT") {
        RoleList::AllExcept(cursor.list(Cursor::account)?)
    } else if cursor.take_words("ALL") {
        RoleList::All
    } else {
        RoleList::These(cursor.list(Cursor::account)?)
    })
}

/// SET ROLE, behind ROLE.
pub(super) fn set_role(cursor: &mut Cursor<'_>) -> Result<Statement, SqlError> {
    role_list(cursor).map(Statement::SetRole)
}

/// The roles of a DEFAULT ROLE clause.
pub(super) fn default_roles(cursor: &mut Cursor<'_>) -> Result<RoleList, SqlError> {
    match role_list(cursor)? {
        RoleList::Default | RoleList::AllExcept(_) => Err(cursor.unexpected()),
        roles => Ok(roles),
    }
}

/// SET DEFAULT ROLE … TO accounts, behind ROLE.
pub(super) fn set_default_role(cursor: &mut Cursor<'_>) -> Result<Statement, SqlError> {
    let roles = default_roles(cursor)?;
    cursor.expect_words("TO")?;
    let accounts = cursor.list(Cursor::account)?;
    Ok(Statement::Ddl(Box::new(DdlStatement::SetDefaultRoles { accounts, roles })))
}
