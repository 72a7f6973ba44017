//! The layers of settings, and the origin of a setting in them.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Names one source of settings. A greater layer overrides a lesser one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layer {
    /// The defaults of this program.
    BuiltIn,
    /// `~/.robota/settings.json`, the lowest layer that is a file.
    UserRobota,
    /// `~/.claude/settings.json`, or that of `CLAUDE_CONFIG_DIR`.
    UserClaude,
    /// `.robota/settings.json` of the working folder, shared by its users.
    ProjectRobota,
    /// `.robota/settings.local.json` of the working folder, not committed.
    ProjectRobotaLocal,
    /// `.claude/settings.json` of the working folder, shared by its users.
    ProjectClaude,
    /// `.claude/settings.local.json` of the working folder, else of the root of the checkout, not
    /// committed.
    ProjectClaudeLocal,
    /// `--settings`, a file or JSON.
    Argument,
    /// Other command line arguments.
    Flags,
    /// The files of the administrator of the machine, the highest layer.
    Managed,
}

/// Who controls a layer, which decides what it may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LayerScope {
    /// The user: their own files, or arguments of this run; and the administrator of their machine.
    User,
    /// The authors of the checkout, who may be strangers to the user.
    Project,
}

impl Layer {
    /// Lists the six files, lowest layer first.
    pub const FILES: [Self; 6] = [
        Self::UserRobota,
        Self::UserClaude,
        Self::ProjectRobota,
        Self::ProjectRobotaLocal,
        Self::ProjectClaude,
        Self::ProjectClaudeLocal,
    ];

    /// Returns who controls the layer.
    #[must_use]
    pub fn scope(self) -> LayerScope {
        match self {
            // Arguments are the user's: a person who can pass them can run any program anyway.
            Self::BuiltIn
            | Self::UserRobota
            | Self::UserClaude
            | Self::Argument
            | Self::Flags
            | Self::Managed => LayerScope::User,
            Self::ProjectRobota
            | Self::ProjectRobotaLocal
            | Self::ProjectClaude
            | Self::ProjectClaudeLocal => LayerScope::Project,
        }
    }

    /// Returns the name of the layer for messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::BuiltIn => "built in",
            Self::UserRobota => "~/.robota/settings.json",
            Self::UserClaude => "~/.claude/settings.json",
            Self::ProjectRobota => ".robota/settings.json",
            Self::ProjectRobotaLocal => ".robota/settings.local.json",
            Self::ProjectClaude => ".claude/settings.json",
            Self::ProjectClaudeLocal => ".claude/settings.local.json",
            Self::Argument => "--settings",
            Self::Flags => "arguments",
            Self::Managed => "managed settings",
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Says where a setting was written: in which layer, file and line.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Origin {
    /// The layer, which decides what the setting may do.
    pub layer: Layer,
    /// The file; none if the layer is not a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// The line, counted from 1; none if the layer is not a file, or for the file as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
}

impl Origin {
    /// Returns the origin of a setting in a layer that is not a file.
    #[must_use]
    pub fn of(layer: Layer) -> Self {
        Self { layer, file: None, line: None }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.file {
            Some(file) => f.write_str(&crate::clean::shown(file))?,
            None => write!(f, "{}", self.layer)?,
        }
        match self.line {
            Some(line) => write!(f, ":{line}"),
            None => Ok(()),
        }
    }
}
