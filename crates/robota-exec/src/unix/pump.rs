//! Reads one pipe into bounded memory.

use std::fs::File;
use std::io::{ErrorKind, Read as _};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use tokio::io::AsyncReadExt as _;
use tokio::process::ChildStdout;

use crate::capture::{Captured, HeadTail};
use crate::clean::Clean;
use crate::spec::OutputSink;

const CHUNK: usize = 64 * 1024;

/// More than any pipe holds unless root made it larger; bounds the last reading of a pipe into
/// which somebody keeps writing.
const LAST_READ: usize = 2 * 1024 * 1024;

pub(super) struct Pump {
    source: Option<ChildStdout>,
    kept: Kept,
}

/// Where every byte goes that was read.
struct Kept {
    ends: HeadTail,
    clean: Option<Clean>,
    sink: Option<OutputSink>,
}

impl Kept {
    fn push(&mut self, bytes: &[u8]) {
        match &mut self.clean {
            Some(clean) => {
                let text = clean.push(bytes);
                self.show(text.as_bytes());
            }
            None => self.show(bytes),
        }
    }

    fn show(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        self.ends.push(bytes);
        if let Some(sink) = &self.sink {
            sink.show(bytes);
        }
    }

    fn finish(mut self) -> Captured {
        if let Some(clean) = &mut self.clean {
            let rest = clean.finish();
            self.show(rest.as_bytes());
        }
        self.ends.finish()
    }
}

impl Pump {
    pub(super) fn new(
        source: Option<ChildStdout>,
        ends: HeadTail,
        clean: Option<Clean>,
        sink: Option<OutputSink>,
    ) -> Self {
        Self { source, kept: Kept { ends, clean, sink } }
    }

    /// Reads to the end. Dropping the future loses nothing that was read.
    pub(super) async fn run(&mut self) {
        let Some(source) = &mut self.source else { return };
        let mut chunk = vec![0; CHUNK];
        // A pipe that fails has no more to say than one that ended.
        while let Ok(read @ 1..) = source.read(&mut chunk).await {
            self.kept.push(&chunk[..read]);
        }
        self.source = None;
    }

    /// Reads what lies in the pipe now, without waiting for more.
    pub(super) fn take_what_is_there(&mut self) {
        let Some(source) = self.source.take() else { return };
        let Ok(fd) = source.into_owned_fd() else { return };
        let nonblocking =
            fcntl_getfl(&fd).and_then(|flags| fcntl_setfl(&fd, flags | OFlags::NONBLOCK));
        if nonblocking.is_err() {
            return;
        }
        let mut pipe = File::from(fd);
        let mut chunk = vec![0; CHUNK];
        let mut taken = 0;
        while taken < LAST_READ {
            match pipe.read(&mut chunk) {
                Ok(0) => return,
                Ok(read) => {
                    self.kept.push(&chunk[..read]);
                    taken += read;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        self.source = ChildStdout::from_std(std::os::fd::OwnedFd::from(pipe).into()).ok();
    }

    /// Whether somebody can still write to it.
    pub(super) fn is_open(&self) -> bool {
        self.source.is_some()
    }

    pub(super) fn finish(self) -> Captured {
        self.kept.finish()
    }
}
