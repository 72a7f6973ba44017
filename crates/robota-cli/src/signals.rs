//! Ctrl-C, SIGTERM and SIGHUP: the first signal interrupts the turn, the second exits immediately.

use anyhow::Context as _;
use tokio_util::sync::CancellationToken;

use crate::{Exit, output};

/// Returns a token that the first signal cancels. The second signal exits the program.
pub(crate) fn cancel_on_interrupt() -> anyhow::Result<CancellationToken> {
    let token = CancellationToken::new();
    let cancel = token.clone();
    let mut interrupts =
        Interrupts::new().context("cannot install the handlers for Ctrl-C and other signals")?;
    tokio::spawn(async move {
        interrupts.next().await;
        cancel.cancel();
        interrupts.next().await;
        output::error("second interrupt: exiting now");
        #[expect(
            clippy::disallowed_methods,
            reason = "the user asked twice; do not wait for the turn to end"
        )]
        std::process::exit(Exit::Interrupted.code().into());
    });
    Ok(token)
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

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hangup.recv() => {}
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

    async fn next(&mut self) {
        // If Ctrl-C cannot be watched, no interrupt ever arrives.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
