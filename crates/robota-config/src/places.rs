//! Where to look. Nothing else in this crate, and nothing below it, knows the home folder,
//! the working folder or the environment.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::layer::Layer;

/// The folders and arguments that decide which settings hold.
#[derive(Debug, Clone, Default)]
pub struct Places {
    /// The user's home; without one there are no user settings and nothing can be trusted.
    pub home: Option<PathBuf>,
    /// The folder the agent works in; its `.robota` and `.claude` are the project's settings.
    pub cwd: PathBuf,
    /// Where `~/.claude` is, if not there (`CLAUDE_CONFIG_DIR`).
    pub claude_dir: Option<PathBuf>,
    /// What `--settings` names.
    pub settings: Option<SettingsArgument>,
    /// Settings made from other arguments, such as `--permission-mode`.
    pub flags: Map<String, Value>,
}

/// What `--settings` names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingsArgument {
    /// A file.
    File(PathBuf),
    /// The settings themselves.
    Inline(String),
}

impl From<&str> for SettingsArgument {
    /// What starts like an object is one; the rest is a file.
    fn from(text: &str) -> Self {
        if text.trim_start().starts_with('{') {
            Self::Inline(text.to_owned())
        } else {
            Self::File(PathBuf::from(text))
        }
    }
}

impl Places {
    /// A home and a folder to work in, nothing else.
    pub fn new(home: impl Into<PathBuf>, cwd: impl Into<PathBuf>) -> Self {
        Self { home: Some(home.into()), cwd: cwd.into(), ..Self::default() }
    }

    /// The places of this process: its home and its working folder.
    ///
    /// # Errors
    /// When the working folder is gone or may not be looked at.
    #[expect(clippy::disallowed_methods, reason = "the one place that looks them up")]
    pub fn from_env(environment: &Environment) -> std::io::Result<Self> {
        let set = |name: &str| environment.get(name).filter(|text| !text.is_empty());
        Ok(Self {
            home: set("HOME").map(PathBuf::from).or_else(std::env::home_dir),
            cwd: std::env::current_dir()?,
            claude_dir: set("CLAUDE_CONFIG_DIR").map(PathBuf::from),
            settings: None,
            flags: Map::new(),
        })
    }

    /// The file of a layer; none for the layers that are no file, or without a home.
    #[must_use]
    pub fn file(&self, layer: Layer) -> Option<PathBuf> {
        let home = self.home.as_deref();
        let project = |name: &str| Some(self.cwd.join(name));
        match layer {
            Layer::UserRobota => home.map(|home| home.join(".robota/settings.json")),
            Layer::UserClaude => self.user_claude().map(|dir| dir.join("settings.json")),
            Layer::ProjectRobota => project(".robota/settings.json"),
            Layer::ProjectRobotaLocal => project(".robota/settings.local.json"),
            Layer::ProjectClaude => project(".claude/settings.json"),
            Layer::ProjectClaudeLocal => project(".claude/settings.local.json"),
            Layer::Argument => match &self.settings {
                Some(SettingsArgument::File(path)) => Some(self.cwd.join(path)),
                Some(SettingsArgument::Inline(_)) | None => None,
            },
            Layer::BuiltIn | Layer::Flags => None,
        }
    }

    /// What a leading `/` means in a path rule that stands there: the folder of the settings
    /// for the user's, the working folder for the project's and for arguments, and its own
    /// folder for a file that `--settings` names.
    #[must_use]
    pub fn anchor(&self, layer: Layer) -> PathBuf {
        let folder_of_file = || Some(self.file(layer)?.parent()?.to_path_buf());
        match layer {
            Layer::UserRobota | Layer::UserClaude | Layer::Argument => folder_of_file(),
            Layer::BuiltIn
            | Layer::ProjectRobota
            | Layer::ProjectRobotaLocal
            | Layer::ProjectClaude
            | Layer::ProjectClaudeLocal
            | Layer::Flags => None,
        }
        .unwrap_or_else(|| self.cwd.clone())
    }

    /// Where trust is recorded.
    #[must_use]
    pub fn trust_file(&self) -> Option<PathBuf> {
        self.home.as_deref().map(|home| home.join(".robota/trust.json"))
    }

    fn user_claude(&self) -> Option<PathBuf> {
        let given = self.claude_dir.clone();
        given.or_else(|| self.home.as_deref().map(|home: &Path| home.join(".claude")))
    }
}

/// The variables of the environment, as they were when the program started.
#[derive(Clone, Default)]
pub struct Environment {
    variables: BTreeMap<String, String>,
}

impl Environment {
    /// The environment of this process. What is not text is left out: no setting can name it.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
    pub fn of_process() -> Self {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Self { variables: std::env::vars_os().filter_map(text).collect() }
    }

    /// The value of a variable.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    /// Every variable, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.variables.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The lookup that resolving a secret asks for.
    pub fn lookup(&self) -> impl Fn(&str) -> Option<String> + '_ {
        |name| self.get(name).map(str::to_owned)
    }
}

impl FromIterator<(String, String)> for Environment {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(variables: I) -> Self {
        Self { variables: variables.into_iter().collect() }
    }
}

impl std::fmt::Debug for Environment {
    /// Names only: values are where people keep their secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.variables.keys()).finish()
    }
}
