//! Hooks before and after a compaction: a compactor that wraps another one.

use std::sync::Arc;

use robota_core::call::CallContext;
use robota_core::compact::{Compaction, CompactionRequest, Compactor};
use robota_core::error::{ErrorData, ErrorKind};
use robota_core::hook::{EventDecision, HookData, HookEvent, Hooks as _};

use crate::hooks::HookChain;

/// A compactor that runs the hooks of a session around its work.
pub(crate) struct HookedCompactor {
    pub(crate) inner: Arc<dyn Compactor>,
    pub(crate) hooks: Arc<HookChain>,
}

#[async_trait::async_trait]
impl Compactor for HookedCompactor {
    async fn compact(
        &self,
        mut request: CompactionRequest,
        context: CallContext,
    ) -> Result<Compaction, ErrorData> {
        let trigger = request.trigger;
        if self.hooks.has_event(HookEvent::PreCompact) {
            let custom_instructions = request.instructions.clone().unwrap_or_default();
            let data = HookData::PreCompact { trigger, custom_instructions };
            match self.hooks.run_event(data).await.decision {
                EventDecision::Continue { context: None } => {}
                EventDecision::Continue { context: Some(text) } => {
                    request.instructions = Some(match request.instructions.take() {
                        Some(instructions) => format!("{instructions}\n{text}"),
                        None => text,
                    });
                }
                EventDecision::Block { reason } => {
                    let text = format!("Blocked by hook: {reason}");
                    return Err(ErrorData::new(ErrorKind::Validation, text));
                }
            }
        }
        let compaction = self.inner.compact(request, context).await?;
        if self.hooks.has_event(HookEvent::PostCompact) {
            let compact_summary = compaction.summary.text();
            self.hooks.run_event(HookData::PostCompact { trigger, compact_summary }).await;
        }
        Ok(compaction)
    }
}
