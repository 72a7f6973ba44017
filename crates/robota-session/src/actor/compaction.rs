//! A compaction that somebody asked for, beside any turn.

use std::sync::Arc;

use robota_core::compact::{Compaction, CompactionRequest, Compactor};
use robota_core::driver::{Command, DriveConfig, Recorder};
use robota_core::error::{ErrorData, ErrorKind};
use robota_core::event::{
    CompactionFailed, CompactionFinished, CompactionStarted, CompactionTrigger, ContextMeasured,
    PrefixChange, PrefixChanged,
};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::Reply;
use crate::error::SessionError;

/// Summarises now. The recorder comes back when it is over.
pub(super) async fn run(
    mut recorder: Recorder,
    mut commands: mpsc::Receiver<Command>,
    compactor: Option<Arc<dyn Compactor>>,
    config: DriveConfig,
    reply: Reply<()>,
) -> Recorder {
    let result = summarise(&mut recorder, &mut commands, compactor, &config).await;
    // What was asked meanwhile is answered: whoever asked would wait for ever.
    commands.close();
    while let Some(command) = commands.recv().await {
        hear(&mut recorder, command).await;
    }
    let _ = reply.send(result);
    recorder
}

async fn summarise(
    recorder: &mut Recorder,
    commands: &mut mpsc::Receiver<Command>,
    compactor: Option<Arc<dyn Compactor>>,
    config: &DriveConfig,
) -> Result<(), SessionError> {
    let window = config.turn.context_window;
    let before = recorder.state().context(window);
    let trigger = CompactionTrigger::Manual;
    recorder.append(None, vec![CompactionStarted { trigger, before }.into()]).await?;
    let request = CompactionRequest {
        view: recorder.state().view.messages.clone(),
        system: config.system.clone(),
        trigger,
        instructions: config.compact_instructions.clone(),
        before,
    };
    let mut result = work(recorder, commands, compactor, request).await;
    if let Err(error) = &mut result {
        config.redactor.error(error);
    }
    match result {
        Ok(Compaction { summary, keep_from }) => {
            let finished = CompactionFinished { summary, keep_from };
            let changed = PrefixChanged { cause: PrefixChange::Compaction };
            recorder.append(None, vec![finished.into(), changed.into()]).await?;
            let estimate = recorder.state().context(window);
            recorder.append(None, vec![ContextMeasured { estimate }.into()]).await?;
            Ok(())
        }
        Err(error) => {
            recorder.append(None, vec![CompactionFailed { error: error.clone() }.into()]).await?;
            Err(SessionError::Compaction(error))
        }
    }
}

/// The compactor in a task of its own, so that its panic is its own too; commands meanwhile.
async fn work(
    recorder: &mut Recorder,
    commands: &mut mpsc::Receiver<Command>,
    compactor: Option<Arc<dyn Compactor>>,
    request: CompactionRequest,
) -> Result<Compaction, ErrorData> {
    let Some(compactor) = compactor else {
        let text = "compaction is unavailable: no compactor is configured";
        return Err(ErrorData::new(ErrorKind::Configuration, text));
    };
    let mut task = JoinSet::new();
    task.spawn(async move { compactor.compact(request).await });
    loop {
        tokio::select! {
            biased;
            Some(command) = commands.recv() => {
                if hear(recorder, command).await {
                    let text = "it was interrupted";
                    return Err(ErrorData::new(ErrorKind::Validation, text));
                }
            }
            joined = task.join_next() => {
                let panicked = || ErrorData::new(ErrorKind::Plugin, "the compactor panicked");
                return match joined {
                    Some(Ok(result)) => result,
                    Some(Err(_)) | None => Err(panicked()),
                };
            }
        }
    }
}

/// What is asked of whoever has the recorder; says whether it is to stop.
async fn hear(recorder: &mut Recorder, command: Command) -> bool {
    match command {
        Command::Abort { .. } => return true,
        // It is safe, and begins the next turn.
        Command::Send { .. } => {}
        Command::Append { events, done } => {
            let _ = done.send(recorder.append(None, events).await);
        }
        Command::Inspect(look) => look(recorder.state()),
    }
    false
}
