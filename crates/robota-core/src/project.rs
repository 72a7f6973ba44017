//! Projections: the events in other words, for those who ask in other words. Each is a fold
//! over the journal, made at the edge; none is stored.

mod history;
mod replay;
mod text;

pub use history::{History, history};
pub use replay::{ReplayEvent, ReplayProjection};
pub use text::{StreamText, TextUpdate};
