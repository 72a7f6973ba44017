//! The folders that skills and commands are searched in.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{SkillKind, Skills};
use crate::layer::{Layer, LayerScope, Origin};
use crate::path::KeyPath;
use crate::plugins::{InstalledPlugin, single_skill, skill_folders};
use crate::reader::{Boundary, Depth, EntryKind, Folders, warning};
use crate::report::{Problem, Severity};

/// The most skills of one folder.
const MAX_SKILLS: usize = 2_000;

/// A folder with skills or commands.
#[derive(Debug, Clone)]
pub(super) struct Source {
    folder: PathBuf,
    pub(super) layer: Layer,
    pub(super) kind: SkillKind,
    pub(super) boundary: Boundary,
    /// The names in `${...}` that a plugin gives a value.
    pub(super) variables: Vec<(String, String)>,
}

/// A file that may define a skill.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    /// Its path below the folder of the source.
    path: PathBuf,
    /// What all files of a folder have in common.
    pub(super) source: Arc<Source>,
}

impl Candidate {
    pub(super) fn file(&self) -> PathBuf {
        match self.source.kind {
            SkillKind::Skill => self.source.folder.join(&self.path).join("SKILL.md"),
            SkillKind::Command => self.source.folder.join(&self.path),
        }
    }

    /// Returns whether this is a skill of the administrator that exists, readable or not.
    pub(super) fn is_of_administrator(&self) -> bool {
        let exists = |file: PathBuf| match file.symlink_metadata() {
            Ok(_) => true,
            Err(error) => !crate::files::is_absent(&error),
        };
        self.source.layer == Layer::Managed && exists(self.file())
    }
}

/// The kinds of folders in a project, highest priority first.
const PROJECT: &[(&str, Layer, SkillKind)] = &[
    (".robota/skills", Layer::ProjectRobota, SkillKind::Skill),
    (".claude/skills", Layer::ProjectClaude, SkillKind::Skill),
    (".claude/commands", Layer::ProjectClaude, SkillKind::Command),
    (".agents/skills", Layer::ProjectRobota, SkillKind::Skill),
];

/// Returns the folders, highest priority first: those of the administrator, then the user's, placed by kind:
/// `~/.claude` before the project, `~/.robota/skills` before `.agents/skills`.
pub(super) fn sources(folders: &Folders) -> Vec<Source> {
    let user = |layer, name: &str, kind| {
        let folder = folders.user(layer, name)?;
        Some(Source { folder, layer, kind, boundary: Boundary::User, variables: Vec::new() })
    };
    let managed = |folder| {
        let (layer, kind) = (Layer::Managed, SkillKind::Skill);
        Source { folder, layer, kind, boundary: Boundary::User, variables: Vec::new() }
    };
    let mut sources: Vec<_> = folders.managed("skills").map(managed).collect();
    sources.extend(user(Layer::UserClaude, "skills", SkillKind::Skill));
    for (name, layer, kind) in PROJECT {
        match *name {
            ".claude/commands" => {
                sources.extend(user(Layer::UserClaude, "commands", SkillKind::Command));
            }
            ".agents/skills" => {
                sources.extend(user(Layer::UserRobota, "skills", SkillKind::Skill));
            }
            _ => {}
        }
        for folder in folders.checkout() {
            sources.extend(project(folders, folder, name, *layer, *kind));
        }
    }
    sources
}

/// Returns the folders with skills in a folder below the working folder.
pub(super) fn nested(folders: &Folders, folder: &Path) -> Vec<Source> {
    let skills = PROJECT.iter().filter(|(_, _, kind)| *kind == SkillKind::Skill);
    skills.filter_map(|(name, layer, kind)| project(folders, folder, name, *layer, *kind)).collect()
}

fn project(
    folders: &Folders,
    folder: &Path,
    name: &str,
    layer: Layer,
    kind: SkillKind,
) -> Option<Source> {
    let path = folder.join(name);
    let is_users = path.parent().is_some_and(|config| folders.is_users(config));
    (folders.places.reads(layer) && !is_users).then(|| Source {
        folder: path,
        layer,
        kind,
        boundary: folders.boundary(folder),
        variables: Vec::new(),
    })
}

impl Skills {
    /// Adds what a folder contains. With a prefix, a name that exists gets it, and the new names are
    /// returned; without one, an existing name has priority.
    pub(super) fn add_source(&mut self, source: Source, prefix: Option<&str>) -> Vec<String> {
        let mut new = Vec::new();
        let source = Arc::new(source);
        for (name, path) in self.found(&source) {
            let name = match prefix {
                Some(prefix) if self.entries.contains_key(&name) => format!("{prefix}:{name}"),
                Some(_) | None => name,
            };
            let is_new = prefix.is_some() && !self.entries.contains_key(&name);
            new.extend(is_new.then(|| name.clone()));
            let candidate = Candidate { path, source: source.clone() };
            self.entries.entry(name).or_default().candidates.push(candidate);
        }
        new
    }

    /// Adds the skills and commands of a plugin that the user enabled.
    pub(super) fn add_plugin(&mut self, plugin: &InstalledPlugin) {
        let root = plugin.root.canonicalize().unwrap_or_else(|_| plugin.root.clone());
        for (folder, is_skills) in skill_folders(plugin) {
            let single = Some(&folder).filter(|_| is_skills);
            let single = single.and_then(|folder| single_skill(plugin, folder));
            let source = Arc::new(Source {
                folder,
                layer: Layer::UserRobota,
                kind: if is_skills { SkillKind::Skill } else { SkillKind::Command },
                boundary: Boundary::Within(root.clone()),
                variables: plugin.text_variables(),
            });
            let found = match single {
                Some(name) => vec![(name, PathBuf::new())],
                None => self.found(&source),
            };
            for (name, path) in found {
                let name = format!("{}:{name}", plugin.manifest.name);
                let candidate = Candidate { path, source: source.clone() };
                let candidates = &mut self.entries.entry(name).or_default().candidates;
                // A folder of a checkout may have the name of an enabled plugin.
                let of_checkout = |it: &Candidate| it.source.layer.scope() == LayerScope::Project;
                let at = candidates.iter().position(of_checkout).unwrap_or(candidates.len());
                candidates.insert(at, candidate);
            }
        }
    }

    /// Returns the names in a folder, and their paths below it.
    fn found(&mut self, source: &Source) -> Vec<(String, PathBuf)> {
        match source.kind {
            SkillKind::Skill => self.folders_of(source),
            SkillKind::Command => self.files_of(source),
        }
    }

    /// Returns the names of a folder with one folder for each skill.
    fn folders_of(&mut self, source: &Source) -> Vec<(String, PathBuf)> {
        let entries = match self.reader.list(&source.folder, &source.boundary) {
            Ok(entries) => entries.unwrap_or_default(),
            Err(reason) => {
                let message = format!("not read: {reason}");
                self.problems.push(warning(source.layer, &source.folder, message));
                return Vec::new();
            }
        };
        // A link may lead to a folder; whether it does is known when the skill is read.
        let is_folder = |kind| matches!(kind, EntryKind::Folder | EntryKind::Link);
        let mut names: Vec<_> =
            entries.into_iter().filter(|it| is_folder(it.kind)).map(|it| it.name).collect();
        if names.len() > MAX_SKILLS {
            let message = format!("{} skills; the first {MAX_SKILLS} are used", names.len());
            self.problems.push(warning(source.layer, &source.folder, message));
            names.truncate(MAX_SKILLS);
        }
        names.into_iter().map(|name| (name.clone(), name.into())).collect()
    }

    /// Returns the names of a folder with one file for each command. Folders in it are namespaces:
    /// `frontend/component.md` is `frontend:component`.
    fn files_of(&mut self, source: &Source) -> Vec<(String, PathBuf)> {
        let Source { folder, layer, boundary, .. } = source;
        let files = self.reader.markdown(folder, boundary, Depth::Tree, *layer, &mut self.problems);
        let below = |file: &std::path::Path| file.strip_prefix(folder).unwrap_or(file).to_owned();
        files.into_iter().map(|file| (file.names.join(":"), below(&file.path))).collect()
    }
}

/// Returns the problem of an unknown value of `skillOverrides`.
pub(super) fn override_problem(name: &str, message: String) -> Problem {
    let key = KeyPath(vec!["skillOverrides".to_owned(), name.to_owned()]);
    let origin = Origin::of(Layer::BuiltIn);
    Problem { severity: Severity::Warning, origin, key: Some(key), message }
}
