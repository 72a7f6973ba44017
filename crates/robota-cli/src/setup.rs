//! Settings, trust and the policy they make: the same for a run and for an explanation.

use std::sync::Arc;

use anyhow::Context as _;
use robota_config::{
    Environment, Files, Places, RuleList, Settings, SettingsArgument, Severity, Trust, TrustStore,
    rule_check,
};
use robota_core::env_ref::Secret;
use robota_core::permission::Mode;
use robota_core::redact::Redactor;
use robota_core::sandbox::SandboxLevel;
use robota_exec::OsPaths;
use robota_policy::{Policy, Workspace};
use serde_json::{Map, Value, json};

use crate::args::SettingsArgs;
use crate::{Usage, compose, output};

/// A checkout must not fill the screen.
const MOST_TOLD: usize = 5;

/// What is set up for one folder.
pub(crate) struct Setup {
    /// Where things are.
    pub(crate) places: Places,
    /// The environment the program was started in.
    pub(crate) environment: Environment,
    /// The settings that hold.
    pub(crate) settings: Settings,
    /// The rules they make.
    pub(crate) policy: Policy,
}

impl Setup {
    /// Reads the settings for a folder, with what the arguments add.
    pub(crate) fn load(args: &SettingsArgs, mode: Option<Mode>) -> anyhow::Result<Self> {
        Self::load_for(args, mode, None)
    }

    /// The same for a run that may say what its sandbox is.
    pub(crate) fn load_for(
        args: &SettingsArgs,
        mode: Option<Mode>,
        sandbox: Option<SandboxLevel>,
    ) -> anyhow::Result<Self> {
        let cwd = compose::working_directory(args.cwd.as_deref())?;
        let environment = Environment::of_process();
        let mut places = Places::from_env(&environment).unwrap_or_default();
        places.cwd = cwd;
        places.settings = args.settings.as_deref().map(SettingsArgument::from);
        places.flags = flags(args, mode)?;
        if let Some(level) = sandbox {
            let enabled = json!({"enabled": level != SandboxLevel::Off});
            places.flags.insert("sandbox".to_owned(), enabled);
        }
        if let Some(SettingsArgument::File(file)) = &places.settings {
            if !file.exists() {
                let text = format!("--settings: there is no file {}", file.display());
                return Err(Usage(text).into());
            }
            // Named from where the program was called, not from where it works.
            let file = std::path::absolute(file).context("--settings")?;
            places.settings = Some(SettingsArgument::File(file));
        }
        if let Some(SettingsArgument::Inline(text)) = &places.settings {
            serde_json::from_str::<Value>(text)
                .map_err(|error| Usage(format!("--settings is not JSON: {error}")))?;
        }
        check_rules(args, &places)?;
        let files = Files::read(&places);
        let store = TrustStore::load(&places);
        let trust = if args.trust { Trust::Trusted } else { store.status(&files) };
        let settings = Settings::from_files(&files, trust, &rule_check(&places));
        // Rules that cannot be read are in the report already.
        let (policy, _) = Policy::new(&settings.policy_spec(&places), &OsPaths);
        Ok(Self { places, environment, settings, policy })
    }

    /// Where the agent works.
    pub(crate) fn workspace(&self) -> Workspace {
        self.settings.policy_spec(&self.places).workspace
    }

    /// Knows what must not be seen: these, and every variable that is named like a secret.
    pub(crate) fn redactor(&self, secrets: &[Secret]) -> Redactor {
        let settings = self.settings.values.env.iter().map(|(name, value)| (&**name, &**value));
        let variables = self.environment.iter().chain(settings);
        let named = variables
            .filter(|(name, _)| robota_core::redact::is_secret_variable(name))
            .map(|(_, value)| Secret::new(value));
        Redactor::new(secrets.iter().cloned().chain(named))
    }

    /// Tells what is wrong and what does not count, once, in as few lines as it takes.
    pub(crate) fn tell_problems(&self) {
        for problem in &self.settings.report.problems {
            if problem.severity == Severity::Error {
                output::complain(&problem.to_string());
            } else {
                output::note(&format!("robota: {problem}"));
            }
        }
        self.tell_dropped();
    }

    /// What waits for the user's trust is counted; what was refused for another reason is told.
    fn tell_dropped(&self) {
        let (waiting, refused): (Vec<_>, Vec<_>) =
            self.settings.report.dropped.iter().partition(|dropped| dropped.reason.needs_trust());
        for dropped in refused.iter().take(MOST_TOLD) {
            output::note(&format!("robota: does not count: {dropped}"));
        }
        if let Some(more) = refused.len().checked_sub(MOST_TOLD).filter(|more| *more > 0) {
            output::note(&format!("robota: and {more} more; see `robota config explain`"));
        }
        let waiting = waiting.len();
        if waiting > 0 {
            let why = match self.settings.trust {
                Trust::Changed => "this folder's settings changed since you trusted them",
                Trust::Unknown | Trust::Trusted | Trust::NotNeeded => "this folder is not trusted",
            };
            output::note(&format!(
                "robota: {waiting} setting{} do{} not count: {why}. `robota trust` shows them.",
                if waiting == 1 { "" } else { "s" },
                if waiting == 1 { "es" } else { "" },
            ));
        }
    }
}

/// Settings made from arguments.
fn flags(args: &SettingsArgs, mode: Option<Mode>) -> anyhow::Result<Map<String, Value>> {
    let mut permissions = Map::new();
    let lists = [("allow", &args.allowed_tools), ("deny", &args.disallowed_tools)];
    for (key, given) in lists {
        let rules: Vec<String> = given.iter().flat_map(|text| split_rules(text)).collect();
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

/// A rule on the command line that cannot be read ends the program: whoever wrote it is there.
fn check_rules(args: &SettingsArgs, places: &Places) -> Result<(), Usage> {
    let check = rule_check(places);
    let allowed = args.allowed_tools.iter().map(|text| (RuleList::Allow, text));
    let denied = args.disallowed_tools.iter().map(|text| (RuleList::Deny, text));
    for (list, text) in allowed.chain(denied) {
        for rule in split_rules(text) {
            check(list, &rule)
                .map_err(|problem| Usage(format!("the rule `{rule}` cannot be read: {problem}")))?;
        }
    }
    Ok(())
}

/// `Bash(git log *),Edit Read` is three rules: what is in parentheses is not split.
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

/// The file system that policies ask.
pub(crate) fn paths() -> Arc<OsPaths> {
    Arc::new(OsPaths)
}

#[cfg(test)]
mod tests;
