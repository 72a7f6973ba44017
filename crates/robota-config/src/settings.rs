//! The settings that hold: all layers merged, with what did not count and why.

mod explain;
pub(crate) mod mode;

use indexmap::IndexMap;
use robota_core::permission::Mode;
use serde::Serialize;
use serde_json::Value;

pub use explain::Explanation;

use crate::files::Files;
use crate::keys::Effect;
use crate::layer::{Layer, Origin, Scope};
use crate::merge::{Merged, Table};
use crate::model::{HookDefinition, HookGroup, SettingsFile};
use crate::path::KeyPath;
use crate::places::Places;
use crate::report::{Dropped, Problem, Reason, Report, Severity, redact};
use crate::trust::{Trust, TrustStore};
use crate::validate::{Content, Entry};

/// A permission rule and where it stands. What it means is `robota-policy`'s to say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RuleText {
    /// The rule.
    pub text: String,
    /// Where it stands, which also decides what a path in it is relative to.
    pub origin: Origin,
}

/// The three lists of rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RuleList {
    /// Runs without a question.
    Allow,
    /// Is always asked.
    Ask,
    /// Never runs.
    Deny,
}

impl RuleList {
    /// Its name in the settings.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }

    /// Its key.
    #[must_use]
    pub fn key(self) -> KeyPath {
        KeyPath(vec!["permissions".to_owned(), self.name().to_owned()])
    }
}

/// Says what is wrong with a rule, if anything is.
pub type RuleCheck<'a> = &'a dyn Fn(RuleList, &str) -> Result<(), String>;

/// What tools may do.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Permissions {
    /// Rules for what runs without a question.
    pub allow: Vec<RuleText>,
    /// Rules for what is always asked.
    pub ask: Vec<RuleText>,
    /// Rules for what never runs.
    pub deny: Vec<RuleText>,
    /// The mode a session starts in.
    pub mode: Mode,
    /// Whether nobody may use the mode that asks nothing.
    pub bypass_disabled: bool,
    /// Folders beside the working folder that count as part of it.
    pub additional_directories: Vec<RuleText>,
    /// The files that cannot be read. While there are any, no allow rule counts, the mode is
    /// at most `default`, and every tool is asked about (`ask` has the rule `*`).
    pub unreadable: Vec<Origin>,
}

/// A group of hooks and where it stands.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SourcedHooks {
    /// The group.
    pub group: HookGroup,
    /// Where it stands.
    pub origin: Origin,
}

/// The settings that hold.
#[derive(Debug, Clone)]
pub struct Settings {
    /// All keys but permissions and hooks, which are below.
    pub values: SettingsFile,
    /// What tools may do.
    pub permissions: Permissions,
    /// Hooks, by event; those of lower layers first.
    pub hooks: IndexMap<String, Vec<SourcedHooks>>,
    /// Whether the project's files counted in full.
    pub trust: Trust,
    /// What is wrong, and what did not count.
    pub report: Report,
    table: Table,
}

/// Reads all layers and puts them together. Never fails: what is wrong is in the report.
#[must_use]
pub fn load(places: &Places, trust: &TrustStore, check: RuleCheck<'_>) -> Settings {
    let files = Files::read(places);
    let status = trust.status(&files);
    Settings::from_files(&files, status, check)
}

impl Settings {
    /// Puts the layers together, with the project's in full if it is trusted.
    #[must_use]
    pub fn from_files(files: &Files, trust: Trust, check: RuleCheck<'_>) -> Self {
        let mut report = Report::default();
        let mut table = Table::default();
        let mut modes = Vec::new();
        let mut unreadable = Vec::new();
        for source in &files.sources {
            report_problems(&source.checked.problems, &mut report);
            if source.checked.forbids_unknown {
                let error = source.checked.problems.iter().find(|p| p.severity == Severity::Error);
                unreadable.push(
                    error.map_or_else(|| Origin::of(source.layer), |error| error.origin.clone()),
                );
            }
            for entry in &source.checked.entries {
                match admit(entry, source.layer, trust) {
                    Ok(()) if is_mode(entry) => modes.push(entry.clone()),
                    Ok(()) => {
                        table.add(check_rules(entry.clone(), check, &mut report));
                    }
                    Err(reason) => report.dropped.push(dropped(entry, reason)),
                }
            }
        }
        let bypass_disabled = table.0.contains_key(&key(&["permissions", BYPASS]));
        let limits = mode::Limits { trust, bypass_disabled, unreadable: !unreadable.is_empty() };
        let mode = mode::resolve(&modes, limits, &mut report);
        table.0.insert(mode::key(), (crate::keys::Merge::Mode, mode.merged));
        if !unreadable.is_empty() {
            suspend_grants(&mut table, &unreadable, &mut report);
        }
        let permissions = Permissions {
            allow: texts(&table, &RuleList::Allow.key()),
            ask: texts(&table, &RuleList::Ask.key()),
            deny: texts(&table, &RuleList::Deny.key()),
            mode: mode.mode,
            bypass_disabled,
            additional_directories: texts(&table, &key(&["permissions", DIRECTORIES])),
            unreadable,
        };
        let hooks = hooks(&table);
        let values = values(&table, &mut report);
        Self { values, permissions, hooks, trust, report, table }
    }

    /// The value of a key, or of all keys below it. Secrets are in it as they were written.
    #[must_use]
    pub fn get(&self, key: &KeyPath) -> Option<Value> {
        let mut value = self.table.to_value();
        for name in key.names() {
            value = value.get_mut(name)?.take();
        }
        Some(value)
    }
}

const BYPASS: &str = "disableBypassPermissionsMode";
const DIRECTORIES: &str = "additionalDirectories";

fn key(names: &[&str]) -> KeyPath {
    KeyPath(names.iter().map(|name| (*name).to_owned()).collect())
}

fn is_mode(entry: &Entry) -> bool {
    entry.rule.is_some_and(|rule| rule.effect == Effect::Mode)
}

/// Whether an entry counts. This is where a checkout is held to what it may do.
fn admit(entry: &Entry, layer: Layer, trust: Trust) -> Result<(), Reason> {
    let effect = entry.rule.map_or(Effect::Grants, |rule| rule.effect);
    if entry.repeated && effect != Effect::Tightens {
        return Err(Reason::Repeated);
    }
    match (layer.scope(), effect) {
        (Scope::User, _) | (Scope::Project, Effect::Tightens) => Ok(()),
        (Scope::Project, Effect::UserOnly) => Err(Reason::UserOnly),
        // Modes are compared to each other later.
        (Scope::Project, Effect::Mode) => Ok(()),
        (Scope::Project, Effect::TightensWhen(strict)) => {
            let counts = trust.is_given() || strict.is(&entry.content.to_value());
            if counts { Ok(()) } else { Err(Reason::Untrusted) }
        }
        (Scope::Project, Effect::Grants) => {
            if trust.is_given() {
                Ok(())
            } else {
                Err(Reason::Untrusted)
            }
        }
    }
}

fn dropped(entry: &Entry, reason: Reason) -> Dropped {
    Dropped {
        key: entry.path.clone(),
        origin: entry.origin.clone(),
        value: redact(&entry.path, &entry.content.to_value()),
        reason,
    }
}

/// A key that is not known is worth a word once, not once per file.
fn report_problems(problems: &[Problem], report: &mut Report) {
    for problem in problems {
        let said = |earlier: &Problem| {
            problem.key.is_some()
                && problem.severity == Severity::Warning
                && earlier.key == problem.key
                && earlier.message == problem.message
        };
        if !report.problems.iter().any(said) {
            report.problems.push(problem.clone());
        }
    }
}

/// A rule that is not well-formed grants nothing. One that should forbid stays in its list,
/// where `robota-policy` deals with it, and is reported.
fn check_rules(mut entry: Entry, check: RuleCheck<'_>, report: &mut Report) -> Entry {
    let lists = [RuleList::Allow, RuleList::Ask, RuleList::Deny];
    let Some(list) = lists.into_iter().find(|list| list.key() == entry.path) else {
        return entry;
    };
    if let Content::Items(items) = &mut entry.content {
        let path = entry.path.clone();
        items.retain(|(value, origin)| {
            let Err(reason) = check(list, value.as_str().unwrap_or_default()) else { return true };
            report.problems.push(Problem {
                severity: Severity::Error,
                origin: origin.clone(),
                key: Some(path.clone()),
                message: format!("the rule {value} is not well-formed: {reason}"),
            });
            if list == RuleList::Allow {
                report.dropped.push(Dropped {
                    key: path.clone(),
                    origin: origin.clone(),
                    value: value.clone(),
                    reason: Reason::Malformed,
                });
            }
            list != RuleList::Allow
        });
    }
    entry
}

/// It is not known what is forbidden, so nothing is allowed without a question.
fn suspend_grants(table: &mut Table, unreadable: &[Origin], report: &mut Report) {
    for path in [RuleList::Allow.key(), key(&["permissions", DIRECTORIES])] {
        let Some((_, Merged::Many(items))) = table.0.shift_remove(&path) else { continue };
        report.dropped.extend(items.into_iter().map(|(value, origin)| Dropped {
            key: path.clone(),
            origin,
            value,
            reason: Reason::Unreadable,
        }));
    }
    let ask = unreadable.iter().map(|origin| (Value::from("*"), origin.clone())).collect();
    let entry = Entry {
        path: RuleList::Ask.key(),
        rule: match crate::keys::find(RuleList::Ask.key().names()) {
            crate::keys::Found::Rule(rule) => Some(rule),
            crate::keys::Found::Object | crate::keys::Found::Unknown => None,
        },
        content: Content::Items(ask),
        origin: Origin::of(Layer::BuiltIn),
        repeated: false,
    };
    table.add(entry);
}

fn texts(table: &Table, path: &KeyPath) -> Vec<RuleText> {
    match table.0.get(path) {
        Some((_, Merged::Many(items))) => items
            .iter()
            .filter_map(|(value, origin)| {
                Some(RuleText { text: value.as_str()?.to_owned(), origin: origin.clone() })
            })
            .collect(),
        Some((_, Merged::One { .. })) | None => Vec::new(),
    }
}

fn hooks(table: &Table) -> IndexMap<String, Vec<SourcedHooks>> {
    let mut hooks = IndexMap::new();
    for (path, (_, merged)) in &table.0 {
        let ([first, event], Merged::Many(items)) = (path.names(), merged) else { continue };
        if first != "hooks" {
            continue;
        }
        let groups = items.iter().map(|(value, origin)| SourcedHooks {
            // The value was made well-formed when it was read; should it not be, it still
            // refuses.
            group: serde_json::from_value(value.clone()).unwrap_or_else(|error| HookGroup {
                matcher: None,
                hooks: vec![HookDefinition::unusable(value.clone(), error.to_string())],
            }),
            origin: origin.clone(),
        });
        hooks.insert(event.clone(), groups.collect());
    }
    hooks
}

fn values(table: &Table, report: &mut Report) -> SettingsFile {
    let mut value = table.to_value();
    if let Value::Object(fields) = &mut value {
        fields.shift_remove("permissions");
        fields.shift_remove("hooks");
    }
    // Each value was checked by itself, so the whole is as well.
    serde_json::from_value(value).unwrap_or_else(|error| {
        report.problems.push(Problem {
            severity: Severity::Error,
            origin: Origin::of(Layer::BuiltIn),
            key: None,
            message: format!("the merged settings cannot be used: {error}"),
        });
        SettingsFile::default()
    })
}
