//! Hooks as they are written in settings. The executors define how they run.

use std::borrow::Cow;
use std::time::Duration;

use indexmap::IndexMap;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::{HookEvent, HookKind};

/// Hooks that share a matcher, as one entry of an event in the settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HookGroup {
    /// The tools, or other targets of the event, that the hooks apply to; absent or empty for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matcher: Option<String>,
    /// The hooks, which run in parallel if the matcher fits.
    pub hooks: Vec<HookDefinition>,
}

/// How long hooks may run that do not say it themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HookTimes {
    /// At all events; none is the time of the kind.
    pub default: Option<Duration>,
    /// At the end of the session, which waits for them; none is 1.5 seconds.
    pub session_end: Option<Duration>,
}

/// Describes one hook as the settings define it.
#[derive(Debug, Clone, PartialEq)]
pub enum HookDefinition {
    /// A shell command, or a program with arguments.
    Command(CommandHook),
    /// An HTTP request that a hook sends.
    Http(HttpHook),
    /// A question that a model answers.
    Prompt(PromptHook),
    /// A task for an agent, whose answer decides.
    Agent(PromptHook),
    /// A call of a tool of an MCP server.
    McpTool(McpToolHook),
    /// A hook that cannot run, because its kind is unknown or it is malformed. It is kept, since it
    /// may be meant to prevent something: where hooks decide, it blocks.
    Unusable(UnusableHook),
}

/// Runs a shell command, or a program with arguments.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandHook {
    /// The shell command, or the program if `args` is given.
    pub command: String,
    /// The arguments; if present, no shell is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<Vec<String>>,
    /// Whether the session continues without waiting for it.
    #[serde(default, rename = "async", skip_serializing_if = "Option::is_none")]
    pub detached: Option<bool>,
    /// The shell that runs the command; absent for the default shell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shell: Option<String>,
    /// Environment variables of the command. Only code sets them, such as those of a plugin.
    #[serde(skip)]
    pub variables: IndexMap<String, String>,
    /// The fields that hooks of all kinds have.
    #[serde(flatten)]
    pub common: HookCommon,
}

/// An HTTP request that a hook sends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HttpHook {
    /// The URL to which the payload is posted as JSON.
    pub url: String,
    /// The headers. `$NAME` is replaced by the variable if it is in `allowedEnvVars`.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub headers: IndexMap<String, String>,
    /// The environment variables that headers may contain.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_env_vars: Vec<String>,
    /// The fields that hooks of all kinds have.
    #[serde(flatten)]
    pub common: HookCommon,
}

/// A question that a hook asks a model, or a task that it gives to an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PromptHook {
    /// The prompt. `$ARGUMENTS` is replaced by the event as JSON.
    pub prompt: String,
    /// The model's id; absent for the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The fields that hooks of all kinds have.
    #[serde(flatten)]
    pub common: HookCommon,
}

/// Calls a tool of an MCP server of the session. The text of the result is read like the standard output
/// of a command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpToolHook {
    /// The name of the server in its configuration.
    pub server: String,
    /// The name of the tool, as the server knows it.
    pub tool: String,
    /// The arguments of the call. `${tool_input.x}` in a text is replaced by that field of the event.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub input: Map<String, Value>,
    /// Fields that all kinds have.
    #[serde(flatten)]
    pub common: HookCommon,
}

/// Fields that all kinds of hooks have.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct HookCommon {
    /// The timeout in seconds; absent for the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.001))]
    pub timeout: Option<f64>,
    /// A permission rule that a call must match for the hook to run; absent to run always.
    #[serde(rename = "if", skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// The text that is shown while the hook runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_message: Option<String>,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A hook that cannot run, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct UnusableHook {
    /// Its kind, if it names one.
    pub kind: Option<String>,
    /// Why the hook cannot run; it blocks where hooks decide.
    pub reason: String,
    /// The value in the settings, unchanged, so that writing them back loses nothing.
    pub value: Value,
}

/// The maximum timeout in seconds. A longer one is reduced to this.
const MAX_TIMEOUT_SECS: f64 = 3_600.0;

/// The timeouts of hooks that do not define one, by their kind.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(600);
const PROMPT_TIMEOUT: Duration = Duration::from_secs(30);
const AGENT_TIMEOUT: Duration = Duration::from_secs(60);

/// The timeout of a hook that a user waits for before the prompt is sent, if it does not define one.
const PROMPT_SUBMIT_TIMEOUT: Duration = Duration::from_secs(30);

/// The timeout of a hook at the end of a session, if it does not define one, and the longest that it
/// can define: the program exits when they have ended.
const SESSION_END_TIMEOUT: Duration = Duration::from_millis(1_500);
const MAX_SESSION_END_TIMEOUT: Duration = Duration::from_secs(60);

/// A timeout of at least this many seconds was probably meant in milliseconds.
// Other programs write milliseconds in this field.
const SUSPICIOUS_TIMEOUT_SECS: f64 = 1_000.0;

/// The maximum number of characters of a command, a URL or a prompt in a label.
const MAX_LABEL_CHARS: usize = 80;

impl HookDefinition {
    /// Returns the common fields; `None` for a hook that cannot run.
    fn common(&self) -> Option<&HookCommon> {
        match self {
            Self::Command(hook) => Some(&hook.common),
            Self::Http(hook) => Some(&hook.common),
            Self::Prompt(hook) | Self::Agent(hook) => Some(&hook.common),
            Self::McpTool(hook) => Some(&hook.common),
            Self::Unusable(_) => None,
        }
    }

    /// Returns its timeout; `None` if it does not define one.
    #[must_use]
    pub fn timeout(&self) -> Option<Duration> {
        let seconds = self.common()?.timeout?;
        Some(Duration::from_secs_f64(seconds.clamp(0.001, MAX_TIMEOUT_SECS)))
    }

    /// Returns how long the hook may run at an event: its own timeout, else that of its kind.
    #[must_use]
    pub fn timeout_at(&self, event: HookEvent) -> Duration {
        self.timeout_or(&HookTimes::default(), event)
    }

    /// Returns how long the hook may run at an event. A hook without a timeout has the one of `times`,
    /// else that of its kind.
    #[must_use]
    pub fn timeout_or(&self, times: &HookTimes, event: HookEvent) -> Duration {
        let of_kind = match self.runs_as() {
            Some(HookKind::Command | HookKind::Http | HookKind::McpTool) | None => COMMAND_TIMEOUT,
            Some(HookKind::Prompt) => PROMPT_TIMEOUT,
            Some(HookKind::Agent) => AGENT_TIMEOUT,
        };
        let default = times.default.unwrap_or(of_kind);
        let at_end = times.session_end.unwrap_or(SESSION_END_TIMEOUT);
        match event {
            HookEvent::UserPromptSubmit => {
                self.timeout().unwrap_or_else(|| default.min(PROMPT_SUBMIT_TIMEOUT))
            }
            HookEvent::SessionEnd => self.timeout().map_or_else(
                || default.min(at_end),
                |own| own.min(MAX_SESSION_END_TIMEOUT.max(at_end)),
            ),
            _ => self.timeout().unwrap_or(default),
        }
    }

    /// Returns a warning for a timeout that was probably meant in milliseconds.
    #[must_use]
    pub fn timeout_warning(&self) -> Option<String> {
        let seconds = self.common()?.timeout.filter(|it| *it >= SUSPICIOUS_TIMEOUT_SECS)?;
        let used = seconds.min(MAX_TIMEOUT_SECS);
        Some(format!(
            "`timeout` is in seconds: {seconds} is used as {used} seconds; if you meant \
             milliseconds, write {}",
            seconds / 1_000.0
        ))
    }

    /// Returns the text to show while the hook runs.
    #[must_use]
    pub fn status_message(&self) -> Option<&str> {
        self.common()?.status_message.as_deref().filter(|text| !text.trim().is_empty())
    }

    /// Returns true if the hook wants to run only once (`"once": true`). Only hooks of a skill may
    /// ask for that ([`HookRunner::skill_groups`](super::HookRunner::skill_groups)).
    #[must_use]
    pub fn once(&self) -> bool {
        self.common().and_then(|common| common.other.get("once")) == Some(&Value::Bool(true))
    }

    /// Returns false if the settings turn the hook off (`"enabled": false`).
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        let enabled = match self {
            Self::Unusable(hook) => hook.value.get("enabled"),
            _ => self.common().and_then(|common| common.other.get("enabled")),
        };
        enabled != Some(&Value::Bool(false))
    }

    /// Returns the permission rule that a call must match for the hook to run.
    #[must_use]
    pub fn condition(&self) -> Option<&str> {
        self.common()?.condition.as_deref()
    }

    /// Returns true if every failure of the hook blocks (`"onFailure": "block"`).
    #[must_use]
    pub fn blocks_on_failure(&self) -> bool {
        self.common()
            .and_then(|common| common.other.get("onFailure"))
            .is_some_and(|value| value == "block")
    }

    /// Returns true if the session continues without waiting for it.
    #[must_use]
    pub fn is_detached(&self) -> bool {
        matches!(self, Self::Command(hook) if hook.detached == Some(true))
    }

    /// Returns true if the hook runs in the background at an event, and its exit code 2 wakes the model
    /// (`"asyncRewake": true`). Where an action waits for its decision, it does not.
    #[must_use]
    pub fn wakes_at(&self, event: HookEvent) -> bool {
        let wakes = match self {
            Self::Command(hook) => hook.common.other.get("asyncRewake") == Some(&Value::Bool(true)),
            _ => false,
        };
        wakes && event.can_wake() && !self.blocks_on_failure()
    }

    /// Returns the kind that it names.
    #[must_use]
    pub fn kind(&self) -> Option<&str> {
        match self {
            Self::Unusable(hook) => hook.kind.as_deref(),
            _ => self.runs_as().map(HookKind::name),
        }
    }

    /// Returns the kind of executor that runs it; `None` if it cannot run.
    #[must_use]
    pub fn runs_as(&self) -> Option<HookKind> {
        match self {
            Self::Command(_) => Some(HookKind::Command),
            Self::Http(_) => Some(HookKind::Http),
            Self::Prompt(_) => Some(HookKind::Prompt),
            Self::Agent(_) => Some(HookKind::Agent),
            Self::McpTool(_) => Some(HookKind::McpTool),
            Self::Unusable(_) => None,
        }
    }

    /// Returns a short text that identifies the hook to users.
    #[must_use]
    pub fn label(&self) -> String {
        let tool;
        let (kind, what) = match self {
            Self::Command(hook) => ("command", hook.command.as_str()),
            Self::Http(hook) => ("http", hook.url.as_str()),
            Self::Prompt(hook) => ("prompt", hook.prompt.as_str()),
            Self::Agent(hook) => ("agent", hook.prompt.as_str()),
            Self::McpTool(hook) => {
                tool = format!("{}/{}", hook.server, hook.tool);
                ("mcp_tool", tool.as_str())
            }
            Self::Unusable(hook) => return format!("hook that cannot run ({})", hook.reason),
        };
        let mut short: String = what.chars().take(MAX_LABEL_CHARS).collect();
        if short.len() < what.len() {
            short.push('…');
        }
        format!("{kind} hook `{}`", short.escape_debug())
    }

    /// Parses a hook. One of an unknown kind is [`HookDefinition::Unusable`].
    ///
    /// # Errors
    /// When it is malformed; [`HookDefinition::unusable`] keeps it nevertheless.
    pub fn read(value: &Value) -> Result<Self, String> {
        let Value::Object(fields) = value else {
            return Err("a hook must be an object".to_owned());
        };
        let kind = match fields.get("type") {
            Some(Value::String(kind)) => kind.as_str(),
            Some(_) => return Err("`type` must be a string".to_owned()),
            None => {
                return Err(
                    "`type` is missing: command, http, prompt, agent or mcp_tool".to_owned()
                );
            }
        };
        let mut fields = fields.clone();
        fields.shift_remove("type");
        Ok(match kind {
            "command" => Self::Command(read_fields(fields)?),
            "http" => Self::Http(read_fields(fields)?),
            "prompt" => Self::Prompt(read_fields(fields)?),
            "agent" => Self::Agent(read_fields(fields)?),
            "mcp_tool" => Self::McpTool(read_fields(fields)?),
            // Kept instead of refused: a hook that cannot run has to block where hooks decide, and
            // the rest of the file has to work.
            other => Self::Unusable(UnusableHook {
                kind: Some(other.to_owned()),
                reason: format!("hooks of kind `{}` cannot be run", other.escape_debug()),
                value: value.clone(),
            }),
        })
    }

    /// Creates an unusable hook from a malformed value.
    #[must_use]
    pub fn unusable(value: Value, reason: String) -> Self {
        let kind = value.get("type").and_then(Value::as_str).map(str::to_owned);
        Self::Unusable(UnusableHook { kind, reason, value })
    }
}

fn read_fields<T: DeserializeOwned + HasTimeout>(fields: Map<String, Value>) -> Result<T, String> {
    let hook: T =
        serde_json::from_value(Value::Object(fields)).map_err(|error| error.to_string())?;
    match hook.seconds() {
        // Written this way round, because every comparison with NaN is false.
        Some(seconds) if !(seconds.is_finite() && seconds > 0.0) => {
            Err("`timeout` must be more than 0 seconds".to_owned())
        }
        _ => Ok(hook),
    }
}

trait HasTimeout {
    fn seconds(&self) -> Option<f64>;
}

impl HasTimeout for CommandHook {
    fn seconds(&self) -> Option<f64> {
        self.common.timeout
    }
}

impl HasTimeout for HttpHook {
    fn seconds(&self) -> Option<f64> {
        self.common.timeout
    }
}

impl HasTimeout for PromptHook {
    fn seconds(&self) -> Option<f64> {
        self.common.timeout
    }
}

impl HasTimeout for McpToolHook {
    fn seconds(&self) -> Option<f64> {
        self.common.timeout
    }
}

impl<'de> Deserialize<'de> for HookDefinition {
    /// Never drops a hook: a malformed one becomes unusable, with the reason.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer).map_err(D::Error::custom)?;
        Ok(Self::read(&value).unwrap_or_else(|reason| Self::unusable(value, reason)))
    }
}

#[derive(Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Tagged<'a> {
    Command(Cow<'a, CommandHook>),
    Http(Cow<'a, HttpHook>),
    Prompt(Cow<'a, PromptHook>),
    Agent(Cow<'a, PromptHook>),
    #[serde(rename = "mcp_tool")]
    McpTool(Cow<'a, McpToolHook>),
}

impl Serialize for HookDefinition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Command(hook) => Tagged::Command(Cow::Borrowed(hook)).serialize(serializer),
            Self::Http(hook) => Tagged::Http(Cow::Borrowed(hook)).serialize(serializer),
            Self::Prompt(hook) => Tagged::Prompt(Cow::Borrowed(hook)).serialize(serializer),
            Self::Agent(hook) => Tagged::Agent(Cow::Borrowed(hook)).serialize(serializer),
            Self::McpTool(hook) => Tagged::McpTool(Cow::Borrowed(hook)).serialize(serializer),
            Self::Unusable(hook) => hook.value.serialize(serializer),
        }
    }
}

impl JsonSchema for HookDefinition {
    fn schema_name() -> Cow<'static, str> {
        "HookDefinition".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Tagged::json_schema(generator)
    }
}
