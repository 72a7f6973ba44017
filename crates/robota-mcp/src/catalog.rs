//! What a server offers: its tools, prompts and instructions.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::text::{clean, clean_line};

/// The longest description of a tool that models get, in bytes. It is part of every request.
const MAX_DESCRIPTION: usize = 2 * 1024;
/// The longest instructions of a server, in bytes. They are part of every request.
const MAX_INSTRUCTIONS: usize = 2 * 1024;

/// The least and the most bytes of a result that a tool can ask for. Claude Code has the same maximum.
const OUTPUT_LIMITS: (usize, usize) = (1_000, 500_000);

/// What a server offered when its lists were read. The approved state is kept in a file in this
/// form.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Catalog {
    /// The tools, sorted by name so that the order of the server does not change the prompt of
    /// a model.
    pub tools: Vec<ToolDefinition>,
    /// The prompts, which become commands of the user.
    #[serde(default)]
    pub prompts: Vec<PromptDefinition>,
    /// Whether it announced resources in the handshake.
    #[serde(default)]
    pub resources: bool,
    /// Its instructions for models, cut and without hidden characters; none if it sent none.
    #[serde(default)]
    pub instructions: Option<String>,
    /// Its own name and version, for people only; null if it sent none.
    #[serde(default)]
    pub server_info: Value,
    /// The version of the protocol that was agreed on.
    #[serde(default)]
    pub protocol: String,
}

/// Describes a tool as its server does. Clones share the description.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolDefinition(Arc<Value>);

impl Serialize for ToolDefinition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ToolDefinition {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(|value| Self(Arc::new(value)))
    }
}

impl ToolDefinition {
    /// Reads a definition; none if it has no name.
    #[must_use]
    pub fn read(value: Value) -> Option<Self> {
        let name = value.get("name").and_then(Value::as_str)?;
        // Longer names cannot be sent to any model service.
        (!name.is_empty() && name.len() <= 256).then_some(())?;
        Some(Self(Arc::new(value)))
    }

    /// Returns the name that the server knows.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.get("name").and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns the description for models, without hidden characters.
    #[must_use]
    pub fn description(&self) -> String {
        let text = |key: &str| self.0.get(key).and_then(Value::as_str).filter(|it| !it.is_empty());
        let title = self.0.pointer("/annotations/title").and_then(Value::as_str);
        // The order in which the protocol wants a name for people: newer servers write `title`
        // outside of the annotations.
        let text = text("description").or(text("title")).or(title).unwrap_or_default();
        clean(text, MAX_DESCRIPTION)
    }

    /// Returns the schema of the arguments, as the server wrote it.
    #[must_use]
    pub fn input_schema(&self) -> &Value {
        self.0.get("inputSchema").unwrap_or(&Value::Null)
    }

    /// Returns the whole definition, as the server wrote it.
    #[must_use]
    pub fn raw(&self) -> &Value {
        &self.0
    }

    /// Returns the server's hints about what the tool does. They are not trusted.
    #[must_use]
    pub fn annotations(&self) -> &Value {
        self.0.get("annotations").unwrap_or(&Value::Null)
    }

    /// Returns whether the server asks that a user approves each call. Unlike other hints this one is
    /// followed, since it can only take rights away.
    #[must_use]
    pub fn requires_user(&self) -> bool {
        self.meta("anthropic/requiresUserInteraction") == Some(&Value::Bool(true))
    }

    /// Returns how many bytes of a result the server wants models to get, within limits. It is part of
    /// the approved definition.
    #[must_use]
    pub fn output_limit(&self) -> Option<usize> {
        let wanted = self.meta("anthropic/maxResultSizeChars")?.as_u64()?;
        let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
        Some(wanted.clamp(OUTPUT_LIMITS.0, OUTPUT_LIMITS.1))
    }

    fn meta(&self, key: &str) -> Option<&Value> {
        self.0.get("_meta")?.get(key)
    }

    /// Returns the hash of everything that a model or a person reads of the tool.
    #[must_use]
    pub fn hash(&self) -> String {
        robota_core::hash::hex(&Sha256::digest(canonical(&self.0).as_bytes()))
    }
}

/// Describes a prompt as its server does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptDefinition {
    /// The name that the server knows, and the last part of the command.
    pub name: String,
    /// What it is for, on one line.
    pub description: String,
    /// The arguments in the order of the server, in which the words after the command are
    /// assigned.
    pub arguments: Vec<PromptArgument>,
}

/// An argument that the user passes to a prompt of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptArgument {
    /// The name that the server knows; the hint of the command shows it.
    pub name: String,
    /// Whether the command is refused without it.
    pub required: bool,
}

impl PromptDefinition {
    /// Reads a definition; none if it has no name.
    #[must_use]
    pub fn read(value: &Value) -> Option<Self> {
        let text = |value: &Value, key: &str| value.get(key)?.as_str().map(str::to_owned);
        let name = text(value, "name").filter(|name| !name.is_empty())?;
        let description = text(value, "description").or_else(|| text(value, "title"));
        let arguments = value.get("arguments").and_then(Value::as_array).into_iter().flatten();
        // Arguments without a name could not be sent.
        let arguments = arguments.filter_map(|argument| {
            let required = argument.get("required") == Some(&Value::Bool(true));
            Some(PromptArgument { name: text(argument, "name")?, required })
        });
        Some(Self {
            name,
            description: clean_line(&description.unwrap_or_default(), 200),
            // More do not fit into the hint of a slash command.
            arguments: arguments.take(32).collect(),
        })
    }
}

impl Catalog {
    /// Reads the server's own description of the handshake.
    pub(crate) fn describe(&mut self, info: &Value) {
        self.server_info = info.get("serverInfo").cloned().unwrap_or_default();
        let instructions = info.get("instructions").and_then(Value::as_str);
        self.instructions = instructions.map(|text| clean(text, MAX_INSTRUCTIONS));
        let version = info.get("protocolVersion").and_then(Value::as_str);
        self.protocol = version.unwrap_or_default().to_owned();
        self.resources = info.pointer("/capabilities/resources").is_some_and(|it| !it.is_null());
    }
}

/// How a server differs from what the user approved.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolChanges {
    /// Tools that were not there when the user approved.
    pub added: Vec<String>,
    /// Tools whose definition differs in anything from the approved one.
    pub changed: Vec<String>,
    /// Tools that the server no longer has; they need no approval.
    pub removed: Vec<String>,
    /// Whether its instructions for models differ.
    pub instructions: bool,
}

impl ToolChanges {
    /// Compares what a server offers with what was approved.
    #[must_use]
    pub fn between(approved: &Catalog, now: &Catalog) -> Self {
        let differ = approved.instructions != now.instructions;
        let (approved, now) = (&approved.tools, &now.tools);
        let find = |all: &'_ [ToolDefinition], name: &str| -> Option<String> {
            all.iter().find(|tool| tool.name() == name).map(ToolDefinition::hash)
        };
        let mut changes = Self { instructions: differ, ..Self::default() };
        for tool in now {
            match find(approved, tool.name()) {
                None => changes.added.push(tool.name().to_owned()),
                Some(hash) if hash != tool.hash() => changes.changed.push(tool.name().to_owned()),
                Some(_) => {}
            }
        }
        // Removed tools are reported, but a tool that is gone is no risk.
        let gone = approved.iter().filter(|tool| find(now, tool.name()).is_none());
        changes.removed = gone.map(|tool| tool.name().to_owned()).collect();
        changes
    }

    /// Returns whether something is new or different, so that the user must approve it.
    #[must_use]
    pub fn need_approval(&self) -> bool {
        !self.added.is_empty() || !self.changed.is_empty() || self.instructions
    }

    /// Returns whether this tool waits for approval.
    #[must_use]
    pub fn concern(&self, tool: &str) -> bool {
        self.added.iter().chain(&self.changed).any(|name| name == tool)
    }

    /// Returns the changes as data.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "added": self.added, "changed": self.changed, "removed": self.removed,
            "instructions": self.instructions,
        })
    }
}

impl std::fmt::Display for ToolChanges {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut first = true;
        let lists = [("new", &self.added), ("changed", &self.changed), ("gone", &self.removed)];
        for (word, names) in lists.into_iter().filter(|(_, names)| !names.is_empty()) {
            if !std::mem::take(&mut first) {
                f.write_str("; ")?;
            }
            let shown: Vec<_> = names.iter().take(5).map(|name| clean_line(name, 64)).collect();
            write!(f, "{word}: {}", shown.join(", "))?;
            if names.len() > 5 {
                write!(f, " and {} more", names.len() - 5)?;
            }
        }
        if self.instructions {
            f.write_str(if first { "its instructions" } else { "; its instructions" })?;
        }
        Ok(())
    }
}

/// Returns the canonical text of a value: sorted keys, no spaces.
fn canonical(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| *name);
            let fields = fields
                .into_iter()
                .map(|(name, value)| format!("{}:{}", json!(name), canonical(value)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(","))
        }
        plain => plain.to_string(),
    }
}

#[cfg(test)]
mod tests;
