//! An in-memory file system for tests, described by a data file, and the cases of data files.
#![allow(dead_code)]

pub(crate) mod hostile;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use robota_core::paths::{PathKind, Paths};
use robota_core::permission::{Mode, Verdict};
use robota_policy::{List, Policy, PolicySpec, RuleSource, Workspace};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Tree {
    files: Vec<PathBuf>,
    dirs: Vec<PathBuf>,
    links: BTreeMap<PathBuf, PathBuf>,
    case_insensitive: Vec<PathBuf>,
}

/// A case of a data file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) tool: String,
    pub(crate) input: Value,
    #[serde(default)]
    pub(crate) allow: Vec<String>,
    #[serde(default)]
    pub(crate) ask: Vec<String>,
    #[serde(default)]
    pub(crate) deny: Vec<String>,
    #[serde(default)]
    pub(crate) mode: Mode,
    #[serde(default = "cwd")]
    pub(crate) cwd: String,
    #[serde(default = "home")]
    pub(crate) home: String,
    pub(crate) verdict: Verdict,
    pub(crate) why: String,
    /// Whether it is shown in `docs/permission-examples.md`.
    #[serde(default)]
    pub(crate) doc: bool,
}

fn cwd() -> String {
    "/proj/app".into()
}

fn home() -> String {
    "/home/ada".into()
}

impl Case {
    /// Returns the policy of the case's rules and mode.
    pub(crate) fn policy(&self, paths: &dyn Paths) -> Policy {
        let spec = PolicySpec::new(Workspace::new(&self.cwd, &self.home))
            .mode(self.mode)
            .rules(List::Allow, RuleSource::session(), &self.allow)
            .rules(List::Ask, RuleSource::session(), &self.ask)
            .rules(List::Deny, RuleSource::session(), &self.deny);
        Policy::new(&spec, paths).0
    }
}

/// Creates a policy of these rules in the workspace of the data file.
pub(crate) fn policy(mode: Mode, allow: &[&str], deny: &[&str], paths: &dyn Paths) -> Policy {
    let spec = PolicySpec::new(Workspace::new(cwd(), home()))
        .mode(mode)
        .rules(List::Allow, RuleSource::session(), allow.iter().copied())
        .rules(List::Deny, RuleSource::session(), deny.iter().copied());
    Policy::new(&spec, paths).0
}

/// A file system that exists only in memory.
pub(crate) struct MemoryPaths {
    files: BTreeSet<PathBuf>,
    dirs: BTreeSet<PathBuf>,
    links: BTreeMap<PathBuf, PathBuf>,
    case_insensitive: Vec<PathBuf>,
}

/// Returns where the data files are.
pub(crate) fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/policy").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

impl MemoryPaths {
    pub(crate) fn load() -> Self {
        let tree: Tree = serde_json::from_str(&fixture("tree.json")).unwrap();
        let mut dirs: BTreeSet<PathBuf> = tree.dirs.iter().cloned().collect();
        let all = tree.files.iter().chain(&tree.dirs).chain(tree.links.keys());
        for path in all {
            dirs.extend(path.ancestors().skip(1).map(Path::to_owned));
        }
        Self {
            files: tree.files.into_iter().collect(),
            dirs,
            links: tree.links,
            case_insensitive: tree.case_insensitive,
        }
    }

    /// Returns the name a path is stored under: on a disk without case, in the case it has there.
    fn stored(&self, path: &Path) -> PathBuf {
        if self.case_sensitive(path) {
            return path.to_owned();
        }
        let lower = path.to_string_lossy().to_lowercase();
        self.files
            .iter()
            .chain(&self.dirs)
            .find(|known| known.to_string_lossy().to_lowercase() == lower)
            .cloned()
            .unwrap_or_else(|| path.to_owned())
    }
}

impl Paths for MemoryPaths {
    fn canonical(&self, path: &Path) -> Option<PathBuf> {
        let mut todo: Vec<PathBuf> =
            path.components().rev().map(|c| PathBuf::from(c.as_os_str())).collect();
        let mut real = PathBuf::from("/");
        let mut hops = 0;
        while let Some(part) = todo.pop() {
            match part.components().next()? {
                Component::RootDir => real = PathBuf::from("/"),
                Component::CurDir | Component::Prefix(_) => {}
                Component::ParentDir => {
                    real.pop();
                }
                Component::Normal(name) => {
                    let next = real.join(name);
                    if let Some(target) = self.links.get(&next) {
                        hops += 1;
                        if hops > 40 {
                            return None;
                        }
                        let parts = target.components().rev();
                        todo.extend(parts.map(|c| PathBuf::from(c.as_os_str())));
                    } else {
                        real = self.stored(&next);
                    }
                }
            }
        }
        Some(real)
    }

    fn kind(&self, path: &Path) -> PathKind {
        let path = self.stored(path);
        if self.links.contains_key(&path) {
            PathKind::Link
        } else if self.dirs.contains(&path) {
            PathKind::Dir
        } else if self.files.contains(&path) {
            PathKind::File
        } else {
            PathKind::Missing
        }
    }

    /// Returns an empty text for every file.
    fn text(&self, path: &Path) -> Option<String> {
        self.files.contains(path).then(String::new)
    }

    fn entries(&self, dir: &Path) -> Vec<String> {
        let dir = self.canonical(dir).unwrap_or_else(|| dir.to_owned());
        self.files
            .iter()
            .chain(&self.dirs)
            .chain(self.links.keys())
            .filter(|path| path.parent() == Some(&dir))
            .filter_map(|path| path.file_name())
            .map(|name| name.to_string_lossy().into_owned())
            .collect()
    }

    fn case_sensitive(&self, path: &Path) -> bool {
        !self.case_insensitive.iter().any(|root| path.starts_with(root))
    }
}
