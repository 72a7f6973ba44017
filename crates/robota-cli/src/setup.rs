//! Settings, trust and the policy they make: the same for a run and for an explanation.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use robota_config::{
    Environment, Files, Layer, Places, RuleList, RuleText, Settings, SettingsArgument, Severity,
    Trust, TrustStore,
};
use robota_core::permission::Mode;
use robota_exec::OsPaths;
use robota_policy::{
    DEFAULT_ALLOW, LexicalPaths, List, Policy, PolicySpec, RuleError, RuleSource, Workspace,
};
use serde_json::{Map, Value, json};

use crate::args::SettingsArgs;
use crate::{compose, output};

/// What is set up for one folder.
pub(crate) struct Setup {
    /// The variables of the environment.
    pub(crate) environment: Environment,
    /// Where things are.
    pub(crate) places: Places,
    /// The settings that hold.
    pub(crate) settings: Settings,
    /// The rules they make.
    pub(crate) policy: Policy,
    /// Rules that cannot be read.
    pub(crate) rule_errors: Vec<RuleError>,
}

impl Setup {
    /// Reads the settings for a folder, with what the arguments add.
    pub(crate) fn load(args: &SettingsArgs, mode: Option<Mode>) -> anyhow::Result<Self> {
        let cwd = compose::working_directory(args.cwd.as_deref())?;
        let environment = Environment::of_process();
        let mut places = Places::from_env(&environment).unwrap_or_default();
        places.cwd = cwd;
        places.settings = args.settings.as_deref().map(SettingsArgument::from);
        places.flags = flags(args, mode)?;
        if let Some(SettingsArgument::File(file)) = &places.settings {
            anyhow::ensure!(file.exists(), "--settings: there is no file {}", file.display());
            // Named from where the program was called, not from where it works.
            let file = std::path::absolute(file).context("--settings")?;
            places.settings = Some(SettingsArgument::File(file));
        }
        let files = Files::read(&places);
        let store = TrustStore::load(&places);
        let trust = if args.trust { Trust::Trusted } else { store.status(&files) };
        let settings = Settings::from_files(&files, trust, &check_rule);
        let (policy, rule_errors) = policy(&places, &settings);
        Ok(Self { environment, places, settings, policy, rule_errors })
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
        for error in &self.rule_errors {
            output::complain(&error.to_string());
        }
        let dropped = self.settings.report.dropped.len();
        if dropped > 0 {
            let why = match self.settings.trust {
                Trust::Changed => "this folder's settings changed since you trusted them",
                Trust::Unknown => "this folder is not trusted",
                Trust::Trusted | Trust::NotNeeded => "see `robota config explain`",
            };
            output::note(&format!(
                "robota: {dropped} setting{} do{} not count: {why}. `robota trust` shows them.",
                if dropped == 1 { "" } else { "s" },
                if dropped == 1 { "es" } else { "" },
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

/// Whether a rule can be read, wherever it stands.
pub(crate) fn check_rule(list: RuleList, rule: &str) -> Result<(), String> {
    let spec = PolicySpec::new(Workspace::new("/", "/")).rules(
        list_of(list),
        RuleSource::session(),
        [rule],
    );
    match Policy::new(&spec, &LexicalPaths).1.pop() {
        None => Ok(()),
        Some(error) => Err(match error.advice {
            Some(advice) => format!("{}; {advice}", error.problem),
            None => error.problem,
        }),
    }
}

fn list_of(list: RuleList) -> List {
    match list {
        RuleList::Allow => List::Allow,
        RuleList::Ask => List::Ask,
        RuleList::Deny => List::Deny,
    }
}

/// The policy that settings make.
fn policy(places: &Places, settings: &Settings) -> (Policy, Vec<RuleError>) {
    let home = places.home.clone().unwrap_or_else(|| PathBuf::from("/nonexistent"));
    let mut workspace = Workspace::new(&places.cwd, home);
    let permissions = &settings.permissions;
    for dir in &permissions.additional_directories {
        let dir = resolve(places, dir);
        workspace = workspace.with_additional(dir);
    }
    let mut spec = with_defaults(PolicySpec::new(workspace).mode(permissions.mode));
    for (list, rules) in [
        (List::Allow, &permissions.allow),
        (List::Ask, &permissions.ask),
        (List::Deny, &permissions.deny),
    ] {
        for rule in rules {
            spec = spec.rules(list, source(places, rule), [rule.text.clone()]);
        }
    }
    Policy::new(&spec, &OsPaths)
}

/// The rules every session starts with.
pub(crate) fn with_defaults(spec: PolicySpec) -> PolicySpec {
    spec.rules(List::Allow, RuleSource::flag("built in"), DEFAULT_ALLOW.iter().copied())
}

fn source(places: &Places, rule: &RuleText) -> RuleSource {
    match rule.origin.layer {
        Layer::Flags | Layer::BuiltIn => RuleSource::flag(&rule.origin.to_string()),
        layer => RuleSource::file(rule.origin.to_string(), places.anchor(layer)),
    }
}

fn resolve(places: &Places, dir: &RuleText) -> PathBuf {
    match (dir.text.strip_prefix("~/"), &places.home) {
        (Some(below), Some(home)) => home.join(below),
        _ => places.anchor(dir.origin.layer).join(Path::new(&dir.text)),
    }
}

/// The file system that policies ask.
pub(crate) fn paths() -> Arc<OsPaths> {
    Arc::new(OsPaths)
}

#[cfg(test)]
mod tests;
