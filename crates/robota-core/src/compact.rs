//! The `Compactor` port: shortens a long conversation.

use std::sync::Arc;

use crate::call::CallContext;
use crate::context::ContextEstimate;
use crate::error::ErrorData;
use crate::event::CompactionTrigger;
use crate::ids::MessageId;
use crate::message::Message;
use crate::provider::View;

/// A compactor returns this: a summary, and the first message that is kept verbatim.
#[derive(Debug, Clone, PartialEq)]
pub struct Compaction {
    /// Replaces everything before `keep_from`. Its usage is the tokens of the call that made it.
    pub summary: Message,
    /// The first message that is kept; `None` keeps none.
    pub keep_from: Option<MessageId>,
}

/// Passes to a compactor the conversation that it summarises, and why it does so.
#[derive(Debug, Clone)]
pub struct CompactionRequest {
    /// The messages that the model sees, oldest first. A summary may replace any part of their
    /// beginning.
    pub view: View,
    /// The system prompt of the session; it is not part of the summary.
    pub system: Option<Arc<str>>,
    /// Whether the user asked for the summary, or the window was nearly full.
    pub trigger: CompactionTrigger,
    /// What the user wants the summary to contain.
    pub instructions: Option<String>,
    /// The estimate of the context window before the compaction.
    pub before: ContextEstimate,
}

/// Replaces the beginning of a long conversation by a summary.
#[async_trait::async_trait]
pub trait Compactor: Send + Sync {
    /// Summarises it.
    ///
    /// # Errors
    /// When no summary could be made; the conversation is then unchanged.
    async fn compact(
        &self,
        request: CompactionRequest,
        context: CallContext,
    ) -> Result<Compaction, ErrorData>;
}
