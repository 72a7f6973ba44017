//! Lets hooks of the host decide about calls that need approval (`PermissionRequest`), if nothing else
//! does.

use std::sync::Arc;

use robota_core::approve::{Answer, Approver, Question};
use robota_core::hook::{HookData, HookRunner};

use super::decisions::Decisions;

/// The hooks of a host that answers no questions itself.
pub(crate) struct HookApprover {
    pub(crate) hooks: Arc<HookRunner>,
    pub(crate) decisions: Arc<Decisions>,
}

#[async_trait::async_trait]
impl Approver for HookApprover {
    async fn asks_user(&self, _question: &Question) -> bool {
        // Only the hooks decide, and they do so here.
        false
    }

    async fn ask(&self, question: Question) -> Answer {
        if let Some(answer) = self.decisions.unasked(&question) {
            return answer;
        }
        let report = self.hooks.run_event(HookData::permission_request(&question)).await;
        match report.approval(&question) {
            Some(answer) => answer.by_hook(),
            None => Answer::Unanswered {
                reason: "it needs approval, and no hook of the host allowed it".to_owned(),
            },
        }
    }
}
