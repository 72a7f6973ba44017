//! The permission mode: the one key where a layer of a checkout is compared to what holds
//! without it.

use robota_core::permission::{Mode, TrustLevel};
use serde_json::Value;

use crate::layer::{Layer, Origin, Scope};
use crate::merge::Merged;
use crate::path::KeyPath;
use crate::report::{Dropped, Problem, Reason, Report, Severity};
use crate::trust::Trust;
use crate::validate::Entry;

/// What bounds the mode.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) trust: Trust,
    pub(super) bypass_disabled: bool,
    /// Whether it is not known what is forbidden.
    pub(super) unreadable: bool,
}

/// The mode that holds, and how it came about.
pub(super) struct Resolved {
    pub(super) mode: Mode,
    pub(super) merged: Merged,
}

/// The key it is shown under.
pub(super) fn key() -> KeyPath {
    KeyPath(vec!["permissions".to_owned(), "defaultMode".to_owned()])
}

/// How much a mode lets through.
fn looseness(mode: Mode) -> u8 {
    match mode {
        Mode::Plan => 0,
        Mode::Default => 1,
        Mode::AcceptEdits => 2,
        Mode::BypassPermissions => 3,
    }
}

fn stricter(a: Mode, b: Mode) -> Mode {
    if looseness(a) <= looseness(b) { a } else { b }
}

/// Goes through the layers from the lowest up.
pub(super) fn resolve(entries: &[Entry], limits: Limits, report: &mut Report) -> Resolved {
    let mut mode = Mode::default();
    let mut by = Origin::of(Layer::BuiltIn);
    let mut overridden = Vec::new();
    let mut entries: Vec<_> = entries.iter().collect();
    // Within a layer the mode goes before the friendly name for one.
    entries.sort_by_key(|entry| (entry.origin.layer, entry.path == key()));
    for entry in entries {
        let wanted = read(entry, mode, report);
        let refused = match entry.origin.layer.scope() {
            Scope::User => None,
            Scope::Project if wanted == Mode::BypassPermissions => Some(Reason::UserOnly),
            Scope::Project if limits.trust.is_given() => None,
            Scope::Project if looseness(wanted) < looseness(mode) => None,
            Scope::Project => Some(Reason::NotStricter),
        };
        if let Some(reason) = refused {
            report.dropped.push(drop(entry, reason));
            continue;
        }
        overridden
            .push((Value::from(mode.name()), std::mem::replace(&mut by, entry.origin.clone())));
        mode = wanted;
    }
    if limits.bypass_disabled && mode == Mode::BypassPermissions {
        let value = Value::from(mode.name());
        let origin = by.clone();
        report.dropped.push(Dropped { key: key(), origin, value, reason: Reason::BypassDisabled });
        mode = Mode::Default;
    }
    if limits.unreadable && looseness(mode) > looseness(Mode::Default) {
        let value = Value::from(mode.name());
        let origin = by.clone();
        report.dropped.push(Dropped { key: key(), origin, value, reason: Reason::Unreadable });
        mode = Mode::Default;
    }
    let value = Value::from(mode.name());
    Resolved { mode, merged: Merged::One { value, by: vec![by], overridden } }
}

/// What an entry asks for. A mode of another program is not ours to guess: it counts as
/// `default`, unless what holds already is stricter.
fn read(entry: &Entry, holds: Mode, report: &mut Report) -> Mode {
    let value = entry.content.to_value();
    let name = value.as_str().unwrap_or_default();
    if entry.path != key()
        && let Ok(level) = serde_json::from_value::<TrustLevel>(value.clone())
    {
        return level.into();
    }
    match name.parse() {
        Ok(mode) => mode,
        Err(_) if name == "manual" => Mode::Default,
        Err(message) => {
            let mode = stricter(holds, Mode::Default);
            report.problems.push(Problem {
                severity: Severity::Error,
                origin: entry.origin.clone(),
                key: Some(entry.path.clone()),
                message: format!("{}; `{mode}` is used", message.escape_debug()),
            });
            mode
        }
    }
}

/// Why this cannot be the mode: a file by somebody else may name a mode of another program, but
/// nobody writes one on purpose.
pub(crate) fn refusal(at: &KeyPath, value: &Value) -> Option<String> {
    if *at != key() {
        return None;
    }
    match value.as_str() {
        Some("manual") => None,
        Some(name) => name.parse::<Mode>().err().map(|message| message.escape_debug().to_string()),
        None => {
            Some("a mode is a word: default, acceptEdits, plan or bypassPermissions".to_owned())
        }
    }
}

fn drop(entry: &Entry, reason: Reason) -> Dropped {
    let (key, origin) = (entry.path.clone(), entry.origin.clone());
    Dropped { key, origin, value: entry.content.to_value(), reason }
}
