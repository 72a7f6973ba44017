//! Detects the type and the languages of a project by the names of its files.
//!
//! ```
//! use robota_config::project::ProjectFacts;
//! use robota_config::{ContextReader, Places};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let (home, project) = (tempfile::tempdir()?, tempfile::tempdir()?);
//! std::fs::write(project.path().join("Cargo.toml"), "")?;
//! let reader = ContextReader::new(&Places::new(home.path(), project.path()));
//! let facts = ProjectFacts::detect(&reader);
//! assert_eq!((facts.types, facts.languages), (vec!["rust"], vec!["rust"]));
//! # Ok(()) }
//! ```

use std::path::Path;

use serde::Serialize;

use crate::reader::{Boundary, ContextReader, LinkedWorktree, checkout_root};

/// The most bytes of `.git/HEAD`, and of the files that name the folder of a worktree, that are read.
const MAX_HEAD_BYTES: u64 = 4 * 1024;

/// What the names of a project's files show about it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct ProjectFacts {
    /// The types, such as `node` or `rust`.
    pub types: Vec<&'static str>,
    /// The programming languages, in the order of the table.
    pub languages: Vec<&'static str>,
    /// The package managers and build tools.
    pub tools: Vec<&'static str>,
    /// Whether the project is in a git repository.
    pub git: bool,
}

/// A file name, or its ending with `*` in front, and the type, language and tool that it shows.
type Marker = (&'static str, &'static str, &'static str, &'static str);

const MARKERS: &[Marker] = &[
    ("Cargo.toml", "rust", "rust", "cargo"),
    ("package.json", "node", "", ""),
    ("tsconfig.json", "node", "typescript", ""),
    ("jsconfig.json", "node", "javascript", ""),
    ("package-lock.json", "node", "", "npm"),
    ("yarn.lock", "node", "", "yarn"),
    ("pnpm-lock.yaml", "node", "", "pnpm"),
    ("bun.lock", "node", "", "bun"),
    ("bun.lockb", "node", "", "bun"),
    ("deno.json", "deno", "typescript", "deno"),
    ("deno.jsonc", "deno", "typescript", "deno"),
    ("pyproject.toml", "python", "python", ""),
    ("requirements.txt", "python", "python", "pip"),
    ("setup.py", "python", "python", "pip"),
    ("setup.cfg", "python", "python", ""),
    ("Pipfile", "python", "python", "pipenv"),
    ("poetry.lock", "python", "python", "poetry"),
    ("uv.lock", "python", "python", "uv"),
    ("go.mod", "go", "go", "go"),
    ("go.work", "go", "go", "go"),
    ("pom.xml", "java", "java", "maven"),
    ("build.gradle", "java", "java", "gradle"),
    ("build.gradle.kts", "java", "kotlin", "gradle"),
    ("build.sbt", "scala", "scala", "sbt"),
    ("Gemfile", "ruby", "ruby", "bundler"),
    ("composer.json", "php", "php", "composer"),
    ("*.csproj", "dotnet", "csharp", "dotnet"),
    ("*.fsproj", "dotnet", "fsharp", "dotnet"),
    ("*.sln", "dotnet", "", "dotnet"),
    ("Package.swift", "swift", "swift", "swiftpm"),
    ("*.xcodeproj", "swift", "swift", "xcode"),
    ("pubspec.yaml", "dart", "dart", "pub"),
    ("mix.exs", "elixir", "elixir", "mix"),
    ("stack.yaml", "haskell", "haskell", "stack"),
    ("*.cabal", "haskell", "haskell", "cabal"),
    ("build.zig", "zig", "zig", "zig"),
    ("CMakeLists.txt", "cpp", "c++", "cmake"),
    ("meson.build", "cpp", "c++", "meson"),
    ("Makefile", "", "", "make"),
    ("justfile", "", "", "just"),
    ("flake.nix", "", "nix", "nix"),
    ("Dockerfile", "", "", "docker"),
    ("main.tf", "terraform", "hcl", "terraform"),
];

impl ProjectFacts {
    /// Lists the working folder once and compares the names with a fixed table. No file is opened, so
    /// nothing that the project's authors wrote is in the result.
    #[must_use]
    pub fn detect(reader: &ContextReader) -> Self {
        let cwd = reader.cwd();
        let boundary = reader.folders.boundary(cwd);
        let listed = reader.list(cwd, &boundary);
        let has = |marker: &str| match (&listed, marker.strip_prefix('*')) {
            (Ok(Some(entries)), Some(end)) => entries.iter().any(|it| it.name.ends_with(end)),
            (Ok(Some(entries)), None) => {
                // The entries are sorted.
                entries.binary_search_by(|it| it.name.as_str().cmp(marker)).is_ok()
            }
            // The folder has too many entries to list.
            (Err(_), None) => cwd.join(marker).is_file(),
            (Ok(None), _) | (Err(_), Some(_)) => false,
        };
        let mut facts = Self::default();
        for (_, kind, language, tool) in MARKERS.iter().filter(|marker| has(marker.0)) {
            add(&mut facts.types, kind);
            add(&mut facts.languages, language);
            add(&mut facts.tools, tool);
        }
        // Without another sign, a node project is written in JavaScript.
        if facts.types.contains(&"node") && !facts.languages.contains(&"typescript") {
            add(&mut facts.languages, "javascript");
        }
        facts.git = reader.root().join(".git").symlink_metadata().is_ok();
        facts
    }
}

/// Returns the current branch of the repository or of the worktree, without running git; none if there
/// is none.
#[must_use]
pub fn current_branch(reader: &ContextReader) -> Option<String> {
    let root = reader.root();
    let git = root.join(".git");
    let head = if git.is_dir() {
        reader.read(&git.join("HEAD"), &reader.folders.boundary(root), MAX_HEAD_BYTES)
    } else {
        // Outside of the checkout; `LinkedWorktree` has checked that git made this link.
        reader.read(&LinkedWorktree::at(root)?.state.join("HEAD"), &Boundary::User, MAX_HEAD_BYTES)
    };
    let head = head.ok()??;
    // Only its line: git ignores the rest, which can be any text.
    let branch = head.text.lines().next()?.strip_prefix("ref: refs/heads/")?.trim().to_owned();
    Some(branch)
}

/// Returns whether a folder is in a worktree that `git worktree add` made.
#[must_use]
pub fn is_linked_worktree(folder: &Path) -> bool {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    LinkedWorktree::at(checkout_root(&folder, None)).is_some()
}

fn add(list: &mut Vec<&'static str>, word: &'static str) {
    if !word.is_empty() && !list.contains(&word) {
        list.push(word);
    }
}

#[cfg(test)]
mod tests;
