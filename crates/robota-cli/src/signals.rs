//! Ctrl-C and friends: the first asks the turn to end, the second ends the program.

use anyhow::Context as _;
use tokio_util::sync::CancellationToken;

use crate::{Exit, output};

/// A token that is cancelled by the first interrupt.
pub(crate) fn cancel_on_interrupt() -> anyhow::Result<CancellationToken> {
    let token = CancellationToken::new();
    let cancel = token.clone();
    let mut interrupts = Interrupts::new().context("cannot watch for Ctrl-C")?;
    tokio::spawn(async move {
        interrupts.next().await;
        cancel.cancel();
        interrupts.next().await;
        output::complain("interrupted twice; giving up at once");
        #[expect(clippy::disallowed_methods, reason = "the user will not wait for destructors")]
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
        // Without Ctrl-C there is nothing to wait for.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
