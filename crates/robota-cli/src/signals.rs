//! Ctrl-C, SIGTERM and SIGHUP: the first signal interrupts the turn, a later one exits immediately.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use tokio_util::sync::CancellationToken;

use crate::{Exit, output};

/// Signals that follow the first within this time are the same one: `timeout` and terminals signal
/// a process and its group.
const SAME_SIGNAL: Duration = Duration::from_millis(500);

/// What signals ask for.
#[derive(Clone)]
pub(crate) struct Cancel {
    token: CancellationToken,
    terminated: Arc<AtomicBool>,
}

impl Cancel {
    /// Returns the token that the first signal cancels.
    pub(crate) fn token(&self) -> &CancellationToken {
        &self.token
    }

    /// Returns the exit status of an interrupted run; none if no signal arrived.
    pub(crate) fn exit(&self) -> Option<Exit> {
        let exit = if self.terminated.load(Ordering::SeqCst) {
            Exit::Terminated
        } else {
            Exit::Interrupted
        };
        self.token.is_cancelled().then_some(exit)
    }
}

/// Watches signals. The first cancels the token, a later one exits the program.
pub(crate) fn cancel_on_interrupt() -> anyhow::Result<Cancel> {
    let cancel = Cancel { token: CancellationToken::new(), terminated: Arc::default() };
    let watched = cancel.clone();
    let mut interrupts =
        Interrupts::new().context("cannot install the handlers for Ctrl-C and other signals")?;
    tokio::spawn(async move {
        let first = interrupts.next().await;
        // Before the token is cancelled, because who waits for the token reads it at once.
        watched.terminated.store(first == Signal::Terminate, Ordering::SeqCst);
        watched.token.cancel();
        let same = tokio::time::sleep(SAME_SIGNAL);
        tokio::pin!(same);
        loop {
            tokio::select! {
                () = &mut same => break,
                _ = interrupts.next() => {}
            }
        }
        interrupts.next().await;
        // Nothing is dropped at this exit, so no guard would do it.
        crate::terminal::restore();
        output::error("second interrupt: exiting now");
        let exit = watched.exit().unwrap_or(Exit::Interrupted);
        #[expect(
            clippy::disallowed_methods,
            reason = "the user asked twice; do not wait for the turn to end"
        )]
        std::process::exit(exit.code().into());
    });
    Ok(cancel)
}

/// The signals that end a run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Signal {
    /// Ctrl-C, or a terminal that was closed.
    Interrupt,
    /// SIGTERM.
    #[cfg_attr(not(unix), expect(dead_code, reason = "only Unix has it"))]
    Terminate,
}

#[cfg(unix)]
struct Interrupts {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    hangup: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Interrupts {
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.interrupt.recv() => Signal::Interrupt,
            _ = self.terminate.recv() => Signal::Terminate,
            _ = self.hangup.recv() => Signal::Interrupt,
        }
    }
}

#[cfg(not(unix))]
struct Interrupts;

#[cfg(not(unix))]
impl Interrupts {
    fn new() -> std::io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) -> Signal {
        // If Ctrl-C cannot be watched, no interrupt ever arrives.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        Signal::Interrupt
    }
}
