//! Writes one key or one rule to a settings file. ([`crate::trust`] writes the trust record.) Only
//! the bytes that change are touched, the file is replaced atomically, and a file that is not
//! valid is not changed.

pub(crate) mod atomic;
mod edit;
pub(crate) mod records;

use std::path::{Path, PathBuf};

use robota_core::clock::Clock;
use robota_core::permission::Mode;
use serde_json::Value;

use crate::error::ConfigError;
use crate::files::{Files, read_bounded};
use crate::json::{Document, Kind, Node};
use crate::keys::{self, CheckoutRule, Found, Merge};
use crate::layer::{Layer, LayerScope};
use crate::path::KeyPath;
use crate::places::Places;
use crate::report::Severity;
use crate::settings::{RuleCheck, RuleList, mode};
use crate::trust::{Trust, TrustStore};
use crate::validate::{self, Checked};

/// Writes settings for the user, who asked for this change.
pub struct SettingsWriter<'a> {
    /// Where the files are.
    pub places: &'a Places,
    /// The trust record. A change by the user keeps the trust in a folder.
    pub trust: &'a mut TrustStore,
    /// The time for the trust record.
    pub clock: &'a dyn Clock,
}

/// Reports where a setting was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The file that was written, or that had the value already.
    pub file: PathBuf,
    /// Whether the file is another one than before.
    pub changed: bool,
    /// Whether the value applies without further trust. A value in the files of an untrusted folder
    /// does not.
    pub trusted: bool,
}

impl SettingsWriter<'_> {
    /// Sets one key in the file of a layer, or removes it (`None`).
    ///
    /// # Errors
    /// If the key is unknown or the value invalid; if the file is not valid, is a link to a file
    /// outside the project, or cannot be written. In each case nothing has changed.
    pub fn set(
        &mut self,
        layer: Layer,
        key: &KeyPath,
        value: Option<&Value>,
    ) -> Result<Written, ConfigError> {
        check_value(layer, key, value)?;
        let target = Target::open(self.places, layer)?;
        let text = match value {
            Some(value) => edit::set(&target.document, key.names(), value),
            None => edit::remove(&target.document, key.names()),
        };
        self.write(target, key, text)
    }

    /// Adds a rule to a list of a layer's permissions, unless the list has it.
    ///
    /// # Errors
    /// As [`SettingsWriter::set`], and if the rule is invalid.
    pub fn add_rule(
        &mut self,
        layer: Layer,
        list: RuleList,
        rule: &str,
        check: RuleCheck<'_>,
    ) -> Result<Written, ConfigError> {
        let key = list.key();
        check(list, rule).map_err(|reason| key_error(&key, &reason))?;
        self.push(layer, &key, rule)
    }

    /// Adds a folder to those of the workspace, unless the layer has it.
    ///
    /// # Errors
    /// As [`SettingsWriter::set`].
    pub fn add_directory(&mut self, layer: Layer, folder: &str) -> Result<Written, ConfigError> {
        self.push(layer, &directories_key(), folder)
    }

    fn push(&mut self, layer: Layer, key: &KeyPath, entry: &str) -> Result<Written, ConfigError> {
        let target = Target::open(self.places, layer)?;
        let text = edit::push(&target.document, key.names(), &Value::from(entry));
        self.write(target, key, text)
    }

    /// Removes the texts of a list that `keep` does not want. A missing list stays missing.
    ///
    /// # Errors
    /// As [`SettingsWriter::set`].
    pub fn retain(
        &mut self,
        layer: Layer,
        key: &KeyPath,
        keep: &dyn Fn(&str) -> bool,
    ) -> Result<Written, ConfigError> {
        let target = Target::open(self.places, layer)?;
        let text = edit::retain(&target.document, key.names(), keep);
        self.write(target, key, text)
    }

    fn write(
        &mut self,
        target: Target,
        key: &KeyPath,
        text: Result<String, String>,
    ) -> Result<Written, ConfigError> {
        let text = text.map_err(|reason| key_error(key, &reason))?;
        let changed = text != target.document.text;
        let layer = target.layer;
        let before = Files::read(self.places);
        // Decided before the write: afterwards the files are others.
        let keep_trust =
            layer.scope() == LayerScope::Project && self.may_keep_trust(&before, &target);
        // A worktree can have the local file of its main checkout, which has the trust of another folder.
        let shared = self.places.of_shared_file(layer).map(|places| Files::read(&places));
        let shared = shared.filter(|before| self.may_keep_trust(before, &target));
        let (file, checked) = target.replace(key, text)?;
        if let Some(before) = shared {
            let after = before.with(layer, checked.clone());
            self.trust.grant(&after.trust_subject(), self.clock)?;
        }
        if keep_trust {
            // Trust what was read before plus this change, not what the files hold now: another
            // process may have changed them since, and the user has not seen that.
            self.trust.grant(&before.with(layer, checked).trust_subject(), self.clock)?;
        }
        Ok(Written { file, changed, trusted: keep_trust || layer.scope() == LayerScope::User })
    }

    /// Returns whether the changed files keep the trust: the folder is trusted or has nothing that
    /// needs trust, and the file to change has the content that the trust is about.
    fn may_keep_trust(&self, before: &Files, target: &Target) -> bool {
        let subject = before.trust_subject();
        // The file that is changed was read twice; between the reads it may have changed.
        let same = before.with(target.layer, target.check()).trust_subject().hash == subject.hash;
        match self.trust.status_of(&subject) {
            Trust::Trusted | Trust::NotNeeded => same && self.places.trust_file().is_some(),
            Trust::Unknown | Trust::Changed => false,
        }
    }
}

/// Returns the key of the permission mode.
#[must_use]
pub fn mode_key() -> KeyPath {
    mode::key()
}

/// Returns the key of the folders of the workspace in addition to the working folder.
#[must_use]
pub fn directories_key() -> KeyPath {
    KeyPath(["permissions", "additionalDirectories"].map(str::to_owned).to_vec())
}

/// Checks that a value may be written to a layer. An object that is not a key itself, such as
/// `env`, is checked member by member: the table has only the keys inside it.
fn check_value(layer: Layer, key: &KeyPath, value: Option<&Value>) -> Result<(), ConfigError> {
    if matches!(keys::find(key.names()), Found::Object) {
        // Replacing `permissions` as a whole would remove rules that the user does not see here.
        if keys::may_forbid(key.names()) {
            return Err(key_error(key, "it contains restrictions: set its keys one by one"));
        }
        let members = match value {
            None => return Ok(()),
            Some(Value::Object(members)) => members,
            Some(_) => return Err(key_error(key, "expected an object")),
        };
        return members
            .iter()
            .try_for_each(|(name, value)| check_value(layer, &key.child(name), Some(value)));
    }
    if !is_settable(key) {
        return Err(key_error(key, "unknown key"));
    }
    if layer.scope() == LayerScope::Project && value.is_some_and(|value| is_user_only(key, value)) {
        return Err(key_error(key, "only your own settings can set this, not a project's"));
    }
    match value.and_then(|value| mode::write_error(key, value)) {
        Some(reason) => Err(key_error(key, &reason)),
        None => Ok(()),
    }
}

/// Returns whether a path is a key of the table, or is inside a value that is merged field by field.
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

/// Returns whether the value is always ignored in a project's file.
fn is_user_only(key: &KeyPath, value: &Value) -> bool {
    match keys::find(key.names()) {
        Found::Rule(rule) => match rule.effect {
            CheckoutRule::UserOnly | CheckoutRule::ManagedOnly => true,
            CheckoutRule::OnlyTightensWhen(strict) => !strict.is(value),
            CheckoutRule::Mode => value == Mode::BypassPermissions.name(),
            CheckoutRule::Tightens | CheckoutRule::TightensWhen(_) | CheckoutRule::Grants => false,
        },
        Found::Object | Found::Unknown => false,
    }
}

fn key_error(key: &KeyPath, reason: &str) -> ConfigError {
    ConfigError::Key { key: key.to_string(), reason: reason.to_owned() }
}

/// A file to be changed.
struct Target {
    layer: Layer,
    /// The path of the layer's file, for messages.
    file: PathBuf,
    /// The path with links resolved.
    real: PathBuf,
    document: Document,
    existed: bool,
}

impl Target {
    fn open(places: &Places, layer: Layer) -> Result<Self, ConfigError> {
        let file = match layer {
            Layer::BuiltIn | Layer::Argument | Layer::Flags | Layer::Managed => None,
            _ => places.file(layer),
        };
        let file = file.ok_or(ConfigError::NoPlace(
            "these settings are not in a file, or there is no home folder",
        ))?;
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
        if layer.scope() == LayerScope::Project {
            require_inside(&file, &real).map_err(refused)?;
        }
        let existed = read.is_some();
        let text = match read {
            Some(bytes) => {
                String::from_utf8(bytes).map_err(|_| refused("it is not UTF-8 text".to_owned()))?
            }
            None => "{}\n".to_owned(),
        };
        let document = Document::parse(text).map_err(|error| {
            refused(format!("it is not valid JSON: line {}: {}", error.line, error.message))
        })?;
        // The change would have to keep the comment, and JSON tools would refuse the file anyway.
        if let Some(at) = document.lenient {
            let line = document.line(at);
            return Err(refused(format!("line {line} has a comment or a trailing comma")));
        }
        // It would not be clear which of them to change.
        if let Some(key) = repeated_key(&document.root) {
            return Err(refused(format!("it repeats the key `{key}`")));
        }
        Ok(Self { layer, file, real, document, existed })
    }

    /// Validates the current content of the file.
    fn check(&self) -> Checked {
        validate::check(&self.document, self.layer, Some(&self.file))
    }

    /// Validates the new text as it will be read, then replaces the file.
    fn replace(self, key: &KeyPath, text: String) -> Result<(PathBuf, Checked), ConfigError> {
        // A file that does not exist is not created for nothing.
        if text == self.document.text {
            let checked = self.check();
            return Ok((self.file, checked));
        }
        let document = Document::parse(text)
            .map_err(|error| key_error(key, &format!("line {}: {}", error.line, error.message)))?;
        let checked = validate::check(&document, self.layer, Some(&self.file));
        // Only this key: a problem elsewhere in the file is not the fault of this change.
        let invalid = checked.problems.iter().find(|problem| {
            let at = problem.key.as_ref();
            problem.severity == Severity::Error
                && at.is_none_or(|at| at.is_within(key) || key.is_within(at))
        });
        if let Some(problem) = invalid {
            return Err(key_error(key, &problem.message));
        }
        let io = |action, source| ConfigError::Io { action, file: self.file.clone(), source };
        if let Some(folder) = self.real.parent() {
            std::fs::create_dir_all(folder).map_err(|error| io("create the folder of", error))?;
        }
        // Another process may have written the file since it was read. Its change must not be lost.
        let now = read_bounded(&self.real).map_err(|error| io("read", error))?;
        let unchanged = match &now {
            Some(bytes) => self.existed && *bytes == self.document.text.as_bytes(),
            None => !self.existed,
        };
        if !unchanged {
            let reason = "another process changed it at the same time; retry".to_owned();
            return Err(ConfigError::Refused { file: self.file, reason });
        }
        // A new file may get a key later.
        let mode = (!self.existed).then_some(0o600);
        atomic::replace(&self.real, document.text.as_bytes(), mode)
            .map_err(|error| io("write", error))?;
        Ok((self.file, checked))
    }
}

/// Rejects a project file outside the project. A checkout may contain a link to the user's own
/// settings; a write would then apply a rule for this project everywhere.
fn require_inside(file: &Path, real: &Path) -> Result<(), String> {
    // The folder that has `.claude` or `.robota`.
    let folder = file.ancestors().nth(2).unwrap_or(file);
    let folder = folder.canonicalize().map_err(|error| error.to_string())?;
    // A new file has no canonical path; use that of its deepest existing folder.
    let existing = real.ancestors().find_map(|path| path.canonicalize().ok());
    if existing.is_some_and(|existing| existing.starts_with(&folder)) {
        Ok(())
    } else {
        Err("it is a link to a file outside the project".to_owned())
    }
}

fn repeated_key(node: &Node) -> Option<String> {
    match &node.kind {
        Kind::Object(members) => {
            let mut seen = std::collections::HashSet::new();
            members.iter().find_map(|member| {
                let repeated = !seen.insert(member.key.as_str());
                if repeated { Some(member.key.clone()) } else { repeated_key(&member.node) }
            })
        }
        Kind::Array(items) => items.iter().find_map(repeated_key),
        Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::String(_) => None,
    }
}
