//! What the task does when it is asked.

use robota_core::driver::Command;
use robota_core::event::{
    ContextMeasured, Delivery, Event, InputAccepted, PrefixChange, PrefixChanged, RewindCause,
    Rewound, ViewRestored,
};
use robota_core::hook::{HookData, HookEvent, Hooks as _};
use robota_core::ids::InputId;
use robota_core::message::{Block, Cause, MessageState, Role};
use robota_core::turn::TurnInput;
use serde_json::Map;
use tokio::sync::{mpsc, oneshot};

use super::{Accepted, Actor, COMMANDS, Ended, Flow, Reply, Request, Rewrite, Running, compaction};
use crate::error::SessionError;
use crate::open;
use crate::recover::Known;

impl Actor {
    pub(super) async fn handle(&mut self, request: Request) -> Flow {
        match request {
            Request::Send { content, delivery, reply } => {
                let _ = reply.send(self.accept(content, delivery).await);
            }
            Request::Append { at_rest: true, .. } if self.running.is_some() => {
                self.deferred.push(request);
            }
            Request::Append { events, reply, .. } => {
                let _ = reply.send(self.append(events).await);
            }
            Request::Inspect(look) => self.show(look).await,
            Request::Interrupt { note, reply } => self.interrupt(note, reply).await,
            Request::Continue { reply } => {
                let _ = reply.send(self.continue_turn().await);
            }
            Request::Compact { instructions, reply } => self.compact(instructions, reply),
            Request::Rewrite { how, reply } => {
                let _ = reply.send(self.rewrite(how).await);
            }
            Request::Recover { choices, reply } => {
                let known = Known { choices, ..Known::default() };
                let _ = reply.send(self.recover(known).await);
            }
            Request::Shutdown { reason, reply } => return self.close(&reason, Some(reply)).await,
        }
        Flow::On
    }

    async fn accept(
        &mut self,
        content: Vec<Block>,
        delivery: Delivery,
    ) -> Result<Accepted, SessionError> {
        self.recovered()?;
        let input = InputId::mint(&*self.shared.makeup().parts.ids);
        let before = self.shared.live.pulse().last;
        let event = InputAccepted {
            input: input.clone(),
            delivery,
            content: content.clone(),
            metadata: Map::new(),
        };
        self.append(vec![event.into()]).await?;
        self.beginning.hold = false;
        // Whoever is told that it is safe finds the session busy with it.
        self.shared.live.set_busy(true);
        if let (Some(running), Delivery::NextRound) = (&self.running, delivery) {
            // When the turn has just ended, the input begins the next one.
            let _ = running.commands.send(Command::Send { input: input.clone(), content }).await;
        }
        Ok(Accepted { input, before })
    }

    async fn show(&mut self, look: Box<dyn FnOnce(&robota_core::state::State) + Send>) {
        if let Some(recorder) = &self.recorder {
            return look(recorder.state());
        }
        if let Some(running) = &self.running {
            // When it ends before it hears this, whoever asks asks again.
            let _ = running.commands.send(Command::Inspect(look)).await;
        }
    }

    async fn interrupt(&mut self, note: Option<String>, reply: Reply<bool>) {
        let Some(running) = &self.running else {
            let _ = reply.send(Ok(false));
            return;
        };
        let _ = running.commands.send(Command::Abort { cause: Cause::User, note }).await;
        // What waits behind the turn was meant to follow it.
        let waiting = self.inspect(|state| state.inputs.keys().cloned().collect::<Vec<_>>()).await;
        self.cancelled.extend(waiting.unwrap_or_default());
        let (told, ended) = oneshot::channel();
        self.waiting.push(told);
        self.chores.spawn(async move {
            let _ = ended.await;
            let _ = reply.send(Ok(true));
        });
    }

    pub(super) async fn continue_turn(&mut self) -> Result<(), SessionError> {
        self.recovered()?;
        let Some(recorder) = &self.recorder else { return Err(self.busy("going on")) };
        self.beginning.hold = false;
        let view = &recorder.state().view.messages;
        if !recorder.state().inputs.is_empty() {
            // The next input goes on by itself.
            return Ok(());
        }
        let Some(last) = view.last() else { return Err(SessionError::NothingToContinue) };
        let cut_short = last.state() != MessageState::Complete;
        match last.role() {
            Role::User | Role::Tool => {}
            Role::Assistant if cut_short => {
                // The half answer stays in the history, and out of the request.
                let keep = view.len() as u64 - 1;
                let rewound = Rewound { keep, cause: RewindCause::Retry };
                let changed = PrefixChanged { cause: PrefixChange::Rewind };
                self.append(vec![rewound.into(), changed.into()]).await?;
            }
            Role::Assistant | Role::System => return Err(SessionError::NothingToContinue),
        }
        self.start(TurnInput::Continue);
        Ok(())
    }

    fn compact(&mut self, instructions: Option<String>, reply: Reply<()>) {
        if let Err(error) = self.recovered() {
            let _ = reply.send(Err(error));
            return;
        }
        let Some(recorder) = self.recorder.take() else {
            let _ = reply.send(Err(self.busy("summarising")));
            return;
        };
        self.shared.live.set_busy(true);
        let (commands, heard) = mpsc::channel(COMMANDS);
        let work = {
            let parts = &self.shared.makeup().parts;
            let mut config = parts.config.clone();
            if instructions.is_some() {
                config.compact_instructions = instructions;
            }
            compaction::run(recorder, heard, parts.compactor(&self.shared.chain), config, reply)
        };
        let task = tokio::spawn(async move { (work.await, Ended::Compaction) });
        self.running = Some(Running { commands, task });
    }

    async fn rewrite(&mut self, how: Rewrite) -> Result<(), SessionError> {
        self.recovered()?;
        let Some(recorder) = &self.recorder else {
            return Err(self.busy("changing the conversation"));
        };
        let view = &recorder.state().view;
        let change: Event = match (how, &view.before) {
            (Rewrite::Clear, _) => Rewound { keep: 0, cause: RewindCause::Clear }.into(),
            (Rewrite::Restore, None) => return Err(SessionError::NothingToRestore),
            (Rewrite::Restore, Some(before)) => {
                let since = view.messages.len().saturating_sub(before.replaced_by);
                let messages = (before.view.messages.len() + since) as u64;
                ViewRestored { messages }.into()
            }
        };
        let changed = PrefixChanged { cause: PrefixChange::Rewind };
        self.append(vec![change, changed.into()]).await?;
        let window = self.shared.makeup().parts.config.turn.context_window;
        let estimate = self.inspect(move |state| state.context(window)).await?;
        self.append(vec![ContextMeasured { estimate }.into()]).await
    }

    async fn recover(&mut self, mut known: Known) -> Result<(), SessionError> {
        if !self.beginning.open {
            return Ok(());
        }
        known.evidence = std::mem::take(&mut self.beginning.evidence);
        let parts = self.shared.makeup().parts.clone();
        let Some(recorder) = &mut self.recorder else { return Err(self.busy("recovering")) };
        let (store, id, chain) = (&*self.shared.store, &self.shared.id, &self.shared.chain);
        open::seal(store, id, recorder, &parts, chain, known).await?;
        self.beginning.open = false;
        Ok(())
    }

    /// Shuts down: what runs is stopped, the journal says that the writer is done, SessionEnd is
    /// told once.
    pub(super) async fn close(&mut self, reason: &str, reply: Option<Reply<()>>) -> Flow {
        if let Some(running) = &mut self.running {
            let note = Some(reason.to_owned());
            let _ = running.commands.send(Command::Abort { cause: Cause::Shutdown, note }).await;
            tokio::select! {
                biased;
                () = self.lost.cancelled() => {
                    let flow = self.lose();
                    if let Some(reply) = reply {
                        let _ = reply.send(Err(self.why_ended()));
                    }
                    return flow;
                }
                joined = &mut running.task => {
                    self.cancelled.clear();
                    if let Flow::Over = self.ended(joined).await {
                        return Flow::Over;
                    }
                }
            }
        }
        let result = match &mut self.recorder {
            Some(recorder) => recorder.close(reason).await.map_err(SessionError::from),
            None => Err(self.why_ended()),
        };
        if let Err(error) = &result {
            tracing::warn!(%error, "the end of the session could not be written");
        }
        self.waiting.clear();
        while self.chores.join_next().await.is_some() {}
        let chain = &self.shared.chain;
        if chain.stands_at(HookEvent::SessionEnd) {
            chain.run_event(HookData::SessionEnd { reason: reason.to_owned() }).await;
        }
        // The journal is let go before anybody is told that it is.
        self.recorder = None;
        let (session, reason) = (self.shared.id.clone(), reason.to_owned());
        self.shared.live.end(SessionError::Closed { session, reason });
        if let Some(reply) = reply {
            let _ = reply.send(result);
        }
        Flow::Over
    }

    fn recovered(&self) -> Result<(), SessionError> {
        if self.beginning.open {
            return Err(SessionError::Unrecovered { session: self.shared.id.clone() });
        }
        Ok(())
    }

    fn busy(&self, what: &'static str) -> SessionError {
        SessionError::Busy { session: self.shared.id.clone(), what }
    }
}
