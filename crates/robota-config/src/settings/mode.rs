//! Resolves the permission mode. This is the only key where the value of a checkout is compared to
//! that of the lower layers.

use robota_core::permission::{Mode, TrustLevel};
use serde_json::Value;

use crate::layer::{Layer, LayerScope, Origin};
use crate::merge::Merged;
use crate::path::KeyPath;
use crate::report::{Dropped, IgnoreReason, Problem, Report, Severity};
use crate::trust::Trust;
use crate::validate::Entry;

#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) trust: Trust,
    pub(super) bypass_disabled: bool,
    /// Whether a file cannot be read, so that the restrictions are unknown.
    pub(super) unreadable: bool,
}

/// The effective mode, and the value for the table of settings.
pub(super) struct Resolved {
    pub(super) mode: Mode,
    pub(super) merged: Merged,
}

/// Returns the key of the mode.
pub(crate) fn key() -> KeyPath {
    KeyPath(vec!["permissions".to_owned(), "defaultMode".to_owned()])
}

/// Orders the modes by how much they allow.
fn looseness(mode: Mode) -> u8 {
    match mode {
        Mode::Plan => 0,
        Mode::DontAsk => 1,
        Mode::Default => 2,
        Mode::AcceptEdits => 3,
        Mode::BypassPermissions => 4,
    }
}

fn stricter(a: Mode, b: Mode) -> Mode {
    if looseness(a) <= looseness(b) { a } else { b }
}

/// Resolves the mode from the entries of all layers, lowest first.
pub(super) fn resolve(entries: &[Entry], limits: Limits, report: &mut Report) -> Resolved {
    let mut mode = Mode::default();
    let mut by = Origin::of(Layer::BuiltIn);
    let mut overridden = Vec::new();
    let mut entries: Vec<_> = entries.iter().collect();
    // Within a layer `permissions.defaultMode` overrides `defaultTrustLevel`.
    entries.sort_by_key(|entry| (entry.origin.layer, entry.path == key()));
    for entry in entries {
        let requested = read(entry, mode, report);
        let ignored = match entry.origin.layer.scope() {
            LayerScope::User => None,
            LayerScope::Project if requested == Mode::BypassPermissions => {
                Some(IgnoreReason::UserOnly)
            }
            LayerScope::Project if limits.trust.is_given() => None,
            // Compared with the mode so far: what is strict depends on what the user chose.
            LayerScope::Project if looseness(requested) < looseness(mode) => None,
            LayerScope::Project => Some(IgnoreReason::NotStricter),
        };
        if let Some(reason) = ignored {
            report.dropped.push(dropped(entry, reason));
            continue;
        }
        overridden
            .push((Value::from(mode.name()), std::mem::replace(&mut by, entry.origin.clone())));
        mode = requested;
    }
    // Not at the layer that asked for it: `disable` may come from any layer.
    if limits.bypass_disabled && mode == Mode::BypassPermissions {
        let value = Value::from(mode.name());
        let origin = by.clone();
        report.dropped.push(Dropped {
            key: key(),
            origin,
            value,
            reason: IgnoreReason::BypassDisabled,
        });
        mode = Mode::Default;
    }
    if limits.unreadable && looseness(mode) > looseness(Mode::Default) {
        let value = Value::from(mode.name());
        let origin = by.clone();
        report.dropped.push(Dropped {
            key: key(),
            origin,
            value,
            reason: IgnoreReason::Unreadable,
        });
        mode = Mode::Default;
    }
    let value = Value::from(mode.name());
    Resolved { mode, merged: Merged::One { value, by: vec![by], overridden } }
}

/// Returns the mode that an entry asks for. An unknown mode, which another program may have, is
/// `default`, or the current mode if that is stricter.
fn read(entry: &Entry, current: Mode, report: &mut Report) -> Mode {
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
            // An unknown mode may be a strict one of another program, so nothing looser than the
            // default.
            let mode = stricter(current, Mode::Default);
            report.problems.push(Problem {
                severity: Severity::Error,
                origin: entry.origin.clone(),
                key: Some(entry.path.clone()),
                message: format!("{}; using `{mode}`", message.escape_debug()),
            });
            mode
        }
    }
}

/// Returns why a value cannot be written as the mode. A file may name a mode of another program, but
/// `robota config set` does not write one.
pub(crate) fn write_error(at: &KeyPath, value: &Value) -> Option<String> {
    if *at != key() {
        return None;
    }
    match value.as_str() {
        Some("manual") => None,
        Some(name) => name.parse::<Mode>().err().map(|message| message.escape_debug().to_string()),
        None => Some(
            "expected one of plan, default, dontAsk, acceptEdits, bypassPermissions".to_owned(),
        ),
    }
}

fn dropped(entry: &Entry, reason: IgnoreReason) -> Dropped {
    let (key, origin) = (entry.path.clone(), entry.origin.clone());
    Dropped { key, origin, value: entry.content.to_value(), reason }
}
