//! The `sandbox` settings.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The sandbox for commands. A leading `/` in a path is the root of the file system.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SandboxSettings {
    /// Whether commands run in the sandbox.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Whether the program fails if the system has no sandbox. Otherwise commands run without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fail_if_unavailable: Option<bool>,
    /// Whether a command that is allowed only because it was proven to change nothing runs where it
    /// cannot: without write access and without the network, also if the sandbox is off. Without
    /// it, a mistake in the proof has effects. `true` if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only_fence: Option<bool>,
    /// Whether a command in the sandbox runs without approval. `true` has no effect yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_allow_bash_if_sandboxed: Option<bool>,
    /// Commands that run outside the sandbox. No effect yet: every command runs in it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub excluded_commands: Vec<String>,
    /// Whether a command may ask to run outside the sandbox. `true` has no effect yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow_unsandboxed_commands: Option<bool>,
    /// Which files commands may read and write.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filesystem: Option<SandboxFilesystem>,
    /// Secrets that are hidden from commands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials: Option<SandboxCredentials>,
    /// Which hosts commands may reach.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<SandboxNetwork>,
    /// Keys that this version does not know. They have no effect.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// Which files commands may read and write.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SandboxFilesystem {
    /// Paths that may be written, in addition to the workspace and temporary folders.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow_write: Vec<String>,
    /// Paths that may not be written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deny_write: Vec<String>,
    /// Paths below `denyRead` that may be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow_read: Vec<String>,
    /// Paths that may not be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deny_read: Vec<String>,
    /// Keys that this version does not know. They have no effect.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// Secrets that are hidden from commands in the sandbox.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SandboxCredentials {
    /// Files and folders that commands cannot read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<HiddenSecret>,
    /// Variables of the environment that commands do not get.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env_vars: Vec<HiddenSecret>,
    /// Keys that this version does not know. They have no effect.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The path of a file or the name of a variable. Claude Code writes it as an object with a mode.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a text, or an object with `path` or `name`")]
pub enum HiddenSecret {
    /// The path or the name.
    Name(String),
    /// The path or the name in an object.
    Entry {
        /// The path or the name.
        #[serde(alias = "path")]
        name: String,
        /// The other fields, such as `mode`. They have no effect: the secret is hidden with every mode.
        #[serde(flatten)]
        other: Map<String, Value>,
    },
}

impl HiddenSecret {
    /// Returns the path or the name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Name(name) | Self::Entry { name, .. } => name,
        }
    }

    /// Returns whether the entry asks for something else than hiding the secret.
    #[must_use]
    pub fn is_masked(&self) -> bool {
        match self {
            Self::Name(_) => false,
            Self::Entry { other, .. } => other.get("mode").is_some_and(|mode| mode != "deny"),
        }
    }
}

/// Which hosts commands may reach. Only `allowedDomains: ["*"]` without `deniedDomains` turns the
/// network on; single hosts cannot be allowed yet.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SandboxNetwork {
    /// Hosts that may be reached.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed_domains: Vec<String>,
    /// Hosts that may not be reached.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub denied_domains: Vec<String>,
    /// Keys that this version does not know. They have no effect.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}
