//! The options that a plugin asks the user for (`userConfig`), and their values, which are in the
//! user's settings (`pluginConfigs`).

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{InstalledPlugin, replace};
use crate::clean::one_line;

/// The most bytes of one value.
const MAX_VALUE: usize = 16 * 1024;

/// An option that a plugin asks the user for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct UserOption {
    /// What its value is.
    #[serde(rename = "type")]
    pub kind: OptionKind,
    /// Its name for the user.
    pub title: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// Whether its value is a secret: it is redacted, and no text for the model contains it.
    pub sensitive: bool,
    /// Whether the plugin cannot be used without it.
    pub required: bool,
    /// Its value if the user sets none.
    pub default: Option<Value>,
}

/// What the value of an option is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OptionKind {
    /// Any text, also an empty one.
    #[default]
    String,
    /// Any number, as JSON has it.
    Number,
    /// `true` or `false`, as JSON and not as text.
    Boolean,
    /// The path of a folder.
    Directory,
    /// The path of a file, which is not checked.
    File,
}

impl OptionKind {
    /// Returns a value as text; none if it is of another kind.
    fn text(self, value: &Value) -> Option<String> {
        match (self, value) {
            (Self::String | Self::Directory | Self::File, Value::String(text)) => {
                Some(text.clone())
            }
            (Self::Number, Value::Number(number)) => Some(number.to_string()),
            (Self::Boolean, Value::Bool(flag)) => Some(flag.to_string()),
            _ => None,
        }
        // No variable of a process can contain NUL.
        .filter(|text| text.len() <= MAX_VALUE && !text.contains('\0'))
    }
}

impl InstalledPlugin {
    /// Takes the values of the user, and returns why the plugin cannot be used with them.
    pub(super) fn set_options(&mut self, given: &Map<String, Value>) -> Vec<String> {
        let mut problems = Vec::new();
        let mut options = IndexMap::new();
        for (key, option) in &self.manifest.user_config {
            let key = key.clone();
            let value =
                // The user may write null to take the default again.
                given.get(&key).filter(|value| !value.is_null()).or(option.default.as_ref());
            match value.map(|value| option.kind.text(value)) {
                Some(Some(text)) => {
                    options.insert(key, text);
                }
                Some(None) => {
                    let kind = serde_json::to_value(option.kind).unwrap_or_default();
                    let kind = kind.as_str().unwrap_or_default();
                    problems.push(format!("its option `{key}` is not of the type {kind}"));
                }
                None if option.required => {
                    let title = option.title.as_deref().map(one_line).unwrap_or_default();
                    let title = if title.is_empty() { title } else { format!(" ({title})") };
                    problems.push(format!(
                        "it needs the option `{key}`{title}: set `pluginConfigs.\"{}\".options.{key}` \
                         in ~/.robota/settings.json",
                        self.id()
                    ));
                }
                None => {
                    // Empty, so that `${user_config.…}` is replaced and does not appear in a
                    // command.
                    options.insert(key, String::new());
                }
            }
        }
        self.options = options;
        problems
    }

    /// Returns the values of options that are secrets.
    pub fn secret_options(&self) -> impl Iterator<Item = &str> {
        let values = self.options.iter().filter(|(key, _)| self.is_secret(key));
        values.map(|(_, value)| value.as_str())
    }

    fn is_secret(&self, key: &str) -> bool {
        self.manifest.user_config.get(key).is_some_and(|option| option.sensitive)
    }

    /// Returns the environment variables of the plugin's own processes.
    pub(super) fn variables(&self) -> IndexMap<String, String> {
        let mut variables: IndexMap<_, _> = self.folders().collect();
        for (key, value) in &self.options {
            variables.insert(variable(key), value.clone());
        }
        variables
    }

    /// Returns what takes the place of `${...}` in texts for the model: no secrets.
    pub(crate) fn text_variables(&self) -> Vec<(String, String)> {
        // A secret in a text for the model would be sent to the model's service.
        let options = self.options.iter().filter(|(key, _)| !self.is_secret(key));
        let options = options.map(|(key, value)| (format!("user_config.{key}"), value.clone()));
        self.folders().chain(options).collect()
    }

    /// Returns the variables with the folder of the plugin and that of its data.
    fn folders(&self) -> impl Iterator<Item = (String, String)> + use<> {
        let root = ("CLAUDE_PLUGIN_ROOT".to_owned(), self.root.display().to_string());
        let data = self.data.as_ref().map(|data| data.display().to_string());
        std::iter::once(root).chain(data.map(|data| ("CLAUDE_PLUGIN_DATA".to_owned(), data)))
    }

    /// Creates the folder in which the plugin may keep files, before its hooks or servers start.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn create_data(&self) -> std::io::Result<()> {
        let Some(data) = &self.data else { return Ok(()) };
        let mut folder = std::fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut folder, 0o700);
        folder.recursive(true).create(data)
    }

    /// Replaces the folders and the options of the plugin in a value of its files.
    pub(super) fn fill_in(&self, value: &mut Value) {
        for (name, folder) in self.folders() {
            replace(value, &format!("${{{name}}}"), &folder);
        }
        for (key, text) in &self.options {
            replace(value, &format!("${{user_config.{key}}}"), text);
        }
    }

    /// Replaces the options in command lines by environment variables: a value must not become a
    /// part of the shell's language.
    pub(super) fn name_options(&self, hooks: &mut Value) {
        match hooks {
            Value::Array(items) => items.iter_mut().for_each(|item| self.name_options(item)),
            Value::Object(fields) => {
                // With `args` there is no shell, so a value cannot become part of its language.
                let is_line = !fields.contains_key("args");
                if let Some(command) = fields.get_mut("command").filter(|_| is_line) {
                    for key in self.options.keys() {
                        let name = format!("${{{}}}", variable(key));
                        replace(command, &format!("${{user_config.{key}}}"), &name);
                    }
                }
                fields.values_mut().for_each(|field| self.name_options(field));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}

/// Returns the environment variable of an option.
fn variable(key: &str) -> String {
    format!("CLAUDE_PLUGIN_OPTION_{}", key.to_ascii_uppercase())
}

/// Checks that a name can be part of a variable.
pub(super) fn check_key(key: &str) -> Result<(), String> {
    let valid = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if key.is_empty() || key.len() > 64 || !key.chars().all(valid) {
        let key = one_line(key);
        return Err(format!("the option `{key}` is not valid: use letters, digits and `_`"));
    }
    Ok(())
}
