//! Supervises one child from start to end, on systems with process groups.

mod direct_group;
mod process_group;
mod pump;
mod terminal;

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::AsyncWriteExt as _;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::capture::HeadTail;
use crate::error::ExecError;
use crate::outcome::{Exit, Outcome};
use crate::redacting_decoder::RedactingDecoder;
use crate::running::BackgroundLink;
use crate::spec::{CommandSpec, OutputSink, Stdin};
pub(crate) use process_group::ReaperClient;
use process_group::{BoxedFuture, ProcessGroup};
use pump::Pump;

/// How long the supervisor waits for a process to die after SIGKILL. Only a process that sleeps in
/// the kernel (a network disk that does not answer) takes longer; the call must not wait for it.
const KILL_WAIT: Duration = Duration::from_secs(5);

/// Starts the program, reads its output, and returns when the program and all its descendants have
/// ended (without a reaper: all processes of its group).
pub(crate) async fn supervise(
    spec: CommandSpec,
    reaper: Option<Arc<ReaperClient>>,
    cancelled: impl Future<Output = ()>,
    link: BackgroundLink,
) -> Result<Outcome, ExecError> {
    let started = Instant::now();
    let (mut group, pipes) = ProcessGroup::spawn(&spec, reaper.as_ref()).await?;
    let process = group.identity().cloned();
    if let Some(process) = &process {
        spec.watch.started(process.clone());
    }
    if let Some(started) = link.started {
        // Fails only if the caller no longer waits.
        let _ = started.send(process.clone());
    }
    #[cfg(target_os = "linux")]
    let denials = crate::sandbox::denials::Denials::listen(pipes.denials.as_ref());
    let spill = spec.spill.clone();
    let pump = |pipe, spill, sink: &Option<OutputSink>| {
        let decoder = spec.redactor.as_ref().map(RedactingDecoder::new);
        Pump::new(pipe, HeadTail::new(spec.limits, spill), decoder, sink.clone())
    };
    let stderr_sink = if spec.stderr_sink.is_some() { &spec.stderr_sink } else { &spec.sink };
    let mut stdout = pump(pipes.stdout, spill.clone(), &spec.sink);
    let mut stderr = pump(pipes.stderr, spill, stderr_sink);

    // Not awaited, because a child may never read its input. Dropping the set ends the task.
    let mut feeder = JoinSet::new();
    match (pipes.stdin, spec.stdin) {
        (Some(mut pipe), Stdin::Bytes(bytes)) => {
            feeder.spawn(async move { pipe.write_all(&bytes).await });
        }
        (Some(mut pipe), Stdin::Open) => {
            let mut input = link.input;
            feeder.spawn(async move {
                while let Some(bytes) = input.recv().await {
                    pipe.write_all(&bytes).await?;
                }
                Ok(())
            });
        }
        (None, _) | (Some(_), Stdin::Closed) => {}
    }

    let exit = {
        let mut pumps = pin!(async { tokio::join!(stdout.run(), stderr.run()) });
        let mut leader = group.leader_exited();
        let mut cancelled = pin!(cancelled);
        let mut deadline = pin!(until_time_limit(spec.timeout, link.no_time_limit));
        let (mut exited, mut drained) = (false, false);

        let ended_by_supervisor = loop {
            tokio::select! {
                biased;
                () = &mut leader => { exited = true; break None }
                () = &mut cancelled => break Some(Exit::Cancelled),
                () = &mut deadline => break Some(Exit::TimedOut),
                _ = &mut pumps, if !drained => drained = true,
            }
        };

        // After SIGTERM the whole group has `grace` to end, even if its leader ends first. If the
        // leader ended without a signal, processes that it left behind (`cmd > >(tee log)`) have
        // `drain` to finish their output.
        let (mut ended, wait) = match ended_by_supervisor {
            Some(_) => (group.terminate(), spec.grace),
            None => (Box::pin(std::future::ready(())) as BoxedFuture, spec.drain),
        };
        let mut group_ended = false;
        let mut wait = pin!(sleep(wait));
        while !(group_ended && drained) {
            tokio::select! {
                biased;
                () = &mut ended, if !group_ended => group_ended = true,
                _ = &mut pumps, if !drained => drained = true,
                () = &mut wait => break,
            }
        }

        group.kill();
        if !exited {
            // Limited: a process that sleeps in the kernel does not die, and the caller must not
            // wait for it.
            exited = timeout(KILL_WAIT, &mut leader).await.is_ok();
        }
        let exit = match ended_by_supervisor {
            // Its exit status only shows the signals that the supervisor sent.
            Some(exit) => {
                group.try_reap();
                exit
            }
            None => group.reap()?,
        };
        let _ = timeout(KILL_WAIT, group.cleared()).await;
        if exited && !drained {
            let _ = timeout(spec.drain, &mut pumps).await;
        }
        exit
    };

    // Output that the child wrote before it ended may still be in the pipe, also if another process
    // holds the pipe open.
    stdout.drain_available();
    stderr.drain_available();
    let left_open = stdout.is_open() || stderr.is_open();

    Ok(Outcome {
        exit,
        duration: started.elapsed(),
        stdout: stdout.finish(),
        stderr: stderr.finish(),
        left_open,
        process,
        #[cfg(target_os = "linux")]
        denied: denials.take(),
        #[cfg(not(target_os = "linux"))]
        denied: Vec::new(),
    })
}

/// Waits until the time limit is reached; without end if there is none, or it was lifted before.
async fn until_time_limit(limit: Option<Duration>, lifted: CancellationToken) {
    if let Some(limit) = limit {
        tokio::select! {
            () = sleep(limit) => return,
            () = lifted.cancelled() => {}
        }
    }
    std::future::pending::<()>().await;
}
