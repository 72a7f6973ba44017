//! The state that all connections of a mock server share.

use std::collections::HashMap;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};

use tokio::sync::watch;

use super::Failure;
use super::encode::{self, Context, Out};
use super::gates::Gates;
use super::quirk::{Quirk, Quirks};
use super::received::Received;
use super::scenario::{Expect, Reply, Scenario, Stall, When};
use super::wire::Wire;
use crate::lock;

/// The response to one request: an optional pause, then these actions.
pub(super) type Said = (Option<Stall>, Arc<Vec<Out>>);

pub(super) struct State {
    live: Mutex<Live>,
    noting: Mutex<()>,
    pub(super) received: watch::Sender<Vec<Arc<Received>>>,
    pub(super) gates: Gates,
    pub(super) connections: AtomicUsize,
    pub(super) models: Vec<String>,
    pub(super) key: Option<String>,
    pub(super) tokens: u64,
}

/// The part of a scenario that changes as it is played.
struct Live {
    answers: Vec<Arc<Reply>>,
    quirks: Vec<Quirk>,
    looped: bool,
    next: usize,
    /// Cached encodings: a call that gets the same answer gets the same bytes.
    encoded: HashMap<Context, Arc<Vec<Out>>>,
}

impl State {
    pub(super) fn new(scenario: Scenario) -> Self {
        let answers = match scenario.chunk {
            Some(size) => scenario.answers.into_iter().map(|reply| reply.chunked(size)).collect(),
            None => scenario.answers,
        };
        Self {
            live: Mutex::new(Live {
                answers: answers.into_iter().map(Arc::new).collect(),
                quirks: scenario.quirks,
                looped: scenario.looped,
                next: 0,
                encoded: HashMap::new(),
            }),
            noting: Mutex::new(()),
            received: watch::channel(Vec::new()).0,
            gates: Gates::default(),
            connections: AtomicUsize::new(0),
            models: scenario.models,
            key: scenario.key,
            tokens: scenario.tokens,
        }
    }

    /// Records a request: `make` receives the number of requests and of model calls so far.
    pub(super) fn note(&self, make: impl FnOnce(usize, usize) -> Arc<Received>) -> Arc<Received> {
        // Under a lock, so that the number of a request is its index in the list.
        let _one = lock(&self.noting);
        let (all, calls) = {
            let all = self.received.borrow();
            (all.len(), all.iter().filter(|earlier| earlier.nth_call.is_some()).count())
        };
        let received = make(all, calls);
        self.received.send_modify(|all| all.push(received.clone()));
        received
    }

    pub(super) fn push(&self, reply: Reply) {
        lock(&self.live).answers.push(Arc::new(reply));
    }

    pub(super) fn unplayed(&self) -> usize {
        let live = lock(&self.live);
        let plain = live.answers.iter().filter(|reply| reply.when.is_always()).count();
        plain.saturating_sub(live.next)
    }

    /// Returns the response to a model call.
    pub(super) fn answer(&self, received: &Received, wire: Wire) -> Said {
        let mut live = lock(&self.live);
        let stream = received.wants_stream();
        let usage_wanted =
            received.json["stream_options"]["include_usage"].as_bool().unwrap_or(false);
        let model = received.model().to_owned();
        let picked = live.pick(received, wire);
        let serial = picked.as_ref().map_or(live.answers.len(), |(at, _)| *at);
        let context = Context { wire, model, serial, stream, usage_wanted };
        let refuse = |why| {
            let reply = Failure::status(400, why).into();
            (None, Arc::new(encode::compile(&reply, &Quirks::default(), &context)))
        };
        let Some((_, reply)) = picked else {
            return refuse(format!("the scenario has no more answers: it has {}", live.answers.len()));
        };
        if let Some(what) = unexpected(&reply.expect, received) {
            return refuse(format!("the request does not match the scenario: {what}"));
        }
        let hold = reply.hold.clone();
        if let Some(outs) = live.encoded.get(&context) {
            return (hold, outs.clone());
        }
        let quirks = Quirks::new(live.quirks.iter().chain(&reply.quirks).copied());
        let outs = Arc::new(encode::compile(&reply, &quirks, &context));
        live.encoded.insert(context, outs.clone());
        (hold, outs)
    }
}

impl Live {
    /// Selects the first answer whose condition holds, otherwise the next one without a condition.
    fn pick(&mut self, received: &Received, wire: Wire) -> Option<(usize, Arc<Reply>)> {
        let fits = |(_, reply): &(usize, &Arc<Reply>)| {
            !reply.when.is_always() && holds(&reply.when, received, wire)
        };
        if let Some((at, reply)) = self.answers.iter().enumerate().find(fits) {
            return Some((at, reply.clone()));
        }
        let plain: Vec<(usize, &Arc<Reply>)> =
            self.answers.iter().enumerate().filter(|(_, reply)| reply.when.is_always()).collect();
        let at = if self.looped && !plain.is_empty() { self.next % plain.len() } else { self.next };
        let found = plain.get(at).map(|(at, reply)| (*at, (*reply).clone()));
        if found.is_some() {
            self.next += 1;
        }
        found
    }
}

fn holds(when: &When, received: &Received, wire: Wire) -> bool {
    when.nth.is_none_or(|nth| received.nth_call == Some(nth))
        && when.wire.is_none_or(|wanted| wanted == wire)
        && when.model.as_deref().is_none_or(|model| received.model() == model)
        && when.last.as_deref().is_none_or(|text| received.last_text().contains(text))
}

fn unexpected(expect: &Expect, received: &Received) -> Option<String> {
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
    (expect.no_tools && !tools.is_empty()).then(|| format!("no tools should be offered: {tools:?}"))
}
