//! Our side of the reaper.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::wire::{self, Order};
use crate::reaper::ReaperProgram;

/// A reaper that takes no order for so long has failed.
const PATIENCE: Duration = Duration::from_secs(5);

/// Gives orders to a reaper, which starts with the first of them.
#[derive(Debug)]
pub(crate) struct Client {
    program: ReaperProgram,
    server: Mutex<Option<Server>>,
}

#[derive(Debug)]
struct Server {
    socket: UnixStream,
    child: Child,
}

impl Client {
    pub(crate) fn new(program: ReaperProgram) -> Self {
        Self { program, server: Mutex::new(None) }
    }

    pub(crate) fn program(&self) -> &ReaperProgram {
        &self.program
    }

    /// Hands the order over. A reaper that died is replaced, once.
    pub(crate) fn order(&self, order: &Order, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        let mut server = self.server.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(running) = &*server {
            match wire::send(&running.socket, order, descriptors) {
                Ok(()) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::ArgumentListTooLong => {
                    return Err(error);
                }
                // Half an order may have gone out: that reaper is of no use any more.
                Err(_) => drop(server.take()),
            }
        }
        let fresh = self.start()?;
        let sent = wire::send(&fresh.socket, order, descriptors);
        *server = Some(fresh);
        sent
    }

    /// Gives up a reaper that takes no orders.
    pub(crate) fn discard(&self) {
        drop(self.server.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    #[expect(clippy::disallowed_methods, reason = "the reaper must not die with us")]
    fn start(&self) -> io::Result<Server> {
        let (socket, theirs) = UnixStream::pair()?;
        socket.set_write_timeout(Some(PATIENCE))?;
        let child = Command::new(&self.program.path)
            .args(&self.program.args)
            .current_dir("/")
            .env_clear()
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // A Ctrl-C at the terminal is for us, not for it.
            .process_group(0)
            .spawn()?;
        Ok(Server { socket, child })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
        // It ends as soon as it sees that; its nannies stay as long as they must.
        let _ = self.child.wait();
    }
}
