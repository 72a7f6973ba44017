//! How the task handles requests.

use std::path::Path;

use robota_core::call::CallContext;
use robota_core::close::{CloseAs, Closing};
use robota_core::compact::CompactionRequest;
use robota_core::error::Diagnose as _;
use robota_core::event::{
    CompactionFailed, CompactionStarted, CompactionTrigger, ContextMeasured, Event, InputAccepted,
    InputCancelled, InputChanged, PrefixChange, PrefixChanged, RewindCause, Rewound,
    TurnRulesAdded, ViewRestored,
};
use robota_core::guard::{guarded, guarded_async};
use robota_core::ids::{CallId, InputId};
use robota_core::journal::JournalError;
use robota_core::message::{Cause, MessageState, Role};
use robota_core::turn::TurnInput;
use tokio::sync::oneshot::error::TryRecvError;

use super::{
    AcceptedInput, Actor, CloseReply, DecideEvents, Flow, InputChange, ManualCompaction, Reply,
    Request, Rewrite, SendRequest, Shared, TurnOptions, Work, code_panicked,
};
use crate::checkpoints::{RestoreOptions, RestoreReport, Workspace, restore};
use crate::error::SessionError;
use crate::open;
use crate::session::TurnPermissions;

/// How errors and the log name what panicked.
const GATE: &str = "the gate";
const STORE: &str = "the store";
const CLEANUP: &str = "the crash cleanup or the store";

impl Actor {
    pub(super) async fn on_request(&mut self, request: Request) -> Flow {
        match request {
            Request::Send { input, reply } => {
                let _ = reply.send(self.accept(*input).await);
            }
            Request::Cancel { input, reply } => {
                let _ = reply.send(self.cancel_input(input).await);
            }
            Request::Change { change, reply } => {
                let _ = reply.send(self.change_input(*change).await);
            }
            Request::Append { events, at_rest: true, reply } if self.work.is_some() => {
                self.deferred.push((events, reply));
            }
            Request::Append { events, reply, .. } => {
                let _ = reply.send(self.append(events).await);
            }
            Request::Inspect(inspect) => inspect(self.recorder.state()),
            Request::Interrupt { note, keep_inputs, reply } => {
                self.interrupt(note, keep_inputs, reply).await;
            }
            Request::Stop { input, reply } if self.taken_input() == Some(&input) => {
                self.interrupt(None, true, reply).await;
            }
            Request::Stop { input, reply } if self.is_taken(&input) => {
                let withdrawn = match &mut self.work {
                    Some(Work::Turn(drive)) => drive.withdraw(&mut self.recorder, &input).await,
                    _ => false,
                };
                let _ = reply.send(Ok(withdrawn));
            }
            Request::Stop { input, reply } => {
                let _ = reply.send(self.cancel_input(input).await);
            }
            Request::Continue { reply } => {
                let _ = reply.send(self.continue_turn().await);
            }
            Request::Compact { instructions, reply } => self.compact(instructions, reply).await,
            Request::Rewrite { how, reply } => {
                let _ = reply.send(self.rewrite(how).await);
            }
            Request::RestoreCheckpoint { checkpoint, options, reply } => {
                let _ = reply.send(self.restore_checkpoint(&checkpoint, options).await);
            }
            Request::Pause { reply } => self.pausing.push_back(reply),
            Request::Recover { choices, reply } => {
                let _ = reply.send(self.recover(choices).await);
            }
            Request::Shutdown { end, reply } => {
                return Flow::Close { end, reply: Some(CloseReply::Shutdown(reply)) };
            }
            Request::CloseIfIdle { end, reply } => {
                if self.is_idle() {
                    return Flow::Close { end, reply: Some(CloseReply::IfIdle(reply)) };
                }
                let _ = reply.send(Ok(false));
            }
            Request::Decide { decide, reply } => {
                let _ = reply.send(self.decide(decide).await);
            }
            Request::AddTurnRules { rules, reply } => {
                let _ = reply.send(self.add_turn_rules(rules).await);
            }
        }
        Flow::Continue
    }

    async fn accept(&mut self, input: SendRequest) -> Result<AcceptedInput, SessionError> {
        self.require_recovered()?;
        let SendRequest { content, mut options, span } = input;
        let (delivery, metadata) = (options.delivery, std::mem::take(&mut options.metadata));
        let input = InputId::mint(&*self.shared.turn_setup().setup.base.ids);
        // A subscription that starts here contains the event that accepts the input.
        let before = self.shared.hub.status().last;
        let mut events = Vec::new();
        if !options.rules.deny.is_empty() {
            // Before the input: whatever part of the append survives a crash, the input is not
            // delivered without its rules.
            let deny = std::mem::take(&mut options.rules.deny);
            events.push(TurnRulesAdded { input: Some(input.clone()), deny }.into());
        }
        let accepted =
            InputAccepted { input: input.clone(), delivery, content, metadata, source: None };
        events.push(accepted.into());
        if let Err(error) = self.append(events).await {
            if let SessionError::Journal(JournalError::Unencodable { .. }) = &error {
                return Err(error);
            }
            // The event may have reached the journal although the append failed. The caller learns
            // that the input was not accepted, so it is cancelled.
            let cancelled = InputCancelled { input, cause: Cause::Store };
            self.recorder.record(None, vec![cancelled.into()]);
            return Err(error);
        }
        if options.has_turn_options() || !span.is_disabled() {
            self.turn_options.insert(input.clone(), TurnOptions { options, span });
        }
        self.options.defer_inputs = false;
        self.blocked = None;
        // A caller that knows that its input was accepted must see the session as busy.
        self.shared.hub.set_busy(true);
        let failures = self.shared.hub.failures();
        Ok(AcceptedInput { input, before, failures })
    }

    /// Appends what a function decides from the state. Inputs among it are delivered as any other.
    async fn decide(&mut self, decide: DecideEvents) -> Result<(), SessionError> {
        self.require_recovered()?;
        let ids = self.shared.turn_setup().setup.base.ids.clone();
        let events = decide(self.recorder.state(), &*ids);
        if events.is_empty() {
            return Ok(());
        }
        let accepts = events.iter().any(|event| matches!(event, Event::InputAccepted(_)));
        // After a failure the events stay recorded: they are written later, all of them, or none
        // if the process dies first.
        self.append(events).await?;
        if accepts {
            self.options.defer_inputs = false;
            self.blocked = None;
            self.shared.hub.set_busy(true);
        }
        Ok(())
    }

    /// Adds rules to the running turn, and returns those that cannot apply.
    async fn add_turn_rules(
        &mut self,
        rules: TurnPermissions,
    ) -> Result<Vec<String>, SessionError> {
        let TurnPermissions { allow, deny } = rules;
        if !matches!(self.work, Some(Work::Turn(_))) {
            return Ok([allow, deny].concat());
        }
        let gate = self.shared.turn_setup().setup.base.gate.clone();
        // Before the append: a denial applies even if it cannot be recorded.
        let invalid = guarded(GATE, || gate.add_turn_rules(&allow, &deny));
        if let (None, Some(Work::Turn(drive))) = (&invalid, &mut self.work) {
            // It may lack a rule that denies calls.
            drive.deny_calls();
        }
        if !deny.is_empty() {
            self.append(vec![TurnRulesAdded { input: None, deny }.into()]).await?;
        }
        invalid.ok_or_else(|| code_panicked(GATE))
    }

    /// Returns whether the session can be closed without stopping or delaying anything.
    fn is_idle(&self) -> bool {
        let state = self.recorder.state();
        self.work.is_none()
            && self.deferred.is_empty()
            && self.pausing.is_empty()
            && self.paused.is_none()
            && self.blocked.is_none()
            && self.recorder.failure().is_none()
            && !self.options.needs_recovery
            && (state.inputs.is_empty() || self.options.defer_inputs)
            && state.background.is_empty()
            && state.tasks.tasks.values().all(|task| task.status.is_terminal())
            // A queued request may be an input, which must not be refused.
            && self.requests.is_empty()
    }

    /// Returns the input that started the running turn. It stays in the queue until its message is
    /// recorded.
    fn taken_input(&self) -> Option<&InputId> {
        let turn = self.recorder.state().turn.as_ref().filter(|_| self.work.is_some());
        turn.and_then(|turn| turn.input.as_ref())
    }

    /// Returns whether a turn has taken the input: it has started with it, or runs hooks on it.
    fn is_taken(&self, input: &InputId) -> bool {
        let prompted = match &self.work {
            Some(Work::Turn(drive)) => drive.prompted_input(),
            _ => None,
        };
        self.taken_input() == Some(input) || prompted == Some(input)
    }

    /// Changes an input that no turn has taken: its content, its place in the queue, or both.
    async fn change_input(&mut self, change: InputChange) -> Result<bool, SessionError> {
        let InputChange { input, content, position } = change;
        let inputs = &self.recorder.state().inputs;
        let taken = self.taken_input();
        let Some((place, _, pending)) = inputs.get_full(&input).filter(|_| !self.is_taken(&input))
        else {
            return Ok(false);
        };
        // The input that a turn has taken stays in front.
        let first = usize::from(taken.is_some_and(|taken| inputs.contains_key(taken)));
        let position = position.map_or(place, |position| position.saturating_add(first));
        // The metadata and the rules that allow calls were sent for the old content, so they do not
        // apply to the new one. Rules that deny calls stay.
        let (content, metadata, is_new) = match content {
            Some((content, metadata)) => (content, metadata, true),
            None => (pending.content.clone(), pending.metadata.clone(), false),
        };
        let event = InputChanged {
            delivery: pending.delivery,
            content,
            metadata,
            position: u32::try_from(position.min(inputs.len() - 1)).unwrap_or(u32::MAX),
            input: input.clone(),
        };
        self.append(vec![event.into()]).await?;
        if is_new {
            self.turn_options.remove(&input);
        }
        Ok(true)
    }

    /// Cancels an input that no turn has taken.
    async fn cancel_input(&mut self, input: InputId) -> Result<bool, SessionError> {
        let known = self.recorder.state().inputs.contains_key(&input);
        if !known || self.is_taken(&input) {
            return Ok(false);
        }
        self.append(vec![InputCancelled { input: input.clone(), cause: Cause::User }.into()])
            .await?;
        self.turn_options.remove(&input);
        Ok(true)
    }

    async fn interrupt(&mut self, note: Option<String>, keep_inputs: bool, reply: Reply<bool>) {
        match &mut self.work {
            Some(Work::Turn(drive)) => {
                drive.interrupt(&mut self.recorder, Cause::User, note, keep_inputs).await;
            }
            Some(Work::Compaction(compaction)) => {
                compaction.cancel();
                // The waiting inputs were meant to follow the compaction.
                let inputs = self.recorder.state().inputs.keys().filter(|_| !keep_inputs).cloned();
                let cancelled = inputs.map(|input| InputCancelled { input, cause: Cause::User });
                let cancelled: Vec<Event> = cancelled.map(Event::from).collect();
                if let Err(error) = self.append(cancelled).await {
                    tracing::warn!(%error, "could not cancel the waiting inputs");
                }
            }
            None => {
                let _ = reply.send(Ok(false));
                return;
            }
        }
        // Answered by `start_next`, once the work has really ended.
        self.interrupting.push(reply);
    }

    pub(super) async fn continue_turn(&mut self) -> Result<(), SessionError> {
        self.require_recovered()?;
        self.require_idle("continuing")?;
        self.require_unpaused("continuing")?;
        self.options.defer_inputs = false;
        let view = &self.recorder.state().view.messages;
        if !self.recorder.state().inputs.is_empty() {
            // The next input starts a turn anyway.
            return Ok(());
        }
        let Some(last) = view.last() else { return Err(SessionError::NothingToContinue) };
        let cut_short = last.state() != MessageState::Complete;
        // A user message or results without an answer: the model is asked for one.
        match last.role() {
            Role::User | Role::Tool => {}
            Role::Assistant if cut_short => {
                // The partial answer stays in the history but is not sent again.
                let keep = view.len() as u64 - 1;
                let rewound = Rewound { keep, cause: RewindCause::Retry, undoable: false };
                let changed = PrefixChanged { cause: PrefixChange::Rewind };
                self.append(vec![rewound.into(), changed.into()]).await?;
            }
            Role::Assistant | Role::System => return Err(SessionError::NothingToContinue),
        }
        self.start(TurnInput::Continue).await;
        Ok(())
    }

    async fn compact(&mut self, instructions: Option<String>, reply: Reply<()>) {
        match self.start_compaction(instructions).await {
            Ok((compactor, request, context)) => {
                let compaction = ManualCompaction::start(compactor, request, context, reply);
                self.work = Some(Work::Compaction(Box::new(compaction)));
            }
            Err(error) => {
                let _ = reply.send(Err(error));
            }
        }
    }

    async fn start_compaction(
        &mut self,
        instructions: Option<String>,
    ) -> Result<CompactionParts, SessionError> {
        self.require_recovered()?;
        self.require_idle("summarising")?;
        self.require_unpaused("summarising")?;
        self.shared.hub.set_busy(true);
        let Shared { store, id, .. } = &*self.shared;
        let blobs = guarded(STORE, || store.blobs(id)).ok_or_else(|| code_panicked(STORE))?;
        let (compactor, config) = {
            let setup = &self.shared.turn_setup().setup;
            (setup.compactor(&self.shared.hooks), setup.base.config.clone())
        };
        let (trigger, window) = (CompactionTrigger::Manual, config.turn.context_window);
        let before = self.recorder.state().context(window);
        if let Err(error) = self.append(vec![CompactionStarted { trigger, before }.into()]).await {
            // The event stays recorded although the append failed, and this compaction does not run.
            let failed = CompactionFailed { error: error.to_data() };
            self.recorder.record(None, vec![failed.into()]);
            return Err(error);
        }
        let request = CompactionRequest {
            view: self.recorder.state().view.messages.clone(),
            system: config.system,
            trigger,
            instructions: instructions.or(config.compact_instructions),
            before,
        };
        let context = CallContext {
            session: Some(self.shared.id.clone()),
            blobs,
            redactor: config.redactor,
            hooks: self.shared.hooks.clone(),
            ..CallContext::detached()
        };
        Ok((compactor, request, context))
    }

    async fn rewrite(&mut self, how: Rewrite) -> Result<(), SessionError> {
        self.require_recovered()?;
        self.require_idle("changing the conversation")?;
        let view = &self.recorder.state().view;
        let change: Event = match (how, &view.before) {
            (Rewrite::Keep(messages), _) => {
                let keep = messages.min(view.messages.len()) as u64;
                Rewound { keep, cause: RewindCause::Checkpoint, undoable: false }.into()
            }
            (Rewrite::Clear, _) => {
                Rewound { keep: 0, cause: RewindCause::Clear, undoable: false }.into()
            }
            (Rewrite::Restore, None) => return Err(SessionError::NothingToRestore),
            (Rewrite::Restore, Some(before)) => {
                let since = view.messages.len().saturating_sub(before.replaced_by);
                let messages = (before.view.messages.len() + since) as u64;
                ViewRestored { messages }.into()
            }
        };
        let changed = PrefixChanged { cause: PrefixChange::Rewind };
        self.append(vec![change, changed.into()]).await?;
        let estimate = self.recorder.state().context(self.shared.window());
        self.append(vec![ContextMeasured { estimate }.into()]).await
    }

    async fn restore_checkpoint(
        &mut self,
        checkpoint: &str,
        options: RestoreOptions,
    ) -> Result<RestoreReport, SessionError> {
        self.require_recovered()?;
        self.require_idle("restoring a checkpoint")?;
        let ((files, root), ids) = {
            let setup = &self.shared.turn_setup().setup;
            (setup.workspace_files()?, setup.base.ids.clone())
        };
        self.shared.hub.set_busy(true);
        let Shared { store, id, .. } = &*self.shared;
        let target = ((checkpoint, options), &*ids);
        let recorder = &mut self.recorder;
        let restoring = async {
            let blobs = store.blobs(id);
            let workspace = Workspace { files: &*files, blobs: &*blobs, root: Path::new(&root) };
            restore(recorder, &**store, id, &workspace, target).await
        };
        // The task does nothing else meanwhile, so no other request sees half of the restore.
        let report = guarded_async(CLEANUP, restoring).await;
        let report = report.unwrap_or_else(|| Err(code_panicked(CLEANUP)))?;
        if report.conversation {
            let estimate = self.recorder.state().context(self.shared.window());
            self.append(vec![ContextMeasured { estimate }.into()]).await?;
        }
        Ok(report)
    }

    async fn recover(
        &mut self,
        choices: std::collections::HashMap<CallId, CloseAs>,
    ) -> Result<(), SessionError> {
        if !self.options.needs_recovery {
            return Ok(());
        }
        let hints = self.options.hints.clone();
        let closing = Closing { choices, hints, ..Closing::of(Cause::Crash) };
        let setup = self.shared.turn_setup().setup.clone();
        let Shared { store, hooks, .. } = &*self.shared;
        let sealing = open::seal(&**store, &mut self.recorder, &setup, hooks, closing);
        // After a failure the work stays open, and the caller can try again.
        let sealed = guarded_async(CLEANUP, sealing).await;
        sealed.unwrap_or_else(|| Err(code_panicked(CLEANUP)))?;
        self.options.needs_recovery = false;
        Ok(())
    }

    fn require_recovered(&self) -> Result<(), SessionError> {
        if self.options.needs_recovery {
            return Err(SessionError::Unrecovered { session: self.shared.id.clone() });
        }
        Ok(())
    }

    fn require_idle(&self, what: &'static str) -> Result<(), SessionError> {
        match self.work {
            Some(_) => Err(SessionError::Busy { session: self.shared.id.clone(), what }),
            None => Ok(()),
        }
    }

    /// A pause is for restores of the caller. Turns and summaries would run at the same time.
    fn require_unpaused(&mut self, what: &'static str) -> Result<(), SessionError> {
        // The pause may have been dropped and not noticed yet, because requests come first.
        if let Some(paused) = &mut self.paused
            && paused.try_recv() != Err(TryRecvError::Empty)
        {
            self.paused = None;
        }
        match self.paused {
            Some(_) => Err(SessionError::Busy { session: self.shared.id.clone(), what }),
            None => Ok(()),
        }
    }
}

type CompactionParts =
    (Option<std::sync::Arc<dyn robota_core::compact::Compactor>>, CompactionRequest, CallContext);
