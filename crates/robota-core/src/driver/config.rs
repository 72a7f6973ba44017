//! What a turn runs against, and its configuration.

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
use crate::provider::{AskLimits, NativeWeb, OutputSchema, Provider};
use crate::redact::Redactor;
use crate::tool::{LiveTools, ToolSet};
use crate::turn::TurnRules;

/// What a turn runs against. The gate is not optional, so there is no driver without one.
#[derive(Clone)]
pub struct Ports {
    /// Calls the model; its name is recorded in `turn_started`.
    pub provider: Arc<dyn Provider>,
    /// The tools that the model can call.
    pub tools: ToolSet,
    /// Returns the tools when they change during a turn; `None` if they never do.
    pub live_tools: Option<Arc<dyn LiveTools>>,
    /// Judges every call before it runs.
    pub gate: Arc<dyn Gate>,
    /// Answers questions about calls that need approval.
    pub approver: Arc<dyn Approver>,
    /// The hooks at the five points of a turn, of settings and of code.
    pub hooks: Arc<dyn Hooks>,
    /// Summarises the conversation. Without a compactor, a full context window ends the turn.
    pub compactor: Option<Arc<dyn Compactor>>,
    /// The session's blobs. Without them, there are no checkpoints of files that tools change.
    pub blobs: Option<Arc<dyn Blobs>>,
    /// Creates the ids of turns, messages and calls.
    pub ids: Arc<dyn Ids>,
}

impl Ports {
    pub(super) fn blobs(&self) -> Arc<dyn Blobs> {
        self.blobs.clone().unwrap_or_else(|| Arc::new(NoBlobs))
    }
}

/// Holds everything that a user can set for the turns of a session.
#[derive(Debug, Clone)]
pub struct SessionConfig {
    /// What the turn machine needs: model, limits, retries, concurrency.
    pub turn: TurnRules,
    /// The system prompt; `None` sends none.
    pub system: Option<Arc<str>>,
    /// The sampling temperature; `None` leaves it to the provider.
    pub temperature: Option<f64>,
    /// The form of the final answer; `None` for free text. Not every service can enforce it, so the
    /// prompt has to ask for it as well.
    pub output: Option<OutputSchema>,
    /// The provider's native web tools to use in every call.
    pub native_web: NativeWeb,
    /// Options that are passed to the provider unchanged.
    pub options: Map<String, Value>,
    /// A model call fails if its stream sends nothing for this long.
    pub idle_timeout: Duration,
    /// How long a cancelled tool may take to stop before the driver abandons it.
    pub tool_grace: Duration,
    /// How long a tool call may run, unless its tool defines another limit; `None` means no limit.
    pub tool_timeout: Option<Duration>,
    /// What the user wants a summary to contain.
    pub compact_instructions: Option<String>,
    /// Whether raw provider payloads are recorded in the journal.
    pub record_payloads: bool,
    /// The waits before the retries of a failed append. After the last retry the append, and the
    /// turn, fails.
    pub append_retries: Vec<Duration>,
    /// Removes secrets from what tools, hooks and providers return.
    pub redactor: Redactor,
}

impl SessionConfig {
    /// Creates the default configuration for these rules.
    #[must_use]
    pub fn new(turn: TurnRules) -> Self {
        Self {
            turn,
            system: None,
            temperature: None,
            output: None,
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

    /// Returns the limits for a model call outside a turn.
    #[must_use]
    pub fn ask_limits(&self) -> AskLimits {
        AskLimits { idle_timeout: self.idle_timeout, retry: self.turn.retry }
    }
}
