//! Requests of a client: the payload of a packet in the command phase.
//!
//! Everything borrows from the payload. An execute is parsed in two steps, because its parameters can't be told
//! apart without the statement: [`Command::parse`] finds the statement id, [`Execute::parameters`] the values.

use crate::constants::Capabilities;
use crate::encoding::{Malformed, Reader};
use crate::error::CommandError;
use crate::handshake::ConnectAttributes;
use crate::parameters::{ExecuteBody, LongData, ParameterTypes, Parameters, QueryAttributes};

/// `COM_*`, the first byte of a command.
pub mod command_byte {
    pub const QUIT: u8 = 0x01;
    pub const INIT_DB: u8 = 0x02;
    pub const QUERY: u8 = 0x03;
    pub const FIELD_LIST: u8 = 0x04;
    pub const REFRESH: u8 = 0x07;
    pub const STATISTICS: u8 = 0x09;
    pub const PROCESS_INFO: u8 = 0x0A;
    pub const PROCESS_KILL: u8 = 0x0C;
    pub const DEBUG: u8 = 0x0D;
    pub const PING: u8 = 0x0E;
    pub const CHANGE_USER: u8 = 0x11;
    pub const STMT_PREPARE: u8 = 0x16;
    pub const STMT_EXECUTE: u8 = 0x17;
    pub const STMT_SEND_LONG_DATA: u8 = 0x18;
    pub const STMT_CLOSE: u8 = 0x19;
    pub const STMT_RESET: u8 = 0x1A;
    pub const SET_OPTION: u8 = 0x1B;
    pub const STMT_FETCH: u8 = 0x1C;
    pub const RESET_CONNECTION: u8 = 0x1F;
}

/// The bits of COM_REFRESH.
pub mod refresh {
    pub const PRIVILEGES: u8 = 1;
    pub const LOGS: u8 = 1 << 1;
    pub const TABLES: u8 = 1 << 2;
    pub const HOSTS: u8 = 1 << 3;
    pub const STATUS: u8 = 1 << 4;
    pub const REPLICA: u8 = 1 << 6;
    pub const MASTER: u8 = 1 << 7;
}

/// A request. Texts are in the connection's character set.
#[derive(Clone, Debug)]
pub enum Command<'a> {
    /// No answer; the connection closes.
    Quit,
    InitDatabase {
        name: &'a [u8],
    },
    Query {
        text: &'a [u8],
        attributes: QueryAttributes<'a>,
    },
    /// Columns of a table whose names match `wildcard` (empty: all).
    FieldList {
        table: &'a [u8],
        wildcard: &'a [u8],
    },
    /// FLUSH: see [`refresh`].
    Refresh {
        what: u8,
    },
    Statistics,
    ProcessInfo,
    ProcessKill {
        connection_id: u32,
    },
    Debug,
    Ping,
    ChangeUser(ChangeUser<'a>),
    ResetConnection,
    SetOption(MultiStatements),
    StatementPrepare {
        text: &'a [u8],
    },
    StatementExecute(Execute<'a>),
    /// No answer.
    StatementSendLongData {
        statement_id: u32,
        parameter: u16,
        data: &'a [u8],
    },
    /// No answer.
    StatementClose {
        statement_id: u32,
    },
    StatementReset {
        statement_id: u32,
    },
    StatementFetch {
        statement_id: u32,
        row_count: u32,
    },
}

/// COM_SET_OPTION's only option. Answered by an EOF packet, or by OK where EOF is deprecated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MultiStatements {
    On,
    Off,
}

/// COM_CHANGE_USER: a new login over an open connection.
#[derive(Clone, Debug)]
pub struct ChangeUser<'a> {
    pub user: &'a [u8],
    pub auth_response: &'a [u8],
    /// Empty: none.
    pub database: &'a [u8],
    /// Absent from old clients.
    pub collation: Option<u16>,
    pub plugin: Option<&'a [u8]>,
    pub attributes: ConnectAttributes<'a>,
}

impl<'a> Command<'a> {
    /// The command in `payload`; `capabilities` are those negotiated.
    pub fn parse(payload: &'a [u8], capabilities: Capabilities) -> Result<Self, CommandError> {
        let mut reader = Reader::new(payload);
        let command = match reader.u8()? {
            command_byte::QUERY => {
                let attributes = if capabilities.contains(Capabilities::QUERY_ATTRIBUTES) {
                    QueryAttributes::read(&mut reader)?
                } else {
                    QueryAttributes::default()
                };
                Self::Query { text: reader.take_rest(), attributes }
            }
            command_byte::STMT_EXECUTE => Self::StatementExecute(Execute::read(&mut reader)?),
            command_byte::STMT_PREPARE => Self::StatementPrepare { text: reader.take_rest() },
            command_byte::STMT_CLOSE => Self::StatementClose { statement_id: reader.u32()? },
            command_byte::STMT_RESET => Self::StatementReset { statement_id: reader.u32()? },
            command_byte::STMT_FETCH => {
                Self::StatementFetch { statement_id: reader.u32()?, row_count: reader.u32()? }
            }
            command_byte::STMT_SEND_LONG_DATA => Self::StatementSendLongData {
                statement_id: reader.u32()?,
                parameter: reader.u16()?,
                data: reader.take_rest(),
            },
            command_byte::QUIT => Self::Quit,
            command_byte::PING => Self::Ping,
            command_byte::INIT_DB => Self::InitDatabase { name: reader.take_rest() },
            command_byte::FIELD_LIST => {
                Self::FieldList { table: reader.nul_or_end_terminated(), wildcard: reader.take_rest() }
            }
            command_byte::REFRESH => Self::Refresh { what: reader.u8()? },
            command_byte::STATISTICS => Self::Statistics,
            command_byte::PROCESS_INFO => Self::ProcessInfo,
            command_byte::PROCESS_KILL => Self::ProcessKill { connection_id: reader.u32()? },
            command_byte::DEBUG => Self::Debug,
            command_byte::CHANGE_USER => Self::ChangeUser(ChangeUser::read(&mut reader, capabilities)?),
            command_byte::RESET_CONNECTION => Self::ResetConnection,
            command_byte::SET_OPTION => Self::SetOption(match reader.u16()? {
                0 => MultiStatements::On,
                1 => MultiStatements::Off,
                _ => return Err(CommandError::Unknown(command_byte::SET_OPTION)),
            }),
            unknown => return Err(CommandError::Unknown(unknown)),
        };
        Ok(command)
    }
}

/// COM_STMT_EXECUTE.
#[derive(Clone, Copy, Debug)]
pub struct Execute<'a> {
    pub statement_id: u32,
    /// The client will ask for the rows by COM_STMT_FETCH, if the server opens a cursor.
    pub cursor: Cursor,
    body: ExecuteBody<'a>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cursor {
    None,
    ReadOnly,
}

const CURSOR_READ_ONLY: u8 = 1;
pub(crate) const PARAMETER_COUNT_AVAILABLE: u8 = 8;

impl<'a> Execute<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let statement_id = reader.u32()?;
        let flags = reader.u8()?;
        let _iteration_count = reader.u32()?;
        // FOR UPDATE and SCROLLABLE exist by name only: no MySQL server implements them.
        let cursor = if flags & CURSOR_READ_ONLY == 0 { Cursor::None } else { Cursor::ReadOnly };
        let count_sent = flags & PARAMETER_COUNT_AVAILABLE != 0;
        Ok(Self { statement_id, cursor, body: ExecuteBody { bytes: reader.take_rest(), count_sent } })
    }

    /// The values of the statement's `parameter_count` parameters.
    ///
    /// `types` are updated if the client sent new ones; `long_data` is what it sent ahead.
    #[inline]
    pub fn parameters<'statement>(
        &self,
        parameter_count: u16,
        types: &'statement mut ParameterTypes,
        long_data: &'a LongData,
        capabilities: Capabilities,
    ) -> Result<Parameters<'a, 'statement>, CommandError> {
        self.body.parameters(parameter_count, types, long_data, capabilities)
    }
}

impl<'a> ChangeUser<'a> {
    fn read(reader: &mut Reader<'a>, capabilities: Capabilities) -> Result<Self, Malformed> {
        let user = reader.nul_terminated()?;
        let auth_response = if capabilities.contains(Capabilities::SECURE_CONNECTION) {
            let size = reader.u8()?;
            reader.bytes(size.into())?
        } else {
            reader.nul_terminated()?
        };
        let database = reader.nul_or_end_terminated();
        let collation = if reader.is_empty() { None } else { Some(reader.u16()?) };
        let plugin = (capabilities.contains(Capabilities::PLUGIN_AUTH) && !reader.is_empty())
            .then(|| reader.nul_or_end_terminated());
        let attributes = ConnectAttributes::read(reader, capabilities)?;
        Ok(Self { user, auth_response, database, collation, plugin, attributes })
    }
}

#[cfg(test)]
mod tests;
