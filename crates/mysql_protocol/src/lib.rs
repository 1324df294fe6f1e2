//! mysql_protocol: being built.
