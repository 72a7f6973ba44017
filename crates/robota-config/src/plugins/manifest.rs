//! The manifest of a plugin: `.claude-plugin/plugin.json` or `plugin.json`.

use std::path::{Component, Path, PathBuf};

use indexmap::IndexMap;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::options::{UserOption, check_key};
use crate::clean::clean;
use crate::json::read_value;

/// The files that may have the manifest, in order.
const FILES: [&str; 2] = [".claude-plugin/plugin.json", "plugin.json"];
/// The largest manifest, in bytes. It is read at every start.
const MAX_BYTES: u64 = 256 * 1024;
const MAX_NAME: usize = 64;

/// What a plugin says about itself. Unknown fields are ignored; a field of a wrong type is an error.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PluginManifest {
    /// The name, by which its commands are qualified: `name:command`.
    pub name: String,
    /// The version, for people; nothing compares versions.
    pub version: Option<String>,
    /// What it does, for lists; cleaned of control characters.
    pub description: Option<String>,
    /// Who made it; the name only.
    #[serde(deserialize_with = "author")]
    pub author: Option<String>,
    /// Words to find it by.
    pub keywords: Vec<String>,
    /// The licence, as the author names it.
    pub license: Option<String>,
    /// Folders with skills besides `skills`, each as `./path`.
    #[serde(deserialize_with = "paths")]
    pub skills: Vec<String>,
    /// Folders with commands instead of `commands`.
    #[serde(deserialize_with = "paths")]
    pub commands: Vec<String>,
    /// Folders with agents instead of `agents`.
    #[serde(deserialize_with = "paths")]
    pub agents: Vec<String>,
    /// Folders with output styles instead of `output-styles`.
    #[serde(deserialize_with = "paths")]
    pub output_styles: Vec<String>,
    /// Hooks: the path of a file, or the hooks themselves. The default is `hooks/hooks.json`.
    pub hooks: Option<Value>,
    /// MCP servers: the path of a file, the servers themselves, or a list of these. The default is
    /// `.mcp.json`.
    pub mcp_servers: Option<Value>,
    /// Permission rules that apply while it is enabled.
    pub permissions: PluginPermissions,
    /// Text that is added to the system prompt while it is enabled.
    pub prompt: Option<String>,
    /// The options that it asks the user for, by name.
    pub user_config: IndexMap<String, UserOption>,
}

/// Holds the permission rules that a plugin adds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PluginPermissions {
    /// Rules for calls that run without approval.
    pub allow: Vec<String>,
    /// Rules for calls that never run.
    pub deny: Vec<String>,
}

impl PluginManifest {
    /// Reads and checks the manifest of a folder. A folder without one is named like itself.
    ///
    /// # Errors
    /// If the manifest cannot be read or is not valid; the text says why.
    pub fn read(root: &Path) -> Result<Self, String> {
        let folder = root.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        Self::read_or_named(root, folder)
    }

    /// Reads and checks the manifest of a folder. Without a manifest the plugin has the given name.
    pub(super) fn read_or_named(root: &Path, fallback: &str) -> Result<Self, String> {
        let file = FILES.iter().map(|name| root.join(name)).find(|file| file.is_file());
        let mut manifest = match file {
            None => Self::default(),
            Some(file) => {
                let size = file.metadata().map_or(0, |metadata| metadata.len());
                if size > MAX_BYTES {
                    return Err(format!("the manifest is larger than {MAX_BYTES} bytes"));
                }
                let failed = |error: String| format!("{}: {error}", file.display());
                let bytes = std::fs::read(&file).map_err(|error| failed(error.to_string()))?;
                let value = read_value(&bytes).map_err(failed)?;
                serde_json::from_value::<Self>(value).map_err(|error| failed(error.to_string()))?
            }
        };
        if manifest.name.is_empty() {
            // A folder with skills alone is a plugin, too.
            fallback.clone_into(&mut manifest.name);
        }
        manifest.check(root)?;
        // These are shown in a terminal.
        for text in [&mut manifest.version, &mut manifest.description, &mut manifest.author] {
            *text = text.take().map(|text| clean(&text).into_owned());
        }
        manifest.prompt = manifest.prompt.map(|text| clean(&text).into_owned());
        Ok(manifest)
    }

    fn check(&self, root: &Path) -> Result<(), String> {
        let valid = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let name = &self.name;
        // A name such as `..` or `-x` would be a path or an option.
        let starts = name.starts_with(|c: char| c.is_ascii_alphanumeric());
        if name.len() > MAX_NAME || !starts || !name.chars().all(valid) {
            return Err(format!(
                "the name `{}` is not valid: use letters, digits, `-`, `_` and `.`, at most {MAX_NAME}",
                crate::clean::one_line(name)
            ));
        }
        let paths = self.skills.iter().chain(&self.commands).chain(&self.agents);
        for path in paths.chain(&self.output_styles) {
            inside(root, path)?;
        }
        self.user_config.keys().try_for_each(|key| check_key(key))?;
        let servers = match &self.mcp_servers {
            Some(Value::Array(parts)) => parts.iter().collect(),
            one => Vec::from_iter(one),
        };
        for path in self.hooks.iter().chain(servers).filter_map(Value::as_str) {
            inside(root, path)?;
        }
        Ok(())
    }
}

/// Returns the path of a file of a plugin, which must be inside its folder.
pub(super) fn inside(root: &Path, path: &str) -> Result<PathBuf, String> {
    let relative = Path::new(path);
    let stays = relative.components().all(|part| match part {
        Component::CurDir => true,
        // The hash of a plugin leaves it out.
        Component::Normal(name) => name != ".git",
        _ => false,
    });
    // Written `./`, as the format of plugins asks for; it also excludes absolute paths.
    if !stays || !path.starts_with("./") {
        let path = crate::clean::one_line(path);
        return Err(format!(
            "the path `{path}` must start with ./ and stay in the plugin, outside of .git"
        ));
    }
    Ok(root.join(relative))
}

/// Reads one path or a list of them.
fn paths<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Paths {
        One(String),
        Many(Vec<String>),
    }
    Ok(match Option::<Paths>::deserialize(deserializer)? {
        None => Vec::new(),
        Some(Paths::One(path)) => vec![path],
        Some(Paths::Many(paths)) => paths,
    })
}

/// Reads an author: a name, or an object with one.
fn author<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Author {
        Name(String),
        Person { name: String },
    }
    Ok(Option::<Author>::deserialize(deserializer)?.map(|author| match author {
        Author::Name(name) | Author::Person { name } => name,
    }))
}
