//! Code that needs Linux: a child subreaper, process descriptors, `/proc`.

pub(crate) mod client;
mod monitor;
pub(crate) mod monitored_group;
pub(crate) mod proc_table;
pub(crate) mod server;
pub(crate) mod tree;
pub(crate) mod wire;
