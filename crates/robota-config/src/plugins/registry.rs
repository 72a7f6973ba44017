//! The record of installed plugins: `~/.robota/plugins/registry.json`, which only the user writes.

use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::skills_folder::{SKILLS_FOLDER, SkillsFolder};
use super::{
    GitSource, InstalledPlugin, Marketplace, PluginManifest, PluginState, content, is_real_folder,
};
use crate::error::ConfigError;
use crate::layer::Layer;
use crate::places::Places;
use crate::write::records::{self, io};

/// Where a plugin is installed, and for whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PluginScope {
    /// In `~/.robota/plugins`, for all folders.
    User,
    /// In `.robota/plugins` of one project.
    Project,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Records {
    #[serde(default)]
    plugins: Vec<Record>,
    /// The folders of marketplaces by name.
    #[serde(default)]
    marketplaces: IndexMap<String, PathBuf>,
    /// The repositories that folders of marketplaces were copied from, with their commits.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    marketplace_repositories: IndexMap<String, GitSource>,
    /// Fields of a later version.
    #[serde(flatten)]
    other: Map<String, Value>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Record {
    name: String,
    scope: PluginScope,
    path: PathBuf,
    source: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    git: Option<GitSource>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    marketplace: Option<String>,
    /// The hash with which the user enabled it; none if it is disabled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    enabled: Option<String>,
}

/// Where an installed plugin comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PluginOrigin {
    /// The folder or the repository, for the user.
    pub source: String,
    /// The repository, with the commit.
    pub git: Option<GitSource>,
    /// The name of the marketplace; none if it was installed directly.
    pub marketplace: Option<String>,
    /// The name of a plugin without a manifest. A plugin of a marketplace must have the name that the
    /// marketplace lists.
    pub name: Option<String>,
}

/// The plugins that are installed for the user and for one project.
#[derive(Debug, Clone)]
pub struct Plugins {
    pub(super) plugins: Vec<InstalledPlugin>,
    /// Why plugins are not used.
    pub problems: Vec<String>,
    /// Plugins that the settings name and that are not used, and what to do.
    pub notes: Vec<String>,
    records: Records,
    user: Option<PathBuf>,
    project: PathBuf,
    /// The folders with skills, among which plugins can be.
    pub(super) skills_folders: Vec<SkillsFolder>,
}

impl Plugins {
    /// Reads the installed plugins. What is wrong is in `problems`.
    #[must_use]
    pub fn load(places: &Places) -> Self {
        // Without the files of the user, nothing that the user enabled counts.
        let home = places.home.as_deref().filter(|_| places.reads(Layer::UserRobota));
        let user = home.map(|home| home.join(".robota/plugins"));
        let project = places.cwd.canonicalize().unwrap_or_else(|_| places.cwd.clone());
        let mut problems = Vec::new();
        let records = user.as_deref().map_or_else(Records::default, |folder| {
            let file = folder.join(REGISTRY);
            records::read(&file).unwrap_or_else(|problem| {
                problems.push(format!("{}: {problem}", file.display()));
                Records::default()
            })
        });
        let project = project.join(".robota/plugins");
        let notes = Vec::new();
        let skills_folders = SkillsFolder::all(places);
        let mut loaded =
            Self { plugins: Vec::new(), problems, notes, records, user, project, skills_folders };
        loaded.refresh();
        loaded
    }

    /// Returns the installed plugins.
    pub fn iter(&self) -> impl Iterator<Item = &InstalledPlugin> {
        self.plugins.iter()
    }

    /// Returns the plugins that are used.
    pub fn active(&self) -> impl Iterator<Item = &InstalledPlugin> {
        self.plugins.iter().filter(|plugin| plugin.state == PluginState::Enabled)
    }

    /// Returns a plugin by name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&InstalledPlugin> {
        self.plugins.iter().find(|plugin| plugin.manifest.name == name)
    }

    /// Uses the plugin in a folder for this run, without installing it. The caller trusts it. A plugin
    /// of the same name is not used.
    ///
    /// # Errors
    /// If the folder is no valid plugin.
    pub fn use_folder(&mut self, folder: &Path) -> Result<(), ConfigError> {
        let refused = |reason: String| ConfigError::Plugin { path: folder.to_owned(), reason };
        let root = folder.canonicalize().map_err(|error| refused(error.to_string()))?;
        if !is_real_folder(&root) {
            return Err(refused("it is not a folder".to_owned()));
        }
        let name = root.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let manifest = PluginManifest::read_or_named(&root, name).map_err(refused)?;
        // The one of this run replaces the installed one, for trying a change out.
        self.plugins.retain(|plugin| plugin.manifest.name != manifest.name);
        self.plugins.push(InstalledPlugin {
            manifest,
            source: root.display().to_string(),
            root,
            scope: PluginScope::User,
            state: PluginState::Enabled,
            git: None,
            marketplace: None,
            options: IndexMap::new(),
            data: None,
        });
        self.set_data();
        Ok(())
    }

    /// Turns plugins off that the settings turn off. Plugins that the settings turn on are used only if
    /// the user has enabled them; the others are in `notes`. `configs` has the options of plugins; a
    /// plugin with an option that is missing or not valid is not used.
    pub fn apply_settings(
        &mut self,
        enabled: &IndexMap<String, bool>,
        configs: &IndexMap<String, Map<String, Value>>,
    ) {
        for (id, on) in enabled {
            // Settings may use the short name; Claude Code writes the id.
            let found =
                self.plugins.iter_mut().find(|it| it.id() == *id || it.manifest.name == *id);
            match (found, on) {
                (Some(plugin), false) if plugin.state == PluginState::Enabled => {
                    plugin.state = PluginState::TurnedOff;
                }
                (Some(plugin), true) if plugin.state == PluginState::Disabled => {
                    let name = &plugin.manifest.name;
                    self.notes.push(format!(
                        "the settings name the plugin `{name}`, which is not enabled; run `robota plugin \
                         enable {name}` to review it"
                    ));
                }
                (None, true) => {
                    let id = crate::clean::one_line(id);
                    self.notes.push(format!(
                        "the settings name the plugin `{id}`, which is not installed; run `robota plugin \
                         install {id}`"
                    ));
                }
                (Some(_), _) | (None, false) => {}
            }
        }
        for plugin in self.plugins.iter_mut().filter(|it| it.state == PluginState::Enabled) {
            let config = configs.get(&plugin.id()).or_else(|| configs.get(&plugin.manifest.name));
            let options = config.and_then(|config| config.get("options")?.as_object());
            let problems = plugin.set_options(options.unwrap_or(&Map::new()));
            if !problems.is_empty() {
                plugin.state = PluginState::NotConfigured;
            }
            let name = &plugin.manifest.name;
            self.problems
                .extend(problems.iter().map(|it| format!("the plugin `{name}` is not used: {it}")));
        }
    }

    /// Copies a plugin from a folder. It is not used before it is enabled. A plugin of the same name
    /// is replaced and has to be enabled again.
    ///
    /// # Errors
    /// If the folder is no valid plugin, or cannot be copied.
    pub fn install(
        &mut self,
        from: &Path,
        scope: PluginScope,
    ) -> Result<&InstalledPlugin, ConfigError> {
        let source = from.canonicalize().unwrap_or_else(|_| from.to_owned());
        let source = source.display().to_string();
        self.install_from(from, scope, PluginOrigin { source, ..PluginOrigin::default() })
    }

    /// Copies a plugin from a folder like [`install`](Self::install), and records where the folder
    /// came from.
    ///
    /// # Errors
    /// If the folder is no valid plugin, or cannot be copied.
    pub fn install_from(
        &mut self,
        from: &Path,
        scope: PluginScope,
        origin: PluginOrigin,
    ) -> Result<&InstalledPlugin, ConfigError> {
        let refused = |reason: String| ConfigError::Plugin { path: from.to_owned(), reason };
        let from = from.canonicalize().map_err(|error| refused(error.to_string()))?;
        if !is_real_folder(&from) {
            return Err(refused("it is not a folder".to_owned()));
        }
        let folder_name = from.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let fallback = origin.name.as_deref().unwrap_or(folder_name);
        let manifest = PluginManifest::read_or_named(&from, fallback).map_err(refused)?;
        let PluginOrigin { source, git, marketplace, name: listed } = origin;
        // Otherwise a plugin could take the place of another one that the user knows by its name.
        if let Some(listed) = listed.filter(|it| marketplace.is_some() && *it != manifest.name) {
            return Err(refused(format!(
                "the marketplace lists it as `{listed}`, but its name is `{}`",
                manifest.name
            )));
        }
        let folder = self.folder(scope)?;
        let target = folder.join(&manifest.name);
        let fresh = folder.join(format!(".new-{}", manifest.name));
        replace_folder(&from, &fresh, &target)?;
        let name = manifest.name;
        let record = Record {
            name: name.clone(),
            scope,
            path: target.clone(),
            source,
            git,
            marketplace,
            enabled: None,
        };
        self.change(|records| {
            // By the path: a plugin of the same name may be installed for another project.
            records.plugins.retain(|it| it.path != target);
            records.plugins.push(record);
        })?;
        self.get(&name).ok_or(ConfigError::NoPlace("the plugin was not recorded"))
    }

    /// Returns how the files of a new version of a plugin differ, one line for each file.
    ///
    /// # Errors
    /// If there is no such plugin, or files cannot be read.
    pub fn changes(&self, name: &str, new: &Path) -> Result<Vec<String>, ConfigError> {
        let root = self.root_of(name)?;
        content::changes(&root, new)
            .map_err(|reason| ConfigError::Plugin { path: new.to_owned(), reason })
    }

    /// Enables a plugin with the content that it has now.
    ///
    /// # Errors
    /// If there is no such plugin, or its files cannot be read.
    pub fn enable(&mut self, name: &str) -> Result<(), ConfigError> {
        // Hashed here, from the files themselves: a hash that the caller passes could be of other
        // files.
        let plugin = self.get(name).ok_or(UNKNOWN)?;
        if plugin.is_in_skills_folder() && plugin.scope == PluginScope::User {
            // Used like the user's skills, whatever it contains.
            return Ok(());
        }
        let root = plugin.root.clone();
        let hash = content::hash(&root)
            .map_err(|reason| ConfigError::Plugin { path: root.clone(), reason })?;
        let new = plugin.is_in_skills_folder().then(|| Record {
            name: name.to_owned(),
            scope: plugin.scope,
            path: root.clone(),
            source: plugin.source.clone(),
            git: None,
            marketplace: plugin.marketplace.clone(),
            enabled: None,
        });
        self.change(|records| {
            // Nothing was recorded when it was put there.
            let is_known = records.plugins.iter().any(|record| record.path == root);
            records.plugins.extend(new.filter(|_| !is_known));
            for record in records.plugins.iter_mut().filter(|record| record.path == root) {
                record.enabled = Some(hash.clone());
            }
        })
    }

    /// Disables a plugin.
    ///
    /// # Errors
    /// If there is no such plugin, the record cannot be written, or it is a folder among the user's skills,
    /// which only the setting `enabledPlugins` turns off.
    pub fn disable(&mut self, name: &str) -> Result<(), ConfigError> {
        let root = self.root_of(name)?;
        if self.get(name).is_some_and(|plugin| plugin.scope == PluginScope::User) {
            let setting = format!(
                "set `enabledPlugins` to {{\"{name}@{SKILLS_FOLDER}\": false}} in your settings"
            );
            self.not_in_skills_folder(name, &setting)?;
        }
        self.change(|records| {
            for record in records.plugins.iter_mut().filter(|record| record.path == root) {
                record.enabled = None;
            }
        })
    }

    /// Deletes a plugin.
    ///
    /// # Errors
    /// If there is no such plugin, or it cannot be deleted.
    pub fn remove(&mut self, name: &str) -> Result<(), ConfigError> {
        let root = self.root_of(name)?;
        self.not_in_skills_folder(name, "delete the folder itself")?;
        // First the files: a record without files is left out, files without a record would stay.
        remove_folder(&root)?;
        self.change(|records| records.plugins.retain(|record| record.path != root))
    }

    /// Adds a folder with plugins (a marketplace), and returns its name.
    ///
    /// # Errors
    /// If it is no valid marketplace, or the record cannot be written.
    pub fn add_marketplace(&mut self, folder: &Path) -> Result<String, ConfigError> {
        let refused = |reason: String| ConfigError::Plugin { path: folder.to_owned(), reason };
        let folder = folder.canonicalize().map_err(|error| refused(error.to_string()))?;
        let name = Marketplace::read(&folder).map_err(refused)?.name;
        not_reserved(&name).map_err(refused)?;
        self.change(|records| {
            records.marketplaces.insert(name.clone(), folder.clone());
        })?;
        Ok(name)
    }

    /// Copies a folder with plugins (a marketplace) that came from a repository, and returns its name.
    ///
    /// # Errors
    /// If it is no valid marketplace, or cannot be copied.
    pub fn add_marketplace_from(
        &mut self,
        from: &Path,
        git: GitSource,
    ) -> Result<String, ConfigError> {
        let refused = |reason: String| ConfigError::Plugin { path: from.to_owned(), reason };
        let name = Marketplace::read(from).map_err(refused)?.name;
        not_reserved(&name).map_err(refused)?;
        // The name becomes that of a folder.
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if !name.starts_with(|c: char| c.is_ascii_alphanumeric()) || !name.chars().all(plain) {
            return Err(refused(format!("the name `{name}` of the marketplace is not valid")));
        }
        let folder = self.folder(PluginScope::User)?.join(MARKETPLACES);
        let target = folder.join(&name);
        replace_folder(from, &folder.join(format!(".new-{name}")), &target)?;
        self.change(|records| {
            records.marketplaces.insert(name.clone(), target);
            records.marketplace_repositories.insert(name.clone(), git);
        })?;
        Ok(name)
    }

    /// Returns the repository and the commit that a marketplace was copied from; none for a folder.
    #[must_use]
    pub fn marketplace_repository(&self, name: &str) -> Option<&GitSource> {
        self.records.marketplace_repositories.get(name)
    }

    /// Forgets a marketplace. Returns whether it was known.
    ///
    /// # Errors
    /// If the record cannot be written.
    pub fn remove_marketplace(&mut self, name: &str) -> Result<bool, ConfigError> {
        let known = self.records.marketplaces.contains_key(name);
        if known {
            // Only a copy is deleted; the folder of another marketplace is the user's own.
            if self.marketplace_repository(name).is_some() {
                remove_folder(&self.folder(PluginScope::User)?.join(MARKETPLACES).join(name))?;
            }
            self.change(|records| {
                records.marketplaces.shift_remove(name);
                records.marketplace_repositories.shift_remove(name);
            })?;
        }
        Ok(known)
    }

    /// Returns the marketplaces by name, and why one cannot be read.
    pub fn marketplaces(&self) -> impl Iterator<Item = (&str, Result<Marketplace, String>)> {
        let all = self.records.marketplaces.iter();
        all.map(|(name, folder)| (name.as_str(), Marketplace::read(folder)))
    }

    fn root_of(&self, name: &str) -> Result<PathBuf, ConfigError> {
        self.get(name).map(|plugin| plugin.root.clone()).ok_or(UNKNOWN)
    }

    /// Returns the hash with which the user enabled the plugin in a folder; none if it is not enabled.
    pub(super) fn enabled_hash(&self, root: &Path) -> Option<String> {
        self.records.plugins.iter().find(|record| record.path == root)?.enabled.clone()
    }

    fn folder(&self, scope: PluginScope) -> Result<PathBuf, ConfigError> {
        match (scope, &self.user) {
            (PluginScope::Project, _) => Ok(self.project.clone()),
            (PluginScope::User, Some(user)) => Ok(user.clone()),
            (PluginScope::User, None) => {
                Err(ConfigError::NoPlace("cannot install a plugin: there is no home folder"))
            }
        }
    }

    /// Determines the state of all plugins of the user and this project.
    fn refresh(&mut self) {
        let mut plugins: Vec<InstalledPlugin> = Vec::new();
        for record in &self.records.plugins {
            let Ok(folder) = self.folder(record.scope) else { continue };
            // A plugin of another project.
            // The path is in a file, so it is checked before anything there is read.
            if record.path.parent() != Some(&*folder) || !is_real_folder(&record.path) {
                continue;
            }
            let manifest = PluginManifest::read(&record.path);
            let state = match (&record.enabled, &manifest) {
                (_, Err(_)) => PluginState::Broken,
                (None, _) => PluginState::Disabled,
                (Some(enabled), _) => match content::hash(&record.path) {
                    Ok(hash) if hash == *enabled => PluginState::Enabled,
                    Ok(_) => PluginState::Changed,
                    Err(_) => PluginState::Broken,
                },
            };
            if let Err(problem) = &manifest {
                self.problems.push(format!("the plugin `{}`: {problem}", record.name));
            }
            if state == PluginState::Changed {
                let name = &record.name;
                self.problems.push(format!(
                    "the plugin `{name}` changed since you enabled it and is not used; run `robota \
                     plugin enable {name}` to review it"
                ));
            }
            let mut manifest = manifest.unwrap_or_default();
            // The name under which the user installed it, whatever its files say now.
            manifest.name.clone_from(&record.name);
            let Record { path: root, scope, source, git, marketplace, .. } = record.clone();
            let options = IndexMap::new();
            plugins.push(InstalledPlugin {
                manifest,
                root,
                scope,
                state,
                source,
                git,
                marketplace,
                options,
                data: None,
            });
        }
        self.plugins = plugins;
        self.add_skills_folders();
        self.set_data();
    }

    /// Sets the data folders: `~/.robota/plugins/.data/ID`. An update of a plugin keeps it.
    fn set_data(&mut self) {
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        for plugin in &mut self.plugins {
            let name: String =
                plugin.id().chars().map(|c| if allowed(c) { c } else { '-' }).collect();
            plugin.data = self.user.as_ref().map(|folder| folder.join(DATA).join(name));
        }
    }

    fn change(&mut self, change: impl FnOnce(&mut Records)) -> Result<(), ConfigError> {
        let file = self.folder(PluginScope::User)?.join(REGISTRY);
        self.records = records::change(&file, change)?;
        self.problems.clear();
        self.notes.clear();
        self.refresh();
        Ok(())
    }
}

const UNKNOWN: ConfigError =
    ConfigError::NoPlace("there is no such plugin; `robota plugin list` shows them");
/// The file of the record.
const REGISTRY: &str = "registry.json";
/// The folder with copies of marketplaces. No plugin has this name: it has files of others.
const MARKETPLACES: &str = ".marketplaces";
/// The folder with the data folders of plugins.
const DATA: &str = ".data";

/// Fails for the name of a marketplace that would make its plugins look like folders among skills.
fn not_reserved(name: &str) -> Result<(), String> {
    match name {
        SKILLS_FOLDER => Err(format!("no marketplace can have the name `{name}`")),
        _ => Ok(()),
    }
}

/// Copies a folder to `fresh`, and then moves it to `target`.
fn replace_folder(from: &Path, fresh: &Path, target: &Path) -> Result<(), ConfigError> {
    // A run that was ended in the middle leaves it behind.
    remove_folder(fresh)?;
    std::fs::create_dir_all(fresh).map_err(|error| io("create", fresh, error))?;
    content::copy(from, fresh)
        .map_err(|reason| ConfigError::Plugin { path: from.to_owned(), reason })?;
    // The old version is removed only when the new one is complete.
    remove_folder(target)?;
    std::fs::rename(fresh, target).map_err(|error| io("rename", fresh, error))
}

/// Deletes a folder if it exists. A link is deleted itself.
fn remove_folder(path: &Path) -> Result<(), ConfigError> {
    let removed = match path.symlink_metadata() {
        Err(_) => return Ok(()),
        Ok(metadata) if metadata.is_dir() => std::fs::remove_dir_all(path),
        Ok(_) => std::fs::remove_file(path),
    };
    removed.map_err(|error| io("delete", path, error))
}
