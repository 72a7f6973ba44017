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
//! [`mod@file`] and [`diff`] are the plain functions below the tools. [`ReadLog`] is what the file
//! tools of one session share: a file that was not read, or that changed since, is not edited.

mod arguments;
mod bash;
mod blocking;
pub mod diff;
mod edit;
mod error;
pub mod file;
mod read;
mod read_log;

use std::path::PathBuf;
use std::sync::Arc;

use robota_core::tool::Tool;
use robota_exec::{Environment, Supervisor};

pub use bash::Bash;
pub use edit::Edit;
pub use error::FileError;
pub use read::Read;
pub use read_log::ReadLog;

/// The built-in tools for work in one directory, with a memory of their own for what was read.
pub fn toolset(
    cwd: impl Into<PathBuf>,
    supervisor: Supervisor,
    env: Environment,
) -> Vec<Arc<dyn Tool>> {
    let cwd = cwd.into();
    let log = Arc::new(ReadLog::new());
    vec![
        Arc::new(Read::new(cwd.clone(), log.clone())),
        Arc::new(Edit::new(cwd.clone(), log)),
        Arc::new(Bash::new(cwd, supervisor, env)),
    ]
}
