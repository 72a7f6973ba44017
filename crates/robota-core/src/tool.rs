//! The tool contract: how a tool describes itself, what it receives and what it returns.

mod exit_code;
mod function;
mod outcome;
mod output;
mod registry;
mod schema;
mod shared;
mod validate;

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use exit_code::failed_exit_code;
pub use function::{FunctionTool, IntoOutcome, Json};
pub use outcome::{DidRun, ToolOutcome};
pub use output::{KeptOutput, OutputStore, OutputWriter, READ_OUTPUT};
pub use registry::{ToolNameTaken, ToolSet};
pub use schema::schema_of;
pub(crate) use shared::shared_list;
pub use shared::shared_spec;
pub(crate) use validate::validate_as;
pub use validate::{InvalidInput, InvalidSchema, check_schema, validate};

use crate::blob::Blobs;
use crate::call::CallContext;
use crate::checkpoint::{Checkpoints, NoCheckpoints};
use crate::gate::Grant;
use crate::hook::{Hooks, NoHooks};
use crate::ids::{CallId, SessionId};
use crate::permission::Class;
use crate::process::ProcessWatch;

/// Describes a tool to models and to the gate.
///
/// ```
/// use robota_core::permission::Class;
/// use robota_core::tool::ToolSpec;
/// use serde_json::json;
///
/// let spec = ToolSpec {
///     name: "Add".to_owned(),
///     description: "Adds two numbers".to_owned(),
///     input_schema: json!({"type": "object", "required": ["a", "b"]}),
///     class: Class::Inspect,
/// };
/// assert_eq!(serde_json::to_value(&spec)?["class"], "inspect");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(description = "The description of a tool, for models and for the gate.")]
pub struct ToolSpec {
    /// The name by which models call the tool; unique in a tool set.
    pub name: String,
    /// What the tool is for, written for models.
    pub description: String,
    /// JSON Schema of the arguments; it describes an object.
    pub input_schema: Value,
    /// The most that a call of this tool can do. A gate may judge that one call does less.
    pub class: Class,
}

/// A function that a model can call.
///
/// ```
/// use robota_core::permission::Class;
/// use robota_core::tool::{Tool, ToolContext, ToolOutcome, ToolSpec};
/// use serde_json::{Value, json};
///
/// struct Upper(ToolSpec);
///
/// #[async_trait::async_trait]
/// impl Tool for Upper {
///     fn spec(&self) -> &ToolSpec {
///         &self.0
///     }
///
///     async fn run(&self, input: Value, _context: ToolContext) -> ToolOutcome {
///         ToolOutcome::ok(input["text"].as_str().unwrap_or_default().to_uppercase())
///     }
/// }
///
/// let tool = Upper(ToolSpec {
///     name: "Upper".to_owned(),
///     description: "Converts a text to upper case.".to_owned(),
///     input_schema: json!({"type": "object", "properties": {"text": {"type": "string"}}}),
///     class: Class::Inspect,
/// });
/// assert!(tool.check(&json!({"text": "a"})).is_ok());
/// ```
#[async_trait::async_trait]
pub trait Tool: Send + Sync {
    /// Returns the description; the same one every time.
    fn spec(&self) -> &ToolSpec;

    /// Checks the arguments of the model before the call is judged. The default checks them against the schema
    /// ([`validate`]).
    ///
    /// # Errors
    /// When the arguments are not valid. The text says what the model must correct.
    fn check(&self, input: &Value) -> Result<(), InvalidInput> {
        validate(&self.spec().input_schema, input)
    }

    /// Checks arguments that a hook or the approver changed. A tool can accept more from them than
    /// from the model, such as the answer of a user. The default is [`Tool::check`].
    ///
    /// # Errors
    /// When the arguments are not valid.
    fn check_changed(&self, input: &Value) -> Result<(), InvalidInput> {
        self.check(input)
    }

    /// Returns other names under which models call the tool. They are not offered.
    fn aliases(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns the arguments that the gate should judge, if they differ from those of the call. For
    /// instance, a command runs in a working directory that only its tool knows. `None` judges the
    /// arguments of the call.
    fn gate_input(&self, _call: &CallId, _input: &Value) -> Option<Value> {
        None
    }

    /// Returns the description by which the gate judges a call with these arguments. A tool of which
    /// some calls do less than others returns one with a lower class for them. The default is the
    /// description that models get.
    fn judged_spec(&self, _input: &Value) -> &ToolSpec {
        self.spec()
    }

    /// Returns whether a user must approve each call, whatever rules, modes and hooks allow.
    fn always_asks(&self) -> bool {
        false
    }

    /// Returns how many bytes of a call's output the model gets; `None` uses the session's limit.
    fn output_limit(&self) -> Option<usize> {
        None
    }

    /// Returns how long a call may run; `None` uses the session's limit.
    fn timeout(&self) -> Option<Duration> {
        None
    }

    /// Returns whether requests to models contain the tool. A tool that is not offered can be called all the
    /// same: by a model that found it in another way, such as by a search.
    fn offered(&self) -> bool {
        true
    }

    /// Returns tools that do not exist yet and may soon, such as those of a server that is starting. A call of
    /// one is answered with the reason instead of as a mistake.
    fn awaited(&self) -> Vec<AwaitedTools> {
        Vec::new()
    }

    /// Runs the call. A failure is an outcome, not an error; a panic becomes a failed outcome.
    async fn run(&self, input: Value, context: ToolContext) -> ToolOutcome;
}

/// Tools that do not exist yet and may soon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AwaitedTools {
    /// The text with which the names of these tools begin, such as `mcp__SERVER__`.
    pub prefix: String,
    /// Why they cannot be called yet and what to do, for the model.
    pub reason: String,
}

/// Tools that come and go while a session runs, such as those of MCP servers. A session asks for them
/// before each model call.
pub trait ToolSource: Send + Sync {
    /// Returns a number that grows with each change of the tools.
    fn version(&self) -> u64;

    /// Returns the tools as they are now.
    fn tools(&self) -> Vec<Arc<dyn Tool>>;
}

/// Returns the tools of the next model call if they have changed since the last one.
pub trait LiveTools: Send + Sync {
    /// Returns the tools; none if they have not changed.
    fn changed(&self) -> Option<ToolSet>;
}

/// Creates the tools of one session. Tools with state (a working directory, which files were read,
/// background commands) must not share it between sessions: a fork gets its own tools.
pub trait ToolFactory: Send + Sync {
    /// Creates the tools of a session.
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

/// The session that tools are created for.
#[derive(Clone)]
pub struct ToolScope {
    /// The id of the session whose turns will call the tools.
    pub session: SessionId,
    /// The working directory; `None` if the session has none.
    pub cwd: Option<String>,
    /// The blobs of the session, for content that is too large for a result.
    pub blobs: Arc<dyn Blobs>,
}

/// What a running call receives.
///
/// ```
/// use robota_core::tool::ToolContext;
///
/// // For a call outside a session, as in a test.
/// let context = ToolContext::detached();
/// assert!(!context.scope.cancel.is_cancelled());
/// ```
#[derive(Clone)]
pub struct ToolContext {
    /// The id of the call, by which the tool reports processes and files.
    pub call: CallId,
    /// The session and turn of the call, their blobs, the redactor for what the tool stores, and
    /// the token that cancels the call. A tool that does not stop is abandoned. The driver redacts
    /// the outcome and the output.
    pub scope: CallContext,
    /// Reports output while the call runs.
    pub progress: Progress,
    /// Receives the processes that the call starts.
    pub processes: ProcessWatch,
    /// Stores files before the call changes them.
    pub checkpoints: Arc<dyn Checkpoints>,
    /// Stores output that is too long for the model; without it the omitted part is lost.
    pub output: Option<Arc<dyn OutputStore>>,
    /// What the gate allows the call to do.
    pub grant: Grant,
    /// The hooks of the session, for the events that the call causes.
    pub hooks: Arc<dyn Hooks>,
}

impl ToolContext {
    /// Creates a context for a tool that is used directly, without a session.
    #[must_use]
    pub fn detached() -> Self {
        Self {
            call: CallId::from("direct"),
            scope: CallContext::detached(),
            progress: Progress::none(),
            processes: ProcessWatch::none(),
            checkpoints: Arc::new(NoCheckpoints),
            output: None,
            grant: Grant::Full,
            hooks: Arc::new(NoHooks),
        }
    }
}

/// Reports the output of a running call.
#[derive(Clone)]
pub struct Progress(Option<Arc<dyn Fn(String) + Send + Sync>>);

impl Progress {
    /// Creates a progress that ignores output.
    #[must_use]
    pub fn none() -> Self {
        Self(None)
    }

    /// Creates a progress that passes output to `sink`.
    pub fn new(sink: impl Fn(String) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(sink)))
    }

    /// Passes output of the running call to the session, which shows and records it.
    pub fn show(&self, text: impl Into<String>) {
        if let Some(sink) = &self.0 {
            sink(text.into());
        }
    }
}

#[cfg(test)]
mod tests;
