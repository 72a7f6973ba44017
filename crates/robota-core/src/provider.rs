//! The provider contract (CORE-04): one trait, streaming first.
//!
//! A stream is an ordered sequence of [`Delta`]s that ends with exactly one [`Delta::End`] or
//! with an error. A stream that just stops is truncated, never a success. A tool call arrives
//! whole, as one [`Delta::Block`], with arguments that are JSON or declared unreadable.

mod ask;
mod capabilities;
mod config;
mod error;
mod left_out;
mod payload;
mod request;
mod retry;

use std::pin::Pin;

use futures::Stream;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use ask::{AskLimits, ask};
pub use capabilities::{Capabilities, NativeWeb, NativeWebTool, WebSupport, check_native_web};
pub use config::ProviderConfig;
pub use error::{FailureReason, ProviderError};
pub use left_out::LeftOut;
pub use payload::{NativePayload, PayloadKind, PayloadSink};
pub use request::{ModelRequest, View};
pub use retry::RetryPolicy;

use crate::call::CallContext;
use crate::message::Block;
use crate::usage::Usage;

/// A model's service.
#[async_trait::async_trait]
pub trait Provider: Send + Sync {
    /// What it calls itself in events and errors. Nobody may decide anything by it.
    fn name(&self) -> &str;

    /// What it can do.
    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }

    /// Switches native web tools on or off for this instance, where there are any.
    ///
    /// # Errors
    /// When it has none of those asked for.
    fn configure_native_web(&self, web: NativeWeb) -> Result<(), ProviderError> {
        check_native_web(&self.capabilities(), web)
    }

    /// Calls the model. The future resolves when the service has begun to answer; dropping the
    /// stream ends the call.
    async fn stream(
        &self,
        request: ModelRequest,
        context: CallContext,
    ) -> Result<DeltaStream, ProviderError>;
}

/// What a provider streams.
pub type DeltaStream = Pin<Box<dyn Stream<Item = Result<Delta, ProviderError>> + Send>>;

/// One piece of an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Delta {
    /// Words.
    Text(String),
    /// Reasoning.
    Thinking(String),
    /// A piece of a tool call's arguments, for watchers: the call follows whole.
    ToolInput {
        /// Which call of the answer, from zero.
        index: u32,
        /// The tool, once known.
        name: Option<String>,
        /// A piece of JSON.
        json: String,
    },
    /// A finished block. Words and reasoning streamed before it belong before it; a thinking
    /// block replaces the reasoning that streamed. The `call` of a tool use is ignored: the
    /// turn mints it.
    Block(Block),
    /// What the call cost so far. The last one counts.
    Usage(Usage),
    /// What of the conversation this request could not carry, all of it, whenever there is any.
    LeftOut(LeftOut),
    /// Bytes arrived that say nothing: the idle timer is re-armed.
    Activity,
    /// The answer is complete.
    End(StopReason),
}

/// Why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It is done.
    EndTurn,
    /// It waits for tools.
    ToolUse,
    /// It ran out of room for its answer.
    MaxTokens,
    /// It met a stop sequence.
    StopSequence,
    /// It would not answer.
    Refusal,
    /// The service paused a long turn; calling again goes on.
    Pause,
    /// Anything else, in the provider's word.
    Other(String),
}
