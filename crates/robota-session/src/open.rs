//! Beginning a session and going on with one.

use std::sync::Arc;

use robota_core::driver::Recorder;
use robota_core::event::{Event, FORMAT, ModeChanged, Opened, Renamed, SessionCreated};
use robota_core::hook::{HookInput, HookPoint, Hooks as _, SessionSource};
use robota_core::ids::SessionId;
use robota_core::journal::{JournalError, JournalStore};
use robota_core::resume::{ResumeError, load};
use robota_core::state::State;

use crate::actor::{Beginning, Shared};
use crate::aftermath;
use crate::error::SessionError;
use crate::hooks::HookChain;
use crate::live::Live;
use crate::parts::Parts;
use crate::recover::{Evidence, Known, awaiting_post_hook, open_operations, recover};
use crate::session::Session;

/// What becomes of work that a dead writer left open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strategy {
    /// It is sealed, and the session is ready. The default.
    #[default]
    Crash,
    /// It is reported by [`crate::Recovery::open_operations`], and nothing happens until
    /// [`crate::Recovery::recover`] says what becomes of it.
    Manual,
}

/// How to go on with a session.
#[derive(Debug, Clone, PartialEq)]
pub struct Resume {
    /// What becomes of work that was left open.
    pub strategy: Strategy,
    /// What is known of calls that were running.
    pub evidence: Vec<Evidence>,
    /// Whether inputs that were accepted and not delivered are delivered at once. Otherwise
    /// they go before the next input. They are never lost.
    pub deliver: bool,
    /// Whether a turn that was cut short is gone on with.
    pub go_on: bool,
}

impl Default for Resume {
    fn default() -> Self {
        let (strategy, evidence) = (Strategy::Crash, Vec::new());
        Self { strategy, evidence, deliver: true, go_on: false }
    }
}

pub(crate) async fn create(
    store: Arc<dyn JournalStore>,
    id: Option<SessionId>,
    parts: Parts,
) -> Result<Session, SessionError> {
    check_settings(&parts)?;
    let id = id.unwrap_or_else(|| SessionId::mint(&*parts.ids));
    let journal = store.create(&id).await?;
    let recorder = Recorder::new(journal, parts.clock.clone(), State::default());
    let created = SessionCreated {
        session: id.clone(),
        format: FORMAT,
        cwd: parts.cwd.clone(),
        parent: None,
    };
    let pid = Some(std::process::id());
    let opened = Opened { epoch: recorder.epoch(), after_seq: 0, pid };
    let mut first: Vec<Event> = vec![created.into(), opened.into()];
    first.extend(parts.name.clone().map(|name| Renamed { name }.into()));
    let beginning = Beginning::new(SessionSource::Startup);
    open(store, id, recorder, parts, first, beginning).await
}

pub(crate) async fn resume(
    store: Arc<dyn JournalStore>,
    id: &SessionId,
    resume: Resume,
    parts: Parts,
) -> Result<Session, SessionError> {
    check_settings(&parts)?;
    // First the lock: what is read then stays true.
    let journal = store.open(id).await?;
    let state = load_state(&*store, id).await?;
    let after_seq = state.cursor.map_or(0, |cursor| cursor.seq);
    let last = store.read(id, after_seq.saturating_sub(1), 1).await?;
    let closed = last.iter().any(|last| matches!(last.event, Event::Closed(_)));
    let recorder = Recorder::new(journal, parts.clock.clone(), state);
    let pid = Some(std::process::id());
    let opened = Opened { epoch: recorder.epoch(), after_seq, pid };
    let beginning = Beginning {
        recovery: Some(resume.strategy),
        evidence: resume.evidence,
        hold: !resume.deliver,
        go_on: resume.go_on,
        closed: closed && open_operations(recorder.state()).is_empty(),
        ..Beginning::new(SessionSource::Resume)
    };
    open(store, id.clone(), recorder, parts, vec![opened.into()], beginning).await
}

/// Opens a session on a journal that is open for writing.
pub(crate) async fn open(
    store: Arc<dyn JournalStore>,
    id: SessionId,
    mut recorder: Recorder,
    parts: Parts,
    mut first: Vec<Event>,
    mut beginning: Beginning,
) -> Result<Session, SessionError> {
    let live = Live::new(recorder.state().cursor);
    let mut observers = vec![live.observer()];
    observers.extend(parts.callbacks.observer(parts.config.turn.context_window));
    recorder.swap_observers(observers);
    parts.gate.set_mode(parts.mode);
    if recorder.state().mode != parts.mode {
        first.push(ModeChanged { mode: parts.mode }.into());
    }
    if !first.is_empty() {
        recorder.append(None, first).await?;
    }
    let chain = parts.chain(&id);
    if let Some(strategy) = beginning.recovery {
        beginning.open = match strategy {
            Strategy::Crash if beginning.closed => false,
            Strategy::Crash => {
                let known = Known { evidence: beginning.evidence.clone(), ..Known::default() };
                seal(&*store, &id, &mut recorder, &parts, &chain, known).await?;
                false
            }
            Strategy::Manual => !open_operations(recorder.state()).is_empty(),
        };
    }
    let shared = Shared::new(id, store, live, chain, parts)?;
    Ok(Session::launch(shared, recorder, beginning))
}

/// Closes what a dead writer left open.
pub(crate) async fn seal(
    store: &dyn JournalStore,
    id: &SessionId,
    recorder: &mut Recorder,
    parts: &Parts,
    chain: &HookChain,
    mut known: Known,
) -> Result<(), SessionError> {
    aftermath::look(store, id, recorder.state(), parts, &mut known.evidence).await?;
    if open_operations(recorder.state()).is_empty() {
        return Ok(());
    }
    let hooked = chain.has(HookPoint::PostToolUse);
    for (call, outcome) in awaiting_post_hook(recorder.state(), hooked) {
        if !hooked {
            continue;
        }
        let tool_use = call.tool_use.clone();
        let input = HookInput::PostToolUse { tool_use, outcome };
        let mut reply = chain.run(input).await;
        robota_core::driver::redact_reply(&parts.config.redactor, &mut reply);
        known.post_hooks.insert(call.tool_use.call, reply);
    }
    let turn = recorder.state().turn.as_ref().and_then(|turn| turn.id.clone());
    let events = recover(recorder.state(), &known, &*parts.ids);
    recorder.append(turn.as_ref(), events).await?;
    Ok(())
}

pub(crate) async fn load_state(
    store: &dyn JournalStore,
    id: &SessionId,
) -> Result<State, SessionError> {
    load(store, id).await.map_err(|error| match error {
        ResumeError::Journal(error) => error.into(),
        ResumeError::Fold(error) => {
            let place = format!("the journal of session `{id}`");
            JournalError::Damaged { place, reason: error.to_string() }.into()
        }
    })
}

fn check_settings(parts: &Parts) -> Result<(), SessionError> {
    check_threshold(parts.config.turn.compact_at)
}

/// A share of the window is more than none of it and at most all of it.
pub(crate) fn check_threshold(threshold: Option<f64>) -> Result<(), SessionError> {
    match threshold {
        Some(share) if !(share > 0.0 && share <= 1.0) => Err(SessionError::Setting(format!(
            "the auto-compact threshold is a share of the window above 0 and at most 1, not {share}"
        ))),
        _ => Ok(()),
    }
}
