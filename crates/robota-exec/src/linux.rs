//! What only Linux has: a child subreaper, process descriptors, `/proc`.

pub(crate) mod client;
pub(crate) mod nannied;
mod nanny;
pub(crate) mod server;
pub(crate) mod table;
pub(crate) mod tree;
pub(crate) mod wire;
