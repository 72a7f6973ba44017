//! A provider that plays a script instead of calling a model, for tests, demonstrations and offline
//! use. `docs/scripted.md` describes the YAML form.
//!
//! A [`Script`] is a list of [`ScriptedAnswer`]s, one per model call; an answer is a list of [`Step`]s.
//!
//! ```
//! use robota_core::scripted::{ScriptedAnswer, Script, ScriptedProvider};
//! use serde_json::json;
//!
//! let from_yaml = Script::from_yaml("
//! - tools: [{tool: Read, input: {file_path: notes.txt}}]
//! - text: They say hello.
//! ")?;
//! let in_code =
//!     Script::new().tool("Read", json!({"file_path": "notes.txt"})).text("They say hello.");
//! assert_eq!(from_yaml, in_code);
//!
//! let provider = ScriptedProvider::new(in_code);
//! assert!(provider.requests().is_empty(), "it has not been called yet");
//! # Ok::<(), robota_core::scripted::ScriptError>(())
//! ```

mod error;
mod expect;
mod gates;
mod play;
mod script;
mod yaml;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::StreamExt as _;
use serde_json::{Map, json};

pub use error::ScriptError;
pub use expect::Expect;
use gates::Gates;
pub use script::{Script, ScriptedAnswer, Stall, Step, ToolStep};
pub use yaml::MAX_SCRIPT_BYTES;

use crate::call::CallContext;
use crate::error::{Diagnose as _, ErrorKind};
use crate::provider::{
    DeltaStream, ModelRequest, NativePayload, PayloadKind, PayloadSink, Provider, ProviderError,
};

/// The payloads of this provider name this API.
pub const API_SURFACE: &str = "scripted";

/// Plays a script. Clones share the position in the script: each call, from any clone, takes the
/// next answer.
#[derive(Debug, Clone)]
pub struct ScriptedProvider {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    name: String,
    answers: Vec<Arc<ScriptedAnswer>>,
    repeat: bool,
    received: Mutex<Vec<ModelRequest>>,
    gates: Gates,
}

impl ScriptedProvider {
    /// Creates a provider that plays this script from its beginning.
    #[must_use]
    pub fn new(script: Script) -> Self {
        Self::named("scripted", script)
    }

    /// Creates a provider with another name, for tests with several providers.
    pub fn named(name: impl Into<String>, script: Script) -> Self {
        let repeat = script.is_looped();
        let answers = script.into_answers().into_iter().map(Arc::new).collect();
        Self {
            inner: Arc::new(Inner {
                name: name.into(),
                answers,
                repeat,
                received: Mutex::default(),
                gates: Gates::default(),
            }),
        }
    }

    /// Returns all requests so far, in the order of the calls, including refused ones.
    #[must_use]
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.received().clone()
    }

    /// Returns how many answers were not requested yet; 0 for a looped script after its last
    /// answer.
    #[must_use]
    pub fn unplayed(&self) -> usize {
        self.inner.answers.len().saturating_sub(self.received().len())
    }

    /// Opens a gate: every stall at it ends, now and in later answers.
    pub fn release(&self, gate: &str) {
        self.inner.gates.release(gate);
    }

    /// Waits until a call has reached that gate.
    pub async fn reached(&self, gate: &str) {
        self.inner.gates.reached(gate).await;
    }

    fn received(&self) -> MutexGuard<'_, Vec<ModelRequest>> {
        self.inner.received.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the request and takes its answer, under one lock: two calls never get the same
    /// answer.
    fn take_answer(
        &self,
        request: &ModelRequest,
    ) -> Result<(usize, Arc<ScriptedAnswer>), ProviderError> {
        let mut received = self.received();
        let call = received.len();
        received.push(request.clone());
        let answers = &self.inner.answers;
        let at = match answers.len() {
            0 => 0,
            length if self.inner.repeat => call % length,
            _ => call,
        };
        answers.get(at).map(|answer| (at, answer.clone())).ok_or_else(|| over(answers.len(), call))
    }
}

#[async_trait::async_trait]
impl Provider for ScriptedProvider {
    fn name(&self) -> &str {
        &self.inner.name
    }

    async fn stream(
        &self,
        request: ModelRequest,
        context: CallContext,
    ) -> Result<DeltaStream, ProviderError> {
        let payloads = context.payloads;
        if payloads.is_enabled() {
            // A request is plain data. If it could not be serialised, the payload says so.
            let payload = serde_json::to_value(&request)
                .unwrap_or_else(|error| json!({ "unserialisable": error.to_string() }));
            report(&payloads, PayloadKind::Request, payload);
        }
        let taken = self.take_answer(&request).and_then(|(at, answer)| {
            answer.expect.check(&request).map_err(|what| unexpected(at, &what))?;
            Ok((at, answer))
        });
        let (at, answer) = match taken {
            Ok(taken) => taken,
            Err(error) => return Err(refuse(&payloads, error)),
        };
        // An error before any other step means that the service refuses the call.
        if let Some(Step::Error(error)) = answer.steps.first() {
            return Err(refuse(&payloads, error.clone()));
        }
        Ok(play::stream(at, answer, self.clone(), payloads).boxed())
    }
}

fn refuse(payloads: &PayloadSink, error: ProviderError) -> ProviderError {
    if payloads.is_enabled() {
        report(payloads, PayloadKind::Response, json!({ "error": error.to_data() }));
    }
    error
}

fn report(payloads: &PayloadSink, kind: PayloadKind, payload: serde_json::Value) {
    payloads.report(NativePayload {
        api_surface: Some(API_SURFACE.to_owned()),
        kind,
        sequence: None,
        payload,
        metadata: Map::new(),
    });
}

fn over(length: usize, call: usize) -> ProviderError {
    let answers = match length {
        0 => "no answers".to_owned(),
        1 => "1 answer".to_owned(),
        many => format!("{many} answers"),
    };
    ProviderError::new(
        ErrorKind::Validation,
        format!("the script is over: it has {answers}, and this is model call {}", call + 1),
    )
    .with_retryable(false)
    .with_hint("add an answer to the script, or let it repeat with `loop: true`")
}

fn unexpected(at: usize, what: &str) -> ProviderError {
    ProviderError::new(
        ErrorKind::Validation,
        format!("answer {} of the script expects another request: {what}", at + 1),
    )
    .with_retryable(false)
    .with_hint("change the answer's `expect`, or what leads up to this call")
}

#[cfg(test)]
mod tests;
