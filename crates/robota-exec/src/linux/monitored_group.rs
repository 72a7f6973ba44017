//! The supervisor's handle to a program that runs below a monitor.

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

use super::client::ReaperClient;
use super::proc_table;
use super::wire::{LaunchRequest, MonitorCommand, NOTICE, Notice};
use crate::error::ExecError;
use crate::launch::ChildStreams;
use crate::outcome::Exit;

/// A monitor that does not report for this long whether the program started has failed.
const START_TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) struct MonitoredGroup {
    program: PathBuf,
    identity: ProcessIdentity,
    commands: OwnedWriteHalf,
    status: watch::Receiver<MonitorStatus>,
}

/// What the monitor has reported so far.
#[derive(Debug, Clone, Copy, Default)]
struct MonitorStatus {
    taken: bool,
    started: Option<(i32, u64)>,
    failed: Option<i32>,
    exit: Option<Exit>,
    clear: bool,
    /// The connection is closed; no more notices arrive.
    disconnected: bool,
}

/// Why a program was not started, or may not have been started.
pub(crate) enum StartError {
    /// The system did not start the program.
    Spawn(io::Error),
    /// The reaper failed; nothing was started.
    Reaper(io::Error),
    /// The request was not taken: nothing was started, and it can be sent to another reaper.
    NotTaken,
    /// The request was taken, and whether the program ran is unknown.
    Lost(io::Error),
}

impl MonitoredGroup {
    pub(crate) async fn start(
        client: &ReaperClient,
        request: &LaunchRequest,
        streams: &ChildStreams,
    ) -> Result<Self, StartError> {
        let failed = StartError::Reaper;
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().map_err(failed)?;
        ours.set_nonblocking(true).map_err(failed)?;
        let ours = UnixStream::from_std(ours).map_err(failed)?;
        {
            let mut descriptors = vec![
                theirs.as_fd(),
                streams.stdin.as_fd(),
                streams.stdout.as_fd(),
                streams.stderr.as_fd(),
            ];
            // The receiver identifies descriptors by their position, so none is sent without those
            // before it.
            if let Some(ruleset) = &streams.ruleset {
                descriptors.push(ruleset.as_fd());
                descriptors.extend(streams.notify.iter().map(|notify| notify.as_fd()));
            }
            client.send(request, &descriptors).map_err(failed)?;
        }
        // The monitor has a copy. If this one stayed open, the death of the monitor would not be seen.
        drop(theirs);
        let (notices, commands) = ours.into_split();
        let (updates, mut status) = watch::channel(MonitorStatus::default());
        tokio::spawn(listen(notices, updates));
        let answered = |status: &MonitorStatus| {
            status.started.is_some() || status.failed.is_some() || status.disconnected
        };
        let first = match timeout(START_TIMEOUT, status.wait_for(answered)).await {
            Ok(Ok(status)) => *status,
            Ok(Err(_)) => MonitorStatus { disconnected: true, ..MonitorStatus::default() },
            Err(_) => return Err(StartError::Lost(io::ErrorKind::TimedOut.into())),
        };
        match first {
            MonitorStatus { started: Some((pid, start_time)), .. } => {
                let identity = ProcessIdentity {
                    pid: u32::try_from(pid).unwrap_or_default(),
                    start_time,
                    boot_id: proc_table::boot_id().to_owned(),
                };
                Ok(Self { program: request.launch.program.clone(), identity, commands, status })
            }
            MonitorStatus { failed: Some(errno), .. } => {
                Err(StartError::Spawn(io::Error::from_raw_os_error(errno)))
            }
            MonitorStatus { taken: false, .. } => Err(StartError::NotTaken),
            _ => Err(StartError::Lost(io::Error::other("its monitor process ended"))),
        }
    }

    pub(crate) fn identity(&self) -> &ProcessIdentity {
        &self.identity
    }

    /// Resolves when the program has exited.
    pub(crate) fn leader_exited(&self) -> impl Future<Output = ()> + use<> {
        self.wait_until(|status| status.exit.is_some() || status.disconnected)
    }

    /// Resolves when the program and all its descendants have ended.
    pub(crate) fn cleared(&self) -> impl Future<Output = ()> + use<> {
        self.wait_until(|status| status.clear || status.disconnected)
    }

    fn wait_until<C: Fn(&MonitorStatus) -> bool>(
        &self,
        condition: C,
    ) -> impl Future<Output = ()> + use<C> {
        let mut status = self.status.clone();
        async move {
            // `listen` sets `disconnected` before it drops the sender, so this cannot fail early.
            let _ = status.wait_for(|status| condition(status)).await;
        }
    }

    pub(crate) fn terminate(&self) {
        self.send(MonitorCommand::Terminate);
    }

    pub(crate) fn kill(&self) {
        if !self.status.borrow().clear {
            self.send(MonitorCommand::Kill);
        }
    }

    /// Returns how the program ended. To be called after it has exited.
    pub(crate) fn reap(&self) -> Result<Exit, ExecError> {
        self.status.borrow().exit.ok_or_else(|| ExecError::Wait {
            program: self.program.clone(),
            source: io::Error::other("its monitor process ended"),
        })
    }

    fn send(&self, command: MonitorCommand) {
        // The few bytes that are ever sent always fit into the socket buffer. A failure means that
        // the monitor has ended.
        let _ = self.commands.try_write(&[command as u8]);
    }
}

impl Drop for MonitoredGroup {
    fn drop(&mut self) {
        // Without this command the monitor would treat the closed socket as a crash and write a
        // record. It ends the processes that are left.
        self.send(MonitorCommand::Release);
    }
}

/// Reads the notices of the monitor until the connection is closed.
async fn listen(mut notices: OwnedReadHalf, updates: watch::Sender<MonitorStatus>) {
    let mut bytes = [0; NOTICE];
    while notices.read_exact(&mut bytes).await.is_ok() {
        let Some(notice) = Notice::read(bytes) else { break };
        updates.send_modify(|status| match notice {
            Notice::Taken => status.taken = true,
            Notice::Started { pid, start_time } => status.started = Some((pid, start_time)),
            Notice::Failed { errno } => status.failed = Some(errno),
            Notice::Exited { code, no_children } => {
                status.exit = Some(Exit::Code(code));
                status.clear |= no_children;
            }
            Notice::Signalled { signal, no_children } => {
                status.exit = Some(Exit::Signal(signal));
                status.clear |= no_children;
            }
            Notice::Clear => status.clear = true,
        });
    }
    updates.send_modify(|status| status.disconnected = true);
}
