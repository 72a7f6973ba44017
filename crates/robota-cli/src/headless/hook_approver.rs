//! Lets hooks of the host decide about calls that need approval (`PermissionRequest`), if nothing else
//! does.

use std::sync::Arc;

use robota_core::approve::{Answer, Approver, Question};
use robota_core::hook::{HookData, HookRunner};

/// The hooks of a host that answers no questions itself.
pub(crate) struct HookApprover(pub(crate) Arc<HookRunner>);

#[async_trait::async_trait]
impl Approver for HookApprover {
    async fn asks_user(&self, _question: &Question) -> bool {
        // Only the hooks decide, and they do so here.
        false
    }

    async fn ask(&self, question: Question) -> Answer {
        let report = self.0.run_event(HookData::permission_request(&question.call)).await;
        report.approval().unwrap_or_else(|| Answer::Unanswered {
            reason: "it needs approval, and no hook of the host allowed it".to_owned(),
        })
    }
}
