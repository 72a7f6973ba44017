//! Everything that spawns. No other crate starts a process.
//!
//! A [`Supervisor`] owns every child. It promises that
//!
//! - a child gets only the environment and the input it was given;
//! - its output never costs more memory than its [`Limits`] say: the first and the last bytes
//!   are kept, those between are counted;
//! - a time limit, a cancellation, a dropped future and [`Supervisor::shutdown`] end the child
//!   and its whole process group: TERM, then KILL;
//! - nothing of the group is left when a call returns, and a process that left the group but
//!   kept the output open cannot make the call wait;
//! - on Linux the child dies with us, even when we are killed.
//!
//! A process that leaves the group (`setsid`, a double fork) is caught by a [`reaper`], which
//! [`Supervisor::with_reaper`] starts with the first child; without one it gets away.
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
//! [`CommandHooks`] runs the user's hooks that are commands. The other thing here is
//! [`OsPaths`], the real file system behind the `Paths` port.

mod capture;
#[cfg(unix)]
mod clean;
#[cfg(target_os = "linux")]
mod confine;
mod crash;
mod env;
mod error;
mod hook;
#[cfg(unix)]
mod launch;
#[cfg(target_os = "linux")]
mod linux;
mod log;
#[cfg(not(target_os = "linux"))]
mod no_reaper;
mod outcome;
mod paths;
pub mod reaper;
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
pub use hook::CommandHooks;
pub use log::{Log, LogChunk};
pub use outcome::{Exit, Outcome};
pub use paths::OsPaths;
pub use reaper::{ReaperProgram, ReaperRecord, RecordedExit};
pub use running::Running;
pub use shell::ShellCommand;
pub use spec::{CommandSpec, OutputSink, Stdin, Streams, TerminalSize};
pub use supervisor::Supervisor;
