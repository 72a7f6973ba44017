//! Patterns over files, as in a `.gitignore`, with four anchors: `//` the file system, `~/`
//! the home, `/` the source of the rule, and nothing or `./` the working directory.

use std::path::Path;

use super::List;
use super::parse::Anchors;
use crate::glob::{PathGlob, folded};
use crate::workspace::{FileRef, normal, text, within};

#[derive(Debug, Clone)]
pub(crate) struct FilePattern {
    globs: Vec<PathGlob>,
}

impl FilePattern {
    pub(crate) fn new(
        spec: &str,
        list: List,
        root: Option<&Path>,
        anchors: &Anchors<'_>,
    ) -> Result<Self, String> {
        let bases: Vec<String>;
        let mut pattern = spec.to_owned();
        if let Some(rest) = spec.strip_prefix("//") {
            bases = vec![String::new()];
            pattern = rest.to_owned();
        } else if spec == "~" || spec.starts_with("~/") {
            bases = anchors.roots.home.clone();
            pattern = spec[1..].to_owned();
        } else if spec.starts_with('~') {
            // The home of another user would have to be looked up in a database, which can change.
            return Err("only `~/` is understood, not another user's home".into());
        } else if spec.starts_with('/') {
            bases = match root {
                Some(root) => both_names(root, anchors),
                None => anchors.roots.cwd.clone(),
            };
            // The older dialect wrote absolute paths. Read as such, a rule that forbids still
            // forbids; one that allows is not widened.
            if list != List::Allow && reads_absolute(spec, anchors) {
                let mut globs = vec![PathGlob::new("", spec)?];
                for base in &bases {
                    globs.push(PathGlob::new(base, spec)?);
                }
                return Ok(Self { globs }.following_links(anchors));
            }
        } else {
            bases = anchors.roots.cwd.clone();
            pattern = unanchored(spec, list);
        }
        let mut globs = Vec::with_capacity(bases.len());
        for base in &bases {
            globs.push(PathGlob::new(base, &pattern)?);
        }
        // A bare name in a rule that forbids also applies to the workspace's other folders.
        if list != List::Allow && pattern.starts_with("**/") && !spec.starts_with(['/', '~', '.']) {
            for base in &anchors.roots.inside {
                globs.push(PathGlob::new(base, &pattern)?);
            }
        }
        // An allow rule does not follow links: it covers what is written, and a link can be
        // changed.
        let this = Self { globs };
        Ok(if list == List::Allow { this } else { this.following_links(anchors) })
    }

    /// Adds the targets of links to a rule that forbids.
    fn following_links(mut self, anchors: &Anchors<'_>) -> Self {
        for i in 0..self.globs.len() {
            let prefix = self.globs[i].literal_prefix();
            if let Some(real) = anchors.paths.canonical(Path::new(&prefix)) {
                let real = text(&real);
                if real != prefix && !prefix.is_empty() {
                    let moved = self.globs[i].rebased(&real);
                    self.globs.push(moved);
                }
            }
        }
        self.globs.dedup();
        self
    }

    /// Names of which every matched path has at least one; `None` when it may have any.
    pub(crate) fn needles(&self) -> Option<Vec<String>> {
        let needle = |glob: &PathGlob| {
            let needle = glob.needle();
            (!needle.is_empty()).then(|| folded(needle).into_owned())
        };
        self.globs.iter().map(needle).collect()
    }

    fn covers_name(&self, name: &str, fold: bool) -> bool {
        self.globs.iter().any(|glob| glob.covers(name, fold))
    }

    /// For rules that forbid: any of the file's names.
    pub(crate) fn touches(&self, file: &FileRef) -> bool {
        file.names().any(|name| self.covers_name(name, file.fold))
    }

    /// For rules that allow: the name it was given *and* where it leads.
    pub(crate) fn covers(&self, file: &FileRef) -> bool {
        self.covers_name(&file.name, file.fold)
            && file.target.as_deref().is_some_and(|target| self.covers_name(target, file.fold))
    }

    pub(crate) fn may_match_below(&self, folder: &FileRef) -> bool {
        folder
            .names()
            .any(|name| self.globs.iter().any(|glob| glob.may_match_below(name, folder.fold)))
    }
}

/// Returns the pattern for any depth if it has no slash, or if it is like `src/**` in a rule that
/// forbids.
fn unanchored(spec: &str, list: List) -> String {
    if spec.starts_with("./") || spec.starts_with("../") || spec == "." || spec == ".." {
        return spec.to_owned();
    }
    let inner = spec.strip_suffix('/').unwrap_or(spec);
    let single = !inner.contains('/');
    let folder = inner.strip_suffix("/**").is_some_and(|stem| !stem.contains('/') && stem != "**");
    if inner != "**" && (single || (folder && list != List::Allow)) {
        format!("**/{inner}")
    } else {
        inner.to_owned()
    }
}

fn both_names(root: &Path, anchors: &Anchors<'_>) -> Vec<String> {
    let mut names = vec![text(&normal(root))];
    names.extend(anchors.paths.canonical(root).map(|p| text(&p)));
    names.dedup();
    names
}

/// Returns whether the pattern begins with the workspace or the home spelled out.
fn reads_absolute(spec: &str, anchors: &Anchors<'_>) -> bool {
    let roots = &anchors.roots;
    roots.cwd.iter().chain(&roots.home).chain(&roots.inside).any(|dir| within(spec, dir, false))
}
