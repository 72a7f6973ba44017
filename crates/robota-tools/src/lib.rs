//! Built-in tools: what an agent touches the world with. One tool, one file.
//!
//! A tool needs no session: build it, give it arguments, get an outcome.
//!
//! ```
//! use robota_core::tool::ToolContext;
//! use robota_exec::{Environment, Supervisor};
//! use serde_json::json;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> std::io::Result<()> {
//! let dir = tempfile::tempdir()?;
//! std::fs::write(dir.path().join("greeting.txt"), "hello world\n")?;
//!
//! let tools = robota_tools::toolset(dir.path(), Supervisor::new(), Environment::new());
//! let read = tools.iter().find(|tool| tool.spec().name == "Read").unwrap();
//! let outcome = read.run(json!({"file_path": "greeting.txt"}), ToolContext::detached()).await;
//! assert_eq!(outcome.text(), "     1\thello world\n");
//! # Ok(())
//! # }
//! ```
//!
//! Tools of one session share a [`Workplace`]: where they work, what was read, who is asked, what
//! runs in the background. [`mod@file`], [`diff`] and [`web`] are the plain functions below the
//! tools. [`FunctionTool`](robota_core::tool::FunctionTool) makes a tool from a function and a type; [`bundles`] has tools with the
//! rules they come with; [`Ruled`] puts rules before any tool.

mod aftermath;
mod arguments;
mod ask_user;
mod bash;
mod bash_cd;
mod bash_input;
mod bash_output;
mod blocking;
pub mod bundles;
pub mod diff;
mod edit;
mod error;
pub mod file;
mod glob;
mod grant;
mod grep;
mod kill_shell;
mod multi_edit;
mod read;
mod read_log;
mod ruled;
mod shells;
mod task;
mod todo;
mod walk;
pub mod web;
mod web_fetch;
mod web_search;
mod workplace;
mod write;

use std::path::PathBuf;
use std::sync::Arc;

use robota_core::tool::Tool;
use robota_exec::{Environment, Supervisor};

pub use aftermath::LocalAftermath;
pub use ask_user::{AskUser, Asker, UserQuestion};
pub use bash::Bash;
pub use bash_input::BashInput;
pub use bash_output::BashOutput;
pub use edit::Edit;
pub use error::FileError;
pub use glob::Glob;
pub use grant::{AllFiles, Grant, PolicyGrant};
pub use grep::Grep;
pub use kill_shell::KillShell;
pub use multi_edit::MultiEdit;
pub use read::Read;
pub use read_log::ReadLog;
pub use ruled::Ruled;
pub use task::{AgentKind, Task, TaskRequest, TaskRunner};
pub use todo::{Todo, TodoStatus, TodoWrite, Todos};
pub use web_fetch::WebFetch;
pub use web_search::{Brave, Hit, SearchError, Searcher, Searxng, WebSearch};
pub use workplace::Workplace;
pub use write::Write;

/// The built-in tools for work in one directory, with a memory of their own for what was read.
pub fn toolset(
    cwd: impl Into<PathBuf>,
    supervisor: Supervisor,
    env: Environment,
) -> Vec<Arc<dyn Tool>> {
    tools(&Workplace::new(cwd, supervisor, env))
}

/// The built-in tools of a workplace. WebSearch is among them if somebody searches there.
#[must_use]
pub fn tools(place: &Workplace) -> Vec<Arc<dyn Tool>> {
    let mut tools: Vec<Arc<dyn Tool>> = vec![
        Arc::new(AskUser::new(place)),
        Arc::new(Bash::new(place)),
        Arc::new(BashInput::new(place)),
        Arc::new(BashOutput::new(place)),
        Arc::new(Edit::new(place)),
        Arc::new(Glob::new(place)),
        Arc::new(Grep::new(place)),
        Arc::new(KillShell::new(place)),
        Arc::new(MultiEdit::new(place)),
        Arc::new(Read::new(place)),
        Arc::new(TodoWrite::new(place)),
        Arc::new(WebFetch::new(place)),
        Arc::new(Write::new(place)),
    ];
    tools.extend(WebSearch::new(place).map(|tool| Arc::new(tool) as Arc<dyn Tool>));
    tools
}
