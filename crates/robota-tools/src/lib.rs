//! The built-in tools of an agent. Each tool is in its own file.
//!
//! A tool needs no session: create it, run it with arguments, and get an outcome.
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
//! The tools of one session share a [`ToolWorkspace`]: the working directory, the files that were
//! read, the handler of user questions, the background commands. [`mod@file`], [`diff`] and [`web`]
//! contain the functions that the tools use. [`FunctionTool`](robota_core::tool::FunctionTool) makes a
//! tool from a function and an argument type; [`bundles`] combines tools with permission rules;
//! [`PolicyCheckedTool`] applies permission rules to any tool.

mod access_check;
mod agent;
mod arguments;
mod ask_user;
mod background_commands;
mod background_process;
mod bash;
mod bash_input;
mod bash_output;
mod blocking;
pub mod bundles;
mod capture;
mod crash_cleanup;
mod cwd_tracker;
pub mod diff;
mod edit;
mod editor;
mod error;
pub mod file;
mod glob;
mod grants;
mod grep;
mod kill_shell;
mod local_files;
mod multi_edit;
pub mod openapi;
mod policy_checked_tool;
mod read;
mod read_log;
mod todo;
mod tool_workspace;
mod walk;
pub mod web;
mod web_fetch;
mod web_search;
mod write;

use std::path::PathBuf;
use std::sync::Arc;

use robota_core::tool::Tool;
use robota_exec::{Environment, Supervisor};

pub use access_check::{AccessCheck, AllowAllFiles, PolicyAccessCheck};
pub use agent::{AgentKind, AgentRunner, AgentTask, AgentTool};
pub use ask_user::{
    ASK_USER, AnswerOption, Answers, AskUser, QuestionHandler, REFUSED, UserQuestion, answer_text,
};
pub use background_commands::{CommandTasks, MovedCommand, NewCommand, NotStarted};
pub use background_process::BackgroundProcess;
pub use bash::Bash;
pub use bash::{TerminalCommand, TerminalEnd, TerminalResult};
pub use bash_input::BashInput;
pub use bash_output::BashOutput;
pub use capture::CaptureLimits;
pub use crash_cleanup::LocalCrashCleanup;
pub use edit::Edit;
pub use editor::EditorFiles;
pub use error::FileError;
pub use glob::Glob;
pub use grep::Grep;
pub use kill_shell::KillShell;
pub use local_files::LocalFiles;
pub use multi_edit::MultiEdit;
pub use policy_checked_tool::PolicyCheckedTool;
pub use read::Read;
pub use read_log::ReadLog;
pub use todo::{Todo, TodoStatus, TodoWrite, Todos};
pub use tool_workspace::ToolWorkspace;
pub use web_fetch::WebFetch;
pub use web_search::{Brave, Hit, SearchError, Searcher, Searxng, WebSearch};
pub use write::Write;

/// Creates the built-in tools for one directory, with a new [`ToolWorkspace`].
pub fn toolset(
    cwd: impl Into<PathBuf>,
    supervisor: Supervisor,
    env: Environment,
) -> Vec<Arc<dyn Tool>> {
    tools(&ToolWorkspace::new(cwd, supervisor, env))
}

/// Creates the built-in tools of a workspace. WebSearch is included if the workspace has a
/// [`Searcher`].
#[must_use]
pub fn tools(workspace: &ToolWorkspace) -> Vec<Arc<dyn Tool>> {
    let mut tools: Vec<Arc<dyn Tool>> = vec![
        Arc::new(AskUser::new(workspace)),
        Arc::new(Bash::new(workspace)),
        Arc::new(BashInput::new(workspace)),
        Arc::new(BashOutput::new(workspace)),
        Arc::new(Edit::new(workspace)),
        Arc::new(Glob::new(workspace)),
        Arc::new(Grep::new(workspace)),
        Arc::new(KillShell::new(workspace)),
        Arc::new(MultiEdit::new(workspace)),
        Arc::new(Read::new(workspace)),
        Arc::new(TodoWrite::new(workspace)),
        Arc::new(WebFetch::new(workspace)),
        Arc::new(Write::new(workspace)),
    ];
    tools.extend(WebSearch::new(workspace).map(|tool| Arc::new(tool) as Arc<dyn Tool>));
    tools
}
