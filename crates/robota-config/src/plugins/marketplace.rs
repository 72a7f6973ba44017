//! Marketplaces: folders that list plugins in `.claude-plugin/marketplace.json`.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::manifest::inside;
use super::source::{GitSource, PluginSource};
use crate::clean::one_line;
use crate::json::read_value;

/// A folder that lists plugins.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Marketplace {
    /// The name that it gives itself; part of the ids of its plugins.
    pub name: String,
    /// Its folder; for one of a repository the copy of it.
    pub folder: PathBuf,
    /// Its plugins, as the file lists them; entries that are not valid are left out.
    pub plugins: Vec<MarketplaceEntry>,
}

/// A plugin that a marketplace lists, installed or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MarketplaceEntry {
    /// The name by which it is installed.
    pub name: String,
    /// What it does, on one line; empty if the marketplace does not say.
    pub description: String,
    /// Words to find it by.
    pub keywords: Vec<String>,
    /// Where it is: a folder of the marketplace, or a repository. None for a source that is not
    /// supported.
    pub source: Option<PluginSource>,
}

#[derive(Deserialize)]
struct Listed {
    name: String,
    #[serde(default)]
    plugins: Vec<Value>,
}

impl Marketplace {
    /// Reads a marketplace. An entry that is not valid is left out.
    ///
    /// # Errors
    /// If the file does not exist or is not valid; the text says why.
    pub fn read(folder: &Path) -> Result<Self, String> {
        let files = [".claude-plugin/marketplace.json", "marketplace.json"];
        let file = files.iter().map(|name| folder.join(name)).find(|file| file.is_file());
        let file = file.ok_or("it has no .claude-plugin/marketplace.json")?;
        let failed = |error: String| format!("{}: {error}", file.display());
        let bytes = std::fs::read(&file).map_err(|error| failed(error.to_string()))?;
        let value = read_value(&bytes).map_err(failed)?;
        let listed: Listed =
            serde_json::from_value(value).map_err(|error| failed(error.to_string()))?;
        let plugins = listed.plugins.iter().filter_map(|entry| entry_of(folder, entry)).collect();
        Ok(Self { name: one_line(&listed.name), folder: folder.to_owned(), plugins })
    }

    /// Returns the plugins whose name, description or keywords contain a text, in any case.
    pub fn search<'a>(&'a self, text: &str) -> impl Iterator<Item = &'a MarketplaceEntry> {
        let text = text.to_lowercase();
        self.plugins.iter().filter(move |entry| {
            let all = [&entry.name, &entry.description];
            all.into_iter().chain(&entry.keywords).any(|it| it.to_lowercase().contains(&text))
        })
    }
}

fn entry_of(folder: &Path, entry: &Value) -> Option<MarketplaceEntry> {
    let text = |key: &str| entry.get(key).and_then(Value::as_str);
    let words = entry.get("keywords").or_else(|| entry.get("tags")).and_then(Value::as_array);
    let words = words.into_iter().flatten().filter_map(Value::as_str);
    let source = match entry.get("source")? {
        Value::String(path) => {
            // The file may list folders that the copy does not have.
            let path = inside(folder, path).ok().filter(|path| path.is_dir());
            path.map(PluginSource::Folder)
        }
        Value::Object(fields) => GitSource::from_json(fields).map(PluginSource::Git),
        _ => None,
    };
    Some(MarketplaceEntry {
        name: one_line(text("name")?),
        description: one_line(text("description").unwrap_or_default()),
        keywords: words.map(one_line).collect(),
        source,
    })
}
