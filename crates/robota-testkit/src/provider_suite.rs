//! The conformance tests of providers, for every wire, against the [mock server](crate::mock).
//!
//! A provider's crate supplies a function that builds a provider, and gets one test per wire and
//! case:
//!
//! ```ignore
//! fn provider(setup: WireSetup) -> Arc<dyn Provider> { todo!() }
//!
//! robota_testkit::provider_suite!(provider);
//! ```
//!
//! [`Feature::support`] lists what a wire cannot do, with the reason. The cases query it and check
//! what happens instead; nothing is skipped silently. [`table`] prints the list.

pub mod cases;
mod fixture;
mod sent;

use std::sync::Arc;

use robota_core::blob::Blobs;
use robota_core::provider::Provider;

pub use fixture::{Fixture, FrozenTime, MODEL, ProviderAnswer, SuiteBlobs, within_a_minute};

use crate::mock::Wire;

/// What the provider under test is built from.
#[derive(Clone)]
pub struct WireSetup {
    /// The wire that the provider must use.
    pub wire: Wire,
    /// The scheme, host and port of the service.
    pub origin: String,
    /// The base URL in the form that users of the wire's vendor write.
    pub base_url: String,
    /// The only key that the mock server accepts.
    pub api_key: String,
    /// The model that the cases ask for.
    pub model: String,
    /// The store of attachments.
    pub blobs: Arc<dyn Blobs>,
    /// Whether the service's models write tool calls and reasoning into their text.
    pub text_calls: bool,
}

/// Builds the provider under test, a new one for each case.
pub type BuildProvider = fn(WireSetup) -> Arc<dyn Provider>;

/// One wire of the provider under test.
#[derive(Clone, Copy)]
pub struct Suite {
    /// The wire that all cases of this suite use.
    pub wire: Wire,
    /// The function of the crate under test.
    pub build: BuildProvider,
}

/// A feature in which wires differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feature {
    /// Reasoning has a signature that must be sent back.
    SignedThinking,
    /// Results can report that a tool failed.
    ToolErrors,
    /// Results can contain images, in the result itself.
    ResultImages,
    /// Stopping at a stop sequence is reported as such.
    StopSequence,
    /// A refusal of the model is reported as such.
    Refusal,
    /// An answer that a filter removed is reported as such.
    Filter,
    /// A pause is reported as such.
    Pause,
    /// An unknown stop reason is reported as such.
    OtherStop,
    /// Usage includes the tokens written to a cache.
    CacheWrites,
    /// Usage includes the tokens read from a cache.
    CacheReads,
    /// Usage includes the tokens of reasoning.
    ReasoningTokens,
    /// Arguments are streamed in pieces while the model writes them.
    StreamedArguments,
    /// Responses have a request id for the service's support.
    RequestId,
    /// The `retry-after` header gives the delay before a retry.
    RetryAfterHeader,
    /// Calls always have ids that the service made.
    CallIds,
    /// The service can search the web itself.
    WebSearch,
    /// The answer has a terminal event before the end of the body.
    TerminalEvent,
}

impl Feature {
    /// Every feature, in the order of the table.
    pub const ALL: [Self; 17] = [
        Self::SignedThinking,
        Self::ToolErrors,
        Self::ResultImages,
        Self::StopSequence,
        Self::Refusal,
        Self::Filter,
        Self::Pause,
        Self::OtherStop,
        Self::CacheWrites,
        Self::CacheReads,
        Self::ReasoningTokens,
        Self::StreamedArguments,
        Self::RequestId,
        Self::RetryAfterHeader,
        Self::CallIds,
        Self::WebSearch,
        Self::TerminalEvent,
    ];

    /// Returns whether a wire has the feature.
    ///
    /// # Errors
    /// The reason why the wire does not have the feature.
    pub fn support(self, wire: Wire) -> Result<(), &'static str> {
        use Wire::{Anthropic, Gemini, OpenaiChat, OpenaiResponses};
        match (self, wire) {
            (Self::SignedThinking, OpenaiChat) => Err("reasoning has no signature"),
            (Self::ToolErrors, OpenaiChat | OpenaiResponses) => Err("a result is text only"),
            (Self::ResultImages, OpenaiChat) => Err("an image follows in a user message"),
            (Self::ResultImages, Gemini) => Err("an image follows as a separate part"),
            (Self::StopSequence, OpenaiChat) => Err("reported as the end of the answer"),
            (Self::StopSequence, OpenaiResponses) => Err("there are no stop sequences"),
            (Self::StopSequence, Gemini) => Err("reported as the end of the answer"),
            (Self::Pause, OpenaiChat | OpenaiResponses | Gemini) => Err("answers never pause"),
            (Self::CacheWrites, OpenaiChat | Gemini) => {
                Err("caching is automatic and not reported")
            }
            (Self::StreamedArguments, Gemini) => Err("arguments are never split"),
            (Self::RequestId, Gemini) => Err("no header is known for it"),
            (Self::RetryAfterHeader, Gemini) => Err("the delay is in the error's details"),
            (Self::CallIds, Gemini) => Err("older models send none"),
            (Self::TerminalEvent, Gemini) => Err("the answer ends with the body"),
            (Self::WebSearch, OpenaiChat) => Err("only search models can search"),
            (Self::Filter, Anthropic) => Err("reported as a refusal"),
            (Self::Refusal, OpenaiChat | OpenaiResponses | Gemini) => {
                Err("the answer refuses in its own words; a filter is reported")
            }
            (_, Anthropic) => Ok(()),
            // Listed one by one, so that a new feature must be decided for these wires.
            (
                Self::SignedThinking
                | Self::ToolErrors
                | Self::ResultImages
                | Self::Filter
                | Self::OtherStop
                | Self::CacheWrites
                | Self::CacheReads
                | Self::ReasoningTokens
                | Self::StreamedArguments
                | Self::RequestId
                | Self::RetryAfterHeader
                | Self::CallIds
                | Self::WebSearch
                | Self::TerminalEvent,
                OpenaiChat | OpenaiResponses | Gemini,
            ) => Ok(()),
        }
    }

    /// Returns whether a wire has the feature.
    #[must_use]
    pub fn on(self, wire: Wire) -> bool {
        self.support(wire).is_ok()
    }
}

/// Returns a table of what each wire can and cannot do.
#[must_use]
pub fn table() -> String {
    let mut table = String::from("| |");
    for wire in Wire::ALL {
        table.push_str(&format!(" {wire} |"));
    }
    table.push_str("\n|---|---|---|---|---|\n");
    for feature in Feature::ALL {
        table.push_str(&format!("| {feature:?} |"));
        for wire in Wire::ALL {
            table.push_str(&match feature.support(wire) {
                Ok(()) => " yes |".to_owned(),
                Err(why) => format!(" no: {why} |"),
            });
        }
        table.push('\n');
    }
    table
}

/// Defines one test per case and wire for the provider that a function builds.
#[macro_export]
macro_rules! provider_suite {
    ($make:ident) => {
        $crate::provider_suite!($make, anthropic = Anthropic);
        $crate::provider_suite!($make, openai_chat = OpenaiChat);
        $crate::provider_suite!($make, openai_responses = OpenaiResponses);
        $crate::provider_suite!($make, gemini = Gemini);
    };
    ($make:ident, $module:ident = $wire:ident) => {
        mod $module {
            $crate::for_each_provider_case!(provider_case, $make, $wire);
        }
    };
}

/// Defines one test of the provider suite.
#[doc(hidden)]
#[macro_export]
macro_rules! provider_case {
    ($make:ident, $wire:ident, $area:ident, $case:ident) => {
        #[tokio::test]
        async fn $case() {
            let wire = $crate::mock::Wire::$wire;
            let suite = $crate::provider_suite::Suite { wire, build: super::$make };
            // Boxed, because the futures of some cases are large.
            let case = Box::pin($crate::provider_suite::cases::$area::$case(suite));
            $crate::provider_suite::within_a_minute(case).await;
        }
    };
}

/// Adds one row to the list of cases.
#[doc(hidden)]
#[macro_export]
macro_rules! provider_case_row {
    ($all:ident, $wire:ident, $area:ident, $case:ident) => {
        $all.push((stringify!($case), |suite| {
            Box::pin($crate::provider_suite::cases::$area::$case(suite))
        }));
    };
}
