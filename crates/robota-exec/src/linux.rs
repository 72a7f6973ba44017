//! What only Linux has: a child subreaper, process descriptors, `/proc`.

pub(crate) mod client;
mod nanny;
pub(crate) mod nannied;
pub(crate) mod server;
pub(crate) mod table;
pub(crate) mod tree;
pub(crate) mod wire;
