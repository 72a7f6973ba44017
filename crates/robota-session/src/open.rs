//! Creates and resumes sessions.

use std::sync::Arc;

use robota_core::checkpoint::RestoreFiles;
use robota_core::close::{
    Closing, RecoveryHint, awaiting_batch_hook, awaiting_post_hook, open_operations, recover,
};
use robota_core::driver::Recorder;
use robota_core::event::{Cursor, Event, FORMAT, ModeChanged, Opened, Renamed, SessionCreated};
use robota_core::guard::{guarded, guarded_async};
use robota_core::hook::{HookInput, HookPoint, Hooks as _, SessionSource};
use robota_core::ids::SessionId;
use robota_core::journal::{JournalError, JournalStore};
use robota_core::message::Cause;
use robota_core::resume::{ResumeError, load, load_with_head};
use robota_core::state::{FoldError, State};

use crate::actor::{Shared, StartOptions};
use crate::checkpoints::{complete_restore, interrupted_command, record_late_changes};
use crate::crash_cleanup;
use crate::early_load::EarlyLoad;
use crate::error::SessionError;
use crate::fork::{StoredFork, close_parent_work, is_untouched_fork};
use crate::hooks::HookChain;
use crate::hub::SessionHub;
use crate::session::{ForkState, Session};
use crate::setup::{ObserverMaker, Setup, TurnSetup};

/// What happens to a turn that a crash left open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ResumeStrategy {
    /// The session closes it: every open call gets a result. The default.
    #[default]
    Crash,
    /// [`crate::Recovery::open_operations`] reports it, and the session waits for
    /// [`crate::Recovery::recover`].
    Manual,
}

/// Says how a session is resumed.
#[derive(Debug, Clone, PartialEq)]
pub struct Resume {
    /// What happens to a turn that a crash left open.
    pub strategy: ResumeStrategy,
    /// What the caller knows about calls that were running.
    pub hints: Vec<RecoveryHint>,
    /// Whether inputs that were accepted and not delivered are delivered immediately. Otherwise
    /// they are delivered before the next input that is sent. They are never lost.
    pub deliver: bool,
    /// Whether a turn that was interrupted is continued.
    pub continue_turn: bool,
}

impl Default for Resume {
    fn default() -> Self {
        let (strategy, hints) = (ResumeStrategy::Crash, Vec::new());
        Self { strategy, hints, deliver: true, continue_turn: false }
    }
}

pub(crate) async fn create(
    store: Arc<dyn JournalStore>,
    id: Option<SessionId>,
    setup: Setup,
) -> Result<Session, SessionError> {
    let id = id.unwrap_or_else(|| SessionId::mint(&*setup.base.ids));
    // Before the session exists: a wrong setting must not leave an empty session in the list.
    let turn_setup = prepare(setup, &*store, &id)?;
    let setup = &turn_setup.setup;
    let journal = store.create(&id).await?;
    let recorder = Recorder::new(journal, setup.base.clock.clone(), State::default());
    let created = SessionCreated {
        session: id.clone(),
        format: FORMAT,
        cwd: setup.cwd.clone(),
        parent: None,
        spawned_by: setup.spawned_by.clone(),
    };
    let pid = Some(std::process::id());
    let opened = Opened { epoch: recorder.epoch(), after_seq: 0, pid };
    let mut first: Vec<Event> = vec![created.into(), opened.into()];
    first.extend(setup.name.clone().map(|name| Renamed { name }.into()));
    let options = StartOptions::new(SessionSource::Startup);
    open(store, id, recorder, turn_setup, first, options).await
}

pub(crate) async fn resume(
    store: Arc<dyn JournalStore>,
    id: &SessionId,
    resume: Resume,
    early: Option<EarlyLoad>,
    setup: Setup,
) -> Result<Session, SessionError> {
    let turn_setup = prepare(setup, &*store, id)?;
    // Take the lock first: after that, no other process can change what is read here.
    let journal = store.open(id).await?;
    let head = match journal.head() {
        Some(head) => head,
        None => store.head(id).await?,
    };
    let early = match early {
        Some(early) => early.state_of(&head).await,
        None => None,
    };
    // The recorder continues the numbers of this state, so it must be the state of the whole
    // journal.
    let state = match early {
        Some(state) => state,
        None => {
            let state = load_with_head(&*store, id, Some(head)).await;
            state.map_err(|error| resume_error(id, error))?
        }
    };
    let after_seq = state.cursor.map_or(0, |cursor| cursor.seq);
    let closed = state.closed;
    let recorder = Recorder::new(journal, turn_setup.setup.base.clock.clone(), state);
    let pid = Some(std::process::id());
    let opened = Opened { epoch: recorder.epoch(), after_seq, pid };
    let options = StartOptions {
        recovery: Some(resume.strategy),
        hints: resume.hints,
        defer_inputs: !resume.deliver,
        continue_turn: resume.continue_turn,
        closed: closed && open_operations(recorder.state()).is_empty(),
        ..StartOptions::new(SessionSource::Resume)
    };
    open(store, id.clone(), recorder, turn_setup, vec![opened.into()], options).await
}

/// Checks the setup and makes the session's tools, before anything exists in the store.
pub(crate) fn prepare(
    setup: Setup,
    store: &dyn JournalStore,
    id: &SessionId,
) -> Result<TurnSetup, SessionError> {
    check_threshold(setup.base.config.turn.compact_at)?;
    Ok(TurnSetup::new(setup, store, id)?)
}

/// Opens a session on a journal that is open for writing.
pub(crate) async fn open(
    store: Arc<dyn JournalStore>,
    id: SessionId,
    recorder: Recorder,
    turn_setup: TurnSetup,
    first: Vec<Event>,
    options: StartOptions,
) -> Result<Session, SessionError> {
    let shared = shared(store, id, recorder.state().cursor, turn_setup);
    let (recorder, options) = Box::pin(begin(&shared, recorder, first, options)).await?;
    Ok(Session::launch(shared, recorder, options))
}

/// Opens a fork. If its state is still being read, the task of the session waits for that.
pub(crate) async fn open_fork(
    store: Arc<dyn JournalStore>,
    id: SessionId,
    fork: StoredFork,
    state: ForkState,
    turn_setup: TurnSetup,
) -> Result<Session, SessionError> {
    let shared = shared(store, id, fork.last(), turn_setup);
    let (known, owner) = (matches!(state, ForkState::Known(_)), shared.clone());
    let load = async move {
        let recorder = fork.into_recorder(state.get().await?)?;
        let options = StartOptions::new(SessionSource::Fork);
        Box::pin(begin(&owner, recorder, Vec::new(), options)).await
    };
    // The state of the parent is in memory, so the fork can report an error at once. Otherwise the
    // caller gets the session immediately and its task reads the journal.
    if known {
        let (recorder, options) = load.await?;
        return Ok(Session::launch(shared, recorder, options));
    }
    Ok(Session::launch_later(shared, load))
}

fn shared(
    store: Arc<dyn JournalStore>,
    id: SessionId,
    last: Option<Cursor>,
    turn_setup: TurnSetup,
) -> Arc<Shared> {
    let setup = &turn_setup.setup;
    // The mode is part of the gate's state and is set before the first call can be judged.
    setup.base.gate.set_mode(setup.mode);
    let hooks = setup.hook_chain(&id);
    Shared::new(id, store, SessionHub::new(last), hooks, turn_setup)
}

/// Records what an open session begins with, and closes what is not continued.
async fn begin(
    shared: &Shared,
    mut recorder: Recorder,
    mut first: Vec<Event>,
    mut options: StartOptions,
) -> Result<(Recorder, StartOptions), SessionError> {
    let setup = shared.turn_setup().setup.clone();
    recorder = recorder.with_retries(setup.base.config.append_retries.clone());
    // A crash may have interrupted a fork before it closed the work of its parent.
    // Asked before anything is appended, since any event of the fork makes it a touched one.
    let untouched = is_untouched_fork(recorder.state());
    let mut observers = vec![shared.hub.observer()];
    recorder.set_observers(observers.clone());
    if options.source == SessionSource::Fork {
        close_parent_work(&mut recorder).await?;
    }
    // The turn belongs to the parent, so callbacks of the fork do not receive its end.
    observers.extend(setup.callbacks.observer(setup.base.config.turn.context_window));
    observers.extend(setup.plugins().map(|plugins| plugins.observer()));
    // One that panics leaves its events unobserved, and the others as they are.
    let make = |make: &ObserverMaker| guarded("a maker of observers", || make(&shared.id));
    observers.extend(setup.observer_makers.iter().filter_map(make));
    recorder.set_observers(observers);
    if recorder.state().mode != setup.mode {
        first.push(ModeChanged { mode: setup.mode }.into());
    }
    if !first.is_empty() {
        recorder.append(None, first).await?;
    }
    if untouched && options.source != SessionSource::Fork {
        close_parent_work(&mut recorder).await?;
    }
    if let Some(strategy) = options.recovery {
        options.needs_recovery = match strategy {
            ResumeStrategy::Crash if options.closed => false,
            ResumeStrategy::Crash => {
                let hints = std::mem::take(&mut options.hints);
                let closing = Closing { hints, ..Closing::of(Cause::Crash) };
                seal(&*shared.store, &mut recorder, &setup, &shared.hooks, closing).await?;
                false
            }
            ResumeStrategy::Manual => !open_operations(recorder.state()).is_empty(),
        };
    }
    Ok((recorder, options))
}

/// Closes what a crash left open.
pub(crate) async fn seal(
    store: &dyn JournalStore,
    recorder: &mut Recorder,
    setup: &Setup,
    hooks: &HookChain,
    mut closing: Closing,
) -> Result<(), SessionError> {
    let Some(id) = recorder.state().session.clone() else { return Ok(()) };
    let blobs = store.blobs(&id);
    crash_cleanup::clean_up(&*blobs, recorder.state(), setup, &mut closing).await;
    let files = setup.crash_cleanup.as_deref().map(|cleanup| cleanup as &dyn RestoreFiles);
    // Before the turn is closed: a restore that a crash interrupted changes the files that the
    // results of calls describe.
    complete_restore(recorder, files, &*blobs).await?;
    if let Some(files) = files {
        let call = interrupted_command(recorder.state());
        record_late_changes(recorder, store, &id, files, call).await?;
    }
    if open_operations(recorder.state()).is_empty() {
        return Ok(());
    }
    // A call that ran, but whose hook did not: the hook decides what the model may see of the
    // result, so it runs now.
    let hooked = hooks.has_point(HookPoint::PostToolUse);
    for (call, outcome) in awaiting_post_hook(recorder.state(), hooked) {
        if !hooked {
            continue;
        }
        let tool_use = call.as_started();
        let input = HookInput::PostToolUse { tool_use, outcome, duration_ms: None };
        // A hook that panics gives no reply: the result is withheld.
        if let Some(mut reply) = guarded_async("a hook", hooks.run(input)).await {
            robota_core::driver::redact_reply(&setup.base.config.redactor, &mut reply);
            closing.post_hooks.insert(call.tool_use.call, reply);
        }
    }
    if let Some(calls) = awaiting_batch_hook(recorder.state())
        && hooks.has_point(HookPoint::PostToolBatch)
    {
        let input = HookInput::PostToolBatch { calls };
        // A hook that panics gives no reply: it is recorded as cancelled, and the turn ends anyway.
        if let Some(mut reply) = guarded_async("a hook", hooks.run(input)).await {
            robota_core::driver::redact_reply(&setup.base.config.redactor, &mut reply);
            closing.batch_hook = Some(reply);
        }
    }
    let turn = recorder.state().turn.as_ref().and_then(|turn| turn.id.clone());
    let events = recover(recorder.state(), &closing, &*setup.base.ids);
    recorder.append(turn.as_ref(), events).await?;
    Ok(())
}

pub(crate) async fn load_state(
    store: &dyn JournalStore,
    id: &SessionId,
) -> Result<State, SessionError> {
    load(store, id).await.map_err(|error| resume_error(id, error))
}

pub(crate) fn resume_error(id: &SessionId, error: ResumeError) -> SessionError {
    match error {
        ResumeError::Journal(error) => error.into(),
        ResumeError::Fold(error) => damaged(id, &error),
    }
}

pub(crate) fn damaged(id: &SessionId, error: &FoldError) -> SessionError {
    let place = format!("the journal of session `{id}`");
    JournalError::Damaged { place, reason: error.to_string() }.into()
}

/// Checks that a threshold is a share of the window: above 0 and at most 1.
pub(crate) fn check_threshold(threshold: Option<f64>) -> Result<(), SessionError> {
    match threshold {
        Some(share) if !(share > 0.0 && share <= 1.0) => Err(SessionError::Setting(format!(
            "the auto-compact threshold is a share of the window above 0 and at most 1, not {share}"
        ))),
        _ => Ok(()),
    }
}
