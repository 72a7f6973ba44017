//! The folders of the agent, and the resolution of paths that a model passes.

use std::path::{Component, Path, PathBuf};

use robota_core::paths::{PathKind, Paths};

/// The folders that a policy uses. All are absolute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    /// Where commands run and relative paths start.
    pub cwd: PathBuf,
    /// The user's home, for `~/` in rules and commands.
    pub home: PathBuf,
    /// Folders in addition to `cwd` that belong to the workspace.
    pub additional: Vec<PathBuf>,
}

impl Workspace {
    /// Creates a workspace of one folder.
    pub fn new(cwd: impl Into<PathBuf>, home: impl Into<PathBuf>) -> Self {
        Self { cwd: cwd.into(), home: home.into(), additional: Vec::new() }
    }

    /// Adds a folder that counts as the workspace.
    #[must_use]
    pub fn with_additional(mut self, dir: impl Into<PathBuf>) -> Self {
        self.additional.push(dir.into());
        self
    }

    /// Returns the absolute path a tool means by this text: `~/` is the home, relative starts at
    /// `cwd`. `..` is kept, since it must be read after links.
    #[must_use]
    pub fn resolve(&self, text: &str) -> PathBuf {
        if text == "~" {
            return self.home.clone();
        }
        match text.strip_prefix("~/") {
            Some(rest) => self.home.join(rest.trim_start_matches('/')),
            None => self.cwd.join(text),
        }
    }
}

/// Returns a path without `.` and `..`, by its text alone.
pub(crate) fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::from("/");
    for part in path.components() {
        match part {
            Component::Normal(name) => out.push(name),
            Component::ParentDir => {
                // Lexically, as the shell does for `cd ..`; the canonical path is compared too.
                out.pop();
            }
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    out
}

/// All names of one file: as it was given, and with links followed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct FileRef {
    /// The name it was given, without `.` and `..`.
    pub(crate) name: String,
    /// The link itself, in its real folder.
    pub(crate) link: Option<String>,
    /// Where it leads; `None` when that cannot be known.
    pub(crate) target: Option<String>,
    pub(crate) fold: bool,
}

impl FileRef {
    pub(crate) fn lookup(path: &Path, paths: &dyn Paths) -> Self {
        let name = normal(path);
        // From the path as it was given: `a/../b` with a link `a` leads somewhere else than `b`.
        let target = paths.canonical(path);
        let link = match (path.parent(), path.file_name()) {
            (Some(parent), Some(last)) if paths.kind(&name) == PathKind::Link => {
                paths.canonical(parent).map(|dir| text(&dir.join(last)))
            }
            _ => None,
        };
        // On a disk that ignores case, `.ENV` is `.env`.
        let fold = !paths.case_sensitive(target.as_deref().unwrap_or(&name));
        Self { name: text(&name), link, target: target.map(|t| text(&t)), fold }
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        [Some(self.name.as_str()), self.link.as_deref(), self.target.as_deref()]
            .into_iter()
            .flatten()
    }

    pub(crate) fn shown(&self) -> &str {
        &self.name
    }
}

/// Paths are matched as text; what is not UTF-8 gets characters that no allow rule names.
pub(crate) fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Returns whether `path` is `dir` or below it.
pub(crate) fn within(path: &str, dir: &str, fold: bool) -> bool {
    let mut names = path.split('/').filter(|n| !n.is_empty());
    dir.split('/').filter(|n| !n.is_empty()).all(|want| {
        names.next().is_some_and(|have| {
            have == want || (fold && have.to_lowercase() == want.to_lowercase())
        })
    })
}

/// The folders with links followed, once per policy.
#[derive(Debug, Clone)]
pub(crate) struct Roots {
    pub(crate) inside: Vec<String>,
    pub(crate) cwd: Vec<String>,
    pub(crate) home: Vec<String>,
}

impl Roots {
    pub(crate) fn new(workspace: &Workspace, paths: &dyn Paths) -> Self {
        let canonical =
            |dir: &Path| paths.canonical(dir).map_or_else(|| text(&normal(dir)), |p| text(&p));
        let both = |dir: &Path| {
            let mut names = vec![text(&normal(dir)), canonical(dir)];
            names.dedup();
            names
        };
        // Canonical names only: a file is inside if its target is.
        let mut inside = vec![canonical(&workspace.cwd)];
        inside.extend(workspace.additional.iter().map(|dir| canonical(&workspace.cwd.join(dir))));
        Self { inside, cwd: both(&workspace.cwd), home: both(&workspace.home) }
    }

    pub(crate) fn holds(&self, file: &FileRef) -> bool {
        file.target
            .as_deref()
            .is_some_and(|target| self.inside.iter().any(|dir| within(target, dir, file.fold)))
    }
}

/// Answers questions about paths by their text alone: nothing is a link and nothing exists. For
/// examples, and for checking rules without a disk.
#[derive(Debug, Clone, Copy, Default)]
pub struct LexicalPaths;

impl Paths for LexicalPaths {
    fn canonical(&self, path: &Path) -> Option<PathBuf> {
        Some(normal(path))
    }

    fn kind(&self, _path: &Path) -> PathKind {
        PathKind::Missing
    }

    fn entries(&self, _dir: &Path) -> Vec<String> {
        Vec::new()
    }

    fn case_sensitive(&self, _path: &Path) -> bool {
        true
    }
}
