//! Lets hooks of the host decide about calls that need approval (`PermissionRequest`).

use std::sync::Arc;

use robota_core::approve::{Answer, Approver, Question};
use robota_core::hook::{HookAnswer, HookInput, HookRunner, Hooks as _, PreToolDecision};
use robota_core::permission::Verdict;

/// The hooks of the host that decide about calls that need approval.
pub(crate) struct HookApprover(pub(crate) Arc<HookRunner>);

impl HookApprover {
    /// Returns what the hooks decide; none if they leave it to others.
    pub(crate) async fn decide(&self, question: &Question) -> Option<Answer> {
        let tool_use = question.call.clone();
        let reply = self.0.run(HookInput::PreToolUse { tool_use, verdict: Verdict::Ask }).await;
        match reply.answer {
            HookAnswer::PreToolUse(PreToolDecision::Allow { reason }) => {
                Some(Answer::Allow { note: reason })
            }
            // The gate judges the other arguments.
            HookAnswer::PreToolUse(PreToolDecision::Change { input, .. }) => {
                Some(Answer::AllowChanged { input, note: None })
            }
            HookAnswer::PreToolUse(PreToolDecision::Deny { reason }) => {
                Some(Answer::Deny { note: Some(reason) })
            }
            HookAnswer::PreToolUse(
                PreToolDecision::Continue
                | PreToolDecision::Ask(_)
                | PreToolDecision::Answer { .. },
            ) => None,
            _ => Some(Answer::Unanswered { reason: "a hook answered something else".to_owned() }),
        }
    }
}

#[async_trait::async_trait]
impl Approver for HookApprover {
    async fn ask(&self, question: Question) -> Answer {
        let decided = self.decide(&question).await;
        decided.unwrap_or_else(|| Answer::Unanswered {
            reason: "it needs approval, and no hook of the host allowed it".to_owned(),
        })
    }
}
