//! Plugins in folders with skills: a folder of `~/.claude/skills`, or of `.claude/skills` of a project, that
//! has a manifest is a plugin, `NAME@skills-dir`. It is used where it is; nothing is copied.
//!
//! Those of the user are used like the user's skills, without a further step; links are reported, because
//! what a link leads to can be a folder that agents work in. One that came with a checkout is used only if
//! the user enabled it with the content that it has.

use std::path::{Path, PathBuf};

use indexmap::IndexMap;

use super::registry::{PluginScope, Plugins};
use super::{InstalledPlugin, PluginManifest, PluginState, content, is_real_folder};
use crate::clean::one_line;
use crate::error::ConfigError;
use crate::layer::Layer;
use crate::places::Places;
use crate::reader::Folders;

/// What such plugins have in the place of the name of a marketplace.
pub(super) const SKILLS_FOLDER: &str = "skills-dir";
/// The file that makes a folder with a skill a plugin.
const MANIFEST: &str = ".claude-plugin/plugin.json";
/// The most plugins of one folder with skills.
const MAX_PLUGINS: usize = 50;
/// The most names that a note has.
const MAX_NAMED: usize = 5;

/// A folder with skills.
#[derive(Debug, Clone)]
pub(super) struct SkillsFolder {
    folder: PathBuf,
    scope: PluginScope,
    /// The folder that its plugins may not be outside of; none for the user's.
    within: Option<PathBuf>,
}

impl SkillsFolder {
    /// Returns the folders with skills that may have plugins, the user's first.
    pub(super) fn all(places: &Places) -> Vec<Self> {
        let folders = Folders::find(places);
        let user = folders.user(Layer::UserClaude, "skills");
        let user = user.map(|folder| Self { folder, scope: PluginScope::User, within: None });
        let configs = folders.checkout().map(|folder| folder.join(".claude"));
        let own = configs.filter(|config| {
            folders.places.reads(Layer::ProjectClaude) && !folders.is_users(config)
        });
        let of_project = own.map(|config| Self {
            folder: config.join("skills"),
            scope: PluginScope::Project,
            within: Some(folders.root.clone()),
        });
        user.into_iter().chain(of_project).collect()
    }

    /// Returns the folders in it that have a manifest, in the order of their names, and whether there are
    /// more. What a link of the user leads to is in `problems` instead.
    fn plugins(&self, problems: &mut Vec<String>) -> (Vec<PathBuf>, bool) {
        let entries = self.folder.read_dir().into_iter().flatten().flatten();
        let mut found: Vec<_> = entries
            .map(|entry| entry.path())
            .filter(|path| path.join(MANIFEST).is_file() && self.may_have(path))
            .collect();
        found.sort();
        if self.scope == PluginScope::User {
            // Who can change the target would decide which hooks run.
            let is_linked = |path: &PathBuf| !is_real_folder(path) || !is_real_folder(&self.folder);
            let linked = found.extract_if(.., |path| is_linked(path));
            problems.extend(linked.map(|path| {
                format!(
                    "the plugin in {} is not used because it is a link: move the folder there, or use \
                     `robota plugin install`",
                    path.display()
                )
            }));
        }
        let more = found.len() > MAX_PLUGINS;
        found.truncate(MAX_PLUGINS);
        (found, more)
    }

    /// Returns whether a folder belongs to it. Links of a checkout are not followed.
    fn may_have(&self, path: &Path) -> bool {
        self.within.as_ref().is_none_or(|within| {
            path.canonicalize().is_ok_and(|real| real.starts_with(within)) && is_real_folder(path)
        })
    }
}

impl InstalledPlugin {
    /// Returns whether the plugin is a folder among skills, which the user changes without this program.
    #[must_use]
    pub fn is_in_skills_folder(&self) -> bool {
        self.marketplace.as_deref() == Some(SKILLS_FOLDER)
    }
}

impl Plugins {
    /// Adds the plugins in folders with skills. One with the name of another plugin is not used.
    pub(super) fn add_skills_folders(&mut self) {
        let mut waiting = Vec::new();
        for folder in self.skills_folders.clone() {
            let (found, more) = folder.plugins(&mut self.problems);
            if more {
                let shown = folder.folder.display();
                let text =
                    format!("{shown} has more than {MAX_PLUGINS} plugins; the others are not used");
                self.problems.push(text);
            }
            for root in found {
                let plugin = self.in_skills_folder(&root, folder.scope);
                if self.get(&plugin.manifest.name).is_some() {
                    self.problems.push(format!(
                        "the plugin in {} is not used: another one has the name `{}`",
                        root.display(),
                        plugin.manifest.name
                    ));
                    continue;
                }
                if plugin.state == PluginState::Disabled {
                    waiting.push(plugin.manifest.name.clone());
                }
                self.plugins.push(plugin);
            }
        }
        if !waiting.is_empty() {
            let mut names: Vec<_> =
                waiting.iter().take(MAX_NAMED).map(|name| format!("`{name}`")).collect();
            if let Some(more) = waiting.len().checked_sub(MAX_NAMED).filter(|more| *more > 0) {
                names.push(format!("{more} more"));
            }
            self.notes.push(format!(
                "plugins in the skills of this folder are not enabled: {}; `robota plugin enable NAME` shows \
                 what one does",
                names.join(", ")
            ));
        }
    }

    /// Reads a plugin in a folder with skills.
    fn in_skills_folder(&mut self, root: &Path, scope: PluginScope) -> InstalledPlugin {
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        let manifest = PluginManifest::read(&root);
        let enabled = self.enabled_hash(&root);
        let state = match (&manifest, scope, enabled) {
            (Err(_), ..) => PluginState::Broken,
            (Ok(_), PluginScope::User, _) => PluginState::Enabled,
            (Ok(_), PluginScope::Project, None) => PluginState::Disabled,
            (Ok(_), PluginScope::Project, Some(enabled)) => match content::hash(&root) {
                Ok(hash) if hash == enabled => PluginState::Enabled,
                Ok(_) => PluginState::Changed,
                Err(_) => PluginState::Broken,
            },
        };
        let named = root.file_name().map(|name| one_line(&name.to_string_lossy()));
        if let Err(problem) = &manifest {
            self.problems.push(format!("the plugin in {}: {problem}", root.display()));
        }
        let unnamed = PluginManifest::default();
        let manifest = manifest
            .unwrap_or_else(|_| PluginManifest { name: named.unwrap_or_default(), ..unnamed });
        if state == PluginState::Changed {
            let name = &manifest.name;
            self.problems.push(format!(
                "the plugin `{name}` changed since you enabled it and is not used; run `robota plugin \
                 enable {name}` to review it"
            ));
        }
        InstalledPlugin {
            manifest,
            scope,
            state,
            source: root.display().to_string(),
            root,
            git: None,
            marketplace: Some(SKILLS_FOLDER.to_owned()),
            options: IndexMap::new(),
            data: None,
        }
    }

    /// Fails if a plugin is in a folder with skills, where only the user changes something.
    pub(super) fn not_in_skills_folder(&self, name: &str, what: &str) -> Result<(), ConfigError> {
        match self.get(name).filter(|plugin| plugin.is_in_skills_folder()) {
            None => Ok(()),
            Some(plugin) => Err(ConfigError::Plugin {
                path: plugin.root.clone(),
                reason: format!("it is a folder among your skills: {what}"),
            }),
        }
    }
}
