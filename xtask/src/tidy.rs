//! Conventions that no compiler checks. One check, one file, one function from the tree to its
//! findings; to add one, copy the smallest neighbour and register it in [`CHECKS`].

pub mod crate_docs;
pub mod ignored;
pub mod length;
pub mod links;
pub mod machine_paths;
pub mod methods;
pub mod orphans;
pub mod test_ids;
pub mod unfinished;
pub mod vendors;

use std::fmt;
use std::path::Path;

use anyhow::{Result, bail};

use crate::generate;
use crate::tree::Tree;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Worth knowing.
    Note,
    /// Must be mended.
    Error,
}

/// Something a check has to say about a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub level: Level,
    /// The file, from the root.
    pub path: String,
    /// The line, from 1, where there is one.
    pub line: Option<usize>,
    /// What is wrong and what to do.
    pub message: String,
}

impl Finding {
    /// Something to mend.
    pub fn error(path: &str, line: impl Into<Option<usize>>, message: impl Into<String>) -> Self {
        Self {
            level: Level::Error,
            path: path.to_owned(),
            line: line.into(),
            message: message.into(),
        }
    }

    /// Something to know.
    pub fn note(path: &str, message: impl Into<String>) -> Self {
        Self { level: Level::Note, path: path.to_owned(), line: None, message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.level {
            Level::Note => f.write_str("note: ")?,
            Level::Error => f.write_str("error: ")?,
        }
        f.write_str(&self.path)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.message)
    }
}

/// A check: its name and what it finds.
pub type Check = (&'static str, fn(&Tree) -> Vec<Finding>);

/// Every check.
pub const CHECKS: &[Check] = &[
    ("file length", length::check),
    ("public methods per type", methods::check),
    ("forgotten files", orphans::check),
    ("ignored tests", ignored::check),
    ("unfinished code", unfinished::check),
    ("machine paths", machine_paths::check),
    ("crate docs", crate_docs::check),
    ("links", links::check),
    ("test ids", test_ids::check),
    ("vendor names in core", vendors::check),
    ("generated files", generate::findings),
];

/// Runs every check over the repository and prints what was found.
pub fn run(root: &Path) -> Result<()> {
    let tree = Tree::load(root)?;
    let mut errors = 0;
    for (name, check) in CHECKS {
        for finding in check(&tree) {
            println!("{finding} [{name}]");
            errors += usize::from(finding.level == Level::Error);
        }
    }
    println!("tidy: {} files, {} checks, {errors} errors", tree.files.len(), CHECKS.len());
    if errors > 0 {
        bail!("tidy found {errors} errors");
    }
    Ok(())
}
