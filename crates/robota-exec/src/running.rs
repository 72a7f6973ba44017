//! A program that runs beside us: its output so far, its input, its end.

use std::sync::Arc;

use robota_core::process::ProcessIdentity;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::error::ExecError;
use crate::log::Log;
use crate::outcome::Outcome;
use crate::spec::{CommandSpec, OutputSink};

/// How much output is kept for those who come late.
const KEPT: usize = 1024 * 1024;

/// A program that was started with [`Supervisor::start`](crate::Supervisor::start). Clones are
/// handles to the same one; dropping the last ends it.
#[derive(Debug, Clone)]
pub struct Running {
    process: Option<ProcessIdentity>,
    log: Arc<Log>,
    input: Option<mpsc::UnboundedSender<Vec<u8>>>,
    stop: CancellationToken,
    end: watch::Receiver<End>,
    _stops_with_the_last: Arc<DropGuard>,
}

/// How it ended; absent while it runs.
type End = Option<Result<Outcome, String>>;

/// What a program that runs beside us is connected with.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) started: Option<oneshot::Sender<Option<ProcessIdentity>>>,
    pub(crate) input: mpsc::UnboundedReceiver<Vec<u8>>,
}

impl Link {
    /// Nothing.
    pub(crate) fn none() -> Self {
        Self { started: None, input: mpsc::unbounded_channel().1 }
    }
}

impl Running {
    /// Connects a program that is about to be started.
    pub(crate) fn connect(spec: &mut CommandSpec, stop: CancellationToken) -> (Beginning, Link) {
        let log = Arc::new(Log::new(KEPT));
        let (tell, started) = oneshot::channel();
        let (input, fed) = mpsc::unbounded_channel();
        let (also, own) = (spec.sink.take(), log.clone());
        spec.sink = Some(OutputSink::new(move |bytes| {
            own.push(bytes);
            if let Some(also) = &also {
                also.show(bytes);
            }
        }));
        let link = Link { started: Some(tell), input: fed };
        (Beginning { log, input, stop, started }, link)
    }

    /// Which process it is, where the system tells.
    #[must_use]
    pub fn process(&self) -> Option<&ProcessIdentity> {
        self.process.as_ref()
    }

    /// Its output so far.
    #[must_use]
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// Gives it input, if it was started with [`Stdin::Open`](crate::Stdin::Open). Whether it
    /// reads that is its own business.
    pub fn write(&self, bytes: impl Into<Vec<u8>>) {
        if let Some(input) = &self.input {
            // Who ended reads no more.
            let _ = input.send(bytes.into());
        }
    }

    /// Ends its input for this handle; when all handles have, it sees the end.
    pub fn close_input(&mut self) {
        self.input = None;
    }

    /// Tells it to end: TERM, then KILL. [`ended`](Self::ended) says when it has.
    pub fn kill(&self) {
        self.stop.cancel();
    }

    /// How it ended; `None` while it runs.
    #[must_use]
    pub fn outcome(&self) -> Option<Result<Outcome, String>> {
        self.end.borrow().clone()
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// If its end could not be observed, in words.
    pub async fn ended(&self) -> Result<Outcome, String> {
        let mut end = self.end.clone();
        match end.wait_for(Option::is_some).await {
            Ok(end) => end.clone().unwrap_or_else(|| Err(ExecError::Gone.to_string())),
            Err(_) => Err(ExecError::Gone.to_string()),
        }
    }
}

/// A program that is being started.
pub(crate) struct Beginning {
    log: Arc<Log>,
    input: mpsc::UnboundedSender<Vec<u8>>,
    stop: CancellationToken,
    started: oneshot::Receiver<Option<ProcessIdentity>>,
}

impl Beginning {
    pub(crate) async fn begin(
        self,
        mut answer: oneshot::Receiver<Result<Outcome, ExecError>>,
    ) -> Result<Running, ExecError> {
        // Ended with this future, should nobody wait for the start.
        let guard = self.stop.clone().drop_guard();
        let Ok(process) = self.started.await else {
            // It never ran, so the answer is why.
            return match answer.await {
                Ok(Err(error)) => Err(error),
                Ok(Ok(_)) | Err(_) => Err(ExecError::ShutDown),
            };
        };
        let (tell, end) = watch::channel(None);
        tokio::spawn(async move {
            let ended = match (&mut answer).await {
                Ok(Ok(outcome)) => Ok(outcome),
                Ok(Err(error)) => Err(error.to_string()),
                Err(_) => Err(ExecError::Gone.to_string()),
            };
            let _ = tell.send(Some(ended));
        });
        Ok(Running {
            process,
            log: self.log,
            input: Some(self.input),
            stop: self.stop,
            end,
            _stops_with_the_last: Arc::new(guard),
        })
    }
}
