//! Reports of hooks in the background (`"asyncRewake": true`): each is an input of the session. It joins the
//! turn that runs, or starts one.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use robota_core::event::{Delivery, Envelope, Event, TurnEnd};
use robota_core::hook::HookWake;
use robota_core::ids::SessionId;
use robota_core::message::Block;
use robota_session::SendOptions;
use serde_json::{Map, Value};

use super::OpenSessions;
use super::history::DISPLAY;
use crate::notice::Notice;

/// The key in the metadata of such an input; the value is the name of the event.
pub const HOOK_WAKE: &str = "hook_wake";

/// How many such inputs a session takes without another one between them. A hook that wakes the model
/// after each turn would otherwise never let it end.
const MAX_IN_A_ROW: u32 = 8;

/// Sends the reports of hooks to a session.
pub(super) struct HookWakes {
    open: OpenSessions,
    session: SessionId,
    in_a_row: AtomicU32,
    /// Reports that wait for the next prompt; none if reports are sent at once.
    held: Mutex<Option<Vec<HookWake>>>,
    on_notice: Arc<dyn Fn(Notice) + Send + Sync>,
}

impl HookWakes {
    pub(super) fn new(
        open: OpenSessions,
        session: SessionId,
        on_notice: Arc<dyn Fn(Notice) + Send + Sync>,
    ) -> Self {
        Self { open, session, in_a_row: AtomicU32::new(0), held: Mutex::new(None), on_notice }
    }

    /// Takes an event of the session.
    pub(super) fn observe(&self, envelope: &Envelope) {
        match &envelope.event {
            Event::InputAccepted(data) if !data.metadata.contains_key(HOOK_WAKE) => {
                self.in_a_row.store(0, Ordering::Relaxed);
                let held = self.held().take();
                held.into_iter().flatten().for_each(|wake| self.send(wake));
            }
            // After an interrupt or a failure the user decides what comes next.
            Event::TurnFinished(data) if data.end != TurnEnd::Complete => {
                self.held().get_or_insert_default();
            }
            _ => {}
        }
    }

    fn held(&self) -> MutexGuard<'_, Option<Vec<HookWake>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a report, if the session is still open. After a turn that did not complete the report waits for
    /// the next prompt.
    pub(super) fn send(&self, wake: HookWake) {
        let Some(session) = self.open.get(&self.session) else { return };
        if let Some(held) = &mut *self.held() {
            return held.push(wake);
        }
        let HookWake { event, hook, text } = wake;
        if self.in_a_row.fetch_add(1, Ordering::Relaxed) >= MAX_IN_A_ROW {
            let text = format!(
                "the {event} {hook} does not wake the model: hooks have done so {MAX_IN_A_ROW} times \
                 in a row"
            );
            return (self.on_notice)(Notice::Error(text));
        }
        let mut report = format!(
            "<system-reminder>\nThe {event} {hook}, which ran in the background, reports:\n{text}\n\
             </system-reminder>"
        );
        let mut shown = format!("{event} hook: {text}");
        let redactor = session.session().config().redactor();
        redactor.clean(&mut report);
        redactor.clean(&mut shown);
        let metadata = Map::from_iter([
            (HOOK_WAKE.to_owned(), Value::from(event.name())),
            (DISPLAY.to_owned(), Value::from(shown)),
        ]);
        let options =
            SendOptions { delivery: Delivery::NextRound, metadata, ..SendOptions::default() };
        let on_notice = self.on_notice.clone();
        drop(tokio::spawn(async move {
            let sent = session.session().send_with(vec![Block::text(report)], options).await;
            if let Err(error) = sent {
                on_notice(Notice::Error(format!("the report of a hook is lost: {error}")));
            }
        }));
    }
}
