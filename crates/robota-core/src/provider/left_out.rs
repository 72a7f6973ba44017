//! What of a conversation a request could not carry: another wire, or another model, takes less.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parts of a conversation that were left out of a request, counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    /// Reasoning of another service or another model.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reasoning: u64,
    /// What only another service understands.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub foreign: u64,
    /// Pictures and documents that are not taken; words stand for them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub attachments: u64,
    /// Attachments whose bytes are gone; words stand for them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub missing: u64,
}

impl LeftOut {
    /// Whether nothing was.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether there is something in it that whoever knows of `told` does not know. That
    /// reasoning stays behind is news once: some services never take any back, and every answer
    /// has more of it.
    #[must_use]
    pub fn exceeds(&self, told: &Self) -> bool {
        self.reasoning > 0 && told.reasoning == 0
            || self.foreign > told.foreign
            || self.attachments > told.attachments
            || self.missing > told.missing
    }
}

impl std::ops::AddAssign for LeftOut {
    fn add_assign(&mut self, more: Self) {
        self.reasoning += more.reasoning;
        self.foreign += more.foreign;
        self.attachments += more.attachments;
        self.missing += more.missing;
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form serde asks for")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}
