//! Loads settings and trust of a folder and builds the policy. Runs and the commands that explain
//! decisions share it, so that an explanation matches what a run does.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use indexmap::IndexMap;
use robota_config::instructions::{Instructions, PendingImport};
use robota_config::plugins::{InstalledPlugin, Plugins};
use robota_config::{
    ContextReader, Files, Places, Problem, ProgramEnvironment, RuleList, SettingSource, Settings,
    SettingsArgument, Severity, Trust, TrustStore, rule_check,
};
use robota_core::env_ref::Secret;
use robota_core::permission::Mode;
use robota_core::redact::{LateSecrets, Redactor};
use robota_core::sandbox::SandboxLevel;
use robota_exec::OsPaths;
use robota_policy::{Policy, Workspace};
use serde_json::{Map, Value, json};

use crate::error::SdkError;
use crate::notice::Notice;

/// How many ignored settings are reported one by one. A checkout can hold thousands, and must not
/// be able to fill the screen.
const MAX_REPORTED: usize = 5;

/// What a program adds to the settings files of a folder.
///
/// ```
/// use robota_core::permission::Mode;
/// use robota_sdk::ProjectOptions;
///
/// let options = ProjectOptions { mode: Some(Mode::Plan), ..ProjectOptions::default() };
/// assert!(!options.trust);
/// ```
#[derive(Debug, Clone, Default)]
pub struct ProjectOptions {
    /// The working folder; none is the current folder of the process.
    pub cwd: Option<PathBuf>,
    /// The environment variables that settings refer to; none takes those of the process.
    pub environment: Option<ProgramEnvironment>,
    /// A settings file or inline settings above the files of the user and the folder.
    pub settings: Option<SettingsArgument>,
    /// The settings files to read; none reads all.
    pub sources: Option<Vec<SettingSource>>,
    /// The permission mode; none leaves it to the settings.
    pub mode: Option<Mode>,
    /// The sandbox level; none leaves it to the settings.
    pub sandbox: Option<SandboxLevel>,
    /// Rules that allow calls, besides those of the settings.
    pub allow: Vec<String>,
    /// Rules that deny calls, besides those of the settings.
    pub deny: Vec<String>,
    /// Folders besides the working folder that belong to the workspace.
    pub directories: Vec<PathBuf>,
    /// Folders of plugins to use besides the installed ones. The caller trusts them.
    pub plugins: Vec<PathBuf>,
    /// Uses the settings of the folder as if the user had trusted it.
    pub trust: bool,
    /// Secrets that are redacted besides those that the environment and the settings name.
    pub secrets: Vec<Secret>,
    /// The folders of the administrator, lowest first; none takes those of the machine.
    pub managed: Option<Vec<PathBuf>>,
}

/// Holds the settings and the policy of one working folder.
///
/// ```
/// use robota_sdk::{Project, ProjectOptions};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// let options = ProjectOptions { cwd: Some(folder.path().to_owned()), ..Default::default() };
/// let project = Project::load(options)?;
/// assert!(project.cwd().is_absolute());
/// # Ok(()) }
/// ```
pub struct Project {
    /// The folders and arguments that settings are read from.
    pub places: Places,
    /// The environment variables that settings refer to.
    pub environment: ProgramEnvironment,
    /// The settings of all files and options, merged.
    pub settings: Settings,
    /// The policy built from the settings.
    pub policy: Policy,
    /// The sandbox level that the caller asked for.
    pub sandbox: Option<SandboxLevel>,
    /// The installed plugins, and those of [`ProjectOptions::plugins`].
    pub plugins: Plugins,
    /// Secrets that become known while sessions run, such as a renewed key. All sessions of the
    /// project redact them.
    pub late_secrets: LateSecrets,
    /// Whether the caller trusts the folder, instead of the user's decision.
    pub(crate) trusted_by_caller: bool,
    secrets: Vec<Secret>,
}

impl Project {
    /// Loads the settings of a folder. The options override the files.
    ///
    /// # Errors
    /// If an option is invalid. A problem of a settings file is not an error but a notice.
    pub fn load(options: ProjectOptions) -> Result<Self, SdkError> {
        let cwd = working_directory(options.cwd.as_deref())?;
        let environment =
            options.environment.clone().unwrap_or_else(ProgramEnvironment::of_process);
        let mut places = Places::from_env(&environment).unwrap_or_default();
        places.cwd = cwd;
        places.settings = options.settings.clone().map(check_settings).transpose()?;
        places.sources = options.sources.clone();
        if let Some(managed) = &options.managed {
            places.managed.clone_from(managed);
        }
        let mut plugins = Plugins::load(&places);
        for folder in &options.plugins {
            plugins.use_folder(folder).map_err(|error| SdkError::Option {
                option: "plugins",
                problem: error.to_string(),
            })?;
        }
        // Rules of the command line are a layer of their own, so that `config explain` can name
        // them.
        places.flags = flags(&options, &plugins)?;
        check_rules(&options, &places)?;
        let mut settings = read_settings(&places, options.trust);
        let active = plugins.active().count();
        plugins.apply_settings(&settings.values.enabled_plugins, &settings.values.plugin_configs);
        // Read twice at most: the settings decide about plugins, and plugins bring rules.
        if plugins.active().count() < active {
            // The rules of plugins that the settings turn off do not apply.
            places.flags = flags(&options, &plugins)?;
            settings = read_settings(&places, options.trust);
        }
        // Invalid rules are already in the report of the settings.
        let (policy, _) = Policy::new(&settings.policy_spec(&places), &OsPaths);
        let ProjectOptions { sandbox, mut secrets, trust: trusted_by_caller, .. } = options;
        secrets.extend(plugins.active().flat_map(InstalledPlugin::secret_options).map(Secret::new));
        Ok(Self {
            places,
            environment,
            settings,
            policy,
            sandbox,
            plugins,
            late_secrets: LateSecrets::default(),
            trusted_by_caller,
            secrets,
        })
    }

    /// Returns the working folder.
    #[must_use]
    pub fn cwd(&self) -> &Path {
        &self.places.cwd
    }

    /// Returns the same settings for another working folder, such as a worktree of this one. The files
    /// of that folder add nothing.
    #[must_use]
    pub(crate) fn in_folder(&self, cwd: &Path) -> Self {
        let places = Places { cwd: cwd.to_owned(), ..self.places.clone() };
        let (policy, _) = Policy::new(&self.settings.policy_spec(&places), &OsPaths);
        Self {
            places,
            environment: self.environment.clone(),
            settings: self.settings.clone(),
            policy,
            sandbox: self.sandbox,
            plugins: self.plugins.clone(),
            late_secrets: self.late_secrets.clone(),
            trusted_by_caller: self.trusted_by_caller,
            secrets: self.secrets.clone(),
        }
    }

    /// Reads the settings files again, as [`Project::load`] did: they may have changed since.
    #[must_use]
    pub fn read_settings(&self) -> Settings {
        read_settings(&self.places, self.trusted_by_caller)
    }

    /// Reads the instruction files, as a session of the folder does.
    #[must_use]
    pub fn instructions(&self) -> Instructions {
        let reader = ContextReader::new(&self.places);
        crate::context::instructions(self, &reader, &mut Vec::new())
    }

    /// Returns the files outside the folder that its instructions import and that the user has not
    /// approved.
    #[must_use]
    pub fn import_requests(&self, trust: &TrustStore) -> Vec<PendingImport> {
        let reader = ContextReader::new(&self.places);
        robota_config::import_requests(&reader, trust, Some(&crate::context::import_filter(self)))
    }

    /// Returns the workspace: the working folder and the additional directories.
    #[must_use]
    pub fn workspace(&self) -> Workspace {
        self.settings.policy_spec(&self.places).workspace
    }

    /// Returns a redactor for the given secrets, for the value of every variable whose name is that
    /// of a secret, and for [`Project::late_secrets`].
    ///
    /// # Errors
    /// If all secrets together are too large to search for.
    pub fn redactor(&self, secrets: &[Secret]) -> Result<Redactor, SdkError> {
        let settings = self.settings.values.env.iter().map(|(name, value)| (&**name, &**value));
        let variables = self.environment.iter().chain(settings);
        // Variables with the name of a secret count even if nothing here uses them: a command may
        // print them.
        let named = variables
            .filter(|(name, _)| robota_core::redact::is_secret_variable(name))
            .map(|(_, value)| Secret::new(value));
        let given = secrets.iter().chain(&self.secrets).cloned();
        let redactor = Redactor::new(given.chain(named)).map_err(SdkError::Redactor)?;
        Ok(redactor.with_late(self.late_secrets.clone()))
    }

    /// Returns the problems of the settings and a short summary of what is ignored.
    #[must_use]
    pub fn notices(&self) -> Vec<Notice> {
        let mut notices = Vec::new();
        let mut warnings: IndexMap<&str, Vec<&Problem>> = IndexMap::new();
        for problem in &self.settings.report.problems {
            match problem.severity {
                Severity::Error => notices.push(Notice::Error(problem.to_string())),
                Severity::Warning => warnings.entry(&problem.message).or_default().push(problem),
            }
        }
        if !self.settings.permissions.unreadable.is_empty() {
            notices.push(Notice::note(
                "until this is fixed, allow rules are ignored and every tool call needs approval",
            ));
        }
        for (message, problems) in &warnings {
            notices.push(Notice::Note(warning(message, problems)));
        }
        self.ignored(&mut notices);
        notices.extend(self.plugins.problems.iter().map(|it| Notice::Error(it.clone())));
        notices.extend(self.plugins.notes.iter().map(|it| Notice::Note(it.clone())));
        notices
    }

    /// Adds how many settings need trust, and each setting that is ignored for another reason.
    fn ignored(&self, notices: &mut Vec<Notice>) {
        let (untrusted, ignored): (Vec<_>, Vec<_>) =
            self.settings.report.dropped.iter().partition(|dropped| dropped.reason.needs_trust());
        for dropped in ignored.iter().take(MAX_REPORTED) {
            notices.push(Notice::Note(format!("ignored: {dropped}")));
        }
        if let Some(more) = ignored.len().checked_sub(MAX_REPORTED).filter(|more| *more > 0) {
            notices.push(Notice::Note(format!("and {more} more; run `robota config explain`")));
        }
        let count = untrusted.len();
        if count > 0 {
            let why = match self.settings.trust {
                Trust::Changed => "they changed since you trusted this folder",
                Trust::Unknown | Trust::Trusted | Trust::NotNeeded => "this folder is not trusted",
            };
            notices.push(Notice::Note(format!(
                "ignored {count} setting{} of this folder: {why}. Run `robota trust` to review \
                 them.",
                if count == 1 { "" } else { "s" },
            )));
        }
    }
}

fn read_settings(places: &Places, trusted: bool) -> Settings {
    let files = Files::read(places);
    let trust = if trusted { Trust::Trusted } else { TrustStore::load(places).status(&files) };
    Settings::from_files(&files, trust, &rule_check(places))
}

/// Returns the canonical path of the working folder: the given one, or the current one.
///
/// # Errors
/// If it does not exist or is not a folder.
pub fn working_directory(given: Option<&Path>) -> Result<PathBuf, SdkError> {
    let dir = match given {
        Some(dir) => dir.to_owned(),
        #[expect(clippy::disallowed_methods, reason = "the default of an option of the caller")]
        None => std::env::current_dir().map_err(|source| SdkError::Io {
            what: "the current folder no longer exists".to_owned(),
            source,
        })?,
    };
    let fail = |problem: String| SdkError::Folder { folder: dir.clone(), problem };
    // Trust, rules and stores compare paths; two names of one folder must be the same project.
    let canonical = dir.canonicalize().map_err(|error| fail(error.to_string()))?;
    if canonical.is_dir() { Ok(canonical) } else { Err(fail("it is a file".to_owned())) }
}

/// Checks the settings of the caller: unlike a file that is found, they can be corrected now.
fn check_settings(settings: SettingsArgument) -> Result<SettingsArgument, SdkError> {
    let fail = |problem| SdkError::Option { option: "settings", problem };
    match settings {
        SettingsArgument::File(file) if !file.exists() => {
            Err(fail(format!("file not found: {}", file.display())))
        }
        // The path is relative to where the program was started, not to the working folder.
        SettingsArgument::File(file) => std::path::absolute(file)
            .map(SettingsArgument::File)
            .map_err(|error| fail(format!("cannot resolve the path: {error}"))),
        SettingsArgument::Inline(text) => match serde_json::from_str::<Value>(&text) {
            Ok(_) => Ok(SettingsArgument::Inline(text)),
            Err(error) => Err(fail(format!("invalid JSON: {error}"))),
        },
    }
}

/// Returns one line for all problems with the same message: a settings file that was written for
/// another program can have many keys that this one does not use.
fn warning(message: &str, problems: &[&Problem]) -> String {
    let keys: Vec<_> = problems.iter().filter_map(|problem| problem.key.as_ref()).collect();
    match problems {
        [problem] => problem.to_string(),
        _ => {
            let shown: Vec<_> =
                keys.iter().take(MAX_REPORTED).map(|key| format!("`{key}`")).collect();
            let more = match keys.len().saturating_sub(MAX_REPORTED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            format!("{}{more}: {message}; run `robota config explain`", shown.join(", "))
        }
    }
}

/// Returns the settings layer that the options and the enabled plugins make.
fn flags(options: &ProjectOptions, plugins: &Plugins) -> Result<Map<String, Value>, SdkError> {
    let mut permissions = Map::new();
    let (mut allow, mut deny) = (options.allow.clone(), options.deny.clone());
    for plugin in plugins.active() {
        allow.extend_from_slice(&plugin.manifest.permissions.allow);
        deny.extend_from_slice(&plugin.manifest.permissions.deny);
    }
    for (key, rules) in [("allow", &allow), ("deny", &deny)] {
        if !rules.is_empty() {
            permissions.insert(key.to_owned(), json!(rules));
        }
    }
    if let Some(mode) = options.mode {
        permissions.insert("defaultMode".to_owned(), json!(mode));
    }
    let mut directories = Vec::new();
    for dir in &options.directories {
        // Canonical, because rules compare paths.
        let dir = working_directory(Some(dir)).map_err(|error| SdkError::Option {
            option: "directories",
            problem: error.to_string(),
        })?;
        directories.push(dir.display().to_string());
    }
    if !directories.is_empty() {
        permissions.insert("additionalDirectories".to_owned(), json!(directories));
    }
    let mut flags = Map::new();
    if !permissions.is_empty() {
        flags.insert("permissions".to_owned(), Value::Object(permissions));
    }
    if let Some(level) = options.sandbox {
        flags.insert("sandbox".to_owned(), json!({"enabled": level != SandboxLevel::Off}));
    }
    Ok(flags)
}

/// Rejects invalid rules of the caller. Unlike a rule in a file, which is reported and handled, the
/// user who typed it can correct it now.
fn check_rules(options: &ProjectOptions, places: &Places) -> Result<(), SdkError> {
    let check = rule_check(places);
    let allowed = options.allow.iter().map(|rule| (RuleList::Allow, rule));
    let denied = options.deny.iter().map(|rule| (RuleList::Deny, rule));
    for (list, rule) in allowed.chain(denied) {
        check(list, rule).map_err(|problem| SdkError::Rule { rule: rule.clone(), problem })?;
    }
    Ok(())
}

/// Returns the file system that policies resolve paths with.
pub(crate) fn paths() -> Arc<OsPaths> {
    Arc::new(OsPaths)
}
