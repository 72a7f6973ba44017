//! The state that all connections of a mock server share.

use std::collections::HashMap;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};

use tokio::sync::watch;

use super::Failure;
use super::encode::{self, Action, Context};
use super::gates::Gates;
use super::quirk::{Quirk, Quirks};
use super::received::ReceivedRequest;
use super::scenario::{Expect, Reply, Scenario, Stall, When};
use super::wire::Wire;
use crate::lock;

/// The response to one request: an optional pause, then these actions.
pub(super) type PlannedResponse = (Option<Stall>, Arc<Vec<Action>>);

pub(super) struct State {
    playback: Mutex<Playback>,
    record_lock: Mutex<()>,
    pub(super) received: watch::Sender<Vec<Arc<ReceivedRequest>>>,
    pub(super) gates: Gates,
    pub(super) connections: AtomicUsize,
    pub(super) models: Vec<String>,
    pub(super) key: Option<String>,
    pub(super) tokens: u64,
}

/// The part of a scenario that changes as it is played.
struct Playback {
    answers: Vec<Arc<Reply>>,
    quirks: Vec<Quirk>,
    looped: bool,
    next: usize,
    /// Cached encodings: a call that gets the same answer gets the same bytes.
    encoded: HashMap<Context, Arc<Vec<Action>>>,
}

impl State {
    pub(super) fn new(scenario: Scenario) -> Self {
        let answers = match scenario.chunk {
            // A size that a step has itself stays.
            Some(size) => scenario.answers.into_iter().map(|reply| reply.chunked(size)).collect(),
            None => scenario.answers,
        };
        Self {
            playback: Mutex::new(Playback {
                answers: answers.into_iter().map(Arc::new).collect(),
                quirks: scenario.quirks,
                looped: scenario.looped,
                next: 0,
                encoded: HashMap::new(),
            }),
            record_lock: Mutex::new(()),
            received: watch::channel(Vec::new()).0,
            gates: Gates::default(),
            connections: AtomicUsize::new(0),
            models: scenario.models,
            key: scenario.key,
            tokens: scenario.tokens,
        }
    }

    /// Records a request: `make` receives the number of requests and of model calls so far.
    pub(super) fn record_request(
        &self,
        make: impl FnOnce(usize, usize) -> Arc<ReceivedRequest>,
    ) -> Arc<ReceivedRequest> {
        // Under a lock, so that the number of a request is its index in the list.
        let _one = lock(&self.record_lock);
        let (all, calls) = {
            let all = self.received.borrow();
            (all.len(), all.iter().filter(|earlier| earlier.nth_call.is_some()).count())
        };
        let received = make(all, calls);
        self.received.send_modify(|all| all.push(received.clone()));
        received
    }

    pub(super) fn push(&self, reply: Reply) {
        lock(&self.playback).answers.push(Arc::new(reply));
    }

    pub(super) fn unplayed(&self) -> usize {
        let playback = lock(&self.playback);
        let plain = playback.answers.iter().filter(|reply| reply.when.is_always()).count();
        plain.saturating_sub(playback.next)
    }

    /// Returns the response to a model call.
    pub(super) fn answer(&self, received: &ReceivedRequest, wire: Wire) -> PlannedResponse {
        let mut playback = lock(&self.playback);
        let stream = received.wants_stream();
        let usage_wanted =
            received.json["stream_options"]["include_usage"].as_bool().unwrap_or(false);
        let model = received.model().to_owned();
        let picked = playback.pick(received, wire);
        // A request without an answer has the number after the last one, which no answer has.
        let serial = picked.as_ref().map_or(playback.answers.len(), |(at, _)| *at);
        let context = Context { wire, model, serial, stream, usage_wanted };
        let reject = |why| {
            let reply = Failure::status(400, why).into();
            (None, Arc::new(encode::compile(&reply, &Quirks::default(), &context)))
        };
        let Some((_, reply)) = picked else {
            return reject(format!(
                "the scenario has no more answers: it has {}",
                playback.answers.len()
            ));
        };
        if let Some(what) = mismatch(&reply.expect, received) {
            return reject(format!("the request does not match the scenario: {what}"));
        }
        let hold = reply.hold.clone();
        // The quirks of an answer never change, so the same context gives the same bytes.
        if let Some(actions) = playback.encoded.get(&context) {
            return (hold, actions.clone());
        }
        let quirks = Quirks::new(playback.quirks.iter().chain(&reply.quirks).copied());
        let actions = Arc::new(encode::compile(&reply, &quirks, &context));
        playback.encoded.insert(context, actions.clone());
        (hold, actions)
    }
}

impl Playback {
    /// Selects the first answer whose condition holds, otherwise the next one without a condition.
    fn pick(&mut self, received: &ReceivedRequest, wire: Wire) -> Option<(usize, Arc<Reply>)> {
        let fits = |(_, reply): &(usize, &Arc<Reply>)| {
            !reply.when.is_always() && matches_when(&reply.when, received, wire)
        };
        if let Some((at, reply)) = self.answers.iter().enumerate().find(fits) {
            return Some((at, reply.clone()));
        }
        let plain: Vec<(usize, &Arc<Reply>)> =
            self.answers.iter().enumerate().filter(|(_, reply)| reply.when.is_always()).collect();
        let at = if self.looped && !plain.is_empty() { self.next % plain.len() } else { self.next };
        let matched = plain.get(at).map(|(at, reply)| (*at, (*reply).clone()));
        // A call beyond the end does not count, so that an answer that is pushed later is used.
        if matched.is_some() {
            self.next += 1;
        }
        matched
    }
}

fn matches_when(when: &When, received: &ReceivedRequest, wire: Wire) -> bool {
    when.nth.is_none_or(|nth| received.nth_call == Some(nth))
        && when.wire.is_none_or(|wanted| wanted == wire)
        && when.model.as_deref().is_none_or(|model| received.model() == model)
        && when.last.as_deref().is_none_or(|text| received.last_text().contains(text))
}

fn mismatch(expect: &Expect, received: &ReceivedRequest) -> Option<String> {
    if let Some(text) = &expect.last
        && !received.last_text().contains(text)
    {
        return Some(format!("the last text should contain `{text}`: {}", received.last_text()));
    }
    if let Some(text) = &expect.system
        && !received.system().contains(text)
    {
        return Some(format!("the system prompt should contain `{text}`"));
    }
    if let Some(wanted) = expect.messages
        && received.messages() != wanted
    {
        let sent = received.messages();
        return Some(format!("there should be {wanted} messages, but there are {sent}"));
    }
    let tools = received.tools();
    if let Some(missing) = expect.tools.iter().find(|tool| !tools.contains(tool)) {
        return Some(format!("the tool `{missing}` should be offered, among {tools:?}"));
    }
    // The core sends the tools of the conversation in every request, and forbids them where none
    // may be called.
    (expect.no_tools && !tools.is_empty() && !received.forbids_calls())
        .then(|| format!("no tools should be offered: {tools:?}"))
}
