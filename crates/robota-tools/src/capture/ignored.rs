//! Decides which entries git ignores, while a tree is walked.

use std::path::Path;
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use robota_core::checkpoint::FileStat;

use super::walk::FoundEntry;

/// Folders that tools fill with files of others. They count as ignored without a rule.
const GENERATED: [&str; 3] = ["node_modules", "__pycache__", ".venv"];

/// Returns the metadata of the files with rules around the root of a walk, and of what makes a folder
/// a repository. The rules are the same as long as these are.
pub(super) fn rule_files(root: &Path) -> Vec<Option<FileStat>> {
    let mut found = Vec::new();
    let stat = |path: &Path| path.metadata().ok().map(|it| FoundEntry::new(&it, false).stat);
    for folder in root.ancestors() {
        let git = folder.join(".git");
        // What is in the folder changes all the time, the folder itself stays.
        let repository = stat(&git).map(|it| FileStat { modified: 0, changed: 0, ..it });
        found.extend([repository, stat(&folder.join(".gitignore"))]);
        if repository.is_some() {
            found.push(stat(&git.join("info/exclude")));
            break;
        }
    }
    found
}

/// The rules of a folder and of the folders around it.
#[derive(Clone, Default)]
pub(super) struct IgnoreRules(Option<Arc<Layer>>);

struct Layer {
    rules: Gitignore,
    outer: IgnoreRules,
}

impl IgnoreRules {
    /// Reads the rules that apply at the root of a walk: those of the repository that contains it.
    pub(super) fn around(root: &Path) -> Self {
        let mut folders: Vec<&Path> = Vec::new();
        for folder in root.ancestors() {
            folders.push(folder);
            if folder.join(".git").exists() {
                let mut rules = Self::default().with(folder, &folder.join(".git/info/exclude"));
                // The walk reads the rules of the root itself.
                // Outermost first, because inner rules take precedence.
                for folder in folders.iter().skip(1).rev() {
                    rules = rules.with(folder, &folder.join(".gitignore"));
                }
                return rules;
            }
        }
        Self::default()
    }

    /// Adds a file with rules for a folder. A file that cannot be read has no rules.
    pub(super) fn with(&self, folder: &Path, file: &Path) -> Self {
        let mut builder = GitignoreBuilder::new(folder);
        // `add` returns an error, also for a file that does not exist, which is the usual case.
        if builder.add(file).is_some() {
            return self.clone();
        }
        match builder.build() {
            Ok(rules) if !rules.is_empty() => {
                Self(Some(Arc::new(Layer { rules, outer: self.clone() })))
            }
            _ => self.clone(),
        }
    }

    /// Returns whether an entry is ignored. The rules of the innermost folder take precedence.
    pub(super) fn ignores(&self, path: &Path, is_folder: bool) -> bool {
        if is_folder && path.file_name().is_some_and(|name| GENERATED.iter().any(|it| name == *it))
        {
            return true;
        }
        let mut rules = self;
        while let Some(layer) = &rules.0 {
            match layer.rules.matched(path, is_folder) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => rules = &layer.outer,
            }
        }
        false
    }
}
