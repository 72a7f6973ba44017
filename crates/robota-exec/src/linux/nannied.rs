//! A program below a nanny, seen from here.

use std::io;
use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::time::Duration;

use robota_core::process::ProcessIdentity;
use tokio::io::AsyncReadExt as _;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::watch;
use tokio::time::timeout;

use super::client::Client;
use super::table;
use super::wire::{NOTICE, Notice, Order, Word};
use crate::error::ExecError;
use crate::launch::Streams;
use crate::outcome::Exit;

/// A nanny that has not said for so long whether the program runs has failed.
const START: Duration = Duration::from_secs(10);

pub(crate) struct Nannied {
    program: PathBuf,
    identity: ProcessIdentity,
    to: OwnedWriteHalf,
    known: watch::Receiver<Known>,
}

/// What its nanny has said so far.
#[derive(Debug, Clone, Copy, Default)]
struct Known {
    taken: bool,
    started: Option<(i32, u64)>,
    failed: Option<i32>,
    exit: Option<Exit>,
    clear: bool,
    /// It will say no more.
    gone: bool,
}

/// Why there is no program.
pub(crate) enum NotStarted {
    /// The system said no to the program.
    Refused(io::Error),
    /// The reaper failed; nothing was started.
    Reaper(io::Error),
    /// Nobody took the order: nothing was started, and another reaper may take it.
    NotTaken,
    /// It was taken, and whether the program ran is not known.
    Lost(io::Error),
}

impl Nannied {
    pub(crate) async fn start(
        client: &Client,
        order: &Order,
        streams: &Streams,
    ) -> Result<Self, NotStarted> {
        let lost = NotStarted::Reaper;
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().map_err(lost)?;
        ours.set_nonblocking(true).map_err(lost)?;
        let ours = UnixStream::from_std(ours).map_err(lost)?;
        {
            let mut descriptors = vec![
                theirs.as_fd(),
                streams.stdin.as_fd(),
                streams.stdout.as_fd(),
                streams.stderr.as_fd(),
            ];
            // Both or none.
            if let (Some(ruleset), Some(notify)) = (&streams.ruleset, &streams.notify) {
                descriptors.extend([ruleset.as_fd(), notify.as_fd()]);
            }
            client.order(order, &descriptors).map_err(lost)?;
        }
        // The other side has a copy; ours would hide its death.
        drop(theirs);
        let (from, to) = ours.into_split();
        let (say, mut known) = watch::channel(Known::default());
        tokio::spawn(listen(from, say));
        let answered =
            |known: &Known| known.started.is_some() || known.failed.is_some() || known.gone;
        let first = match timeout(START, known.wait_for(answered)).await {
            Ok(Ok(known)) => *known,
            Ok(Err(_)) => Known { gone: true, ..Known::default() },
            Err(_) => return Err(NotStarted::Lost(io::ErrorKind::TimedOut.into())),
        };
        match first {
            Known { started: Some((pid, start_time)), .. } => {
                let identity = ProcessIdentity {
                    pid: u32::try_from(pid).unwrap_or_default(),
                    start_time,
                    boot_id: table::boot_id().to_owned(),
                };
                Ok(Self { program: order.launch.program.clone(), identity, to, known })
            }
            Known { failed: Some(errno), .. } => {
                Err(NotStarted::Refused(io::Error::from_raw_os_error(errno)))
            }
            Known { taken: false, .. } => Err(NotStarted::NotTaken),
            _ => Err(NotStarted::Lost(io::Error::other("the process that starts it was ended"))),
        }
    }

    pub(crate) fn identity(&self) -> &ProcessIdentity {
        &self.identity
    }

    /// Resolves when the program has ended.
    pub(crate) fn leader_exited(&self) -> impl Future<Output = ()> + use<> {
        self.until(|known| known.exit.is_some() || known.gone)
    }

    /// Resolves when nothing is left.
    pub(crate) fn cleared(&self) -> impl Future<Output = ()> + use<> {
        self.until(|known| known.clear || known.gone)
    }

    fn until<W: Fn(&Known) -> bool>(&self, what: W) -> impl Future<Output = ()> + use<W> {
        let mut known = self.known.clone();
        async move {
            // Who listens is gone only after it said so.
            let _ = known.wait_for(|known| what(known)).await;
        }
    }

    pub(crate) fn ask(&self) {
        self.tell(Word::Ask);
    }

    pub(crate) fn kill(&self) {
        if !self.known.borrow().clear {
            self.tell(Word::Kill);
        }
    }

    /// How the program ended. To be called when it has.
    pub(crate) fn reap(&self) -> Result<Exit, ExecError> {
        self.known.borrow().exit.ok_or_else(|| ExecError::Wait {
            program: self.program.clone(),
            source: io::Error::other("the process that watched it was ended"),
        })
    }

    fn tell(&self, word: Word) {
        // The few bytes we ever say always fit; a nanny that is gone needs no telling.
        let _ = self.to.try_write(&[word as u8]);
    }
}

impl Drop for Nannied {
    fn drop(&mut self) {
        // Without this word it would think we died. It ends what is left by itself.
        self.tell(Word::Release);
    }
}

async fn listen(mut from: OwnedReadHalf, say: watch::Sender<Known>) {
    let mut bytes = [0; NOTICE];
    while from.read_exact(&mut bytes).await.is_ok() {
        let Some(notice) = Notice::read(bytes) else { break };
        say.send_modify(|known| match notice {
            Notice::Taken => known.taken = true,
            Notice::Started { pid, start_time } => known.started = Some((pid, start_time)),
            Notice::Failed { errno } => known.failed = Some(errno),
            Notice::Exited { code, alone } => {
                known.exit = Some(Exit::Code(code));
                known.clear |= alone;
            }
            Notice::Signalled { signal, alone } => {
                known.exit = Some(Exit::Signal(signal));
                known.clear |= alone;
            }
            Notice::Clear => known.clear = true,
        });
    }
    say.send_modify(|known| known.gone = true);
}
