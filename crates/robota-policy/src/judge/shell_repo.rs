//! Checks what a checkout can decide about the programs that read it: which repository git uses,
//! which programs its settings name, and which toolchain a version query would run.

use std::path::{Path, PathBuf};

use robota_core::paths::PathKind;

use super::shell::Shell;
use crate::program::{Program, read_only};
use crate::shell::{Part, Word, expand};
use crate::words;
use crate::workspace::{text, within};

impl Shell<'_, '_> {
    /// Returns why git would use another repository than the workspace's (one below it, or one
    /// outside), or why the workspace's repository makes git run other programs; `None` if neither
    /// is the case.
    pub(super) fn other_repository(&self, part: &Part, words: &[Word]) -> Option<String> {
        let folders = read_only::git_folders(words)?;
        let mut dirs: Vec<PathBuf> = part.cwd.dirs.clone();
        let unknown = || Some("which repository git uses cannot be known".to_owned());
        // From a folder that is not known, git may find any repository on its way up.
        if part.cwd.lost && (part.cwd.moved || !folders.is_empty()) {
            return unknown();
        }
        for folder in &folders {
            let scope = self.scope(part);
            let (texts, open) = expand::variants(folder, &scope, 0);
            let text = texts.first().and_then(|text| expand::tilde(text, scope.home));
            let (Some(text), 1, false) = (text, texts.len(), open) else { return unknown() };
            let text: String = text.iter().map(|(c, _)| *c).collect();
            dirs = dirs.iter().map(|dir| dir.join(&text)).collect();
        }
        if folders.is_empty() && !part.cwd.moved {
            return None;
        }
        dirs.iter().find_map(|dir| self.foreign(dir))
    }

    fn foreign(&self, dir: &Path) -> Option<String> {
        let file = self.disk.lookup(dir);
        let roots = &self.policy.roots;
        let Some(target) = file.target.as_deref().filter(|_| roots.holds(&file)) else {
            return Some(format!("git would use `{}`, outside the workspace", file.shown()));
        };
        let paths = self.disk.paths;
        let mut at = PathBuf::from(target);
        while !roots.inside.iter().any(|root| within(root, &text(&at), file.fold)) {
            // Git uses a folder with the files of a repository as one, and its settings run programs.
            let marked =
                [".git", "HEAD"].iter().any(|name| paths.kind(&at.join(name)) != PathKind::Missing);
            if marked {
                return Some(format!("`{}` is a repository of its own", at.display()));
            }
            if !at.pop() {
                break;
            }
        }
        None
    }

    /// Returns whether the repository of the workspace may make git run programs that cannot be
    /// switched off, or is not what it seems.
    pub(super) fn repository_runs_programs(&self) -> bool {
        let mut roots = self.policy.roots.inside.iter();
        // Git takes the first one it finds on the way up.
        roots.any(|root| {
            Path::new(root).ancestors().find_map(|dir| self.runs_programs(dir)).unwrap_or(false)
        })
    }

    /// Returns the same for the repository in one folder; `None` where there is none.
    fn runs_programs(&self, dir: &Path) -> Option<bool> {
        let paths = self.disk.paths;
        let git = dir.join(".git");
        match paths.kind(&git) {
            PathKind::Dir => Some(self.settings_run_programs(&git)),
            // It leads to another folder, which must be in the workspace.
            PathKind::File => {
                let text = paths.text(&git).unwrap_or_default();
                let leads = text.trim().strip_prefix("gitdir:").map(str::trim);
                Some(leads.is_none_or(|to| {
                    let to = dir.join(to);
                    !self.policy.roots.holds(&self.disk.lookup(&to))
                        || self.settings_run_programs(&to)
                }))
            }
            PathKind::Link | PathKind::Other => Some(true),
            // Git uses a folder with the files of a bare repository as one.
            PathKind::Missing => {
                let bare = paths.kind(&dir.join("HEAD")) == PathKind::File
                    && paths.kind(&dir.join("objects")) == PathKind::Dir;
                bare.then_some(true)
            }
        }
    }

    /// Returns whether a folder of git names programs in its settings, or selects them for some
    /// files, or shares the settings of another one.
    fn settings_run_programs(&self, git: &Path) -> bool {
        let paths = self.disk.paths;
        // A file that exists and cannot be read may contain anything.
        let has = |name: &str, test: fn(&str) -> bool| {
            let file = git.join(name);
            paths.kind(&file) != PathKind::Missing
                && paths.text(&file).is_none_or(|text| test(&text))
        };
        has("config", names_programs)
            || has("config.worktree", names_programs)
            || has("info/attributes", |text| !text.trim().is_empty())
            || has("commondir", |_| true)
    }

    /// Returns whether files of the workspace may choose which program shows its version.
    pub(super) fn chooses_toolchain(&self, part: &Part, words: &[Word]) -> bool {
        let Some(program) = Program::of(words) else { return true };
        let paths = self.disk.paths;
        let roots = &self.policy.roots;
        let names: Vec<&str> =
            program.chosen_by.iter().chain(words::list("toolchain-files")).copied().collect();
        part.cwd.dirs.iter().any(|dir| {
            let inside = |folder: &&Path| roots.holds(&self.disk.lookup(folder));
            dir.ancestors().take_while(inside).any(|folder| {
                names.iter().any(|name| {
                    let file = folder.join(name);
                    // Its content may be harmless, where it can be read.
                    paths.kind(&file) != PathKind::Missing
                        && !paths.text(&file).is_some_and(|text| is_plain_choice(name, &text))
                })
            })
        })
    }
}

/// Returns whether a file that chooses a toolchain names a version and nothing else.
fn is_plain_choice(name: &str, text: &str) -> bool {
    let texts = words::list_of("choice", name);
    texts.is_some_and(|texts| !texts.iter().any(|reaches| text.contains(reaches)))
}

/// Returns whether settings of a repository name programs that reading it runs: filters, drivers of
/// differences, and other settings that are included.
fn names_programs(config: &str) -> bool {
    let mut section = String::new();
    config.lines().any(|line| {
        let line = line.trim().to_lowercase();
        let mut rest = line.as_str();
        if let Some(head) = line.strip_prefix('[') {
            // A section that does not end on its line is not understood, so it counts as one that
            // runs programs.
            let Some((name, after)) = head.split_once(']') else { return true };
            section = name.trim().to_owned();
            rest = after.trim();
            if section.starts_with("include") {
                return true;
            }
        }
        let (key, value) = rest.split_once('=').map_or((rest, ""), |(k, v)| (k.trim(), v.trim()));
        let lfs = value.starts_with("git-lfs ") || value.starts_with("\"git-lfs ");
        match section.split([' ', '.', '"']).next().unwrap_or_default() {
            "filter" => matches!(key, "clean" | "smudge" | "process") && !lfs,
            "diff" => matches!(key, "textconv" | "command" | "external"),
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests;
