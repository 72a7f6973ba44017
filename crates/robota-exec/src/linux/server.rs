//! The reaper process: forks a monitor for each program. It has only one thread, so it can fork
//! without exec: a monitor costs a fork, not the start of a program.

use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;

use super::monitor::run_monitor;
use super::{tree, wire};

/// Reads launch requests from the socket that is the standard input, until the supervisor closes
/// it. In the forked monitor process it returns when the monitor is done.
pub(crate) fn serve() -> io::Result<()> {
    // A close-on-exec copy, so that programs do not inherit the socket; standard input itself is
    // replaced by /dev/null.
    let socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let null = std::fs::File::open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    drop(null);
    loop {
        // Reaps monitors that are done.
        while let Ok(Some(_)) = tree::reap_one() {}
        let Some((request, descriptors)) = wire::receive(&socket)? else { return Ok(()) };
        // SAFETY: this process has only one thread (the program only calls this function), so in the
        // child no lock is held by a thread that does not exist there.
        #[expect(unsafe_code, reason = "std has no fork without exec")]
        let forked = unsafe { libc::fork() };
        match forked {
            0 => {
                // If it stayed open here, the supervisor would not notice the death of the reaper.
                drop(socket);
                run_monitor(request, descriptors);
                return Ok(());
            }
            // If the fork failed, the supervisor notices it by the closed control socket.
            _ => drop(descriptors),
        }
    }
}
