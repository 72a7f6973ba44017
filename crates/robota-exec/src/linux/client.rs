//! The supervisor's connection to the reaper.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::wire::{self, LaunchRequest};
use crate::reaper::ReaperProgram;

/// A reaper that does not read a request for this long has failed.
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);

/// Sends requests to a reaper. The reaper is started with the first request.
#[derive(Debug)]
pub(crate) struct ReaperClient {
    program: ReaperProgram,
    server: Mutex<Option<Server>>,
}

#[derive(Debug)]
struct Server {
    socket: UnixStream,
    child: Child,
}

impl ReaperClient {
    pub(crate) fn new(program: ReaperProgram) -> Self {
        Self { program, server: Mutex::new(None) }
    }

    pub(crate) fn program(&self) -> &ReaperProgram {
        &self.program
    }

    /// Sends a request. A reaper that died is replaced once.
    pub(crate) fn send(
        &self,
        request: &LaunchRequest,
        descriptors: &[BorrowedFd<'_>],
    ) -> io::Result<()> {
        let mut server = self.server.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(running) = &*server {
            match wire::send(&running.socket, request, descriptors) {
                Ok(()) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::ArgumentListTooLong => {
                    return Err(error);
                }
                // A part of the request may have been sent, so the stream is unusable.
                Err(_) => drop(server.take()),
            }
        }
        let fresh = self.start()?;
        let sent = wire::send(&fresh.socket, request, descriptors);
        *server = Some(fresh);
        sent
    }

    /// Drops a reaper that does not accept requests; the next request starts a new one.
    pub(crate) fn discard(&self) {
        drop(self.server.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    #[expect(clippy::disallowed_methods, reason = "the reaper must outlive this process")]
    fn start(&self) -> io::Result<Server> {
        let (socket, theirs) = UnixStream::pair()?;
        socket.set_write_timeout(Some(WRITE_TIMEOUT))?;
        let child = Command::new(&self.program.path)
            .args(&self.program.args)
            .current_dir("/")
            .env_clear()
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // A Ctrl-C at the terminal must not end the reaper.
            .process_group(0)
            .spawn()?;
        Ok(Server { socket, child })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
        // The reaper ends when the socket is closed; its monitors continue as long as they need.
        let _ = self.child.wait();
    }
}
