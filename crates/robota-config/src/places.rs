//! The folders, arguments and variables that settings come from. Nothing else in this crate, and no
//! crate below it, looks up the home folder, the working folder or the environment.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::layer::Layer;
use crate::reader::{LinkedWorktree, checkout_root};

/// The folder of the administrator that Claude Code reads, too.
const MANAGED: &str = if cfg!(target_os = "macos") {
    "/Library/Application Support/ClaudeCode"
} else {
    "/etc/claude-code"
};

/// The folders and arguments that settings are read from.
#[derive(Debug, Clone, Default)]
pub struct Places {
    /// The user's home folder. Without one there are no user settings and no folder can be trusted.
    pub home: Option<PathBuf>,
    /// The working folder. Its `.robota` and `.claude` have the project's settings.
    pub cwd: PathBuf,
    /// The folder that replaces `~/.claude` (`CLAUDE_CONFIG_DIR`).
    pub claude_dir: Option<PathBuf>,
    /// The value of `--settings`.
    pub settings: Option<SettingsArgument>,
    /// The settings files to read (`--setting-sources`); `None` reads all.
    pub sources: Option<Vec<SettingSource>>,
    /// The folders with what the administrator of the machine decided, lowest first:
    /// `managed-settings.json`, `managed-settings.d`, `managed-mcp.json`, `CLAUDE.md`, and in `.claude`
    /// agents, skills and output styles.
    pub managed: Vec<PathBuf>,
    /// The settings that other arguments make, such as `--permission-mode`.
    pub flags: Map<String, Value>,
}

/// Selects a group of settings files, as `--setting-sources` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SettingSource {
    /// The user's own files.
    User,
    /// The files of the project that its users share.
    Project,
    /// The files of the project that are this user's own.
    Local,
}

impl std::str::FromStr for SettingSource {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "user" => Ok(Self::User),
            "project" => Ok(Self::Project),
            "local" => Ok(Self::Local),
            _ => Err(format!("unknown source of settings `{text}`; use user, project or local")),
        }
    }
}

/// Whether a local file may be at the root of the checkout.
#[derive(Debug, Clone, Copy)]
enum RootFile {
    Yes,
    No,
}

/// Where the local settings of a project are.
struct LocalFile {
    file: PathBuf,
    /// The folder that a leading `/` in its rules means.
    anchor: PathBuf,
}

/// Holds the value of `--settings`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingsArgument {
    /// The path of a settings file.
    File(PathBuf),
    /// The settings as JSON text.
    Inline(String),
}

impl From<&str> for SettingsArgument {
    /// Takes a text that starts with `{` as JSON, and any other as a path.
    fn from(text: &str) -> Self {
        if text.trim_start().starts_with('{') {
            Self::Inline(text.to_owned())
        } else {
            Self::File(PathBuf::from(text))
        }
    }
}

impl Places {
    /// Returns the places for a home and a working folder, without arguments.
    pub fn new(home: impl Into<PathBuf>, cwd: impl Into<PathBuf>) -> Self {
        Self { home: Some(home.into()), cwd: cwd.into(), ..Self::default() }
    }

    /// Returns the places of this process: its home and its working folder.
    ///
    /// # Errors
    /// If the working folder does not exist or cannot be accessed.
    #[expect(clippy::disallowed_methods, reason = "the only place that looks them up")]
    pub fn from_env(environment: &ProgramEnvironment) -> std::io::Result<Self> {
        let set = |name: &str| environment.get(name).filter(|text| !text.is_empty());
        Ok(Self {
            home: environment.home(),
            cwd: std::env::current_dir()?,
            claude_dir: set("CLAUDE_CONFIG_DIR").map(PathBuf::from),
            settings: None,
            sources: None,
            // Fixed paths that only an administrator can write, not those of the environment.
            managed: [MANAGED, "/etc/robota"].map(PathBuf::from).to_vec(),
            flags: Map::new(),
        })
    }

    /// Returns the file of a layer; none if the layer is not a file or needs a home folder that does
    /// not exist.
    #[must_use]
    pub fn file(&self, layer: Layer) -> Option<PathBuf> {
        let home = self.home.as_deref();
        let project = |name: &str| Some(self.cwd.join(name));
        match layer {
            Layer::UserRobota => home.map(|home| home.join(".robota/settings.json")),
            Layer::UserClaude => self.user_claude().map(|dir| dir.join("settings.json")),
            Layer::ProjectRobota => project(".robota/settings.json"),
            Layer::ProjectRobotaLocal => Some(self.local_file(RootFile::No).file),
            Layer::ProjectClaude => project(".claude/settings.json"),
            Layer::ProjectClaudeLocal => Some(self.local_file(RootFile::Yes).file),
            Layer::Argument => match &self.settings {
                Some(SettingsArgument::File(path)) => Some(self.cwd.join(path)),
                Some(SettingsArgument::Inline(_)) | None => None,
            },
            Layer::BuiltIn | Layer::Flags | Layer::Managed => None,
        }
    }

    /// Returns whether the layer is read: `--setting-sources` leaves out others.
    pub(crate) fn reads(&self, layer: Layer) -> bool {
        let source = match layer {
            Layer::UserRobota | Layer::UserClaude => SettingSource::User,
            Layer::ProjectRobota | Layer::ProjectClaude => SettingSource::Project,
            Layer::ProjectRobotaLocal | Layer::ProjectClaudeLocal => SettingSource::Local,
            Layer::BuiltIn | Layer::Argument | Layer::Flags | Layer::Managed => return true,
        };
        // Arguments of the run always count: the user gave them with the list of sources.
        self.sources.as_ref().is_none_or(|sources| sources.contains(&source))
    }

    /// Returns the folder that a leading `/` in a path rule of the layer means: the folder of
    /// the file for the user's settings and for `--settings FILE`, the root of the checkout for a local file
    /// of Claude Code that is not in the working folder, the working folder for other settings of the
    /// project and other arguments.
    #[must_use]
    pub fn anchor(&self, layer: Layer) -> PathBuf {
        let folder_of_file = || Some(self.file(layer)?.parent()?.to_path_buf());
        match layer {
            Layer::UserRobota | Layer::UserClaude | Layer::Argument => folder_of_file(),
            Layer::ProjectClaudeLocal => Some(self.local_file(RootFile::Yes).anchor),
            Layer::ProjectRobotaLocal => Some(self.local_file(RootFile::No).anchor),
            Layer::BuiltIn
            | Layer::ProjectRobota
            | Layer::ProjectClaude
            | Layer::Flags
            | Layer::Managed => None,
        }
        .unwrap_or_else(|| self.cwd.clone())
    }

    /// Returns the canonical folder of the checkout that contains the working folder; the working folder
    /// itself if there is none.
    pub(crate) fn checkout(&self) -> PathBuf {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let (cwd, home) = (real(&self.cwd), self.home.as_deref().map(real));
        checkout_root(&cwd, home.as_deref()).to_owned()
    }

    /// Returns the file of the trust record.
    #[must_use]
    pub fn trust_file(&self) -> Option<PathBuf> {
        self.home.as_deref().map(|home| home.join(".robota/trust.json"))
    }

    /// Returns where the local settings are: in the working folder, else, for the file of Claude Code, at
    /// the root of the checkout, else, in a worktree of git, at the same place of the main checkout.
    fn local_file(&self, root_file: RootFile) -> LocalFile {
        let (name, has_root_file) = match root_file {
            RootFile::Yes => (".claude/settings.local.json", true),
            RootFile::No => (".robota/settings.local.json", false),
        };
        let own = LocalFile { file: self.cwd.join(name), anchor: self.cwd.clone() };
        let exists = |file: &Path| file.symlink_metadata().is_ok();
        if exists(&own.file) {
            return own;
        }
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let (root, cwd) = (self.checkout(), real(&self.cwd));
        let folder = if has_root_file { &root } else { &cwd };
        let found = |file: PathBuf| {
            // The rules of a file of the main checkout mean the same paths in the worktree.
            exists(&file).then(|| LocalFile { file, anchor: folder.to_owned() })
        };
        // The checkout of another user, or a home folder under version control, has nothing of this
        // user for the folder.
        let is_users = |folder: &Path| match self.home.as_deref().map(real) {
            Some(home) => !home.starts_with(folder) && owner(&home) == owner(folder),
            None => false,
        };
        let at_root = || found(folder.join(name)).filter(|_| has_root_file);
        let in_main = || {
            let tree = LinkedWorktree::at(&root)?;
            let main = tree.main_checkout().filter(|main| is_users(main))?;
            found(main.join(folder.strip_prefix(&root).ok()?).join(name))
        };
        at_root().or_else(in_main).unwrap_or(own)
    }

    /// Returns the places of the folder that a file of a project is in, if that is not the working
    /// folder: it has trust of its own.
    pub(crate) fn of_shared_file(&self, layer: Layer) -> Option<Self> {
        let local = match layer {
            Layer::ProjectRobotaLocal => self.local_file(RootFile::No),
            Layer::ProjectClaudeLocal => self.local_file(RootFile::Yes),
            _ => return None,
        };
        let cwd = local.file.parent()?.parent()?.to_owned();
        (cwd != self.cwd).then(|| Self { cwd, ..self.clone() })
    }

    fn user_claude(&self) -> Option<PathBuf> {
        let given = self.claude_dir.clone();
        given.or_else(|| self.home.as_deref().map(|home: &Path| home.join(".claude")))
    }
}

/// Holds the environment variables at the start of the program.
#[derive(Clone, Default)]
pub struct ProgramEnvironment {
    variables: BTreeMap<String, String>,
    /// The home folder of the account that runs the process. Variables that a program passes itself
    /// have none, so that they never lead to the files of a real user.
    account_home: Option<PathBuf>,
}

impl ProgramEnvironment {
    /// Reads the environment of this process. Variables that are not UTF-8 are skipped, because no
    /// setting can name them.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "the only place that reads the environment")]
    pub fn of_process() -> Self {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        let variables = std::env::vars_os().filter_map(text).collect();
        Self { variables, account_home: std::env::home_dir() }
    }

    /// Returns the home folder: `HOME`, else, in the environment of this process, the folder of the
    /// account.
    #[must_use]
    pub fn home(&self) -> Option<PathBuf> {
        // An empty `HOME` would make paths relative to the working folder, which may be a checkout.
        let given = self.get("HOME").filter(|text| !text.is_empty());
        given.map(PathBuf::from).or_else(|| self.account_home.clone())
    }

    /// Returns the value of a variable.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    /// Returns all variables, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.variables.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Returns a lookup function for resolving `$ENV:` references.
    pub fn lookup(&self) -> impl Fn(&str) -> Option<String> + '_ {
        |name| self.get(name).map(str::to_owned)
    }
}

impl FromIterator<(String, String)> for ProgramEnvironment {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(variables: I) -> Self {
        Self { variables: variables.into_iter().collect(), account_home: None }
    }
}

/// Returns the number of the owner of a folder; none if it cannot be read.
fn owner(folder: &Path) -> Option<u32> {
    use std::os::unix::fs::MetadataExt as _;
    folder.metadata().ok().map(|found| found.uid())
}

impl std::fmt::Debug for ProgramEnvironment {
    /// Shows names only, because values may be secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.variables.keys()).finish()
    }
}
