//! Ending this very process as a crash would.

/// Ends this process at once, as `kill -9` does: no destructor runs, nothing is written, nobody
/// is told. For demonstrations and tests of what survives that.
pub fn crash() -> ! {
    #[cfg(unix)]
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    std::process::abort()
}
