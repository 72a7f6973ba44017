//! The `Compactor` port: makes a long conversation short.

use std::sync::Arc;

use crate::call::CallContext;
use crate::context::ContextEstimate;
use crate::error::ErrorData;
use crate::event::CompactionTrigger;
use crate::ids::MessageId;
use crate::message::Message;
use crate::provider::View;

/// What a compaction came to: a summary, and the first message kept word for word.
#[derive(Debug, Clone, PartialEq)]
pub struct Compaction {
    /// Takes the place of everything before `keep_from`. Its usage is what it cost to make.
    pub summary: Message,
    /// The first message that is kept; none keeps nothing.
    pub keep_from: Option<MessageId>,
}

/// What is to be summarised, and what for.
#[derive(Debug, Clone)]
pub struct CompactionRequest {
    /// The conversation.
    pub view: View,
    /// The system prompt of the session; it is no part of the summary.
    pub system: Option<Arc<str>>,
    /// Who wants it.
    pub trigger: CompactionTrigger,
    /// What the user wants kept, in their words.
    pub instructions: Option<String>,
    /// How full the window is.
    pub before: ContextEstimate,
}

/// Summarises a conversation.
#[async_trait::async_trait]
pub trait Compactor: Send + Sync {
    /// Summarises it.
    ///
    /// # Errors
    /// When no summary could be made; the conversation then stays as it was.
    async fn compact(
        &self,
        request: CompactionRequest,
        context: CallContext,
    ) -> Result<Compaction, ErrorData>;
}
