//! Reads task files: `.agents/tasks/*.md`, the work in progress of a project.
//!
//! ```
//! use robota_config::tasks::{TaskSelection, TaskFiles, format_tasks};
//! use robota_config::{ContextReader, Places};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let (home, project) = (tempfile::tempdir()?, tempfile::tempdir()?);
//! # let (home, project) = (home.path(), project.path());
//! std::fs::create_dir_all(project.join(".agents/tasks"))?;
//! std::fs::write(
//!     project.join(".agents/tasks/login.md"),
//!     "# Login\n\n- **Status**: in-progress\n\n- [ ] Write the test\n- [x] Done\n",
//! )?;
//! let tasks = TaskFiles::load(&ContextReader::new(&Places::new(home, project)), None);
//! let selected = tasks.select(&TaskSelection::default());
//! assert_eq!(
//!     format_tasks(&selected),
//!     "## Active Task Context\n\n### Login\n\n- Path: .agents/tasks/login.md\n- Status: in-progress\n\
//!      - Open items:\n  - Write the test\n"
//! );
//! # Ok(()) }
//! ```

mod format;
mod parse;
mod update;

use std::path::{Path, PathBuf};

use serde::Serialize;

pub use format::format_tasks;
pub use update::{update_task_file, with_status};

use crate::layer::Layer;
use crate::reader::{ContextReader, Depth, warning};
use crate::report::Report;

/// The folder with task files, below the working folder or one above it.
const FOLDER: &str = ".agents/tasks";

/// The most bytes of one file that are read, and the most files.
const MAX_FILE_BYTES: u64 = 32 * 1024;
const MAX_FILES: usize = 200;

/// How far a task is, as its file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaskFileStatus {
    /// Work on it has begun.
    InProgress,
    /// It has not begun.
    Todo,
    /// The file does not say, or says something else.
    Unknown,
    /// It is done, so it is no part of the context.
    Completed,
}

impl TaskFileStatus {
    /// Returns the status as it is written in a file.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::InProgress => "in-progress",
            Self::Todo => "todo",
            Self::Unknown => "unknown",
            Self::Completed => "completed",
        }
    }
}

/// A task that people describe in a file of `.agents/tasks`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TaskFile {
    /// The path of its file, relative to the checkout.
    pub path: PathBuf,
    /// Its title: the first heading, otherwise the name of the file.
    pub title: String,
    /// Its status; unknown if the file says nothing that is understood.
    pub status: TaskFileStatus,
    /// The git branch that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The part of the project that it concerns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// Its goal, in one paragraph; none if the file has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub objective: Option<String>,
    /// The items that are not done.
    pub open_items: Vec<String>,
}

/// Holds the tasks of a project as its files describe them.
#[derive(Debug, Clone, Default)]
pub struct TaskFiles {
    /// The tasks, in the byte order of their file names.
    pub tasks: Vec<TaskFile>,
    /// Files that were not read, and why.
    pub report: Report,
}

/// Which tasks are part of the context.
#[derive(Debug, Clone, Copy)]
pub struct TaskSelection<'a> {
    /// The most tasks; 3 by default.
    pub max_tasks: usize,
    /// The current git branch, whose tasks come first; none if it is not known.
    pub current_branch: Option<&'a str>,
}

impl Default for TaskSelection<'_> {
    fn default() -> Self {
        Self { max_tasks: 3, current_branch: None }
    }
}

impl TaskFiles {
    /// Reads the task files of a folder: `folder`, otherwise `.agents/tasks` of the working folder or
    /// of the nearest folder above it in the checkout. `README.md` and folders such as `completed` are
    /// left out.
    #[must_use]
    pub fn load(reader: &ContextReader, folder: Option<&Path>) -> Self {
        let mut tasks = Self::default();
        let folders = &reader.folders;
        let layer = Layer::ProjectRobota;
        let found = match folder {
            Some(folder) => Some(folders.cwd.join(folder)),
            None => folders.checkout().map(|at| at.join(FOLDER)).find(|path| path.is_dir()),
        };
        let Some(path) = found.filter(|_| folders.places.reads(layer)) else { return tasks };
        // The folder of the settings may be anywhere in the checkout, but not outside of it.
        let boundary = folders.boundary(&folders.root);
        let problems = &mut tasks.report.problems;
        let files = reader.markdown(&path, &boundary, Depth::Folder, layer, problems);
        for file in files.into_iter().take(MAX_FILES) {
            let name = file.names.last().cloned().unwrap_or_default();
            if name.eq_ignore_ascii_case("readme") {
                continue;
            }
            match reader.read(&file.path, &boundary, MAX_FILE_BYTES) {
                Ok(Some(text)) if !text.text.trim().is_empty() => {
                    let shown = file.path.strip_prefix(&folders.root).unwrap_or(&file.path);
                    tasks.tasks.push(parse::task(shown, &name, &text.text));
                }
                Ok(_) => {}
                Err(reason) => {
                    problems.push(warning(layer, &file.path, format!("not read: {reason}")));
                }
            }
        }
        tasks
    }

    /// Returns the tasks for the context: those of the current branch, then those in progress, then
    /// those to do, then the others. Completed tasks are left out.
    #[must_use]
    pub fn select(&self, selection: &TaskSelection<'_>) -> Vec<&TaskFile> {
        let open = self.tasks.iter().filter(|task| task.status != TaskFileStatus::Completed);
        let mut selected: Vec<_> = open.collect();
        let of_branch = |task: &TaskFile| {
            selection.current_branch.is_some() && task.branch.as_deref() == selection.current_branch
        };
        // A stable sort: equal tasks stay in the order of their files.
        selected.sort_by_key(|task| (!of_branch(task), task.status));
        selected.truncate(selection.max_tasks);
        selected
    }
}

#[cfg(test)]
mod tests;
