//! Reads the instructions that people write for agents: `AGENTS.md`, `CLAUDE.md`, rules, and the files
//! that these import.
//!
//! ```
//! use robota_config::instructions::{InstructionOptions, Instructions};
//! use robota_config::{ContextReader, Places};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let (home, project) = (tempfile::tempdir()?, tempfile::tempdir()?);
//! # let (home, project) = (home.path(), project.path());
//! std::fs::write(project.join("AGENTS.md"), "Run the tests.\nSee @docs/style.md\n")?;
//! std::fs::create_dir(project.join("docs"))?;
//! std::fs::write(project.join("docs/style.md"), "Four spaces.\n")?;
//! std::fs::create_dir(project.join("web"))?;
//! std::fs::write(project.join("web/CLAUDE.md"), "Use the design system.\n")?;
//!
//! let reader = ContextReader::new(&Places::new(home, project));
//! let mut instructions = Instructions::load(&reader, InstructionOptions::default());
//! let texts: Vec<_> = instructions.files.iter().map(|file| file.text.trim()).collect();
//! assert_eq!(texts, ["Run the tests.\nSee @docs/style.md", "Four spaces."]);
//!
//! // The instructions of a subfolder apply when a file in it is read.
//! let more = instructions.on_access(&project.join("web/index.html"));
//! assert!(more.is_empty(), "the file does not exist");
//! std::fs::write(project.join("web/index.html"), "")?;
//! let more = instructions.on_access(&project.join("web/index.html"));
//! assert_eq!(more[0].text, "Use the design system.\n");
//! # Ok(()) }
//! ```

mod access;
mod globs;
mod import;
mod load;
mod sections;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;

pub(crate) use globs::Globs;

use crate::layer::Origin;
use crate::reader::ContextReader;
use crate::report::Report;
use load::Loader;

/// What an instruction file is, by its name and place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum InstructionKind {
    /// `AGENTS.md`, which other programs read, too.
    Agents,
    /// `CLAUDE.md` or `.claude/CLAUDE.md`.
    Claude,
    /// `CLAUDE.local.md`, which is not committed.
    Local,
    /// A file of a `rules` folder.
    Rule,
    /// A file that another file imports with `@path`.
    Import,
}

/// One file of instructions, with what was read of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InstructionFile {
    /// The file as it was found; it may be a link.
    pub path: PathBuf,
    /// The layer and file that it belongs to. The layer of an import is that of the importing file.
    pub origin: Origin,
    /// What the file is.
    pub kind: InstructionKind,
    /// The text: cleaned, without HTML comments, and without the header of a rule.
    pub text: String,
    /// The number of bytes of the text, with the note about what is left out.
    pub bytes: u64,
    /// The estimated number of tokens of the text.
    pub tokens: u64,
    /// The file that imports this one; none if it was found itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub imported_by: Option<PathBuf>,
    /// How much of the file is left out; the text ends with a note that says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut_bytes: Option<u64>,
}

/// An import of a file outside the working folder that the user has not approved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PendingImport {
    /// The file, without links: what [`InstructionOptions::approved_imports`] must contain.
    pub path: PathBuf,
    /// The file that imports it.
    pub imported_by: PathBuf,
}

/// How much is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InstructionCaps {
    /// The most bytes of one file. The rest is left out with a note.
    pub file_bytes: u64,
    /// The most bytes of all files, including those of [`Instructions::on_access`].
    pub total_bytes: u64,
    /// The most files, imports and waiting rules included.
    pub files: usize,
}

impl Default for InstructionCaps {
    fn default() -> Self {
        // More than people write. All of it is part of every request, so a checkout needs a limit.
        Self { file_bytes: 64 * 1024, total_bytes: 256 * 1024, files: 200 }
    }
}

/// Decides whether a file may be imported, for example by the deny rules of the permissions.
#[derive(Clone)]
pub struct ImportFilter(Arc<dyn Fn(&Path) -> bool + Send + Sync>);

impl ImportFilter {
    /// Returns a filter that allows the files for which the function returns true. The function
    /// receives the path without links.
    pub fn new(allows: impl Fn(&Path) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(allows))
    }
}

impl std::fmt::Debug for ImportFilter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ImportFilter")
    }
}

/// What is left out, what is allowed, and how much is read.
#[derive(Debug, Clone, Default)]
pub struct InstructionOptions {
    /// Globs over absolute paths of files that are left out (the setting `claudeMdExcludes`).
    pub excludes: Vec<String>,
    /// The files outside the working folder that the user allowed to import.
    pub approved_imports: Vec<PathBuf>,
    /// Files that may be imported; none allows all.
    pub import_filter: Option<ImportFilter>,
    /// How much is read.
    pub caps: InstructionCaps,
}

/// Holds the instructions that apply in a working folder. A clone is for another conversation: each
/// remembers what it was given.
#[derive(Debug, Clone)]
pub struct Instructions {
    /// The files that apply from the start, in the order in which they are given to the model: the
    /// user's, then from the root of the file system down to the working folder. Imports follow the
    /// file that imports them. The order depends on nothing but names.
    pub files: Vec<InstructionFile>,
    /// Imports that the user has to approve.
    pub pending: Vec<PendingImport>,
    /// Files that were not read or were cut, and why.
    pub report: Report,
    loader: Loader,
}

impl Instructions {
    /// Reads the instructions for the working folder of the reader. Never fails: what is not read is
    /// in the report.
    #[must_use]
    pub fn load(reader: &ContextReader, options: InstructionOptions) -> Self {
        let mut loader = Loader::new(reader.clone(), options);
        let files = loader.start();
        let mut loaded = Self { files, pending: Vec::new(), report: Report::default(), loader };
        loaded.take_reports();
        loaded
    }

    /// Returns the files that become active because a file is read: the instructions of the folders
    /// between the working folder and the file, and the rules whose `paths` match it. Each file is
    /// returned once.
    pub fn on_access(&mut self, path: &Path) -> Vec<InstructionFile> {
        let files = self.loader.on_access(path);
        self.take_reports();
        files
    }

    /// Returns the sections "Compact Instructions" of the files, which say how to summarise a
    /// conversation; none if there is no such section.
    #[must_use]
    pub fn compact_instructions(&self) -> Option<String> {
        let sections = self.files.iter().filter_map(|file| sections::compact(&file.text));
        let all: Vec<_> = sections.collect();
        (!all.is_empty()).then(|| all.join("\n\n"))
    }

    fn take_reports(&mut self) {
        self.report.problems.append(&mut self.loader.problems);
        // Not appended: the loader keeps all pending imports, each once.
        self.pending.clone_from(&self.loader.pending);
    }
}

/// Searches a text for sections and imports, for the fuzz target.
#[cfg(feature = "fuzzing")]
pub(crate) fn check_text(text: &str) {
    let text = sections::without_comments(text);
    let _ = sections::compact(&text);
    for mention in crate::mentions::mentions(&text) {
        assert!(text[mention.range].starts_with('@'));
    }
}
