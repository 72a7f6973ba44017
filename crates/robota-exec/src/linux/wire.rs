//! What is said between us, the reaper and the nanny of a call.
//!
//! We ask the reaper for a nanny with one [`Order`] and the descriptors that go with it. From
//! then on we talk to the nanny alone: it is told single bytes ([`Word`]) and says [`Notice`]s of
//! a fixed size. The end of that stream says that the other side is dead.

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

/// Control, three streams, a rule set, and who is asked.
const MOST_DESCRIPTORS: usize = 6;
/// More than the arguments and the environment of any program.
const LONGEST: u32 = 16 * 1024 * 1024;

/// A program to start and what is to be known of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Order {
    pub(crate) launch: Launch,
    /// Whose call it is.
    pub(crate) call: String,
    /// Where its end is written down should we die; nowhere, if empty.
    pub(crate) records: PathBuf,
    /// Whether it goes on when we die.
    pub(crate) lives_on: bool,
    /// The time between TERM and KILL when we die.
    pub(crate) grace_ms: u64,
}

/// What a nanny is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Word {
    /// Ask everything to end.
    Ask = b'T',
    /// End everything now, and say when nothing is left.
    Kill = b'K',
    /// All is known: go.
    Release = b'R',
}

impl Word {
    pub(crate) fn read(byte: u8) -> Option<Self> {
        [Self::Ask, Self::Kill, Self::Release].into_iter().find(|word| *word as u8 == byte)
    }
}

/// What a nanny says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Notice {
    /// The order has arrived; nothing was started yet.
    Taken,
    /// The program runs.
    Started { pid: i32, start_time: u64 },
    /// It could not be started.
    Failed { errno: i32 },
    /// It ended by itself with a code.
    Exited { code: i32, alone: bool },
    /// A signal ended it.
    Signalled { signal: i32, alone: bool },
    /// Nothing is left of it and of what it started.
    Clear,
}

/// The size of every notice.
pub(crate) const NOTICE: usize = 13;

impl Notice {
    pub(crate) fn to_bytes(self) -> [u8; NOTICE] {
        let (tag, number, more) = match self {
            Self::Started { pid, start_time } => (0, pid, start_time),
            Self::Failed { errno } => (1, errno, 0),
            Self::Exited { code, alone } => (2, code, u64::from(alone)),
            Self::Signalled { signal, alone } => (3, signal, u64::from(alone)),
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
            2 => Self::Exited { code: number, alone: more != 0 },
            3 => Self::Signalled { signal: number, alone: more != 0 },
            4 => Self::Clear,
            5 => Self::Taken,
            _ => return None,
        })
    }
}

/// Sends an order with its descriptors.
pub(crate) fn send(
    socket: &UnixStream,
    order: &Order,
    descriptors: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let body = order.to_bytes();
    let len = u32::try_from(body.len()).ok().filter(|len| *len <= LONGEST);
    let len = len.ok_or(io::ErrorKind::ArgumentListTooLong)?.to_le_bytes();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
    let mut extra = SendAncillaryBuffer::new(&mut space);
    if !extra.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // Four bytes go whole or not at all.
    sendmsg(socket, &[IoSlice::new(&len)], &mut extra, SendFlags::NOSIGNAL)?;
    let mut socket = socket;
    socket.write_all(&body)
}

/// Waits for an order; `None` when nobody is left to send one.
pub(crate) fn receive(socket: &UnixStream) -> io::Result<Option<(Order, Vec<OwnedFd>)>> {
    let mut len = [0; 4];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
    let mut extra = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::WAITALL;
    let got = loop {
        match recvmsg(socket.as_fd(), &mut [IoSliceMut::new(&mut len)], &mut extra, flags) {
            Err(rustix::io::Errno::INTR) => {}
            other => break other?,
        }
    };
    if got.bytes == 0 {
        return Ok(None);
    }
    let mut descriptors = Vec::new();
    for message in extra.drain() {
        if let RecvAncillaryMessage::ScmRights(more) = message {
            descriptors.extend(more);
        }
    }
    let len = u32::from_le_bytes(len);
    if got.bytes != 4 || len > LONGEST {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut body = vec![0; len as usize];
    let mut socket = socket;
    socket.read_exact(&mut body)?;
    let order = Order::read(&body).ok_or(io::ErrorKind::InvalidData)?;
    Ok(Some((order, descriptors)))
}

impl Order {
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
        out.text(OsStr::new(&self.call));
        out.text(self.records.as_os_str());
        out.number(u64::from(self.lives_on));
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
        let env = names.into_iter().zip(values).collect();
        Some(Self {
            launch: Launch { program, args, cwd, env, terminal, filter },
            call: String::from_utf8(from.bytes()?.to_vec()).ok()?,
            records: from.path()?,
            lives_on: from.number()? != 0,
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
        (0..self.number()?).map(|_| self.text()).collect()
    }
}

#[cfg(test)]
mod tests;
