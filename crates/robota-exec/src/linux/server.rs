//! The reaper: starts a nanny for each program. It has one thread, so that it can be forked: a
//! nanny costs a fork, not the start of a program.

use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;

use super::nanny::attend;
use super::{tree, wire};

/// Serves orders from the stream that is our standard input, until nobody is left to give any.
/// In a nanny it returns when all is over for it.
pub(crate) fn serve() -> io::Result<()> {
    // A copy that programs do not inherit; the original becomes nothing.
    let socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let nothing = std::fs::File::open("/dev/null")?;
    rustix::stdio::dup2_stdin(&nothing)?;
    drop(nothing);
    loop {
        // Nannies that are done.
        while let Ok(Some(_)) = tree::collect() {}
        let Some((order, descriptors)) = wire::receive(&socket)? else { return Ok(()) };
        // SAFETY: this process has one thread (the program does nothing else than this), so the
        // child's copy of memory is whole: no lock is held by a thread that is not there.
        #[expect(unsafe_code, reason = "a new process without a new program")]
        let forked = unsafe { libc::fork() };
        match forked {
            0 => {
                // Kept open, it would hide the reaper's death from those who give orders.
                drop(socket);
                attend(order, descriptors);
                return Ok(());
            }
            // Of a nanny that could not be made, closed descriptors tell.
            _ => drop(descriptors),
        }
    }
}
