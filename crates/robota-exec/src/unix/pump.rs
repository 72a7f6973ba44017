//! Reads one output pipe with bounded memory.

use std::fs::File;
use std::io::{ErrorKind, Read as _};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use tokio::io::AsyncReadExt as _;
use tokio::process::ChildStdout;

use crate::capture::{Captured, HeadTail};
use crate::redacting_decoder::RedactingDecoder;
use crate::spec::OutputSink;

const CHUNK: usize = 64 * 1024;

/// The most that [`Pump::drain_available`] reads: more than a pipe holds, unless root made it
/// larger. The limit is needed because another process may keep writing into the pipe.
const MAX_DRAIN: usize = 2 * 1024 * 1024;

pub(super) struct Pump {
    source: Option<ChildStdout>,
    output: Output,
}

/// Decodes the bytes that were read, captures them and passes them to the sink.
struct Output {
    ends: HeadTail,
    decoder: Option<RedactingDecoder>,
    sink: Option<OutputSink>,
}

impl Output {
    fn push(&mut self, bytes: &[u8]) {
        match &mut self.decoder {
            Some(decoder) => {
                let text = decoder.push(bytes);
                self.emit(text.as_bytes());
            }
            None => self.emit(bytes),
        }
    }

    fn emit(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        self.ends.push(bytes);
        if let Some(sink) = &self.sink {
            sink.write(bytes);
        }
    }

    fn finish(mut self) -> Captured {
        if let Some(decoder) = &mut self.decoder {
            let rest = decoder.finish();
            self.emit(rest.as_bytes());
        }
        self.ends.finish()
    }
}

impl Pump {
    pub(super) fn new(
        source: Option<ChildStdout>,
        ends: HeadTail,
        decoder: Option<RedactingDecoder>,
        sink: Option<OutputSink>,
    ) -> Self {
        Self { source, output: Output { ends, decoder, sink } }
    }

    /// Reads to the end of the pipe. No byte that was read is lost if the future is dropped.
    pub(super) async fn run(&mut self) {
        let Some(source) = &mut self.source else { return };
        // As large as a pipe of the default size, so one read empties it.
        let mut chunk = vec![0; CHUNK];
        // A read error is treated as the end of the pipe.
        while let Ok(read @ 1..) = source.read(&mut chunk).await {
            self.output.push(&chunk[..read]);
        }
        self.source = None;
    }

    /// Reads the bytes that are in the pipe now, without waiting for more.
    pub(super) fn drain_available(&mut self) {
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
        while taken < MAX_DRAIN {
            match pipe.read(&mut chunk) {
                Ok(0) => return,
                Ok(read) => {
                    self.output.push(&chunk[..read]);
                    taken += read;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        // Still open, so `is_open` reports the writer that is left.
        self.source = ChildStdout::from_std(std::os::fd::OwnedFd::from(pipe).into()).ok();
    }

    /// Returns whether a process still holds the writing end open.
    pub(super) fn is_open(&self) -> bool {
        self.source.is_some()
    }

    pub(super) fn finish(self) -> Captured {
        self.output.finish()
    }
}
