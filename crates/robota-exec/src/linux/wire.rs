//! The messages between the supervisor, the reaper and the monitor of a call.
//!
//! The supervisor sends the reaper one [`LaunchRequest`] with file descriptors; the reaper forks a
//! monitor for it. From then on the supervisor talks to the monitor directly: it sends single bytes
//! ([`MonitorCommand`]) and receives [`Notice`]s of a fixed size. The end of the stream means that
//! the other side has died.

use std::ffi::{OsStr, OsString};
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

use crate::launch::Launch;

/// The control socket, three streams, the Landlock rule set and the notification socket.
const MAX_DESCRIPTORS: usize = 6;
/// The maximum size of a request: more than the arguments and the environment of any program.
const MAX_REQUEST_BYTES: u32 = 16 * 1024 * 1024;

/// A request to start a program.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct LaunchRequest {
    pub(crate) launch: Launch,
    /// The id of the tool call; empty for none.
    pub(crate) call: String,
    /// The folder for the record that the monitor writes after a crash; empty for none.
    pub(crate) records: PathBuf,
    /// Whether the program keeps running after a crash of the supervisor's process.
    pub(crate) survives_crash: bool,
    /// The time between SIGTERM and SIGKILL after a crash, in milliseconds.
    pub(crate) grace_ms: u64,
}

/// A command from the supervisor to a monitor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum MonitorCommand {
    /// Send SIGTERM to all processes, and send [`Notice::Clear`] when none is left.
    Terminate = b'T',
    /// Kill all processes, and send [`Notice::Clear`] when none is left.
    Kill = b'K',
    /// Kill all processes and exit. The supervisor needs no more notices.
    Release = b'R',
}

impl MonitorCommand {
    pub(crate) fn read(byte: u8) -> Option<Self> {
        let all = [Self::Terminate, Self::Kill, Self::Release];
        all.into_iter().find(|command| *command as u8 == byte)
    }
}

/// A report from a monitor to the supervisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Notice {
    /// The monitor has the request; nothing was started yet.
    Taken,
    /// The program runs; its identity can be recorded.
    Started { pid: i32, start_time: u64 },
    /// The program could not be started.
    Failed { errno: i32 },
    /// The program exited. `no_children`: no descendant was left.
    Exited { code: i32, no_children: bool },
    /// A signal ended the program. `no_children`: no descendant was left.
    Signalled { signal: i32, no_children: bool },
    /// The program and all its descendants have ended.
    Clear,
}

/// The size of every notice in bytes.
pub(crate) const NOTICE: usize = 13;

impl Notice {
    pub(crate) fn to_bytes(self) -> [u8; NOTICE] {
        let (tag, number, more) = match self {
            Self::Started { pid, start_time } => (0, pid, start_time),
            Self::Failed { errno } => (1, errno, 0),
            Self::Exited { code, no_children } => (2, code, u64::from(no_children)),
            Self::Signalled { signal, no_children } => (3, signal, u64::from(no_children)),
            Self::Clear => (4, 0, 0),
            Self::Taken => (5, 0, 0),
        };
        let mut bytes = [0; NOTICE];
        bytes[0] = tag;
        bytes[1..5].copy_from_slice(&number.to_le_bytes());
        bytes[5..].copy_from_slice(&more.to_le_bytes());
        bytes
    }

    pub(crate) fn read(bytes: [u8; NOTICE]) -> Option<Self> {
        let [tag, a, b, c, d, more @ ..] = bytes;
        let number = i32::from_le_bytes([a, b, c, d]);
        let more = u64::from_le_bytes(more);
        Some(match tag {
            0 => Self::Started { pid: number, start_time: more },
            1 => Self::Failed { errno: number },
            2 => Self::Exited { code: number, no_children: more != 0 },
            3 => Self::Signalled { signal: number, no_children: more != 0 },
            4 => Self::Clear,
            5 => Self::Taken,
            _ => return None,
        })
    }
}

/// Sends a request with its descriptors.
pub(crate) fn send(
    socket: &UnixStream,
    request: &LaunchRequest,
    descriptors: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let body = request.to_bytes();
    let len = u32::try_from(body.len()).ok().filter(|len| *len <= MAX_REQUEST_BYTES);
    let len = len.ok_or(io::ErrorKind::ArgumentListTooLong)?.to_le_bytes();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut extra = SendAncillaryBuffer::new(&mut space);
    if !extra.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // Four bytes are never sent partially.
    sendmsg(socket, &[IoSlice::new(&len)], &mut extra, SendFlags::NOSIGNAL)?;
    let mut socket = socket;
    // The descriptors went with the length, so the body needs no ancillary data and may be split.
    socket.write_all(&body)
}

/// Waits for a request; `None` when the supervisor has closed the socket.
pub(crate) fn receive(socket: &UnixStream) -> io::Result<Option<(LaunchRequest, Vec<OwnedFd>)>> {
    let mut len = [0; 4];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut extra = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::WAITALL;
    let received = loop {
        match recvmsg(socket.as_fd(), &mut [IoSliceMut::new(&mut len)], &mut extra, flags) {
            Err(rustix::io::Errno::INTR) => {}
            other => break other?,
        }
    };
    // MSG_WAITALL returns fewer than four bytes only at the end of the stream.
    if received.bytes == 0 {
        return Ok(None);
    }
    let mut descriptors = Vec::new();
    for message in extra.drain() {
        if let RecvAncillaryMessage::ScmRights(more) = message {
            descriptors.extend(more);
        }
    }
    let len = u32::from_le_bytes(len);
    if received.bytes != 4 || len > MAX_REQUEST_BYTES {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut body = vec![0; len as usize];
    let mut socket = socket;
    socket.read_exact(&mut body)?;
    let request = LaunchRequest::read(&body).ok_or(io::ErrorKind::InvalidData)?;
    Ok(Some((request, descriptors)))
}

impl LaunchRequest {
    fn to_bytes(&self) -> Vec<u8> {
        let launch = &self.launch;
        let mut out = Writer(Vec::new());
        out.text(launch.program.as_os_str());
        out.list(launch.args.iter().map(OsString::as_os_str));
        out.text(launch.cwd.as_os_str());
        out.list(launch.env.iter().map(|(name, _)| name.as_os_str()));
        out.list(launch.env.iter().map(|(_, value)| value.as_os_str()));
        out.number(u64::from(launch.terminal));
        out.bytes(launch.filter.as_flattened());
        out.number(u64::from(launch.wrapped));
        out.text(OsStr::new(&self.call));
        out.text(self.records.as_os_str());
        out.number(u64::from(self.survives_crash));
        out.number(self.grace_ms);
        out.0
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let mut from = Reader(bytes);
        let program = from.path()?;
        let args = from.list()?;
        let cwd = from.path()?;
        let names = from.list()?;
        let values = from.list()?;
        let terminal = from.number()? != 0;
        let (filter, rest) = from.bytes()?.as_chunks();
        if !rest.is_empty() || names.len() != values.len() {
            return None;
        }
        let filter = filter.to_vec();
        let wrapped = from.number()? != 0;
        let env = names.into_iter().zip(values).collect();
        Some(Self {
            launch: Launch { program, args, cwd, env, terminal, filter, wrapped },
            call: String::from_utf8(from.bytes()?.to_vec()).ok()?,
            records: from.path()?,
            survives_crash: from.number()? != 0,
            grace_ms: from.number()?,
        })
    }
}

struct Writer(Vec<u8>);

impl Writer {
    fn number(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn text(&mut self, text: &OsStr) {
        self.bytes(text.as_bytes());
    }

    fn list<'a>(&mut self, texts: impl ExactSizeIterator<Item = &'a OsStr>) {
        self.number(texts.len() as u64);
        texts.for_each(|text| self.text(text));
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn number(&mut self) -> Option<u64> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*number))
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let len = usize::try_from(self.number()?).ok()?;
        let (bytes, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(bytes)
    }

    fn text(&mut self) -> Option<OsString> {
        Some(OsString::from_vec(self.bytes()?.to_vec()))
    }

    fn path(&mut self) -> Option<PathBuf> {
        Some(Path::new(&self.text()?).to_owned())
    }

    fn list(&mut self) -> Option<Vec<OsString>> {
        // A wrong count cannot allocate much: each text has to be present, and the first missing
        // one ends the loop.
        (0..self.number()?).map(|_| self.text()).collect()
    }
}

#[cfg(test)]
mod tests;
