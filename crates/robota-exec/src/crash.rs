//! Ends the current process as a crash would.

/// Kills the current process immediately, as `kill -9` does: no destructor runs and no buffer is
/// written. For demonstrations and tests of crash recovery.
pub fn crash() -> ! {
    #[cfg(unix)]
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    std::process::abort()
}
