//! The provider contract (CORE-04): one trait, which always streams.
//!
//! A stream is an ordered sequence of [`Delta`]s that ends with exactly one [`Delta::End`] or
//! with an error. A stream that ends without either is truncated and counts as failed. A tool call
//! arrives complete, as one [`Delta::Block`], with arguments that are JSON or marked as unparsed.

mod ask;
mod capabilities;
mod config;
mod error;
mod left_out;
mod payload;
mod rate_limit;
mod request;
mod retry;
mod stop;
mod thinking;

use std::pin::Pin;

use futures::Stream;
use serde::{Deserialize, Serialize};

pub use ask::{AskLimits, ask};
pub use capabilities::{Capabilities, NativeWeb, NativeWebTool, WebSupport, check_native_web};
pub use config::ProviderConfig;
pub use error::{FailureReason, ProviderError};
pub use left_out::LeftOut;
pub use payload::{NativePayload, PayloadKind, PayloadSink};
pub use rate_limit::{RateLimit, RateLimits};
pub use request::{ModelRequest, OutputSchema, ToolChoice, View};
pub use retry::RetryPolicy;
pub use stop::{AnswerEnd, StopReason};
pub use thinking::Thinking;

use crate::call::CallContext;
use crate::ids::RandomIds;
use crate::message::{Block, Message};
use crate::usage::Usage;

/// Sends requests to a model service and streams its answers.
///
/// ```
/// use robota_core::provider::Provider;
///
/// fn describe(provider: &dyn Provider) -> String {
///     let calls = provider.capabilities().function_calling;
///     format!("{} ({} tools)", provider.name(), if calls { "with" } else { "without" })
/// }
/// # let _ = describe;
/// ```
#[async_trait::async_trait]
pub trait Provider: Send + Sync {
    /// Returns the name for events and errors. Code must not base decisions on it.
    fn name(&self) -> &str;

    /// Returns the provider that this one wraps. The default methods ask it; a wrapper then
    /// implements only what it changes.
    fn inner(&self) -> Option<&dyn Provider> {
        None
    }

    /// Returns what the service can do.
    fn capabilities(&self) -> Capabilities {
        self.inner().map(Provider::capabilities).unwrap_or_default()
    }

    /// Enables or disables native web tools for this instance.
    ///
    /// # Errors
    /// When the service does not have a requested tool.
    fn configure_native_web(&self, web: NativeWeb) -> Result<(), ProviderError> {
        match self.inner() {
            Some(inner) => inner.configure_native_web(web),
            None => check_native_web(&self.capabilities(), web),
        }
    }

    /// Asks the service for the limits of a model; `None` if it does not report them.
    async fn limits(&self, model: &str) -> Option<ModelLimits> {
        match self.inner() {
            Some(inner) => inner.limits(model).await,
            None => None,
        }
    }

    /// Counts the tokens of a request without running it; `None` if the service has no such call.
    ///
    /// # Errors
    /// When the service rejects the request or cannot be reached.
    async fn count_tokens(&self, request: &ModelRequest) -> Result<Option<u64>, ProviderError> {
        match self.inner() {
            Some(inner) => inner.count_tokens(request).await,
            None => Ok(None),
        }
    }

    /// Returns the rate limits that the last response described; `None` if none did.
    fn rate_limits(&self) -> Option<RateLimits> {
        self.inner().and_then(Provider::rate_limits)
    }

    /// Calls the model. The future resolves when the service begins to answer. Dropping the stream
    /// ends the call.
    async fn stream(
        &self,
        request: ModelRequest,
        context: CallContext,
    ) -> Result<DeltaStream, ProviderError>;

    /// Calls the model once and waits for the whole answer of [`Provider::stream`]. [`ask`] also
    /// retries and limits the time.
    ///
    /// # Errors
    /// When the call fails, or its stream ends without a terminal record.
    async fn chat(
        &self,
        request: ModelRequest,
        context: CallContext,
    ) -> Result<(Message, StopReason), ProviderError> {
        let meter = context.meter.begin(&request.model);
        let stream = self.stream(request, context).await?;
        ask::collect(stream, None, &meter, &RandomIds).await
    }
}

/// Says how long the input and output of a model may be, as its service reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ModelLimits {
    /// The context window in tokens, prompt and answer together; `None` if the service does not report it.
    pub context_window: Option<u64>,
    /// The maximum number of tokens of one answer; `None` if the service does not report it.
    pub max_output: Option<u64>,
}

/// The stream in which a provider returns an answer.
pub type DeltaStream = Pin<Box<dyn Stream<Item = Result<Delta, ProviderError>> + Send>>;

/// One piece of an answer that a provider streams.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Delta {
    /// A piece of the answer's text.
    Text(String),
    /// A piece of the model's reasoning.
    Thinking(String),
    /// A piece of a tool call's arguments, for display only: the complete call follows as a block.
    ToolInput {
        /// The position of the call in the answer, from 0.
        index: u32,
        /// The provider's id of the call; `None` if this piece does not include it, or if the
        /// provider has no ids.
        id: Option<String>,
        /// The tool's name; `None` if this piece does not include it.
        name: Option<String>,
        /// A piece of the JSON text.
        json: String,
    },
    /// A complete block. It comes after the text and reasoning streamed before it. A thinking block
    /// replaces the streamed reasoning. The `call` of a tool use is ignored: the turn creates the
    /// id.
    Block(Block),
    /// The tokens of the call so far. The last one counts.
    Usage(Usage),
    /// Everything that the request omits of the conversation; sent only if it omits something.
    LeftOut(LeftOut),
    /// Bytes without content arrived, for instance a keep-alive. It restarts the idle timer.
    Activity,
    /// The answer is complete, and the model stopped for this reason.
    End(StopReason),
}
