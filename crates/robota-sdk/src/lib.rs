//! The composition root: `InteractiveSession`, commands, memory, checkpoints, plugins, hook
//! executors and `query`.
//!
//! Every client (terminal, editor, server, script) will use an `InteractiveSession`; this
//! crate wires the parts below together and depends on no provider.
//!
//! Until `InteractiveSession` exists, composition is one file of `robota-cli`.

pub mod hooks;
pub mod import;
pub mod memory;
pub mod self_hosting;
