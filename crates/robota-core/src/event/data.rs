//! The data of the events: one struct per event type, in files by group.

mod files;
mod model;
mod session;
mod snapshot;
mod task;
mod tool;

pub use files::*;
pub use model::*;
pub use session::*;
pub use snapshot::*;
pub use task::*;
pub use tool::*;
