//! Opens a pseudoterminal for a program.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::spec::TerminalSize;

/// The two ends of a new pseudoterminal.
pub(super) struct Terminal {
    /// The supervisor's end: it reads the output and writes the input.
    pub(super) master: OwnedFd,
    /// The program's end, which becomes its three streams.
    pub(super) slave: OwnedFd,
    /// The file of the program's end.
    pub(super) path: PathBuf,
}

/// Opens a terminal of this size.
pub(super) fn open(size: TerminalSize) -> io::Result<Terminal> {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let name = ptsname(&master, Vec::new())?;
    // NOCTTY on both ends: the terminal must not become the controlling terminal of this process.
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let slave = rustix::fs::open(&name, flags, Mode::empty())?;
    let size = Winsize { ws_row: size.rows, ws_col: size.columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&slave, size)?;
    let path = PathBuf::from(OsString::from_vec(name.into_bytes()));
    Ok(Terminal { master, slave, path })
}
