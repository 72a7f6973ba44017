//! What every provider must do, on every wire, run against the [mock](crate::mock).
//!
//! A provider's crate names how one is built and gets one test per wire and case:
//!
//! ```ignore
//! fn provider(setup: WireSetup) -> Arc<dyn Provider> { … }
//!
//! robota_testkit::provider_suite!(provider);
//! ```
//!
//! What a wire cannot do is in [`Feature::support`], with the reason. A case asks there and
//! checks what happens instead; nothing is skipped in silence, and [`table`] prints it.

mod bench;
pub mod cases;
mod sent;

use std::sync::Arc;

use robota_core::blob::Blobs;
use robota_core::provider::Provider;

pub use bench::{Answered, Bench, Frozen, MODEL, SuiteBlobs, within_a_minute};

use crate::mock::Wire;

/// What a provider is built from.
#[derive(Clone)]
pub struct WireSetup {
    /// The wire it speaks.
    pub wire: Wire,
    /// Scheme, host and port of the service.
    pub origin: String,
    /// The base address as users of the wire's vendor write it.
    pub base_url: String,
    /// The key to send.
    pub api_key: String,
    /// The model that will be asked.
    pub model: String,
    /// Where pictures are.
    pub blobs: Arc<dyn Blobs>,
    /// Whether the service is one whose models write tool calls and reasoning into their text.
    pub text_calls: bool,
}

/// Builds the provider under test.
pub type Make = fn(WireSetup) -> Arc<dyn Provider>;

/// One wire of one provider.
#[derive(Clone, Copy)]
pub struct Suite {
    /// The wire.
    pub wire: Wire,
    /// How a provider is built.
    pub make: Make,
}

/// What wires differ in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feature {
    /// Reasoning is proven by a signature that must go back.
    SignedThinking,
    /// Results say that a tool failed.
    ToolErrors,
    /// Results carry pictures.
    ResultImages,
    /// Stopping at a stop sequence is told apart.
    StopSequence,
    /// Refusing is told apart.
    Refusal,
    /// A pause is told.
    Pause,
    /// An unknown reason to stop is told.
    OtherStop,
    /// Tokens written to a cache are counted.
    CacheWrites,
    /// Tokens read from a cache are counted.
    CacheReads,
    /// Tokens of reasoning are counted.
    ReasoningTokens,
    /// Arguments come in pieces.
    StreamedArguments,
    /// Responses have a number that support can find them by.
    RequestId,
    /// `retry-after` says when to come back.
    RetryAfterHeader,
    /// Ids of calls are always there.
    CallIds,
    /// The service searches the web itself.
    WebSearch,
    /// The answer has an end of its own, before the end of the body.
    TerminalRecord,
}

impl Feature {
    /// Every feature.
    pub const ALL: [Self; 16] = [
        Self::SignedThinking,
        Self::ToolErrors,
        Self::ResultImages,
        Self::StopSequence,
        Self::Refusal,
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
        Self::TerminalRecord,
    ];

    /// Whether a wire has it; the reason if not.
    ///
    /// # Errors
    /// What the wire has in its place.
    pub fn support(self, wire: Wire) -> Result<(), &'static str> {
        use Wire::{Anthropic, Gemini, OpenaiChat, OpenaiResponses};
        match (self, wire) {
            (Self::SignedThinking, OpenaiChat) => Err("reasoning comes without a proof"),
            (Self::ToolErrors, OpenaiChat | OpenaiResponses) => Err("a result is text alone"),
            (Self::ResultImages, OpenaiChat) => Err("a picture follows in a user's message"),
            (Self::ResultImages, Gemini) => Err("a picture follows as a part of its own"),
            (Self::StopSequence, OpenaiChat) => Err("it looks like the end of the answer"),
            (Self::StopSequence, OpenaiResponses) => Err("there are no stop sequences"),
            (Self::StopSequence, Gemini) => Err("it looks like the end of the answer"),
            (Self::Pause, OpenaiChat | OpenaiResponses | Gemini) => Err("answers never pause"),
            (Self::CacheWrites, OpenaiChat | Gemini) => Err("caching is automatic and not told"),
            (Self::StreamedArguments, Gemini) => Err("arguments come whole"),
            (Self::RequestId, Gemini) => Err("no header is known for it"),
            (Self::RetryAfterHeader, Gemini) => Err("the delay is in the error's details"),
            (Self::CallIds, Gemini) => Err("older models give none"),
            (Self::TerminalRecord, Gemini) => Err("it finishes, and the body ends"),
            (Self::WebSearch, OpenaiChat) => Err("search models search, others do not"),
            (_, Anthropic) => Ok(()),
            (
                Self::SignedThinking
                | Self::ToolErrors
                | Self::ResultImages
                | Self::Refusal
                | Self::OtherStop
                | Self::CacheWrites
                | Self::CacheReads
                | Self::ReasoningTokens
                | Self::StreamedArguments
                | Self::RequestId
                | Self::RetryAfterHeader
                | Self::CallIds
                | Self::WebSearch
                | Self::TerminalRecord,
                OpenaiChat | OpenaiResponses | Gemini,
            ) => Ok(()),
        }
    }

    /// Whether a wire has it.
    #[must_use]
    pub fn on(self, wire: Wire) -> bool {
        self.support(wire).is_ok()
    }
}

/// What each wire can and cannot do, as a table for people.
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

/// One test per case and wire, each named after both, for the provider that a function builds.
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

/// One test of the provider suite.
#[doc(hidden)]
#[macro_export]
macro_rules! provider_case {
    ($make:ident, $wire:ident, $area:ident, $case:ident) => {
        #[tokio::test]
        async fn $case() {
            let wire = $crate::mock::Wire::$wire;
            let suite = $crate::provider_suite::Suite { wire, make: super::$make };
            let case = Box::pin($crate::provider_suite::cases::$area::$case(suite));
            $crate::provider_suite::within_a_minute(case).await;
        }
    };
}

/// One row of the list of cases.
#[doc(hidden)]
#[macro_export]
macro_rules! provider_case_row {
    ($all:ident, $wire:ident, $area:ident, $case:ident) => {
        $all.push((stringify!($case), |suite| {
            Box::pin($crate::provider_suite::cases::$area::$case(suite))
        }));
    };
}
