//! Hooks as they stand in settings. How one runs is its executor's business.

use std::borrow::Cow;
use std::time::Duration;

use indexmap::IndexMap;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::HookKind;

/// Hooks that share a matcher.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HookGroup {
    /// Which tools, or other targets of the event, it is for; absent or empty for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matcher: Option<String>,
    /// What is run.
    pub hooks: Vec<HookDefinition>,
}

/// One hook.
#[derive(Debug, Clone, PartialEq)]
pub enum HookDefinition {
    /// A shell command, or a program with arguments.
    Command(CommandHook),
    /// A request that is sent.
    Http(HttpHook),
    /// A question to a model.
    Prompt(PromptHook),
    /// A task for an agent.
    Agent(PromptHook),
    /// One that cannot run: its kind is not known, or it is not well-formed. It is kept, since
    /// it may be the one that keeps something from happening: where hooks decide, it refuses.
    Unusable(UnusableHook),
}

/// A shell command, or a program with arguments.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandHook {
    /// What is run.
    pub command: String,
    /// Its arguments; when there are any, no shell is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<Vec<String>>,
    /// Whether nobody waits for it.
    #[serde(default, rename = "async", skip_serializing_if = "Option::is_none")]
    pub detached: Option<bool>,
    /// Which shell runs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shell: Option<String>,
    /// What all kinds have.
    #[serde(flatten)]
    pub common: HookCommon,
}

/// A request that is sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HttpHook {
    /// Where to.
    pub url: String,
    /// Its headers; `$NAME` is replaced for variables that are allowed.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub headers: IndexMap<String, String>,
    /// The variables that headers may hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_env_vars: Vec<String>,
    /// What all kinds have.
    #[serde(flatten)]
    pub common: HookCommon,
}

/// A question to a model, or a task for an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PromptHook {
    /// What is asked; `$ARGUMENTS` stands for the event.
    pub prompt: String,
    /// Which model is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What all kinds have.
    #[serde(flatten)]
    pub common: HookCommon,
}

/// What all kinds of hooks have.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct HookCommon {
    /// How long it may take, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.001))]
    pub timeout: Option<f64>,
    /// A permission rule that must match for it to run.
    #[serde(rename = "if", skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// What is shown while it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_message: Option<String>,
    /// What this version does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A hook that cannot run.
#[derive(Debug, Clone, PartialEq)]
pub struct UnusableHook {
    /// Its kind, as far as it names one.
    pub kind: Option<String>,
    /// Why it cannot run.
    pub reason: String,
    /// What stands in the settings.
    pub value: Value,
}

/// The longest timeout that is kept; a longer one means "for ever" and is cut to this.
const MAX_TIMEOUT_SECS: f64 = 86_400.0;

/// How many characters of a command, an address or a question are shown.
const MAX_LABEL_CHARS: usize = 80;

impl HookDefinition {
    /// What all kinds have; nothing for one that cannot run.
    fn common(&self) -> Option<&HookCommon> {
        match self {
            Self::Command(hook) => Some(&hook.common),
            Self::Http(hook) => Some(&hook.common),
            Self::Prompt(hook) | Self::Agent(hook) => Some(&hook.common),
            Self::Unusable(_) => None,
        }
    }

    /// How long it may take, if it says so.
    #[must_use]
    pub fn timeout(&self) -> Option<Duration> {
        let seconds = self.common()?.timeout?;
        Some(Duration::from_secs_f64(seconds.clamp(0.001, MAX_TIMEOUT_SECS)))
    }

    /// The permission rule that must match for it to run.
    #[must_use]
    pub fn condition(&self) -> Option<&str> {
        self.common()?.condition.as_deref()
    }

    /// Whether it says that any failure of its own blocks (`"onFailure": "block"`).
    #[must_use]
    pub fn blocks_on_failure(&self) -> bool {
        self.common()
            .and_then(|common| common.other.get("onFailure"))
            .is_some_and(|value| value == "block")
    }

    /// Whether nobody waits for it.
    #[must_use]
    pub fn is_detached(&self) -> bool {
        matches!(self, Self::Command(hook) if hook.detached == Some(true))
    }

    /// The kind it says it is.
    #[must_use]
    pub fn kind(&self) -> Option<&str> {
        match self {
            Self::Unusable(hook) => hook.kind.as_deref(),
            _ => self.runs_as().map(HookKind::name),
        }
    }

    /// The kind of executor that runs it; none for one that cannot run.
    #[must_use]
    pub fn runs_as(&self) -> Option<HookKind> {
        match self {
            Self::Command(_) => Some(HookKind::Command),
            Self::Http(_) => Some(HookKind::Http),
            Self::Prompt(_) => Some(HookKind::Prompt),
            Self::Agent(_) => Some(HookKind::Agent),
            Self::Unusable(_) => None,
        }
    }

    /// A few words that say which one it is, for people.
    #[must_use]
    pub fn label(&self) -> String {
        let (kind, what) = match self {
            Self::Command(hook) => ("command", hook.command.as_str()),
            Self::Http(hook) => ("http", hook.url.as_str()),
            Self::Prompt(hook) => ("prompt", hook.prompt.as_str()),
            Self::Agent(hook) => ("agent", hook.prompt.as_str()),
            Self::Unusable(hook) => return format!("hook that cannot run ({})", hook.reason),
        };
        let mut short: String = what.chars().take(MAX_LABEL_CHARS).collect();
        if short.len() < what.len() {
            short.push('…');
        }
        format!("{kind} hook `{}`", short.escape_debug())
    }

    /// Reads a hook. One of a kind that is not known is [`HookDefinition::Unusable`].
    ///
    /// # Errors
    /// When it is not well-formed; [`HookDefinition::unusable`] keeps it all the same.
    pub fn read(value: &Value) -> Result<Self, String> {
        let Value::Object(fields) = value else { return Err("a hook is an object".to_owned()) };
        let kind = match fields.get("type") {
            Some(Value::String(kind)) => kind.as_str(),
            Some(_) => return Err("`type` must be a string".to_owned()),
            None => return Err("`type` is missing: command, http, prompt or agent".to_owned()),
        };
        let mut fields = fields.clone();
        fields.shift_remove("type");
        Ok(match kind {
            "command" => Self::Command(read_fields(fields)?),
            "http" => Self::Http(read_fields(fields)?),
            "prompt" => Self::Prompt(read_fields(fields)?),
            "agent" => Self::Agent(read_fields(fields)?),
            other => Self::Unusable(UnusableHook {
                kind: Some(other.to_owned()),
                reason: format!("hooks of kind `{}` cannot be run", other.escape_debug()),
                value: value.clone(),
            }),
        })
    }

    /// Keeps what is not well-formed.
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

impl<'de> Deserialize<'de> for HookDefinition {
    /// Never loses a hook: what is not well-formed is unusable, and says why.
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
}

impl Serialize for HookDefinition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Command(hook) => Tagged::Command(Cow::Borrowed(hook)).serialize(serializer),
            Self::Http(hook) => Tagged::Http(Cow::Borrowed(hook)).serialize(serializer),
            Self::Prompt(hook) => Tagged::Prompt(Cow::Borrowed(hook)).serialize(serializer),
            Self::Agent(hook) => Tagged::Agent(Cow::Borrowed(hook)).serialize(serializer),
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
