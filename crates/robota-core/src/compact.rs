//! The `Compactor` port: makes a long conversation short.

use crate::error::ErrorData;
use crate::ids::MessageId;
use crate::message::Message;
use crate::provider::View;

/// What a compaction came to: a summary, and the first message kept word for word.
#[derive(Debug, Clone, PartialEq)]
pub struct Compaction {
    /// Takes the place of everything before `keep_from`.
    pub summary: Message,
    /// The first message that is kept; none keeps nothing.
    pub keep_from: Option<MessageId>,
}

/// Summarises a conversation.
#[async_trait::async_trait]
pub trait Compactor: Send + Sync {
    /// Summarises it.
    ///
    /// # Errors
    /// When no summary could be made; the conversation then stays as it was.
    async fn compact(&self, view: View) -> Result<Compaction, ErrorData>;
}
