//! The settings of a command: those of the folder, overridden by arguments, and the stored keys.

use std::ops::Deref;
use std::sync::Arc;

use robota_config::{SettingSource, SettingsArgument};
use robota_core::hook::HookNotice;
use robota_core::journal::{JournalStore, MemoryStore};
use robota_core::permission::Mode;
use robota_core::sandbox::SandboxLevel;
use robota_exec::ReaperProgram;
use robota_sdk::{Notice, Project, ProjectOptions, SdkError};
use robota_store::DurabilityLevel;

use crate::args::{SessionArgs, SettingsArgs};
use crate::stored_keys::{self, StoredKeys};
use crate::{Usage, output};

/// The argument that starts this program as a reaper.
pub(crate) const REAPER: &str = "__reaper";

/// The settings and policy for one working folder, with the keys of the user.
pub(crate) struct Setup {
    /// The settings and the policy.
    pub(crate) project: Arc<Project>,
    /// The keys that `robota setup` stored.
    pub(crate) keys: StoredKeys,
    /// Beta features of model services.
    pub(crate) betas: Vec<String>,
}

impl Deref for Setup {
    type Target = Project;

    fn deref(&self) -> &Project {
        &self.project
    }
}

impl Setup {
    /// Returns the settings of a project that is loaded already, with the keys that are stored now.
    pub(crate) fn of(project: Arc<Project>) -> Self {
        let keys = StoredKeys::load(project.places.home.as_deref());
        Self { project, keys, betas: Vec::new() }
    }

    /// Loads the settings for the folder of `args`; `args` and `mode` override the files.
    pub(crate) fn load(args: impl Into<SettingsArgs>, mode: Option<Mode>) -> anyhow::Result<Self> {
        Self::load_for(&args.into(), mode, None, None)
    }

    /// Loads like [`Setup::load`], for a run whose `--sandbox` may override `sandbox.enabled` and
    /// that may read only some settings files.
    pub(crate) fn load_for(
        args: &SettingsArgs,
        mode: Option<Mode>,
        sandbox: Option<SandboxLevel>,
        sources: Option<Vec<SettingSource>>,
    ) -> anyhow::Result<Self> {
        let environment = robota_config::ProgramEnvironment::of_process();
        Self::load_with(args, mode, sandbox, (sources, environment))
    }

    /// Loads like [`Setup::load_for`], with other environment variables than those of this process.
    pub(crate) fn load_with(
        args: &SettingsArgs,
        mode: Option<Mode>,
        sandbox: Option<SandboxLevel>,
        (sources, environment): (Option<Vec<SettingSource>>, robota_config::ProgramEnvironment),
    ) -> anyhow::Result<Self> {
        // Without a home folder there are no stored keys.
        let places = robota_config::Places::from_env(&environment).unwrap_or_default();
        let keys = StoredKeys::load(places.home.as_deref());
        let rules =
            |given: &[String]| given.iter().flat_map(|text| split_rules(text)).collect::<Vec<_>>();
        let mut deny = rules(&args.disallowed_tools);
        if keys.exist() {
            // Tools could read them without approval where the home folder is the workspace.
            deny.push(format!("Read({})", stored_keys::RULE_PATH));
        }
        let project = Project::load(ProjectOptions {
            cwd: args.cwd.clone(),
            environment: Some(environment),
            settings: args.settings.as_deref().map(SettingsArgument::from),
            sources,
            mode,
            sandbox,
            allow: rules(&args.allowed_tools),
            deny,
            directories: args.add_dir.clone(),
            plugins: args.plugin_dir.clone(),
            trust: args.trust,
            secrets: keys.secrets().collect(),
            managed: None,
        })
        .map_err(usage)?;
        Ok(Self { project: Arc::new(project), keys, betas: Vec::new() })
    }

    /// Sets the beta features of model services.
    pub(crate) fn with_betas(mut self, betas: &[String]) -> Self {
        self.betas = betas.to_vec();
        self
    }

    /// Prints the problems of the settings and a short summary of what is ignored.
    pub(crate) fn report_problems(&self) {
        if let Some(problem) = &self.keys.problem {
            output::error(problem);
        }
        self.notices().iter().for_each(print_notice);
    }
}

/// Names the flags of the options that an error of the SDK is about.
pub(crate) fn usage(error: SdkError) -> anyhow::Error {
    match error {
        SdkError::Option { option, problem } => {
            let flag = match option {
                "directories" => "add-dir",
                "mode" => "permission-mode",
                "plugins" => "plugin-dir",
                other => other,
            };
            Usage(format!("--{flag}: {problem}")).into()
        }
        error if error.is_usage() => Usage(error.to_string()).into(),
        error => error.into(),
    }
}

/// Prints a notice of the SDK.
pub(crate) fn print_notice(notice: &Notice) {
    match notice {
        Notice::Error(text) => output::error(text),
        Notice::Note(text) => output::note(&format!("robota: {text}")),
        Notice::Hint(text) => output::note(&format!("hint: {text}")),
    }
}

/// Prints a notice of a hook.
pub(crate) fn print_hook_notice(notice: &HookNotice) {
    output::note(&format!("robota: {} hook: {}", notice.event.name(), notice.text));
}

/// Opens the store of a run: in memory with `--no-session-persistence`, otherwise as `--store` says.
pub(crate) async fn session_store(
    args: &SessionArgs,
    project: &Project,
) -> anyhow::Result<Arc<dyn JournalStore>> {
    if args.no_session_persistence {
        return Ok(Arc::new(MemoryStore::new()));
    }
    open_store(args.store.as_deref(), args.durability.into(), project).await
}

/// Opens the store that `--store` names; without it, the files of the project.
pub(crate) async fn open_store(
    name: Option<&str>,
    level: DurabilityLevel,
    project: &Project,
) -> anyhow::Result<Arc<dyn JournalStore>> {
    let mut notices = Vec::new();
    let store = robota_sdk::store::open(name, level, project, &mut notices).await;
    notices.iter().for_each(print_notice);
    store.map_err(usage)
}

/// Returns this program as the one that ends child processes after a crash.
pub(crate) fn reaper() -> Option<ReaperProgram> {
    std::env::current_exe().ok().map(|program| ReaperProgram::new(program).args([REAPER]))
}

/// Splits rules at commas and spaces outside parentheses: `Bash(git log *),Edit Read` is three
/// rules.
fn split_rules(text: &str) -> Vec<String> {
    let mut rules = vec![String::new()];
    let mut depth = 0_usize;
    for letter in text.chars() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && (letter == ',' || letter.is_whitespace()) {
            rules.push(String::new());
        } else if let Some(rule) = rules.last_mut() {
            rule.push(letter);
        }
    }
    rules.retain(|rule| !rule.is_empty());
    rules
}

#[cfg(test)]
mod tests;
