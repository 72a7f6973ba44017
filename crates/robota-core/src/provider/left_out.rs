//! What a request omits of a conversation, because another wire or another model accepts less.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Numbers of parts of a conversation that a request omits, by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    /// Reasoning of another service or another model; absent if 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reasoning: u64,
    /// Blocks that only another service understands; absent if 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub foreign: u64,
    /// Images and documents that the model does not accept; a note replaces each. Absent if 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub attachments: u64,
    /// Attachments whose content is no longer stored; a note replaces each. Absent if 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub missing: u64,
}

impl LeftOut {
    /// Returns true if nothing is omitted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns true if this contains something that `reported` does not. Reasoning is reported only
    /// once: some services never accept it back, and every answer adds to its count.
    #[must_use]
    pub fn exceeds(&self, reported: &Self) -> bool {
        self.reasoning > 0 && reported.reasoning == 0
            || self.foreign > reported.foreign
            || self.attachments > reported.attachments
            || self.missing > reported.missing
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
