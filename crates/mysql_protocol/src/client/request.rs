//! The commands, as a client sends them.

use crate::auth;
use crate::command::{Cursor, MultiStatements, PARAMETER_COUNT_AVAILABLE, command_byte};
use crate::constants::Capabilities;
use crate::framing::{OpenPacket, PacketWriter};
use crate::handshake::ConnectAttributes;
use crate::parameters::{Argument, append_parameters};
use crate::result::RowFormat;
use crate::value::ParameterValue;

use super::{ClientConnection, PENDING_COUNT_MAX, Pending, Request, Stage};

/// Requests append to the output; none may be made before [`super::Event::Connected`].
impl ClientConnection {
    pub fn query(&mut self, text: &[u8]) {
        self.query_with_attributes(text, &[]);
    }

    /// Attributes are omitted if the server does not take any.
    pub fn query_with_attributes(&mut self, text: &[u8], attributes: &[(&[u8], ParameterValue<'_>)]) {
        let capabilities = self.capabilities;
        self.request(command_byte::QUERY, Some(Request::Statement(RowFormat::Text)), |packet| {
            if capabilities.contains(Capabilities::QUERY_ATTRIBUTES) {
                packet.lenenc_integer(attributes.len() as u64);
                packet.lenenc_integer(1);
                if !attributes.is_empty() {
                    let named = attributes.iter().map(|&(name, value)| (name, Argument::Value(value)));
                    append_parameters(packet.buffer(), named, capabilities);
                }
            }
            packet.bytes(text);
        });
    }

    pub fn prepare(&mut self, text: &[u8]) {
        self.request(command_byte::STMT_PREPARE, Some(Request::Prepare), |packet| packet.bytes(text));
    }

    /// Where a parameter's data was sent ahead, its value here does not matter.
    pub fn execute(&mut self, statement_id: u32, parameters: &[ParameterValue<'_>], cursor: Cursor) {
        let capabilities = self.capabilities;
        let counted = capabilities.contains(Capabilities::QUERY_ATTRIBUTES);
        let sent_ahead = std::mem::take(&mut self.sent_ahead);
        let cursor_flag = match cursor {
            Cursor::None => 0,
            Cursor::ReadOnly => 1,
        };
        self.request(command_byte::STMT_EXECUTE, Some(Request::Statement(RowFormat::Binary)), |packet| {
            packet.u32(statement_id);
            packet.u8(cursor_flag | if counted { PARAMETER_COUNT_AVAILABLE } else { 0 });
            packet.u32(1);
            if counted {
                packet.lenenc_integer(parameters.len() as u64);
            }
            if !parameters.is_empty() {
                let arguments = parameters.iter().zip(0..).map(|(&value, parameter)| {
                    let is_sent = sent_ahead.contains(&(statement_id, parameter));
                    (&[] as &[u8], if is_sent { Argument::SentAhead } else { Argument::Value(value) })
                });
                append_parameters(packet.buffer(), arguments, capabilities);
            }
        });
        self.sent_ahead = sent_ahead;
        self.forget_sent_ahead(statement_id);
    }

    /// Sends (a piece of) a parameter ahead of the execute.
    pub fn send_long_data(&mut self, statement_id: u32, parameter: u16, data: &[u8]) {
        if !self.sent_ahead.contains(&(statement_id, parameter)) {
            self.sent_ahead.push((statement_id, parameter));
        }
        self.request(command_byte::STMT_SEND_LONG_DATA, None, |packet| {
            packet.u32(statement_id);
            packet.u16(parameter);
            packet.bytes(data);
        });
    }

    /// The rows come by the definitions of the last result set received: don't execute others in between.
    pub fn fetch(&mut self, statement_id: u32, row_count: u32) {
        self.request(command_byte::STMT_FETCH, Some(Request::Fetch), |packet| {
            packet.u32(statement_id);
            packet.u32(row_count);
        });
    }

    pub fn reset_statement(&mut self, statement_id: u32) {
        self.forget_sent_ahead(statement_id);
        self.request(command_byte::STMT_RESET, Some(Request::Acknowledged), |packet| {
            packet.u32(statement_id)
        });
    }

    pub fn close_statement(&mut self, statement_id: u32) {
        self.forget_sent_ahead(statement_id);
        self.request(command_byte::STMT_CLOSE, None, |packet| packet.u32(statement_id));
    }

    pub fn init_database(&mut self, name: &[u8]) {
        self.request(command_byte::INIT_DB, Some(Request::Acknowledged), |packet| packet.bytes(name));
    }

    pub fn field_list(&mut self, table: &[u8], wildcard: &[u8]) {
        self.request(command_byte::FIELD_LIST, Some(Request::FieldList), |packet| {
            packet.nul_terminated(table);
            packet.bytes(wildcard);
        });
    }

    pub fn ping(&mut self) {
        self.request(command_byte::PING, Some(Request::Acknowledged), |_| {});
    }

    pub fn statistics(&mut self) {
        self.request(command_byte::STATISTICS, Some(Request::Statistics), |_| {});
    }

    pub fn process_info(&mut self) {
        self.request(command_byte::PROCESS_INFO, Some(Request::Statement(RowFormat::Text)), |_| {});
    }

    pub fn process_kill(&mut self, connection_id: u32) {
        let answer = Some(Request::Acknowledged);
        self.request(command_byte::PROCESS_KILL, answer, |packet| packet.u32(connection_id));
    }

    pub fn debug(&mut self) {
        self.request(command_byte::DEBUG, Some(Request::Acknowledged), |_| {});
    }

    pub fn set_multi_statements(&mut self, multi_statements: MultiStatements) {
        self.request(command_byte::SET_OPTION, Some(Request::Acknowledged), |packet| {
            packet.u16(match multi_statements {
                MultiStatements::On => 0,
                MultiStatements::Off => 1,
            });
        });
    }

    /// Statements are gone afterwards.
    pub fn reset_connection(&mut self) {
        self.sent_ahead.clear();
        self.request(command_byte::RESET_CONNECTION, Some(Request::Acknowledged), |_| {});
    }

    pub fn quit(&mut self) {
        self.request(command_byte::QUIT, None, |_| {});
    }

    /// Logs in anew; answered by [`super::Event::Connected`]. Every request before must have been answered.
    pub fn change_user(&mut self, user: &str, password: &str, database: Option<&str>) {
        stdx::require!(self.is_idle(), "change of user with requests unanswered");
        self.options.user = user.to_owned();
        self.options.password = password.as_bytes().to_vec();
        self.options.database = database.map(str::to_owned);
        let auth_response = auth::scramble(self.plugin, &self.options.password, &self.nonce);
        let (plugin, collation) = (self.plugin.name(), self.options.collation);
        let capabilities = self.capabilities;
        let mut attributes = Vec::new();
        for (name, value) in &self.options.attributes {
            ConnectAttributes::append(&mut attributes, name.as_bytes(), value.as_bytes());
        }
        self.request(command_byte::CHANGE_USER, None, |packet| {
            packet.nul_terminated(user.as_bytes());
            packet.lenenc_bytes(&auth_response);
            packet.nul_terminated(database.unwrap_or_default().as_bytes());
            packet.u16(collation.into());
            if capabilities.contains(Capabilities::PLUGIN_AUTH) {
                packet.nul_terminated(plugin.as_bytes());
            }
            if capabilities.contains(Capabilities::CONNECT_ATTRS) {
                packet.lenenc_bytes(&attributes);
            }
        });
        self.sent_ahead.clear();
        self.stage = Stage::Authenticating;
    }

    fn forget_sent_ahead(&mut self, statement_id: u32) {
        self.sent_ahead.retain(|&(statement, _)| statement != statement_id);
    }

    fn request(&mut self, command: u8, answer: Option<Request>, body: impl FnOnce(&mut OpenPacket<'_>)) {
        stdx::require!(
            !matches!(self.stage, Stage::Greeting | Stage::Authenticating),
            "request in {:?}",
            self.stage
        );
        stdx::require!(self.pending.len() < PENDING_COUNT_MAX, "too many requests unanswered");
        let mut writer = PacketWriter::new(&mut self.output, 0);
        let mut packet = writer.open();
        packet.u8(command);
        body(&mut packet);
        packet.finish();
        let answer_sequence = writer.sequence();
        if self.pending.is_empty() && self.stage == Stage::FirstPacket {
            self.sequence = answer_sequence;
        }
        self.pending.extend(answer.map(|request| Pending { request, answer_sequence }));
    }
}
