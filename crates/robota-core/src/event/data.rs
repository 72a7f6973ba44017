//! What the events say, one struct each, in files by group.

mod model;
mod session;
mod snapshot;
mod tool;

pub use model::*;
pub use session::*;
pub use snapshot::*;
pub use tool::*;
