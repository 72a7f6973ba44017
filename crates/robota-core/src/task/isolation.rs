//! In which folder an agent works.

use serde::{Deserialize, Serialize};

/// Says in which folder an agent works: its definition, the model that starts it, or the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// In the folder of its parent, with the user's own changes.
    #[default]
    None,
    /// In a git worktree of its own, so that its changes do not meet those of its parent.
    Worktree,
}
