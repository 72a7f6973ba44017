//! Runs blocking file work on a thread pool, off the async runtime.

use robota_core::tool::ToolOutcome;

use crate::arguments::EarlyOutcome;
use crate::error::FileError;

/// Runs blocking work on the thread pool. A panic in it is resumed in the caller.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, FileError> + Send + 'static,
) -> Result<T, EarlyOutcome> {
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

/// Like [`blocking`], for work that does not return a [`FileError`].
pub(crate) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, EarlyOutcome> {
    blocking(move || Ok(work())).await
}
