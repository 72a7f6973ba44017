//! Projections: other representations of the events. Each is a fold over the journal that is
//! computed on request; none is stored.

mod answer;
mod checkpoints;
mod history;
mod model_calls;
mod replay;
mod text;

pub use answer::AnswerText;
pub use checkpoints::{ChangeKind, Checkpoint, CheckpointKind, CheckpointLog, TouchedFile};
pub use history::{History, history};
pub use model_calls::{ModelCallUsage, ModelCalls};
pub use replay::{ReplayEvent, ReplayProjection};
pub use text::{StreamText, TextUpdate};
