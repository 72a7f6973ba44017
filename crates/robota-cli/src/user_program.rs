//! Programs of the user that the program itself runs: the command that prints a key, the tool of the
//! keyring. They have the whole environment, and the supervisor ends them with all that they start.

use robota_exec::{CommandSpec, ExecError, Outcome, Supervisor};
use robota_sdk::processes;
use tokio_util::sync::CancellationToken;

/// Runs a program to its end.
///
/// # Errors
/// If it cannot be started.
pub(crate) async fn run(spec: CommandSpec) -> Result<Outcome, ExecError> {
    let spec = spec.env(processes::process_environment());
    Supervisor::new().run(spec, &CancellationToken::new()).await
}

/// Does the same for a caller that cannot wait: settings are read without a runtime.
///
/// # Errors
/// If it cannot be started.
pub(crate) fn run_blocking(spec: CommandSpec) -> Result<Outcome, ExecError> {
    // A thread of its own, because the caller may be a task, which must not block on another.
    let ran = std::thread::spawn(move || futures::executor::block_on(run(spec))).join();
    ran.unwrap_or(Err(ExecError::SupervisorFailed))
}
