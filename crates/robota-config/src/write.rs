//! The writes: one key, or one rule, into one file. (The third, the trust record, is in
//! [`crate::trust`].) Only the bytes that change are touched, the file is replaced whole or
//! not at all, and a file that is not in order is left alone.

pub(crate) mod atomic;
mod edit;

use std::path::{Path, PathBuf};

use robota_core::clock::Clock;
use robota_core::permission::Mode;
use serde_json::Value;

use crate::error::ConfigError;
use crate::files::{Files, read_bounded};
use crate::json::{Document, Kind, Node};
use crate::keys::{self, Effect, Found, Merge};
use crate::layer::{Layer, Scope};
use crate::path::KeyPath;
use crate::places::Places;
use crate::report::Severity;
use crate::settings::{RuleCheck, RuleList, mode};
use crate::trust::{Trust, TrustStore};
use crate::validate::{self, Checked};

/// Writes settings for the user.
pub struct SettingsWriter<'a> {
    /// Where the files are.
    pub places: &'a Places,
    /// The record of trust, which a change by the user does not undo.
    pub trust: &'a mut TrustStore,
    /// Says when.
    pub clock: &'a dyn Clock,
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Into which file.
    pub file: PathBuf,
    /// Whether it counts, as far as trust goes: what is written into the files of a folder that
    /// the user does not trust has to wait.
    pub counts: bool,
}

impl SettingsWriter<'_> {
    /// Sets one key in the file of a layer, or takes it out (`None`).
    ///
    /// # Errors
    /// When the key is not known or the value not one it can have; when the file is not in
    /// order, leads out of the project, or cannot be written. Then nothing has changed.
    pub fn set(
        &mut self,
        layer: Layer,
        key: &KeyPath,
        value: Option<&Value>,
    ) -> Result<Written, ConfigError> {
        if !is_settable(key) {
            return Err(refuse_key(key, "there is no such key"));
        }
        if layer.scope() == Scope::Project && value.is_some_and(|value| is_users_own(key, value)) {
            return Err(refuse_key(key, "only your own settings can set this, not a project's"));
        }
        if let Some(reason) = value.and_then(|value| mode::refusal(key, value)) {
            return Err(refuse_key(key, &reason));
        }
        let target = Target::open(self.places, layer)?;
        let text = match value {
            Some(value) => edit::set(&target.document, key.names(), value),
            None => edit::remove(&target.document, key.names()),
        };
        self.write(target, key, text)
    }

    /// Adds a rule to a list of a layer's permissions, if it is not there.
    ///
    /// # Errors
    /// As [`SettingsWriter::set`]; and when the rule is not well-formed.
    pub fn add_rule(
        &mut self,
        layer: Layer,
        list: RuleList,
        rule: &str,
        check: RuleCheck<'_>,
    ) -> Result<Written, ConfigError> {
        let key = list.key();
        check(list, rule).map_err(|reason| refuse_key(&key, &reason))?;
        let target = Target::open(self.places, layer)?;
        let text = edit::push(&target.document, key.names(), &Value::from(rule));
        self.write(target, &key, text)
    }

    fn write(
        &mut self,
        target: Target,
        key: &KeyPath,
        text: Result<String, String>,
    ) -> Result<Written, ConfigError> {
        let text = text.map_err(|reason| refuse_key(key, &reason))?;
        let layer = target.layer;
        let before = Files::read(self.places);
        let keep_trust = layer.scope() == Scope::Project && self.may_keep_trust(&before, &target);
        let (file, checked) = target.replace(key, text)?;
        if keep_trust {
            // Not what is there now, but what was there and our change: should somebody else
            // have changed something meanwhile, the user has not seen that and is asked.
            self.trust.grant(&before.with(layer, checked).trust_subject(), self.clock)?;
        }
        Ok(Written { file, counts: keep_trust || layer.scope() == Scope::User })
    }

    /// Whether trust may move over to the changed files: the folder is trusted, or has nothing
    /// in it but what the user is about to put there; and the file we change is the one whose
    /// content we judged.
    fn may_keep_trust(&self, before: &Files, target: &Target) -> bool {
        let subject = before.trust_subject();
        let same = before.with(target.layer, target.check()).trust_subject().hash == subject.hash;
        match self.trust.status_of(&subject) {
            Trust::Trusted | Trust::NotNeeded => same && self.places.trust_file().is_some(),
            Trust::Unknown | Trust::Changed => false,
        }
    }
}

/// A key of the table, or something inside a value that is put together field by field.
fn is_settable(key: &KeyPath) -> bool {
    let names = key.names();
    match keys::find(names) {
        Found::Rule(_) => true,
        Found::Object => false,
        Found::Unknown => (1..names.len()).any(|length| {
            let outer = names.get(..length).map(keys::find);
            matches!(outer, Some(Found::Rule(rule)) if rule.merge == Merge::Deep)
        }),
    }
}

/// What would be written and never count.
fn is_users_own(key: &KeyPath, value: &Value) -> bool {
    match keys::find(key.names()) {
        Found::Rule(rule) => match rule.effect {
            Effect::UserOnly => true,
            Effect::Mode => value == Mode::BypassPermissions.name(),
            Effect::Tightens | Effect::TightensWhen(_) | Effect::Grants => false,
        },
        Found::Object | Found::Unknown => false,
    }
}

fn refuse_key(key: &KeyPath, reason: &str) -> ConfigError {
    ConfigError::Key { key: key.to_string(), reason: reason.to_owned() }
}

/// A file about to be changed.
struct Target {
    layer: Layer,
    /// As people know it.
    file: PathBuf,
    /// Where its bytes are, links followed.
    real: PathBuf,
    document: Document,
    existed: bool,
}

impl Target {
    fn open(places: &Places, layer: Layer) -> Result<Self, ConfigError> {
        let file = match layer {
            Layer::BuiltIn | Layer::Argument | Layer::Flags => None,
            _ => places.file(layer),
        };
        let file = file.ok_or(ConfigError::NoPlace("these settings are no file to write to"))?;
        let refused = |reason: String| ConfigError::Refused { file: file.clone(), reason };
        let read = read_bounded(&file).map_err(|error| refused(error.to_string()))?;
        let real = match &read {
            Some(_) => file.canonicalize().map_err(|source| ConfigError::Io {
                action: "find",
                file: file.clone(),
                source,
            })?,
            None => file.clone(),
        };
        if layer.scope() == Scope::Project {
            stays_inside(places, &real).map_err(refused)?;
        }
        let existed = read.is_some();
        let text = match read {
            Some(bytes) => {
                String::from_utf8(bytes).map_err(|_| refused("it is not UTF-8 text".to_owned()))?
            }
            None => "{}\n".to_owned(),
        };
        let document = Document::parse(text).map_err(|error| {
            refused(format!("it is not in order: line {}: {}", error.line, error.message))
        })?;
        if let Some(twice) = repeated_key(&document.root) {
            return Err(refused(format!("`{twice}` stands there more than once")));
        }
        Ok(Self { layer, file, real, document, existed })
    }

    /// What the file says now.
    fn check(&self) -> Checked {
        validate::check(&self.document, self.layer, Some(&self.file))
    }

    /// Checks the new text the way it will be read, then puts it in place.
    fn replace(self, key: &KeyPath, text: String) -> Result<(PathBuf, Checked), ConfigError> {
        if text == self.document.text && self.existed {
            let checked = self.check();
            return Ok((self.file, checked));
        }
        let document = Document::parse(text)
            .map_err(|error| refuse_key(key, &format!("line {}: {}", error.line, error.message)))?;
        let checked = validate::check(&document, self.layer, Some(&self.file));
        let wrong = checked.problems.iter().find(|problem| {
            let at = problem.key.as_ref();
            problem.severity == Severity::Error
                && at.is_none_or(|at| at.is_within(key) || key.is_within(at))
        });
        if let Some(problem) = wrong {
            return Err(refuse_key(key, &problem.message));
        }
        let io = |action, source| ConfigError::Io { action, file: self.file.clone(), source };
        if let Some(folder) = self.real.parent() {
            std::fs::create_dir_all(folder).map_err(|error| io("create the folder of", error))?;
        }
        // Somebody else may have written it since: their change must not be lost.
        let now = read_bounded(&self.real).map_err(|error| io("read", error))?;
        let unchanged = match &now {
            Some(bytes) => self.existed && *bytes == self.document.text.as_bytes(),
            None => !self.existed,
        };
        if !unchanged {
            let reason = "it was changed by somebody else just now; try again".to_owned();
            return Err(ConfigError::Refused { file: self.file, reason });
        }
        let mode = (!self.existed).then_some(0o600);
        atomic::replace(&self.real, document.text.as_bytes(), mode)
            .map_err(|error| io("write", error))?;
        Ok((self.file, checked))
    }
}

/// A checkout may hold links. One that leads to the user's own settings would have us write
/// there what was meant for this project only.
fn stays_inside(places: &Places, real: &Path) -> Result<(), String> {
    let folder = places.cwd.canonicalize().map_err(|error| error.to_string())?;
    // A file that is not there yet is where its deepest existing folder really is.
    let existing = real.ancestors().find_map(|path| path.canonicalize().ok());
    if existing.is_some_and(|existing| existing.starts_with(&folder)) {
        Ok(())
    } else {
        Err("it is a link that leads out of the project".to_owned())
    }
}

fn repeated_key(node: &Node) -> Option<String> {
    match &node.kind {
        Kind::Object(members) => {
            let mut seen = std::collections::HashSet::new();
            members.iter().find_map(|member| {
                let twice = !seen.insert(member.key.as_str());
                if twice { Some(member.key.clone()) } else { repeated_key(&member.node) }
            })
        }
        Kind::Array(items) => items.iter().find_map(repeated_key),
        Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::String(_) => None,
    }
}
