//! File work off the threads that drive everything else.

use robota_core::tool::ToolOutcome;

use crate::arguments::Early;
use crate::error::FileError;

/// Runs blocking work elsewhere. A panic in it goes on here, where the caller expects it.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, FileError> + Send + 'static,
) -> Result<T, Early> {
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error)) => Err(failed(&error).into()),
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => {
                Err(ToolOutcome::failed("interrupted", "the program is shutting down").into())
            }
        },
    }
}

pub(crate) fn failed(error: &FileError) -> ToolOutcome {
    use robota_core::error::Diagnose as _;
    let text = match error.hint() {
        Some(hint) => format!("{error} ({hint})"),
        None => error.to_string(),
    };
    ToolOutcome::failed(error.code(), text)
}

/// Runs work that fails in its own way elsewhere. A panic in it goes on here.
pub(crate) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Early> {
    blocking(move || Ok(work())).await
}
