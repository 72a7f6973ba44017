//! Bundle plugins (SDK-22): folders with skills, commands, agents, hooks, permission rules and a prompt.
//!
//! A plugin is installed by copying its folder, to `~/.robota/plugins` or to `.robota/plugins` of a
//! project. Nothing of it is used before the user enables it: the record of that is in the home folder,
//! with the hash of all its files, so that neither a checkout nor a changed plugin can enable itself.
//! Folders among skills can be plugins too; those of the user need no step to be used.
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
mod options;
mod registry;
mod servers;
mod skills_folder;
mod source;

use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use robota_core::hook::{HookDefinition, HookEvent, HookGroup};
use serde::Serialize;
use serde_json::Value;

pub use manifest::{PluginManifest, PluginPermissions};
pub use marketplace::{Marketplace, MarketplaceEntry};
pub use options::{OptionKind, UserOption};
pub use registry::{PluginOrigin, PluginScope, Plugins};
pub use source::{GitSource, PluginSource, marketplace_source};

use crate::clean::one_line;
use crate::json::read_value;

/// The largest file with hooks or servers, in bytes.
const MAX_HOOKS_BYTES: u64 = 256 * 1024;

/// Whether a plugin is used, and if not, why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PluginState {
    /// The user enabled it with its current content.
    Enabled,
    /// The user has not enabled it.
    Disabled,
    /// `enabledPlugins` of the settings turns it off, although the user enabled it.
    TurnedOff,
    /// An option that it needs has no value in the settings. It is not used.
    NotConfigured,
    /// Its files changed since the user enabled it. It is not used.
    Changed,
    /// Its files cannot be read. It is not used.
    Broken,
}

/// A plugin that is installed, whether or not it is used.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InstalledPlugin {
    /// What it says about itself.
    pub manifest: PluginManifest,
    /// Its folder: the copy, not the one that it was installed from.
    pub root: PathBuf,
    /// Where it is installed.
    pub scope: PluginScope,
    /// Whether it is used.
    pub state: PluginState,
    /// Where it was installed from.
    pub source: String,
    /// The repository and the commit that it was installed from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git: Option<GitSource>,
    /// The marketplace that it was installed from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub marketplace: Option<String>,
    /// The values of its options, as text; empty for one without a value.
    #[serde(skip)]
    options: IndexMap<String, String>,
    /// The folder of this user in which it may keep files. None without a home folder.
    #[serde(skip)]
    data: Option<PathBuf>,
}

impl InstalledPlugin {
    /// Returns the name in the settings: NAME@MARKETPLACE, or the name.
    #[must_use]
    pub fn id(&self) -> String {
        let name = &self.manifest.name;
        match &self.marketplace {
            Some(marketplace) => format!("{name}@{marketplace}"),
            None => name.clone(),
        }
    }

    /// Returns the folder with programs that commands can run by name; none if it has no such folder.
    #[must_use]
    pub fn bin(&self) -> Option<PathBuf> {
        // A link could lead to programs that the hash of the plugin does not cover.
        Some(self.root.join("bin")).filter(|folder| is_real_folder(folder))
    }

    /// Returns the hooks by event, with the folder and the options of the plugin filled in, and what is
    /// wrong with them.
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
            // Newer plugins have code that runs in the process of another program.
            if name == "modules" {
                problems.push("`modules` of its hooks are not run; its other hooks are".to_owned());
                continue;
            }
            let Ok(event) = name.parse::<HookEvent>() else {
                problems.push(format!("the hook event `{}` is not known", one_line(name)));
                continue;
            };
            let groups = groups.as_array().into_iter().flatten();
            let groups = groups.map(|group| serde_json::from_value::<HookGroup>(group.clone()));
            let mut read = Vec::new();
            for group in groups {
                match group {
                    Ok(mut group) => {
                        for hook in &mut group.hooks {
                            // Only commands have an environment of their own.
                            if let HookDefinition::Command(command) = hook {
                                command.variables = self.variables();
                            }
                        }
                        read.push(group);
                    }
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
        let (servers, _) = self.mcp_servers();
        found.extend(servers.iter().map(|(name, fields)| servers::request(name, fields)));
        let exists = |folders: Vec<PathBuf>| folders.iter().any(|folder| folder.is_dir());
        let (skills, commands): (Vec<_>, Vec<_>) =
            skill_folders(self).into_iter().partition(|(_, is_skills)| *is_skills);
        let folders = |list: Vec<(PathBuf, bool)>| list.into_iter().map(|(path, _)| path).collect();
        for (folders, what) in [
            (folders(skills), "skills"),
            (folders(commands), "commands"),
            (agent_folders(self), "agents"),
        ] {
            if exists(folders) {
                found.push(format!("adds {what}, which may run commands"));
            }
        }
        for folder in style_folders(self).into_iter().filter(|folder| folder.is_dir()) {
            let name = folder.strip_prefix(&self.root).unwrap_or(&folder).display();
            found.push(format!("adds the output styles of `{name}`, which may be turned on by it"));
        }
        if self.bin().is_some() {
            found.push("adds programs that commands can run by name (`bin`)".to_owned());
        }
        found
    }

    fn hooks_value(&self) -> Result<Option<Value>, String> {
        let value = match &self.manifest.hooks {
            Some(Value::String(path)) => self.read_json(path)?,
            Some(inline) => Some(inline.clone()),
            None => self.read_json("./hooks/hooks.json")?,
        };
        // The file wraps the events, an inline value may do so. What else it has is not lost silently.
        let value = value.map(|mut value| {
            let modules = value.get("modules").cloned();
            let Some(mut hooks) = value.get_mut("hooks").map(Value::take) else {
                if let Some(fields) = value.as_object_mut() {
                    fields.remove("description");
                }
                return value;
            };
            if let (Some(modules), Some(events)) = (modules, hooks.as_object_mut()) {
                events.insert("modules".to_owned(), modules);
            }
            hooks
        });
        Ok(value.map(|mut value| {
            // First the command lines, where values become variables; then the rest.
            self.name_options(&mut value);
            self.fill_in(&mut value);
            value
        }))
    }

    fn read_json(&self, path: &str) -> Result<Option<Value>, String> {
        let file = manifest::inside(&self.root, path)?;
        match file.metadata() {
            Err(_) => return Ok(None),
            // Before the file is read into memory.
            Ok(metadata) if metadata.len() > MAX_HOOKS_BYTES => {
                return Err(format!("{path} is larger than {MAX_HOOKS_BYTES} bytes"));
            }
            Ok(_) => {}
        }
        let bytes = std::fs::read(&file).map_err(|error| format!("{path}: {error}"))?;
        read_value(&bytes).map(Some).map_err(|error| format!("{path}: {error}"))
    }
}

/// The file of a skill, in its folder.
const SKILL_FILE: &str = "SKILL.md";

/// Returns the name of a skill that is this folder itself, and not a folder with skills; none if it is
/// not. A plugin without folders can be one skill, with the name of the plugin.
pub(crate) fn single_skill(plugin: &InstalledPlugin, folder: &Path) -> Option<String> {
    if !folder.join(SKILL_FILE).is_file() {
        return None;
    }
    if folder == plugin.root {
        return Some(plugin.manifest.name.clone());
    }
    Some(folder.file_name()?.to_str()?.to_owned())
}

fn replace(value: &mut Value, from: &str, to: &str) {
    match value {
        Value::String(text) => *text = text.replace(from, to),
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, from, to)),
        Value::Object(fields) => fields.values_mut().for_each(|field| replace(field, from, to)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns the folders with skills (true) and commands (false) of a plugin.
pub(crate) fn skill_folders(plugin: &InstalledPlugin) -> Vec<(PathBuf, bool)> {
    // Skills add to the usual folder, commands replace it.
    let mut skills = vec!["./skills".to_owned()];
    skills.extend_from_slice(&plugin.manifest.skills);
    let mut skills: Vec<_> = folders_of(plugin, &skills, "./skills").collect();
    // The file of a folder among skills is the skill of that folder already.
    let is_skill = plugin.root.join(SKILL_FILE).is_file() && !plugin.is_in_skills_folder();
    if is_skill && !skills.iter().any(|folder| folder.is_dir()) {
        skills.push(plugin.root.clone());
    }
    let skills = skills.into_iter().map(|path| (path, true));
    let commands = folders_of(plugin, &plugin.manifest.commands, "./commands");
    skills.chain(commands.map(|path| (path, false))).collect()
}

/// Returns the folders with agents of a plugin.
pub(crate) fn agent_folders(plugin: &InstalledPlugin) -> Vec<PathBuf> {
    folders_of(plugin, &plugin.manifest.agents, "./agents").collect()
}

/// Returns the folders with output styles of a plugin.
pub(crate) fn style_folders(plugin: &InstalledPlugin) -> Vec<PathBuf> {
    folders_of(plugin, &plugin.manifest.output_styles, "./output-styles").collect()
}

fn folders_of(
    plugin: &InstalledPlugin,
    paths: &[String],
    fallback: &str,
) -> impl Iterator<Item = PathBuf> + use<> {
    let given: Vec<_> = if paths.is_empty() { vec![fallback.to_owned()] } else { paths.to_vec() };
    let root = plugin.root.clone();
    given.into_iter().filter_map(move |path| manifest::inside(&root, &path).ok())
}

/// Returns whether a path is a folder and no link.
fn is_real_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir())
}

#[cfg(test)]
mod tests;
