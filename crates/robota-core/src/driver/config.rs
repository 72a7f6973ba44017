//! What a turn runs against, and how.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use super::recorder::APPEND_RETRIES;
use crate::approve::Approver;
use crate::blob::{Blobs, NoBlobs};
use crate::compact::Compactor;
use crate::gate::Gate;
use crate::hook::Hooks;
use crate::ids::Ids;
use crate::provider::{AskLimits, NativeWeb, Provider};
use crate::redact::Redactor;
use crate::tool::ToolSet;
use crate::turn::TurnRules;

/// What a turn runs against. There is no driver without a gate.
#[derive(Clone)]
pub struct Ports {
    /// Calls the model.
    pub provider: Arc<dyn Provider>,
    /// The tools.
    pub tools: ToolSet,
    /// Judges every call.
    pub gate: Arc<dyn Gate>,
    /// Answers when the gate wants a call approved.
    pub approver: Arc<dyn Approver>,
    /// The user's hooks.
    pub hooks: Arc<dyn Hooks>,
    /// Summarises; without one a full context ends the turn.
    pub compactor: Option<Arc<dyn Compactor>>,
    /// The session's blobs. Without them files that tools change have no checkpoints.
    pub blobs: Option<Arc<dyn Blobs>>,
    /// Mints ids.
    pub ids: Arc<dyn Ids>,
}

impl Ports {
    pub(super) fn blobs(&self) -> Arc<dyn Blobs> {
        self.blobs.clone().unwrap_or_else(|| Arc::new(NoBlobs))
    }
}

/// How the turns of a session run: everything a user can set.
#[derive(Debug, Clone)]
pub struct SessionConfig {
    /// The turn machine's rules.
    pub turn: TurnRules,
    /// The system prompt.
    pub system: Option<Arc<str>>,
    /// The sampling temperature.
    pub temperature: Option<f64>,
    /// Native web tools for every call.
    pub native_web: NativeWeb,
    /// Options for the provider, passed on as they are.
    pub options: Map<String, Value>,
    /// A stream silent for longer than this has failed.
    pub idle_timeout: Duration,
    /// A tool that was told to stop is abandoned after this.
    pub tool_grace: Duration,
    /// A call that runs longer is stopped, unless its tool says another limit; none has no limit.
    pub tool_timeout: Option<Duration>,
    /// What the user wants kept when the conversation is summarised.
    pub compact_instructions: Option<String>,
    /// Whether raw provider payloads are journaled.
    pub record_payloads: bool,
    /// An append to the journal that failed is tried again after each of these, before the turn
    /// fails.
    pub append_retries: Vec<Duration>,
    /// Removes secrets from what tools, hooks and services say.
    pub redactor: Redactor,
}

impl SessionConfig {
    /// The defaults around these rules.
    #[must_use]
    pub fn new(turn: TurnRules) -> Self {
        Self {
            turn,
            system: None,
            temperature: None,
            native_web: NativeWeb::default(),
            options: Map::new(),
            idle_timeout: Duration::from_secs(120),
            tool_grace: Duration::from_secs(5),
            tool_timeout: None,
            compact_instructions: None,
            record_payloads: false,
            append_retries: APPEND_RETRIES.to_vec(),
            redactor: Redactor::default(),
        }
    }

    /// The limits of a model call outside of a turn.
    #[must_use]
    pub fn ask_limits(&self) -> AskLimits {
        AskLimits { idle_timeout: self.idle_timeout, retry: self.turn.retry }
    }
}
