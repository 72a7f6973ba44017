//! Loads settings and trust and builds the policy. Runs and the commands that explain decisions
//! share it, so that an explanation matches what a run does.

use std::sync::Arc;

use anyhow::Context as _;
use indexmap::IndexMap;
use robota_config::{
    Environment, Files, Places, Problem, RuleList, SettingSource, Settings, SettingsArgument,
    Severity, Trust, TrustStore, rule_check,
};
use robota_core::env_ref::Secret;
use robota_core::permission::Mode;
use robota_core::redact::Redactor;
use robota_core::sandbox::SandboxLevel;
use robota_exec::OsPaths;
use robota_policy::{Policy, Workspace};
use serde_json::{Map, Value, json};

use crate::args::SettingsArgs;
use crate::stored_keys::{self, StoredKeys};
use crate::{Usage, compose, output};

/// How many ignored settings are reported one by one. A checkout can hold thousands, and must not
/// be able to fill the screen.
const MAX_REPORTED: usize = 5;

/// The settings and policy for one working folder.
pub(crate) struct Setup {
    /// The folders and arguments that settings are read from.
    pub(crate) places: Places,
    /// The environment variables of this process.
    pub(crate) environment: Environment,
    /// The merged settings.
    pub(crate) settings: Settings,
    /// The policy built from the settings.
    pub(crate) policy: Policy,
    /// The keys that `robota setup` stored.
    pub(crate) keys: StoredKeys,
}

impl Setup {
    /// Loads the settings for the folder of `args`; `args` and `mode` override the files.
    pub(crate) fn load(args: &SettingsArgs, mode: Option<Mode>) -> anyhow::Result<Self> {
        Self::load_for(args, mode, None, None)
    }

    /// Loads like [`Setup::load`], for a run whose `--sandbox` may override `sandbox.enabled` and
    /// that may read only some settings files.
    pub(crate) fn load_for(
        args: &SettingsArgs,
        mode: Option<Mode>,
        sandbox: Option<SandboxLevel>,
        sources: Option<Vec<SettingSource>>,
    ) -> anyhow::Result<Self> {
        let cwd = compose::working_directory(args.cwd.as_deref())?;
        let environment = Environment::of_process();
        let mut places = Places::from_env(&environment).unwrap_or_default();
        places.cwd = cwd;
        places.settings = args.settings.as_deref().map(SettingsArgument::from);
        places.sources = sources;
        let keys = StoredKeys::load(places.home.as_deref());
        places.flags = flags(args, mode, &keys)?;
        if let Some(level) = sandbox {
            let enabled = json!({"enabled": level != SandboxLevel::Off});
            places.flags.insert("sandbox".to_owned(), enabled);
        }
        if let Some(SettingsArgument::File(file)) = &places.settings {
            if !file.exists() {
                let text = format!("--settings: file not found: {}", file.display());
                return Err(Usage(text).into());
            }
            // The path is relative to where the program was started, not to --cwd.
            let file = std::path::absolute(file).context("--settings: cannot resolve the path")?;
            places.settings = Some(SettingsArgument::File(file));
        }
        if let Some(SettingsArgument::Inline(text)) = &places.settings {
            serde_json::from_str::<Value>(text)
                .map_err(|error| Usage(format!("--settings: invalid JSON: {error}")))?;
        }
        check_rules(args, &places)?;
        let files = Files::read(&places);
        let store = TrustStore::load(&places);
        let trust = if args.trust { Trust::Trusted } else { store.status(&files) };
        let settings = Settings::from_files(&files, trust, &rule_check(&places));
        // Invalid rules are already in the report of the settings.
        let (policy, _) = Policy::new(&settings.policy_spec(&places), &OsPaths);
        Ok(Self { places, environment, settings, policy, keys })
    }

    /// Returns the workspace: the working folder and the additional directories.
    pub(crate) fn workspace(&self) -> Workspace {
        self.settings.policy_spec(&self.places).workspace
    }

    /// Returns a redactor for the given secrets and for the value of every variable whose name
    /// looks like that of a secret.
    pub(crate) fn redactor(&self, secrets: &[Secret]) -> anyhow::Result<Redactor> {
        let settings = self.settings.values.env.iter().map(|(name, value)| (&**name, &**value));
        let variables = self.environment.iter().chain(settings);
        let named = variables
            .filter(|(name, _)| robota_core::redact::is_secret_variable(name))
            .map(|(_, value)| Secret::new(value));
        let stored = self.keys.secrets();
        Ok(Redactor::new(secrets.iter().cloned().chain(named).chain(stored))?)
    }

    /// Prints the problems of the settings and a short summary of what is ignored.
    pub(crate) fn report_problems(&self) {
        if let Some(problem) = &self.keys.problem {
            output::error(problem);
        }
        let mut warnings: IndexMap<&str, Vec<&Problem>> = IndexMap::new();
        for problem in &self.settings.report.problems {
            match problem.severity {
                Severity::Error => output::error(&problem.to_string()),
                Severity::Warning => warnings.entry(&problem.message).or_default().push(problem),
            }
        }
        if !self.settings.permissions.unreadable.is_empty() {
            output::note(
                "robota: until this is fixed, allow rules are ignored and every tool call needs \
                 approval",
            );
        }
        for (message, problems) in &warnings {
            output::note(&format!("robota: {}", warning(message, problems)));
        }
        self.report_ignored();
    }

    /// Prints how many settings need trust, and each setting that is ignored for another reason.
    fn report_ignored(&self) {
        let (untrusted, ignored): (Vec<_>, Vec<_>) =
            self.settings.report.dropped.iter().partition(|dropped| dropped.reason.needs_trust());
        for dropped in ignored.iter().take(MAX_REPORTED) {
            output::note(&format!("robota: ignored: {dropped}"));
        }
        if let Some(more) = ignored.len().checked_sub(MAX_REPORTED).filter(|more| *more > 0) {
            output::note(&format!("robota: and {more} more; run `robota config explain`"));
        }
        let count = untrusted.len();
        if count > 0 {
            let why = match self.settings.trust {
                Trust::Changed => "they changed since you trusted this folder",
                Trust::Unknown | Trust::Trusted | Trust::NotNeeded => "this folder is not trusted",
            };
            output::note(&format!(
                "robota: ignored {count} setting{} of this folder: {why}. Run `robota trust` to \
                 review them.",
                if count == 1 { "" } else { "s" },
            ));
        }
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

/// Returns the settings layer that the arguments make. It also keeps tools from reading the stored
/// keys, which they could do without approval where the home folder is the workspace.
fn flags(
    args: &SettingsArgs,
    mode: Option<Mode>,
    keys: &StoredKeys,
) -> anyhow::Result<Map<String, Value>> {
    let mut permissions = Map::new();
    let lists = [("allow", &args.allowed_tools), ("deny", &args.disallowed_tools)];
    for (key, given) in lists {
        let mut rules: Vec<String> = given.iter().flat_map(|text| split_rules(text)).collect();
        if key == "deny" && keys.exist() {
            rules.push(format!("Read({})", stored_keys::RULE_PATH));
        }
        if !rules.is_empty() {
            permissions.insert(key.to_owned(), json!(rules));
        }
    }
    if let Some(mode) = mode {
        permissions.insert("defaultMode".to_owned(), json!(mode));
    }
    let mut directories = Vec::new();
    for dir in &args.add_dir {
        let dir = compose::working_directory(Some(dir)).context("--add-dir")?;
        directories.push(dir.display().to_string());
    }
    if !directories.is_empty() {
        permissions.insert("additionalDirectories".to_owned(), json!(directories));
    }
    let mut flags = Map::new();
    if !permissions.is_empty() {
        flags.insert("permissions".to_owned(), Value::Object(permissions));
    }
    Ok(flags)
}

/// Rejects invalid rules on the command line. Unlike a rule in a file, which is reported and
/// handled, the user who typed it can correct it now.
fn check_rules(args: &SettingsArgs, places: &Places) -> Result<(), Usage> {
    let check = rule_check(places);
    let allowed = args.allowed_tools.iter().map(|text| (RuleList::Allow, text));
    let denied = args.disallowed_tools.iter().map(|text| (RuleList::Deny, text));
    for (list, text) in allowed.chain(denied) {
        for rule in split_rules(text) {
            check(list, &rule)
                .map_err(|problem| Usage(format!("invalid rule `{rule}`: {problem}")))?;
        }
    }
    Ok(())
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

/// Returns the file system that policies resolve paths with.
pub(crate) fn paths() -> Arc<OsPaths> {
    Arc::new(OsPaths)
}

#[cfg(test)]
mod tests;
