//! Finds skills and commands, lists them for the model, and expands one for a turn.
//!
//! Finding skills lists folders and opens no file. The header of a skill is read when it is needed,
//! the body when the skill is invoked. Nothing here runs a command: [`SkillBody::expand`] returns the
//! parts of the text, and the caller runs the commands among them through the permissions.
//!
//! ```
//! use robota_config::skills::{ListingCaps, SkillInvocation, SkillPart, Skills};
//! use robota_config::{ContextReader, Places, TrustStore};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let (home, project) = (tempfile::tempdir()?, tempfile::tempdir()?);
//! # let (home, project) = (home.path(), project.path());
//! let folder = project.join(".claude/skills/review");
//! std::fs::create_dir_all(&folder)?;
//! std::fs::write(folder.join("SKILL.md"), "---\ndescription: Reviews a file\n---\nReview $0 for $1.\n")?;
//!
//! let places = Places::new(home, project);
//! let skills = Skills::find(&ContextReader::new(&places));
//! assert_eq!(skills.listing(&ListingCaps::default()).text, "- review: Reviews a file\n");
//!
//! let body = skills.open("review", &TrustStore::load(&places))?;
//! let call = SkillInvocation { arguments: "main.rs 'dead code'", ..SkillInvocation::default() };
//! assert_eq!(body.expand(&call)?, [SkillPart::Text("Review main.rs for dead code.\n".to_owned())]);
//! # Ok(()) }
//! ```

mod arguments;
mod body;
mod find;
mod listing;
mod parts;
mod skill;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use indexmap::IndexMap;

pub use body::{SkillBody, SkillError, SkillInvocation};
pub use listing::{ListingCaps, SkillListing};
pub use parts::SkillPart;
pub use skill::{Skill, SkillContext, SkillGrants, SkillKind};

use crate::instructions::Globs;
use crate::plugins::InstalledPlugin;
use crate::reader::ContextReader;
use crate::report::{Problem, Report};
use find::Candidate;

/// Finds the skills of a working folder by name.
#[derive(Debug)]
pub struct Skills {
    reader: ContextReader,
    /// By name, in order of priority.
    entries: IndexMap<String, SkillEntry>,
    overrides: BTreeMap<String, SkillOverride>,
    /// The names that the model may use; none allows all.
    only: Option<BTreeSet<String>>,
    /// The skills with `paths` that a file has matched.
    active: BTreeSet<String>,
    /// The folders below the working folder that were searched, and the skills found there.
    visited: BTreeMap<PathBuf, Vec<String>>,
    problems: Vec<Problem>,
}

#[derive(Debug, Default)]
struct SkillEntry {
    /// The files that may define the skill; the first that exists does.
    candidates: Vec<Candidate>,
    loaded: OnceLock<Loaded>,
}

#[derive(Debug)]
struct Loaded {
    skill: Option<Arc<Skill>>,
    /// The compiled `paths` of the skill; none if it has no paths.
    paths: Option<Globs>,
    problems: Vec<Problem>,
}

/// How a setting changes the visibility of a skill (`skillOverrides`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkillOverride {
    /// The skill works as its file says.
    On,
    /// The model sees the name, but not the description.
    NameOnly,
    /// Only the user can invoke the skill.
    UserInvocableOnly,
    /// The skill does not exist.
    Off,
}

impl std::str::FromStr for SkillOverride {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "on" => Ok(Self::On),
            "name-only" => Ok(Self::NameOnly),
            "user-invocable-only" => Ok(Self::UserInvocableOnly),
            "off" => Ok(Self::Off),
            _ => Err(format!(
                "unknown value `{text}`; use on, name-only, user-invocable-only or off"
            )),
        }
    }
}

impl Skills {
    /// Finds the skills and commands of the user and of the working folder.
    #[must_use]
    pub fn find(reader: &ContextReader) -> Self {
        let mut skills = Self {
            reader: reader.clone(),
            entries: IndexMap::new(),
            overrides: BTreeMap::new(),
            only: None,
            active: BTreeSet::new(),
            visited: BTreeMap::new(),
            problems: Vec::new(),
        };
        for source in find::sources(&reader.folders) {
            skills.add_source(source, None);
        }
        skills
    }

    /// Applies the setting `skillOverrides`. An unknown value is reported and has no effect.
    #[must_use]
    pub fn with_overrides<'a>(
        mut self,
        overrides: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        for (name, value) in overrides {
            match value.parse() {
                Ok(value) => {
                    self.overrides.insert(name.to_owned(), value);
                }
                Err(message) => self.problems.push(find::override_problem(name, message)),
            }
        }
        self
    }

    /// Limits the skills that the model sees and may invoke; none allows all. The user can invoke the
    /// others.
    #[must_use]
    pub fn only_for_model(mut self, names: Option<&[String]>) -> Self {
        self.only = names.map(|names| names.iter().cloned().collect());
        self
    }

    /// Adds the skills and commands of plugins. Their names have the name of the plugin in front:
    /// `plugin:name`.
    #[must_use]
    pub fn with_plugins<'a>(
        mut self,
        plugins: impl IntoIterator<Item = &'a InstalledPlugin>,
    ) -> Self {
        for plugin in plugins {
            self.add_plugin(plugin);
        }
        self
    }

    /// Returns the number of names that were found. Some may have no file.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the names in order of priority. Opens no file.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// Returns whether no name was found.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the names to which the skills of the model are limited; none if they are not.
    #[must_use]
    pub fn names_for_model(&self) -> Option<Vec<String>> {
        self.only.as_ref().map(|only| only.iter().cloned().collect())
    }

    /// Returns whether there is a name that the model may use. The skill of that name may still turn
    /// out to be for the user only.
    #[must_use]
    pub fn has_name_for_model(&self) -> bool {
        self.entries.keys().any(|name| self.is_chosen(name))
    }

    fn is_chosen(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains(name))
    }

    /// Returns a skill by name. Reads its header on the first use.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Arc<Skill>> {
        if self.setting(name) == SkillOverride::Off {
            return None;
        }
        // A name can be in the list although no file of it exists: folders are listed, not opened.
        self.entries.get(name).and_then(|entry| self.loaded(name, entry).skill.clone())
    }

    /// Returns all skills in order of priority. Reads the header of each on the first use.
    pub fn all(&self) -> impl Iterator<Item = Arc<Skill>> {
        self.entries.keys().filter_map(|name| self.get(name))
    }

    /// Returns the skills that the user can invoke, for menus. Reads the header of each.
    pub fn for_user(&self) -> impl Iterator<Item = Arc<Skill>> {
        self.all().filter(|skill| skill.user_invocable)
    }

    /// Returns whether the model may invoke a skill.
    #[must_use]
    pub fn is_for_model(&self, skill: &Skill) -> bool {
        !skill.disable_model_invocation
            && self.is_chosen(&skill.name)
            && match self.setting(&skill.name) {
                SkillOverride::On | SkillOverride::NameOnly => true,
                SkillOverride::UserInvocableOnly | SkillOverride::Off => false,
            }
    }

    /// Adds the skills of the folders between the working folder and a file that is read, and returns
    /// the names of the skills that the model may use because of this file: those, and those whose
    /// `paths` match it. A name that exists already gets the folder as a prefix: `apps/web:deploy`.
    ///
    /// `shown` has the names that the conversation was shown before. They are not returned again; those
    /// that are returned are added to it. The first call reads the headers of all skills.
    pub fn on_access(&mut self, path: &Path, shown: &mut BTreeSet<String>) -> Vec<String> {
        let Some(real) = self.reader.accessed(path) else { return Vec::new() };
        let mut names = Vec::new();
        for folder in self.reader.nested_folders(&real) {
            if !self.visited.contains_key(&folder) {
                let prefix = folder.strip_prefix(self.reader.cwd()).unwrap_or(&folder);
                let prefix = prefix.to_string_lossy().into_owned();
                let sources = find::nested(&self.reader.folders, &folder).into_iter();
                let found = sources.flat_map(|it| self.add_source(it, Some(&prefix))).collect();
                self.visited.insert(folder.clone(), found);
            }
            names.extend(self.visited.get(&folder).into_iter().flatten().cloned());
        }
        if let Ok(path) = real.strip_prefix(self.reader.cwd()) {
            // Also the headers that the list at the start left out: each may have `paths`.
            let matching = self.entries.iter().filter(|(name, entry)| {
                let paths = self.loaded(name, entry).paths.as_ref();
                paths.is_some_and(|paths| paths.match_path(path))
            });
            let matching: Vec<_> = matching.map(|(name, _)| name.clone()).collect();
            self.active.extend(matching.iter().cloned());
            names.extend(matching);
        }
        names.retain(|name| {
            let skill = self.get(name).filter(|skill| self.is_listed(skill));
            skill.is_some() && shown.insert(name.clone())
        });
        names
    }

    /// Returns what is wrong with the folders and with the skills that were read so far.
    #[must_use]
    pub fn report(&self) -> Report {
        let loaded = self.entries.values().filter_map(|entry| entry.loaded.get());
        let of_skills = loaded.flat_map(|loaded| &loaded.problems);
        let problems = self.problems.iter().chain(of_skills).cloned().collect();
        Report { problems, dropped: Vec::new() }
    }

    fn setting(&self, name: &str) -> SkillOverride {
        self.overrides.get(name).copied().unwrap_or(SkillOverride::On)
    }

    fn loaded<'a>(&self, name: &str, entry: &'a SkillEntry) -> &'a Loaded {
        entry.loaded.get_or_init(|| {
            let mut problems = Vec::new();
            let mut skill = None;
            // The next candidate counts if the first has no file or is empty.
            for candidate in &entry.candidates {
                skill = Skill::read(&self.reader, name, candidate, &mut problems);
                // A skill of the administrator that cannot be read is not replaced by another.
                if skill.is_some() || candidate.is_of_administrator() {
                    break;
                }
            }
            let paths = skill.as_ref().map(|skill| &skill.paths).filter(|paths| !paths.is_empty());
            let paths = paths.map(|paths| Globs::new(paths).0);
            Loaded { skill: skill.map(Arc::new), paths, problems }
        })
    }
}

/// Expands a template for the fuzz target, and checks that arguments add no command.
#[cfg(feature = "fuzzing")]
pub(crate) fn check_expansion(template: &str, names: &[String]) {
    let mut arguments = arguments::Arguments::new("!`a` '@b c' $0", names, Vec::new());
    let parts = parts::parts(template, &mut arguments);
    let is_command = |part: &&SkillPart| matches!(part, SkillPart::Command { .. });
    assert_eq!(parts.iter().filter(is_command).count(), parts::commands(template).len());
}
