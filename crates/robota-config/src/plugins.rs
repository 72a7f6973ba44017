//! Bundle plugins (SDK-22): folders with skills, commands, agents, hooks, permission rules and a prompt.
//!
//! A plugin is installed by copying its folder, to `~/.robota/plugins` or to `.robota/plugins` of a
//! project. Nothing of it is used before the user enables it: the record of that is in the home folder,
//! with the hash of all its files, so that neither a checkout nor a changed plugin can enable itself.
//!
//! ```
//! use robota_config::Places;
//! use robota_config::plugins::{PluginScope, Plugins};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let (home, project) = (tempfile::tempdir()?, tempfile::tempdir()?);
//! # let source = tempfile::tempdir()?;
//! let source = source.path();
//! std::fs::write(source.join("plugin.json"), r#"{"name": "greeter", "version": "1.0"}"#)?;
//! std::fs::create_dir(source.join("commands"))?;
//! std::fs::write(source.join("commands/hello.md"), "Say hello.")?;
//! let places = Places::new(home.path(), project.path());
//! let mut plugins = Plugins::load(&places);
//! plugins.install(source, PluginScope::User)?;
//! assert!(plugins.active().next().is_none());
//! plugins.enable("greeter")?;
//! assert_eq!(plugins.active().next().unwrap().manifest.name, "greeter");
//! # Ok(()) }
//! ```

mod content;
mod manifest;
mod marketplace;
mod registry;

use std::path::{Path, PathBuf};

use robota_core::hook::{HookEvent, HookGroup};
use serde::Serialize;
use serde_json::Value;

pub use manifest::{PluginManifest, PluginPermissions};
pub use marketplace::{Marketplace, MarketplaceEntry};
pub use registry::{PluginScope, Plugins};

use crate::clean::one_line;

/// The largest file with hooks.
const MAX_HOOKS_BYTES: u64 = 256 * 1024;

/// Whether a plugin is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PluginState {
    /// The user enabled it with its current content.
    Enabled,
    /// The user has not enabled it.
    Disabled,
    /// Its files changed since the user enabled it. It is not used.
    Changed,
    /// Its files cannot be read. It is not used.
    Broken,
}

/// An installed plugin.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Plugin {
    /// What it says about itself.
    pub manifest: PluginManifest,
    /// Its folder.
    pub root: PathBuf,
    /// Where it is installed.
    pub scope: PluginScope,
    /// Whether it is used.
    pub state: PluginState,
    /// Where it was installed from.
    pub source: String,
}

impl Plugin {
    /// Returns the hooks by event, with `${CLAUDE_PLUGIN_ROOT}` replaced, and what is wrong with them.
    #[must_use]
    pub fn hooks(&self) -> (Vec<(HookEvent, Vec<HookGroup>)>, Vec<String>) {
        let (mut hooks, mut problems) = (Vec::new(), Vec::new());
        let Some(found) = self.hooks_value().unwrap_or_else(|problem| {
            problems.push(problem);
            None
        }) else {
            return (hooks, problems);
        };
        for (name, groups) in found.as_object().into_iter().flatten() {
            let Ok(event) = name.parse::<HookEvent>() else {
                problems.push(format!("the hook event `{}` is not known", one_line(name)));
                continue;
            };
            let groups = groups.as_array().into_iter().flatten();
            let groups = groups.map(|group| serde_json::from_value(group.clone()));
            let mut read = Vec::new();
            for group in groups {
                match group {
                    Ok(group) => read.push(group),
                    Err(error) => problems.push(format!("a hook of {event} is not valid: {error}")),
                }
            }
            hooks.push((event, read));
        }
        (hooks, problems)
    }

    /// Returns what the plugin does beyond text, for the user to decide.
    #[must_use]
    pub fn requests(&self) -> Vec<String> {
        let mut found = Vec::new();
        for (event, groups) in self.hooks().0 {
            let hooks = groups.iter().flat_map(|group| &group.hooks);
            found.extend(hooks.map(|hook| format!("runs {} at {event}", one_line(&hook.label()))));
        }
        let PluginPermissions { allow, deny } = &self.manifest.permissions;
        found.extend(allow.iter().map(|rule| format!("allows `{}`", one_line(rule))));
        found.extend(deny.iter().map(|rule| format!("denies `{}`", one_line(rule))));
        if self.manifest.prompt.is_some() {
            found.push("adds text to the system prompt".to_owned());
        }
        for (folder, what) in [("skills", "skills"), ("commands", "commands"), ("agents", "agents")]
        {
            if self.root.join(folder).is_dir() {
                found.push(format!("adds {what}, which may run commands"));
            }
        }
        found
    }

    fn hooks_value(&self) -> Result<Option<Value>, String> {
        let value = match &self.manifest.hooks {
            Some(Value::String(path)) => self.read_json(path)?,
            Some(inline) => Some(inline.clone()),
            None => self.read_json("./hooks/hooks.json")?,
        };
        // The file wraps the events, an inline value may do so.
        let value = value.map(|value| value.get("hooks").cloned().unwrap_or(value));
        let root = self.root.display().to_string();
        Ok(value.map(|mut value| {
            replace(&mut value, "${CLAUDE_PLUGIN_ROOT}", &root);
            value
        }))
    }

    fn read_json(&self, path: &str) -> Result<Option<Value>, String> {
        let file = manifest::inside(&self.root, path)?;
        match file.metadata() {
            Err(_) => return Ok(None),
            Ok(metadata) if metadata.len() > MAX_HOOKS_BYTES => {
                return Err(format!("{path} is larger than {MAX_HOOKS_BYTES} bytes"));
            }
            Ok(_) => {}
        }
        let text = std::fs::read_to_string(&file).map_err(|error| format!("{path}: {error}"))?;
        serde_json::from_str(&text).map(Some).map_err(|error| format!("{path}: {error}"))
    }
}

fn replace(value: &mut Value, from: &str, to: &str) {
    match value {
        Value::String(text) => *text = text.replace(from, to),
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, from, to)),
        Value::Object(fields) => fields.values_mut().for_each(|field| replace(field, from, to)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns the folders with skills and commands of a plugin.
pub(crate) fn skill_folders(plugin: &Plugin) -> Vec<(PathBuf, bool)> {
    let given = |paths: &[String], fallback: &str, is_skills: bool| -> Vec<(PathBuf, bool)> {
        let mut found: Vec<String> = paths.to_vec();
        // Skills add to the usual folder, commands replace it.
        if is_skills || found.is_empty() {
            found.insert(0, format!("./{fallback}"));
        }
        let inside = |path: &String| manifest::inside(&plugin.root, path).ok();
        found.iter().filter_map(inside).map(|path| (path, is_skills)).collect()
    };
    let mut all = given(&plugin.manifest.skills, "skills", true);
    all.extend(given(&plugin.manifest.commands, "commands", false));
    all
}

/// Returns whether a path is a folder and no link.
fn is_real_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir())
}

#[cfg(test)]
mod tests;
