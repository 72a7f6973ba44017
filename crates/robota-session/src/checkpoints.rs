//! Restores checkpoints: of a session that is open, and of one that is only stored.

use std::path::Path;
use std::sync::Arc;

use robota_core::blob::Blobs;
use robota_core::checkpoint::{
    FileDelta, MAX_CHANGES, NotSaved, PathState, PlannedFile, RestoreFiles, RestoreStep,
    VERSION_CONTROL,
};
use robota_core::clock::Clock;
use robota_core::driver::Recorder;
use robota_core::event::{
    Event, FilesChanged, NotRestored, PrefixChange, PrefixChanged, RestoreFinished, RestoreStarted,
    RewindCause, Rewound, ViewChange, ViewRestored,
};
use robota_core::guard::guarded_async;
use robota_core::ids::{CallId, Ids, SessionId};
use robota_core::journal::{JournalStore, for_each_without_chunks};
use robota_core::permission::Class;
use robota_core::project::{ChangeKind, Checkpoint, CheckpointKind, CheckpointLog};
use robota_core::state::{CallStage, State};
use serde::Serialize;

use crate::error::SessionError;
use crate::open::load_state;
use crate::stored::open_stored;

/// What a restore returns to its earlier state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum RestoreScope {
    /// The files; the conversation stays as it is.
    Code,
    /// The conversation that the model sees; the files stay as they are.
    Conversation,
    /// The files and the conversation; this is the default.
    #[default]
    Both,
}

/// Selects what a restore brings back, and whether it overwrites later changes of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RestoreOptions {
    /// Whether files, conversation or both are restored.
    pub scope: RestoreScope,
    /// Whether files are overwritten that something else than the session changed.
    pub overwrite: bool,
}

/// What a restore of a checkpoint would do.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RestorePreview {
    /// The checkpoint to which a restore would return.
    pub checkpoint: Checkpoint,
    /// The files that differ from the checkpoint.
    pub files: Vec<FilePreview>,
    /// How many messages leave the conversation; none if that part cannot be restored.
    pub messages_removed: Option<u64>,
}

/// What a restore would do with a file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FilePreview {
    /// The absolute path of the file.
    pub path: String,
    /// What happened to it since the checkpoint.
    pub change: ChangeKind,
    /// Why it would not be restored; none if it would.
    pub problem: Option<String>,
    /// The diff that a restore applies; none if one side is not text.
    pub diff: Option<String>,
}

/// What a restore did, and how to undo it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RestoreReport {
    /// The checkpoint to which the session returned.
    pub checkpoint: Checkpoint,
    /// The id of the checkpoint of the state before the restore: restoring it undoes this restore.
    /// None if there was nothing to restore.
    pub undo: Option<String>,
    /// The absolute paths of the files that were changed.
    pub restored: Vec<String>,
    /// The paths that were not restored, and why.
    pub not_restored: Vec<NotRestored>,
    /// Whether the conversation was restored, too.
    pub conversation: bool,
}

/// Whose files a restore may change, and how.
pub(crate) struct Workspace<'a> {
    pub(crate) files: &'a dyn RestoreFiles,
    pub(crate) blobs: &'a dyn Blobs,
    /// The folder outside of which nothing is changed.
    pub(crate) root: &'a Path,
}

/// Returns the checkpoints of a stored session, oldest first.
///
/// # Errors
/// If the journal cannot be read.
pub async fn checkpoints(
    store: &dyn JournalStore,
    session: &SessionId,
) -> Result<Vec<Checkpoint>, SessionError> {
    Ok(read_log(store, session).await?.list())
}

/// Returns what a restore of a checkpoint of a stored session would do in the folder `root`.
///
/// # Errors
/// If there is no such checkpoint, or the journal cannot be read.
pub async fn preview_restore(
    store: &dyn JournalStore,
    session: &SessionId,
    checkpoint: &str,
    files: &dyn RestoreFiles,
    root: &Path,
) -> Result<RestorePreview, SessionError> {
    let state = load_state(store, session).await?;
    let log = read_log(store, session).await?;
    let blobs = store.blobs(session);
    preview(&state, &log, checkpoint, &Workspace { files, blobs: &*blobs, root }).await
}

/// Restores a checkpoint of a stored session that is not open. Files outside of the folder `root`
/// are not changed.
///
/// # Errors
/// If there is no such checkpoint, the session is open, a crash left a turn open, or the journal
/// cannot be written.
pub async fn restore_stored(
    store: &dyn JournalStore,
    session: &SessionId,
    restore_to: (&str, RestoreOptions),
    (files, root): (&dyn RestoreFiles, &Path),
    (clock, ids): (Arc<dyn Clock>, &dyn Ids),
) -> Result<RestoreReport, SessionError> {
    let mut stored = open_stored(store, session, clock).await?;
    let recorder = &mut stored.recorder;
    let blobs = store.blobs(session);
    complete_restore(recorder, Some(files), &*blobs).await?;
    let workspace = Workspace { files, blobs: &*blobs, root };
    let report = restore(recorder, store, session, &workspace, (restore_to, ids)).await;
    stored.close("rewound").await?;
    report
}

/// Reads the checkpoints from the journal.
pub(crate) async fn read_log(
    store: &dyn JournalStore,
    session: &SessionId,
) -> Result<CheckpointLog, SessionError> {
    read_log_after(store, session, 0).await
}

/// Reads the changes of files after an event.
async fn read_log_after(
    store: &dyn JournalStore,
    session: &SessionId,
    seq: u64,
) -> Result<CheckpointLog, SessionError> {
    let mut log = CheckpointLog::default();
    for_each_without_chunks(store, session, seq, |envelope| log.push(envelope)).await?;
    Ok(log)
}

pub(crate) async fn preview(
    state: &State,
    log: &CheckpointLog,
    checkpoint: &str,
    workspace: &Workspace<'_>,
) -> Result<RestorePreview, SessionError> {
    let checkpoint = find(log, checkpoint)?;
    let planned = log.plan(&checkpoint);
    let paths: Vec<_> = planned.iter().map(|file| file.path.clone()).collect();
    let now = workspace.files.current(&paths, None).await;
    let now = without_replaced_links(&planned.iter().collect::<Vec<_>>(), now, false);
    let (mut files, mut deltas) = (Vec::new(), Vec::new());
    for (file, now) in planned.iter().zip(now) {
        let problem = match file.step(&now, false) {
            RestoreStep::Nothing => continue,
            step => problem(file, step, workspace.root),
        };
        let change = ChangeKind::between(&file.target, &now);
        files.push(FilePreview { path: file.path.clone(), change, problem, diff: None });
        let (path, after) = (file.path.clone(), file.target.clone());
        deltas.push(FileDelta { path, before: now, after });
    }
    let diffs = workspace.files.diffs(&deltas, workspace.blobs).await;
    for (file, diff) in files.iter_mut().zip(diffs) {
        file.diff = diff;
    }
    let view = view_change(state, &checkpoint).ok();
    let messages_removed = view.map(|view| match (view.undo, &state.view.before) {
        (false, _) | (true, None) => (state.view.messages.len() as u64).saturating_sub(view.keep),
        (true, Some(_)) => 0,
    });
    Ok(RestorePreview { checkpoint, files, messages_removed })
}

/// Restores a checkpoint. The session must be idle.
pub(crate) async fn restore(
    recorder: &mut Recorder,
    store: &dyn JournalStore,
    session: &SessionId,
    workspace: &Workspace<'_>,
    ((checkpoint, options), ids): ((&str, RestoreOptions), &dyn Ids),
) -> Result<RestoreReport, SessionError> {
    if !recorder.state().background.is_empty() {
        // A command in the background may have changed files since the last comparison.
        let call = recorder.state().background.keys().next().cloned();
        record_late_changes(recorder, store, session, workspace.files, call).await?;
    }
    let log = read_log(store, session).await?;
    let checkpoint = find(&log, checkpoint)?;
    let (code, conversation) = match options.scope {
        RestoreScope::Code => (true, false),
        RestoreScope::Conversation => (false, true),
        RestoreScope::Both => (true, true),
    };
    let view = match conversation {
        true => Some(view_change(recorder.state(), &checkpoint)?),
        false => None,
    };
    let planned = if code { log.plan(&checkpoint) } else { Vec::new() };
    let (deltas, mut not_restored) = changes(&planned, options.overwrite, workspace).await;
    if deltas.is_empty() && view.is_none() {
        let (undo, restored) = (None, Vec::new());
        return Ok(RestoreReport { checkpoint, undo, restored, not_restored, conversation });
    }
    let changing: Vec<_> = deltas.iter().map(|delta| delta.path.clone()).collect();
    let id = ids.next().to_string();
    let started = RestoreStarted {
        restore: id.clone(),
        checkpoint: checkpoint.id.clone(),
        files: deltas,
        view,
        last_message: recorder.state().view.messages.last().map(|message| message.id.clone()),
    };
    // The intent, synced: after a crash `complete_restore` does the rest.
    recorder.append(None, vec![started.into()]).await?;
    let failed = complete_restore(recorder, Some(workspace.files), workspace.blobs).await?;
    let Some(failed) = failed else {
        return Err(SessionError::Setting("the restore was not recorded".to_owned()));
    };
    let kept = |path: &String| !failed.iter().any(|not| not.path == *path);
    let restored: Vec<_> = changing.into_iter().filter(kept).collect();
    not_restored.extend(failed);
    Ok(RestoreReport { checkpoint, undo: Some(id), restored, not_restored, conversation })
}

/// Returns the changes that restore these files, with the current contents saved, and the files
/// that are not restored.
async fn changes(
    planned: &[PlannedFile],
    overwrite: bool,
    workspace: &Workspace<'_>,
) -> (Vec<FileDelta>, Vec<NotRestored>) {
    let paths: Vec<_> = planned.iter().map(|file| file.path.clone()).collect();
    let now = workspace.files.current(&paths, None).await;
    let now = without_replaced_links(&planned.iter().collect::<Vec<_>>(), now, overwrite);
    let (mut changing, mut not_restored) = (Vec::new(), Vec::new());
    for (file, now) in planned.iter().zip(now) {
        let step = file.step(&now, overwrite);
        match problem(file, step, workspace.root) {
            _ if step == RestoreStep::Nothing => {}
            Some(reason) => not_restored.push(NotRestored { path: file.path.clone(), reason }),
            None => changing.push(file),
        }
    }
    let paths: Vec<_> = changing.iter().map(|file| file.path.clone()).collect();
    let saved = workspace.files.current(&paths, Some(workspace.blobs)).await;
    let saved = without_replaced_links(&changing, saved, overwrite);
    let mut deltas = Vec::with_capacity(changing.len());
    for (file, before) in changing.into_iter().zip(saved) {
        // The file may have changed since it was read above.
        match file.step(&before, overwrite) {
            RestoreStep::Nothing => {}
            RestoreStep::Change => {
                let (path, after) = (file.path.clone(), file.target.clone());
                deltas.push(FileDelta { path, before, after });
            }
            step => not_restored.extend(
                problem(file, step, workspace.root)
                    .map(|reason| NotRestored { path: file.path.clone(), reason }),
            ),
        }
    }
    (deltas, not_restored)
}

/// Returns the states, with nothing below a link that the restore replaces: the paths there are free
/// once the link is gone.
fn without_replaced_links(
    planned: &[&PlannedFile],
    mut now: Vec<PathState>,
    overwrite: bool,
) -> Vec<PathState> {
    let replaced = planned.iter().zip(&now).filter(|(file, now)| {
        matches!(now, PathState::Link { .. }) && file.step(now, overwrite) == RestoreStep::Change
    });
    let replaced: Vec<_> = replaced.map(|(file, _)| Path::new(&file.path)).collect();
    for (file, now) in planned.iter().zip(&mut now) {
        let below = |link: &&Path| Path::new(&file.path).starts_with(link);
        if *now == (PathState::Unsaved { reason: NotSaved::LinkInPath })
            && replaced.iter().any(below)
        {
            *now = PathState::Missing;
        }
    }
    now
}

/// Completes the restore that the state says has started, and returns what failed. `None` if none
/// has.
pub(crate) async fn complete_restore(
    recorder: &mut Recorder,
    files: Option<&dyn RestoreFiles>,
    blobs: &dyn Blobs,
) -> Result<Option<Vec<NotRestored>>, SessionError> {
    let Some(started) = recorder.state().restoring.clone() else { return Ok(None) };
    let restored = match files {
        Some(files) => guarded_async("the crash cleanup", files.restore(&started.files, blobs))
            .await
            .ok_or("the crash cleanup panicked, so the file may be restored or not"),
        None => Err("the session has no access to files"),
    };
    let failed = restored.unwrap_or_else(|reason| {
        let not =
            |file: &FileDelta| NotRestored { path: file.path.clone(), reason: reason.to_owned() };
        started.files.iter().map(not).collect()
    });
    let mut events: Vec<Event> = Vec::new();
    if let Some(ViewChange { undo, keep }) = started.view {
        let view = &recorder.state().view;
        if let Some(before) = view.before.as_ref().filter(|_| undo) {
            let since = view.messages.len().saturating_sub(before.replaced_by);
            let messages = (before.view.messages.len() + since) as u64;
            events.push(ViewRestored { messages }.into());
        }
        events.push(Rewound { keep, cause: RewindCause::Checkpoint, undoable: true }.into());
        events.push(PrefixChanged { cause: PrefixChange::Rewind }.into());
    }
    let restore = started.restore.clone();
    events.push(RestoreFinished { restore, failed: failed.clone() }.into());
    recorder.append(None, events).await?;
    Ok(Some(failed))
}

/// Returns whether a crash left a command running that may have changed files, and its call.
pub(crate) fn interrupted_command(state: &State) -> Option<CallId> {
    let calls = state.turn.iter().flat_map(|turn| turn.calls.iter());
    let mut running = calls.filter(|(_, call)| {
        let execute = call.class.is_some_and(|class| class != Class::Inspect);
        call.stage == CallStage::Started && execute && call.files.is_empty()
    });
    let running = running.next().map(|(id, _)| id.clone());
    running.or_else(|| state.background.keys().next().cloned())
}

/// Records what a command changed whose end the session did not see.
pub(crate) async fn record_late_changes(
    recorder: &mut Recorder,
    store: &dyn JournalStore,
    session: &SessionId,
    files: &dyn RestoreFiles,
    call: Option<CallId>,
) -> Result<(), SessionError> {
    let (Some(call), Some(watched)) = (call, recorder.state().watched.clone()) else {
        return Ok(());
    };
    let since = recorder.state().sources.watched.unwrap_or_default();
    let blobs = store.blobs(session);
    let found = files.changed_since(&watched, &*blobs).await;
    if found.is_empty() {
        return Ok(());
    }
    let log = read_log_after(store, session, since).await?;
    let files: Vec<_> =
        found.into_iter().filter_map(|delta| unrecorded(&log, since, delta)).collect();
    if files.is_empty() {
        return Ok(());
    }
    let turn = recorder.state().turn.as_ref().and_then(|turn| turn.id.clone());
    for files in files.chunks(MAX_CHANGES) {
        let event = FilesChanged { call: call.clone(), files: files.to_vec(), late: true };
        recorder.append(turn.as_ref(), vec![event.into()]).await?;
    }
    Ok(())
}

/// Returns the part of a difference to a record of the workspace that later events do not contain.
fn unrecorded(log: &CheckpointLog, since: u64, mut delta: FileDelta) -> Option<FileDelta> {
    if let Some(last) = log.last_change(&delta.path, since) {
        let unmade = !last.made && last.delta.before.same_as(&delta.after);
        if last.delta.after.same_as(&delta.after) || unmade {
            return None;
        }
        // The state in between was not saved.
        delta.before = PathState::Unsaved { reason: NotSaved::OverLimit };
    }
    Some(delta)
}

fn find(log: &CheckpointLog, checkpoint: &str) -> Result<Checkpoint, SessionError> {
    log.find(checkpoint).ok_or_else(|| SessionError::NoSuchCheckpoint(checkpoint.to_owned()))
}

/// Returns why a step does not restore a file; `None` if it does, or has nothing to do.
fn problem(file: &PlannedFile, step: RestoreStep, root: &Path) -> Option<String> {
    let path = Path::new(&file.path);
    let Ok(inside) = path.strip_prefix(root) else {
        return Some("it is outside of the working folder".to_owned());
    };
    let control = |part: &std::ffi::OsStr| VERSION_CONTROL.iter().any(|name| part == *name);
    if inside.iter().any(control) {
        return Some("it belongs to the version control system".to_owned());
    }
    match (step, &file.target) {
        (RestoreStep::Nothing | RestoreStep::Change, _) => None,
        (RestoreStep::Conflict, _) => {
            Some("something else than the session changed it since".to_owned())
        }
        (RestoreStep::Impossible, PathState::Unsaved { reason }) => {
            Some(format!("its content was not saved ({reason})"))
        }
        (RestoreStep::Impossible, _) => Some("its content was not saved".to_owned()),
    }
}

/// Returns how the view changes when the conversation returns to a checkpoint.
fn view_change(state: &State, checkpoint: &Checkpoint) -> Result<ViewChange, SessionError> {
    let (message, add) = match checkpoint.kind {
        CheckpointKind::Prompt => (checkpoint.messages.first(), 0),
        CheckpointKind::Restore => (checkpoint.last_message.as_ref(), 1),
    };
    let Some(message) = message else {
        return match checkpoint.kind {
            // There was no conversation before the restore.
            CheckpointKind::Restore => Ok(ViewChange { undo: false, keep: 0 }),
            CheckpointKind::Prompt => Err(SessionError::NotInView(checkpoint.id.clone())),
        };
    };
    let before = state.view.before.as_ref().map(|before| (true, &before.view.messages));
    for (undo, messages) in std::iter::once((false, &state.view.messages)).chain(before) {
        if let Some(at) = messages.iter().position(|found| found.id == *message) {
            return Ok(ViewChange { undo, keep: at as u64 + add });
        }
    }
    Err(SessionError::NotInView(checkpoint.id.clone()))
}
