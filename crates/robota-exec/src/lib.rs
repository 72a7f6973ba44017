//! Starts and supervises all child processes. No other crate starts a process.
//!
//! A [`Supervisor`] owns every child. It guarantees that
//!
//! - a child gets only the environment and the input that its [`CommandSpec`] contains;
//! - the output of a child never uses more memory than its [`Limits`] allow: the first and the
//!   last bytes are kept, the bytes between are counted and dropped;
//! - a timeout, a cancellation, a dropped future and [`Supervisor::shutdown`] end the child
//!   and its whole process group: SIGTERM, then SIGKILL;
//! - no process of the group is left when a call returns, and a process that left the group but
//!   still holds the output open cannot delay the return;
//! - on Linux the child is killed when this process dies, even if SIGKILL ends it.
//!
//! A process can leave the group (`setsid`, a double fork). A [`reaper`], which
//! [`Supervisor::with_reaper`] starts with the first child, ends such processes too; without a
//! reaper they keep running.
//!
//! ```
//! use robota_exec::{Environment, Exit, ShellCommand, Supervisor};
//! use tokio_util::sync::CancellationToken;
//!
//! # #[cfg(unix)]
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), robota_exec::ExecError> {
//! let supervisor = Supervisor::new();
//! let environment = Environment::new().with("PATH", "/usr/bin:/bin");
//! let command = ShellCommand::new("echo hello; exit 3", "/").env(environment).into_spec()?;
//! let outcome = supervisor.run(command, &CancellationToken::new()).await?;
//! assert_eq!(outcome.exit, Exit::Code(3));
//! assert_eq!(outcome.stdout.text(), "hello\n");
//! # Ok(())
//! # }
//! # #[cfg(not(unix))]
//! # fn main() {}
//! ```
//!
//! The crate also has [`CommandHooks`], which runs the user's command hooks, the [`sandbox`]
//! drivers, and [`OsPaths`], which implements the `Paths` port for the real file system.

mod capture;
mod crash;
#[cfg(target_os = "linux")]
mod enter_sandbox;
mod env;
mod error;
mod foreground;
mod hook;
#[cfg(unix)]
mod launch;
#[cfg(unix)]
mod link_free_dir;
#[cfg(target_os = "linux")]
mod linux;
mod log;
mod outcome;
mod paths;
pub mod reaper;
#[cfg(not(target_os = "linux"))]
mod reaper_stub;
#[cfg(unix)]
mod redacting_decoder;
mod running;
pub mod sandbox;
mod shell;
mod spec;
mod supervisor;
#[cfg(unix)]
mod unix;

pub use capture::{Captured, Limits, Spill, Spilled};
pub use crash::crash;
pub use env::Environment;
pub use error::ExecError;
pub use foreground::run_in_foreground;
pub use hook::{CommandHooks, SessionVariables};
#[cfg(unix)]
pub use link_free_dir::LinkFreeDir;
pub use log::{Log, LogChunk};
pub use outcome::{Exit, Outcome};
pub use paths::OsPaths;
pub use reaper::{ReaperProgram, ReaperRecord, RecordedExit};
pub use running::Running;
pub use shell::ShellCommand;
pub use spec::{CommandSpec, OutputSink, Stdin, Streams, TerminalSize};
pub use supervisor::Supervisor;
