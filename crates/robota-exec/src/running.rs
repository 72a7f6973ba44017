//! A program that runs in the background: its output so far, its input and its exit.

use std::sync::{Arc, Mutex, PoisonError};

use robota_core::process::ProcessIdentity;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::error::ExecError;
use crate::log::Log;
use crate::outcome::Outcome;
use crate::spec::{CommandSpec, OutputSink};

/// The last bytes of output that are kept for readers.
const LOG_BYTES: usize = 1024 * 1024;

/// A program that was started with [`Supervisor::start`](crate::Supervisor::start). Clones are
/// handles to the same program; dropping the last handle ends it.
#[derive(Debug, Clone)]
pub struct Running {
    process: Option<ProcessIdentity>,
    log: Arc<Log>,
    input: Option<mpsc::UnboundedSender<Vec<u8>>>,
    stop: CancellationToken,
    no_time_limit: CancellationToken,
    end: watch::Receiver<End>,
    _stop_on_last_drop: Arc<DropGuard>,
}

/// The result of the program; `None` while it runs.
type End = Option<Result<Outcome, String>>;

/// The supervisor's side of the connection to a [`Running`] handle.
#[derive(Debug)]
pub(crate) struct BackgroundLink {
    /// Receives the identity of the process when it has started.
    pub(crate) started: Option<oneshot::Sender<Option<ProcessIdentity>>>,
    /// The bytes for its standard input.
    pub(crate) input: mpsc::UnboundedReceiver<Vec<u8>>,
    /// Cancelled when the time limit no longer counts.
    pub(crate) no_time_limit: CancellationToken,
}

impl BackgroundLink {
    /// Returns the link of a program that is run to its end, without a handle.
    pub(crate) fn none() -> Self {
        let no_time_limit = CancellationToken::new();
        Self { started: None, input: mpsc::unbounded_channel().1, no_time_limit }
    }
}

impl Running {
    /// Connects a program that is about to be started with its future handle.
    pub(crate) fn connect(
        spec: &mut CommandSpec,
        stop: CancellationToken,
    ) -> (PendingStart, BackgroundLink) {
        let log = Arc::new(Log::new(LOG_BYTES));
        let (started_sender, started) = oneshot::channel();
        let (input, input_receiver) = mpsc::unbounded_channel();
        // The log comes first, so that a reader that the sink wakes finds the bytes in it.
        let (given_sink, log_writer) = (spec.sink.take(), log.clone());
        let filter = Mutex::new(MarkerFilter::new(spec.end_marker.clone()));
        spec.sink = Some(OutputSink::new(move |bytes| {
            let mut filter = filter.lock().unwrap_or_else(PoisonError::into_inner);
            for piece in filter.output(bytes).into_iter().filter(|piece| !piece.is_empty()) {
                log_writer.push(piece);
                if let Some(given_sink) = &given_sink {
                    given_sink.write(piece);
                }
            }
        }));
        let no_time_limit = CancellationToken::new();
        let link = BackgroundLink {
            started: Some(started_sender),
            input: input_receiver,
            no_time_limit: no_time_limit.clone(),
        };
        (PendingStart { log, input, stop, no_time_limit, started }, link)
    }

    /// Returns the identity of the process; `None` if the system does not provide it.
    #[must_use]
    pub fn process(&self) -> Option<&ProcessIdentity> {
        self.process.as_ref()
    }

    /// Returns its output so far.
    #[must_use]
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// Writes to its standard input, if it was started with [`Stdin::Open`](crate::Stdin::Open).
    /// Does not wait until the program reads the bytes.
    pub fn write(&self, bytes: impl Into<Vec<u8>>) {
        if let Some(input) = &self.input {
            // Fails only if the program has ended.
            let _ = input.send(bytes.into());
        }
    }

    /// Closes the input for this handle. The program reads the end of file when all handles have
    /// closed it.
    pub fn close_input(&mut self) {
        self.input = None;
    }

    /// Lets the program run without its time limit.
    pub fn lift_time_limit(&self) {
        self.no_time_limit.cancel();
    }

    /// Ends the program: SIGTERM, then SIGKILL. Does not wait; [`ended`](Self::ended) does.
    pub fn kill(&self) {
        self.stop.cancel();
    }

    /// Returns the result of the program; `None` while it runs.
    #[must_use]
    pub fn outcome(&self) -> Option<Result<Outcome, String>> {
        self.end.borrow().clone()
    }

    /// Waits until the program has ended.
    ///
    /// # Errors
    /// If its result is unknown; the error is a message.
    pub async fn ended(&self) -> Result<Outcome, String> {
        let mut end = self.end.clone();
        match end.wait_for(Option::is_some).await {
            Ok(end) => end.clone().unwrap_or_else(|| Err(ExecError::SupervisorFailed.to_string())),
            Err(_) => Err(ExecError::SupervisorFailed.to_string()),
        }
    }
}

/// A program that is being started, before the handle to it exists.
pub(crate) struct PendingStart {
    log: Arc<Log>,
    input: mpsc::UnboundedSender<Vec<u8>>,
    stop: CancellationToken,
    no_time_limit: CancellationToken,
    started: oneshot::Receiver<Option<ProcessIdentity>>,
}

impl PendingStart {
    /// Waits until the program runs, and returns the handle to it.
    pub(crate) async fn wait_until_started(
        self,
        mut result: oneshot::Receiver<Result<Outcome, ExecError>>,
    ) -> Result<Running, ExecError> {
        // If this future is dropped before the program runs, the program is ended.
        let guard = self.stop.clone().drop_guard();
        let Ok(process) = self.started.await else {
            // It never ran, so the result has the reason.
            return match result.await {
                Ok(Err(error)) => Err(error),
                Ok(Ok(_)) | Err(_) => Err(ExecError::ShutDown),
            };
        };
        let (end_sender, end) = watch::channel(None);
        tokio::spawn(async move {
            let ended = match (&mut result).await {
                Ok(Ok(outcome)) => Ok(outcome),
                Ok(Err(error)) => Err(error.to_string()),
                Err(_) => Err(ExecError::SupervisorFailed.to_string()),
            };
            // Fails only if all handles are gone; then the guard has ended the program, and no one
            // asks for its result.
            let _ = end_sender.send(Some(ended));
        });
        Ok(Running {
            process,
            log: self.log,
            input: Some(self.input),
            stop: self.stop,
            no_time_limit: self.no_time_limit,
            end,
            _stop_on_last_drop: Arc::new(guard),
        })
    }
}

/// Removes the line that a marker begins. The shell writes the marker and the rest of that line
/// separately, so the rest may come with a later read.
struct MarkerFilter {
    marker: Option<String>,
    /// Whether the marker was read, and the end of its line was not.
    inside: bool,
}

impl MarkerFilter {
    fn new(marker: Option<String>) -> Self {
        Self { marker, inside: false }
    }

    /// Returns what is left of the bytes: what comes before the marker and what comes after its line.
    fn output<'a>(&mut self, bytes: &'a [u8]) -> [&'a [u8]; 2] {
        if self.inside {
            return [&[], self.after_line(bytes)];
        }
        let at = self.marker.as_ref().and_then(|marker| {
            bytes.windows(marker.len()).position(|window| window == marker.as_bytes())
        });
        match at {
            Some(at) => [&bytes[..at], self.after_line(&bytes[at..])],
            None => [bytes, &[]],
        }
    }

    fn after_line<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let end = bytes.iter().position(|byte| *byte == b'\n');
        self.inside = end.is_none();
        end.map_or(&[], |end| &bytes[end + 1..])
    }
}

#[cfg(test)]
mod tests;
