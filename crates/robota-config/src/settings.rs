//! The effective settings: all layers merged, with a report of problems and ignored values.

mod explain;
mod managed;
pub(crate) mod mode;

use indexmap::IndexMap;
use robota_core::permission::Mode;
use serde::Serialize;
use serde_json::Value;

pub use explain::SettingExplanation;

use crate::available_models::AvailableModels;
use crate::files::{Files, Source};
use crate::keys::{CheckoutRule, KeySupport};
use crate::layer::{Layer, LayerScope, Origin};
use crate::mcp::{ManagedServers, ProjectServers};
use crate::merge::{Merged, Table};
use crate::model::{HookDefinition, HookGroup, SettingsFile};
use crate::path::KeyPath;
use crate::places::Places;
use crate::report::{Dropped, IgnoreReason, Problem, Report, Severity, redact};
use crate::trust::{NamedFiles, Trust, TrustStore};
use crate::validate::{Content, Entry};

/// Holds the text of a permission rule and its origin. `robota-policy` parses it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RuleText {
    /// The rule as it is written, such as `Bash(git log *)`.
    pub text: String,
    /// The file and line. A path in the rule is relative to the anchor of this layer.
    pub origin: Origin,
}

/// The three lists of rules, by what they do with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RuleList {
    /// Calls that run without approval.
    Allow,
    /// Calls that need approval.
    Ask,
    /// Calls that are denied.
    Deny,
}

impl RuleList {
    /// Returns the name of the list in the settings.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }

    /// Returns the key of the list.
    #[must_use]
    pub fn key(self) -> KeyPath {
        KeyPath(vec!["permissions".to_owned(), self.name().to_owned()])
    }
}

/// Checks the syntax of a rule. The error says what is wrong with it.
pub type RuleCheck<'a> = &'a dyn Fn(RuleList, &str) -> Result<(), String>;

/// The permission rules and the mode that result from all layers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EffectivePermissions {
    /// Rules for calls that run without approval.
    pub allow: Vec<RuleText>,
    /// Rules for calls that need approval.
    pub ask: Vec<RuleText>,
    /// Rules for calls that are denied.
    pub deny: Vec<RuleText>,
    /// The mode a session starts in.
    pub mode: Mode,
    /// Whether the mode `bypassPermissions` is forbidden.
    pub bypass_disabled: bool,
    /// Folders that belong to the workspace in addition to the working folder.
    pub additional_directories: Vec<RuleText>,
    /// The files that cannot be read. If there are any, all allow rules are ignored, the mode is
    /// at most `default`, and every call needs approval (`ask` has the rule `*`).
    pub unreadable: Vec<Origin>,
}

/// Holds a group of hooks and its origin.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SourcedHooks {
    /// The group, which may have hooks that are not usable and deny.
    pub group: HookGroup,
    /// The file and line.
    pub origin: Origin,
}

/// The settings that result from all layers, and the problems that were found in them.
#[derive(Debug, Clone)]
pub struct Settings {
    /// All keys except permissions and hooks, which have their own fields.
    pub values: SettingsFile,
    /// The rules and the mode that the policy uses.
    pub permissions: EffectivePermissions,
    /// Hooks by event; those of lower layers first.
    pub hooks: IndexMap<String, Vec<SourcedHooks>>,
    /// Whether the folder is trusted, so that all settings of its files apply.
    pub trust: Trust,
    /// Whether no hooks run but those in `hooks`: the administrator allows no others.
    pub managed_hooks_only: bool,
    /// The MCP servers of the project's `.mcp.json`.
    pub project_servers: ProjectServers,
    /// The models that may be used.
    pub available_models: AvailableModels,
    /// The MCP servers of the administrator, who then allows no others.
    pub managed_servers: Option<ManagedServers>,
    /// The files of the project that these settings run. Agents may not change them without approval.
    pub named_files: NamedFiles,
    /// Problems and ignored values.
    pub report: Report,
    table: Table,
}

/// Reads and merges all layers. Never fails: problems are in the report.
#[must_use]
pub fn load(places: &Places, trust: &TrustStore, check: RuleCheck<'_>) -> Settings {
    let files = Files::read(places);
    let status = trust.status(&files);
    Settings::from_files(&files, status, check)
}

impl Settings {
    /// Merges the layers. Those of the project apply in full only if the folder is trusted.
    #[must_use]
    pub fn from_files(files: &Files, trust: Trust, check: RuleCheck<'_>) -> Self {
        let mut report = Report::default();
        let mut table = Table::default();
        let mut modes = Vec::new();
        let mut unreadable = Vec::new();
        let managed = managed::Limits::of(&files.sources);
        for source in &files.sources {
            report_problems(&source.checked.problems, &mut report);
            if source.checked.restrictions_unknown {
                let error = source.checked.problems.iter().find(|p| p.severity == Severity::Error);
                unreadable.push(
                    error.map_or_else(|| Origin::of(source.layer), |error| error.origin.clone()),
                );
            }
            for entry in &source.checked.entries {
                match managed.admit(entry).and_then(|()| admit(entry, source.layer, trust)) {
                    Ok(()) if is_mode(entry) => modes.push(entry.clone()),
                    Ok(()) => {
                        warn_of_no_effect(entry, &mut report);
                        table.add(check_rules(entry.clone(), check, &mut report));
                    }
                    Err(reason) => report.dropped.push(dropped(entry, reason)),
                }
            }
        }
        // Present means forbidden: the only value of the key is `disable`.
        let bypass_disabled = table.0.contains_key(&key(&["permissions", BYPASS]));
        let limits = mode::Limits { trust, bypass_disabled, unreadable: !unreadable.is_empty() };
        let mode = mode::resolve(&modes, limits, &mut report);
        table.0.insert(mode::key(), (crate::keys::Merge::Mode, mode.merged));
        if !unreadable.is_empty() {
            suspend_grants(&mut table, &unreadable, &mut report);
        }
        let permissions = EffectivePermissions {
            allow: texts(&table, &RuleList::Allow.key()),
            ask: texts(&table, &RuleList::Ask.key()),
            deny: texts(&table, &RuleList::Deny.key()),
            mode: mode.mode,
            bypass_disabled,
            additional_directories: texts(&table, &key(&["permissions", DIRECTORIES])),
            unreadable,
        };
        // Present and empty allows none; absent allows all.
        let models = key(&[MODELS]);
        let listed = table.0.contains_key(&models).then(|| texts(&table, &models));
        let counts =
            |source: &&Source| source.layer.scope() == LayerScope::User || trust.is_given();
        let unknown = files.sources.iter().filter(|source| source.checked.models_unknown);
        let unknown = unknown.filter(counts).map(|source| {
            let error = source.checked.problems.iter().find(|it| it.severity == Severity::Error);
            error.map_or_else(|| Origin::of(source.layer), |error| error.origin.clone())
        });
        let unknown: Vec<_> = unknown.filter(|_| !managed.lists_models()).collect();
        let available_models = if unknown.is_empty() {
            AvailableModels::new(listed)
        } else {
            AvailableModels::unreadable(unknown)
        };
        let hooks = hooks(&table);
        let mut values = values(&table, &mut report);
        if managed.keeps_hooks() && values.disable_all_hooks == Some(true) {
            // All but those of the administrator were left out.
            values.disable_all_hooks = None;
        }
        let scopes: &[LayerScope] =
            // Scripts that an untrusted checkout names do not run, so they need no protection.
            if trust.is_given() { &[LayerScope::User, LayerScope::Project] } else { &[LayerScope::User] };
        let named_files = files.named_files(scopes);
        let project_servers = ProjectServers::read(files.servers.as_ref(), trust.is_given());
        Self {
            values,
            permissions,
            hooks,
            trust,
            managed_hooks_only: managed.hooks_only(),
            project_servers,
            available_models,
            managed_servers: ManagedServers::read(&files.managed_servers),
            named_files,
            report,
            table,
        }
    }

    /// Returns the effective value of a key, or of all keys below it. Secrets are not redacted.
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
pub(super) const MODELS: &str = "availableModels";
const DIRECTORIES: &str = "additionalDirectories";

fn key(names: &[&str]) -> KeyPath {
    KeyPath(names.iter().map(|name| (*name).to_owned()).collect())
}

fn is_mode(entry: &Entry) -> bool {
    entry.rule.is_some_and(|rule| rule.effect == CheckoutRule::Mode)
}

/// Returns why an entry is ignored, if it is. This enforces what a checkout may do.
fn admit(entry: &Entry, layer: Layer, trust: Trust) -> Result<(), IgnoreReason> {
    let effect = entry.rule.map_or(CheckoutRule::Grants, |rule| rule.effect);
    // Only the last one counts, except where all values forbid something.
    if entry.repeated && effect != CheckoutRule::Tightens {
        return Err(IgnoreReason::Repeated);
    }
    match (layer.scope(), effect) {
        (_, CheckoutRule::ManagedOnly) if layer != Layer::Managed => Err(IgnoreReason::ManagedOnly),
        (LayerScope::User, _) | (LayerScope::Project, CheckoutRule::Tightens) => Ok(()),
        (LayerScope::Project, CheckoutRule::UserOnly | CheckoutRule::ManagedOnly) => {
            Err(IgnoreReason::UserOnly)
        }
        // `mode::resolve` compares the modes.
        (LayerScope::Project, CheckoutRule::Mode) => Ok(()),
        (LayerScope::Project, CheckoutRule::TightensWhen(strict)) => {
            let applies = trust.is_given() || strict.is(&entry.content.to_value());
            if applies { Ok(()) } else { Err(IgnoreReason::Untrusted) }
        }
        (LayerScope::Project, CheckoutRule::OnlyTightensWhen(strict)) => {
            if strict.is(&entry.content.to_value()) { Ok(()) } else { Err(IgnoreReason::UserOnly) }
        }
        (LayerScope::Project, CheckoutRule::Grants) => {
            if trust.is_given() {
                Ok(())
            } else {
                Err(IgnoreReason::Untrusted)
            }
        }
    }
}

fn dropped(entry: &Entry, reason: IgnoreReason) -> Dropped {
    Dropped {
        key: entry.path.clone(),
        origin: entry.origin.clone(),
        value: redact(&entry.path, &entry.content.to_value()),
        reason,
    }
}

/// Adds problems to the report. A warning that an earlier file caused for the same key is not
/// repeated.
fn report_problems(problems: &[Problem], report: &mut Report) {
    for problem in problems {
        let reported = |earlier: &Problem| {
            problem.key.is_some()
                && problem.severity == Severity::Warning
                && earlier.key == problem.key
                && earlier.message == problem.message
        };
        if !report.problems.iter().any(reported) {
            report.problems.push(problem.clone());
        }
    }
}

/// Warns once of a key that this version accepts and does not use.
fn warn_of_no_effect(entry: &Entry, report: &mut Report) {
    let Some(rule) = entry.rule else { return };
    let warning = |key: KeyPath, message: String| Problem {
        severity: Severity::Warning,
        origin: entry.origin.clone(),
        key: Some(key),
        message,
    };
    match rule.support {
        KeySupport::Supported | KeySupport::Partial => return,
        KeySupport::Members(used) => {
            let value = entry.content.to_value();
            let members = value.as_object().into_iter().flatten().map(|(name, _)| name);
            let unused = members.filter(|name| !used.contains(&name.as_str()));
            let problems: Vec<_> = unused
                .map(|name| {
                    let message = format!("it has no effect; only {} has one", used.join(", "));
                    warning(entry.path.child(name), message)
                })
                .collect();
            return report_problems(&problems, report);
        }
        KeySupport::NoEffect => {}
    }
    // One warning for `mcpServers`, not one for each server.
    let names = rule.path.split('.').take_while(|name| *name != "*").map(str::to_owned);
    let message = "no effect yet: this version accepts the key but does not use it".to_owned();
    report_problems(&[warning(KeyPath(names.collect()), message)], report);
}

/// Checks the rules of an entry and reports invalid ones. An invalid allow rule is ignored. An invalid
/// ask or deny rule stays in its list: `robota-policy` makes every call ask because of it.
fn check_rules(mut entry: Entry, check: RuleCheck<'_>, report: &mut Report) -> Entry {
    let lists = [RuleList::Allow, RuleList::Ask, RuleList::Deny];
    let Some(list) = lists.into_iter().find(|list| list.key() == entry.path) else {
        return entry;
    };
    if let Content::Items(items) = &mut entry.content {
        let path = entry.path.clone();
        for (value, origin) in items.iter() {
            let name = value.as_str().and_then(no_tool);
            report.problems.extend(name.map(|name| Problem {
                severity: Severity::Warning,
                origin: origin.clone(),
                key: Some(path.clone()),
                message: format!("the rule {value} matches nothing: no tool has the name `{name}`"),
            }));
        }
        items.retain(|(value, origin)| {
            let Err(reason) = check(list, value.as_str().unwrap_or_default()) else { return true };
            report.problems.push(Problem {
                severity: Severity::Error,
                origin: origin.clone(),
                key: Some(path.clone()),
                message: format!("invalid rule {value}: {reason}"),
            });
            if list == RuleList::Allow {
                report.dropped.push(Dropped {
                    key: path.clone(),
                    origin: origin.clone(),
                    value: value.clone(),
                    reason: IgnoreReason::Malformed,
                });
            }
            list != RuleList::Allow
        });
    }
    entry
}

/// Returns the name in a rule that no tool can have, such as `Edit:*`: names have letters, digits, `-`,
/// `_` and, in rules, `*`.
fn no_tool(rule: &str) -> Option<String> {
    let name = rule.split('(').next().unwrap_or_default().trim();
    let possible =
        |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.' | '*');
    (!name.is_empty() && !name.chars().all(possible)).then(|| crate::clean::one_line(name))
}

/// Removes all grants and makes every call ask, because the restrictions are unknown.
fn suspend_grants(table: &mut Table, unreadable: &[Origin], report: &mut Report) {
    for path in [RuleList::Allow.key(), key(&["permissions", DIRECTORIES])] {
        let Some((_, Merged::Many(items))) = table.0.shift_remove(&path) else { continue };
        report.dropped.extend(items.into_iter().map(|(value, origin)| Dropped {
            key: path.clone(),
            origin,
            value,
            reason: IgnoreReason::Unreadable,
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
            // Validation made the group valid. If it is not, it becomes a hook that denies.
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
    // Every value was validated, so this does not fail.
    serde_json::from_value(value).unwrap_or_else(|error| {
        report.problems.push(Problem {
            severity: Severity::Error,
            origin: Origin::of(Layer::BuiltIn),
            key: None,
            message: format!("the merged settings are invalid (this is a bug in robota): {error}"),
        });
        SettingsFile::default()
    })
}
