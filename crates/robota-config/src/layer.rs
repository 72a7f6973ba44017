//! The layers settings come from, and where in them a setting stands.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// One source of settings. Ordered: what is greater overrides what is less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layer {
    /// What holds when nobody says anything.
    BuiltIn,
    /// `~/.robota/settings.json`
    UserRobota,
    /// `~/.claude/settings.json`
    UserClaude,
    /// `.robota/settings.json`
    ProjectRobota,
    /// `.robota/settings.local.json`
    ProjectRobotaLocal,
    /// `.claude/settings.json`
    ProjectClaude,
    /// `.claude/settings.local.json`
    ProjectClaudeLocal,
    /// `--settings`
    Argument,
    /// Other arguments.
    Flags,
}

/// Whose a layer is, which decides what it may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scope {
    /// The user's, or given by the user for this run.
    User,
    /// The checkout's: whoever wrote it may be a stranger.
    Project,
}

impl Layer {
    /// The six files, lowest first.
    pub const FILES: [Self; 6] = [
        Self::UserRobota,
        Self::UserClaude,
        Self::ProjectRobota,
        Self::ProjectRobotaLocal,
        Self::ProjectClaude,
        Self::ProjectClaudeLocal,
    ];

    /// Whose it is.
    #[must_use]
    pub fn scope(self) -> Scope {
        match self {
            Self::BuiltIn | Self::UserRobota | Self::UserClaude | Self::Argument | Self::Flags => {
                Scope::User
            }
            Self::ProjectRobota
            | Self::ProjectRobotaLocal
            | Self::ProjectClaude
            | Self::ProjectClaudeLocal => Scope::Project,
        }
    }

    /// How people call it.
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
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Where a setting stands.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct Origin {
    /// In which layer.
    pub layer: Layer,
    /// In which file, if the layer is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// On which line, counted from 1, if the layer has lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
}

impl Origin {
    /// Somewhere in a layer that is no file.
    #[must_use]
    pub fn of(layer: Layer) -> Self {
        Self { layer, file: None, line: None }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.file {
            Some(file) => write!(f, "{}", file.display())?,
            None => write!(f, "{}", self.layer)?,
        }
        match self.line {
            Some(line) => write!(f, ":{line}"),
            None => Ok(()),
        }
    }
}
