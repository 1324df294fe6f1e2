//! Rows of ndbinfo about config.ini: what may stand there, and what holds for this node.
//!
//! A parameter's number is its place in the table of all of them. NDB's numbers are its own.

use super::Configuration;
use crate::config::{Effect, Kind, PARAMETERS, Parameter};
use protocol::NodeRole;
use types::{NodeId, Value};

/// Number, name, description, type, default, least, most, whether it must be set, and whether it does anything.
pub(super) fn parameter_rows() -> Vec<Vec<Value>> {
    let row = |(number, parameter): (usize, &Parameter)| {
        let (kind, least, most) = match parameter.kind {
            Kind::Text | Kind::SpinMethod | Kind::OneOf(_) => ("string", None, None),
            Kind::Flag => ("bool", Some(0), Some(1)),
            Kind::Port => ("unsigned", Some(1), Some(u64::from(u16::MAX))),
            Kind::Count(least, most)
            | Kind::Size(least, most)
            | Kind::Milliseconds(least, most)
            | Kind::Microseconds(least, most) => ("unsigned", Some(least), Some(most)),
        };
        let bound =
            |bound: Option<u64>| Value::text(&bound.map_or_else(String::new, |bound| bound.to_string()));
        let status = match parameter.effect {
            Effect::Used => String::new(),
            Effect::None(why) => format!("no effect: {why}"),
        };
        vec![
            Value::UInt(number as u64),
            Value::text(parameter.name),
            Value::text(parameter.description),
            Value::text(kind),
            Value::text(parameter.default),
            bound(least),
            bound(most),
            Value::UInt(u64::from(parameter.name == "HostName")),
            Value::text(&status),
        ]
    };
    PARAMETERS.iter().enumerate().map(row).collect()
}

/// Node, number and value; the name.
pub(super) fn value_rows(node: NodeId, configuration: &Configuration) -> Vec<Vec<Value>> {
    let row = |(name, value): &(&'static str, String)| {
        let number = PARAMETERS.iter().position(|parameter| parameter.name == *name)?;
        let numbers = [u64::from(node.0), number as u64].map(Value::UInt);
        Some(numbers.into_iter().chain([Value::text(value), Value::text(name)]).collect())
    };
    configuration.values.iter().filter_map(row).collect()
}

/// Node, type, host.
pub(super) fn node_rows(configuration: &Configuration) -> Vec<Vec<Value>> {
    let rows = configuration.nodes.iter().map(|node| {
        let role = match node.role {
            NodeRole::Data => "NDB",
            NodeRole::Management => "MGM",
            NodeRole::Sql => "API",
        };
        vec![Value::UInt(node.node.0.into()), Value::text(role), Value::text(&node.host)]
    });
    rows.collect()
}
