//! One child from start to end, on systems with process groups.

mod direct;
mod group;
mod pump;
mod terminal;

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::AsyncWriteExt as _;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::capture::HeadTail;
use crate::clean::Clean;
use crate::error::ExecError;
use crate::outcome::{Exit, Outcome};
use crate::running::Link;
use crate::spec::{CommandSpec, Stdin};
pub(crate) use group::Client;
use group::Group;
use pump::Pump;

/// How long a process that was sent KILL may take to die. Longer happens only to one that
/// sleeps in the kernel (a dead network disk); the call must not hang with it.
const KILL_WAIT: Duration = Duration::from_secs(5);

/// Starts the program, reads its output, and returns when neither it nor anything it started is
/// left (without a reaper: nor anything of its group).
pub(crate) async fn supervise(
    spec: CommandSpec,
    reaper: Option<Arc<Client>>,
    unwanted: impl Future<Output = ()>,
    link: Link,
) -> Result<Outcome, ExecError> {
    let started = Instant::now();
    let (mut group, pipes) = Group::spawn(&spec, reaper.as_ref()).await?;
    let process = group.identity().cloned();
    if let Some(process) = &process {
        spec.watch.started(process.clone());
    }
    if let Some(tell) = link.started {
        // Who asked may have gone away.
        let _ = tell.send(process.clone());
    }
    #[cfg(target_os = "linux")]
    let denials = crate::sandbox::notify::Denials::listen(pipes.notices.as_ref());
    let spill = spec.spill.clone();
    let pump = |pipe, spill| {
        let clean = spec.clean.as_ref().map(Clean::new);
        Pump::new(pipe, HeadTail::new(spec.limits, spill), clean, spec.sink.clone())
    };
    let mut stdout = pump(pipes.stdout, spill.clone());
    let mut stderr = pump(pipes.stderr, spill);

    // Not awaited: a child need not read what it is given. Ends with this set.
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

    let ended_by_us = {
        let mut pumps = pin!(async { tokio::join!(stdout.run(), stderr.run()) });
        let mut leader = group.leader_exited();
        let mut unwanted = pin!(unwanted);
        let mut deadline = pin!(sleep_or_never(spec.timeout));
        let (mut exited, mut drained) = (false, false);

        let ended_by_us = loop {
            tokio::select! {
                biased;
                () = &mut leader => { exited = true; break None }
                () = &mut unwanted => break Some(Exit::Cancelled),
                () = &mut deadline => break Some(Exit::TimedOut),
                _ = &mut pumps, if !drained => drained = true,
            }
        };

        // The polite part. Who was asked to end has `grace` for it, the whole group; who was
        // merely left behind (`cmd > >(tee log)`) has `drain` to finish what it writes.
        let patience = if ended_by_us.is_some() {
            group.ask();
            spec.grace
        } else {
            spec.drain
        };
        let mut patience = pin!(sleep(patience));
        while !(exited && drained) {
            tokio::select! {
                biased;
                () = &mut leader, if !exited => exited = true,
                _ = &mut pumps, if !drained => drained = true,
                () = &mut patience => break,
            }
        }

        group.kill();
        if !exited {
            exited = timeout(KILL_WAIT, &mut leader).await.is_ok();
        }
        // What only a nanny can know: nobody got away.
        let _ = timeout(KILL_WAIT, group.cleared()).await;
        if exited && !drained {
            let _ = timeout(spec.drain, &mut pumps).await;
        }
        ended_by_us
    };

    // What the child wrote before it ended lies in the pipe, whoever else holds the pipe open.
    stdout.take_what_is_there();
    stderr.take_what_is_there();
    let left_open = stdout.is_open() || stderr.is_open();

    let exit = match ended_by_us {
        // How it died is our own doing.
        Some(exit) => {
            group.try_reap();
            exit
        }
        None => group.reap()?,
    };
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

async fn sleep_or_never(time: Option<Duration>) {
    match time {
        Some(time) => sleep(time).await,
        None => std::future::pending().await,
    }
}
