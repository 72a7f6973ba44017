//! The tool contract: what a tool says about itself, what it is given, what it gives back.

mod function;
mod outcome;
mod output;
mod registry;
mod schema;
mod validate;

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use function::{FunctionTool, IntoOutcome};
pub use outcome::{Ran, ToolOutcome};
pub use output::{KeptOutput, OutputStore, OutputWriter, READ_OUTPUT};
pub use registry::{ToolNameTaken, ToolSet};
pub use schema::schema_of;
pub use validate::{InvalidInput, validate};

use crate::blob::Blobs;
use crate::call::CallContext;
use crate::checkpoint::{Checkpoints, NoCheckpoints};
use crate::ids::{CallId, SessionId};
use crate::permission::Class;
use crate::process::ProcessWatch;

/// What a model is told about a tool, and what it does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// What it is for, written for models.
    pub description: String,
    /// JSON Schema of its arguments: an object.
    pub input_schema: Value,
    /// The worst it does. A gate may find that one call does less.
    pub class: Class,
}

/// Something a model can call.
#[async_trait::async_trait]
pub trait Tool: Send + Sync {
    /// What it says about itself; the same every time.
    fn spec(&self) -> &ToolSpec;

    /// Checks arguments before anything is decided about the call. The default reads the
    /// schema: required and unknown keys, and the types of the values.
    ///
    /// # Errors
    /// When they are wrong, in words a model can act on.
    fn check(&self, input: &Value) -> Result<(), InvalidInput> {
        validate(&self.spec().input_schema, input)
    }

    /// The arguments as the gate should judge them, where they mean more than they say: a
    /// command runs in a directory that only its tool knows. The default leaves them as they are.
    fn gate_input(&self, _call: &CallId, _input: &Value) -> Option<Value> {
        None
    }

    /// How long a call may run before it is stopped; none leaves it to whoever runs it.
    fn timeout(&self) -> Option<Duration> {
        None
    }

    /// Runs the call. Failing is an outcome, not an error; a panic becomes one.
    async fn run(&self, input: Value, context: ToolContext) -> ToolOutcome;
}

/// Makes the tools of one session. Tools that keep something (a working directory, which files
/// were read, commands in the background) keep it for one session: a fork gets tools of its own.
pub trait ToolFactory: Send + Sync {
    /// The tools of that session.
    fn make(&self, session: &ToolScope) -> Vec<Arc<dyn Tool>>;
}

impl<F> ToolFactory for F
where
    F: Fn(&ToolScope) -> Vec<Arc<dyn Tool>> + Send + Sync,
{
    fn make(&self, session: &ToolScope) -> Vec<Arc<dyn Tool>> {
        self(session)
    }
}

/// The session that tools are made for.
#[derive(Clone)]
pub struct ToolScope {
    /// The session.
    pub session: SessionId,
    /// The directory it works in.
    pub cwd: Option<String>,
    /// Its blobs.
    pub blobs: Arc<dyn Blobs>,
}

/// What a running call is given.
#[derive(Clone)]
pub struct ToolContext {
    /// Which call it is.
    pub call: CallId,
    /// The session and turn it belongs to, their blobs, the redactor for what the tool stores, and
    /// the token that stops the call. A tool that does not stop is abandoned. The driver redacts
    /// the outcome and the output it shows.
    pub scope: CallContext,
    /// Where it can show output while it runs.
    pub progress: Progress,
    /// Receives the processes it starts.
    pub processes: ProcessWatch,
    /// Is handed files before the call changes them.
    pub checkpoints: Arc<dyn Checkpoints>,
    /// Keeps output that is too long to be told; without one, what is left out is lost.
    pub output: Option<Arc<dyn OutputStore>>,
}

impl ToolContext {
    /// For a tool used directly, without a session.
    #[must_use]
    pub fn detached() -> Self {
        Self {
            call: CallId::from("direct"),
            scope: CallContext::detached(),
            progress: Progress::none(),
            processes: ProcessWatch::none(),
            checkpoints: Arc::new(NoCheckpoints),
            output: None,
        }
    }
}

/// Where a running call shows output.
#[derive(Clone)]
pub struct Progress(Option<Arc<dyn Fn(String) + Send + Sync>>);

impl Progress {
    /// Nobody watches.
    #[must_use]
    pub fn none() -> Self {
        Self(None)
    }

    /// Hands output to `sink`.
    pub fn new(sink: impl Fn(String) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(sink)))
    }

    /// Shows output.
    pub fn show(&self, text: impl Into<String>) {
        if let Some(sink) = &self.0 {
            sink(text.into());
        }
    }
}

#[cfg(test)]
mod tests;
