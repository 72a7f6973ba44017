//! The data of the events: one struct per event type, in files by group.

mod files;
mod model;
mod room;
mod schedule;
mod session;
mod snapshot;
mod task;
mod tool;

pub use files::*;
pub use model::*;
pub use room::*;
pub use schedule::*;
pub use session::*;
pub use snapshot::*;
pub use task::*;
pub use tool::*;
