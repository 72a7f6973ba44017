//! Metrics: counts and durations that are computed from events. The same fold works on a live session
//! (as an observer) and on a stored journal.

mod instrument;

use std::borrow::Cow;
use std::collections::BTreeMap;

use jiff::Timestamp;
use robota_core::event::{Envelope, Event, ToolFinished, TurnFinished};
use robota_core::ids::CallId;
use robota_core::telemetry::{OTHER, stable_code, variant_name};
use robota_core::tool::DidRun;
use robota_core::usage::Usage;

use crate::provider_name::provider_name;

pub use instrument::{Histogram, Instrument, Value};

/// Describes a measurement by keys and values, in the order of the semantic conventions.
pub type Attributes = Vec<(&'static str, Cow<'static, str>)>;

/// Computes the metrics of one session from its events. [`Metrics::merge`] adds up several
/// sessions.
///
/// Durations are differences of event times within one epoch: an operation that a crash interrupted
/// has no duration.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Metrics {
    // Sorted, so that the measurements of an instrument follow each other when they are encoded.
    series: BTreeMap<(Instrument, Attributes), Value>,
    open: Open,
}

/// Holds one time series of an instrument.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measurement<'a> {
    /// What is measured, with its name and unit.
    pub instrument: Instrument,
    /// The attributes that distinguish it from the other series of the instrument.
    pub attributes: &'a [(&'static str, Cow<'static, str>)],
    /// The total since the first event.
    pub value: &'a Value,
}

/// The operations that have started and not ended.
#[derive(Debug, Clone, Default, PartialEq)]
struct Open {
    epoch: u32,
    provider: String,
    // Of the current turn: later events of the turn do not repeat them.
    model: String,
    turn: Option<Timestamp>,
    call: Option<Timestamp>,
    compaction: Option<String>,
    tools: BTreeMap<CallId, OpenTool>,
}

#[derive(Debug, Clone, PartialEq)]
struct OpenTool {
    name: String,
    started: Option<Timestamp>,
}

impl Metrics {
    /// Folds a whole journal.
    pub fn fold<'a>(events: impl IntoIterator<Item = &'a Envelope>) -> Self {
        let mut metrics = Self::default();
        for event in events {
            metrics.apply(event);
        }
        metrics
    }

    /// Iterates over all time series, sorted by instrument and attributes.
    pub fn measurements(&self) -> impl Iterator<Item = Measurement<'_>> {
        self.series.iter().map(|((instrument, attributes), value)| Measurement {
            instrument: *instrument,
            attributes,
            value,
        })
    }

    /// Returns the sum over all series of an instrument: the total of a counter, or the number of
    /// values of a histogram.
    #[must_use]
    // Summing over the attributes answers "how many" without knowing which attributes exist.
    pub fn count(&self, instrument: Instrument) -> u64 {
        self.measurements()
            .filter(|measurement| measurement.instrument == instrument)
            .map(|measurement| measurement.value.count())
            .sum()
    }

    /// Returns whether nothing was counted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.series.is_empty()
    }

    /// Adds the counts of `other`. Its open operations are ignored.
    pub fn merge(&mut self, other: Self) {
        for (key, value) in other.series {
            match self.series.entry(key) {
                std::collections::btree_map::Entry::Vacant(entry) => {
                    entry.insert(value);
                }
                std::collections::btree_map::Entry::Occupied(entry) => {
                    entry.into_mut().merge(&value);
                }
            }
        }
    }

    /// Returns the counts so far and resets them, for the caller to merge. Open operations stay
    /// here, so the fold can continue.
    #[must_use]
    pub fn take(&mut self) -> Self {
        Self { series: std::mem::take(&mut self.series), open: Open::default() }
    }

    /// Folds one more event.
    pub fn apply(&mut self, envelope: &Envelope) {
        let ts = envelope.ts;
        if envelope.epoch != self.open.epoch {
            // The process of the previous epoch has crashed or ended; when is unknown.
            self.end_call(None, Some("lost"));
            self.open.epoch = envelope.epoch;
            self.open.turn = None;
            for tool in self.open.tools.values_mut() {
                tool.started = None;
            }
        }
        match &envelope.event {
            Event::SessionCreated(_) => self.add(Instrument::Sessions, Vec::new(), 1),
            Event::TurnStarted(data) => {
                // Normally none is open. One whose end was never written is counted, without a
                // duration.
                self.end_call(None, Some("lost"));
                self.open.provider.clone_from(&data.provider);
                self.open.model.clone_from(&data.model);
                self.open.turn = Some(ts);
                self.open.tools.clear();
            }
            Event::ModelRequested(data) => {
                self.end_call(None, Some("lost"));
                // A retry repeats the call of the same round.
                if data.attempt == 1 {
                    self.add(Instrument::Rounds, Vec::new(), 1);
                }
                self.open.call = Some(ts);
            }
            Event::ModelResponded(_) => self.end_call(Some(ts), None),
            Event::ModelRetry(data) => {
                let error = data.error.kind.code();
                self.end_call(Some(ts), Some(error));
                let attributes = self.model_attributes(Some(error.into()));
                self.add(Instrument::ModelRetries, attributes, 1);
            }
            Event::ModelFailed(data) => self.end_call(Some(ts), Some(data.error.kind.code())),
            Event::Interrupted(_) => self.end_call(Some(ts), Some("interrupted")),
            // Not at `ModelResponded`: an answer that was cut short has no such event, but it has a
            // message.
            Event::AssistantMessage(data) => self.add_usage(data.message.usage),
            Event::ModelAsked(data) => self.add_usage(data.usage),
            Event::CompactionStarted(data) => {
                self.open.compaction = Some(variant_name(&data.trigger));
            }
            Event::CompactionFinished(data) => {
                self.add_usage(data.summary.usage);
                self.compaction_ended(None);
            }
            Event::CompactionFailed(data) => self.compaction_ended(Some(data.error.kind.code())),
            Event::ToolCalled(data) => {
                let name = data.tool_use.name.clone();
                self.open
                    .tools
                    .insert(data.tool_use.call.clone(), OpenTool { name, started: None });
            }
            Event::ToolStarted(data) => {
                if let Some(tool) = self.open.tools.get_mut(&data.call) {
                    tool.started = Some(ts);
                }
            }
            Event::ToolFinished(data) => self.tool_finished(data, ts),
            Event::PermissionAsked(_) => self.add(Instrument::PermissionsAsked, Vec::new(), 1),
            Event::PermissionDecided(data) => {
                let verdict = ("robota.permission.verdict", variant_name(&data.verdict).into());
                let by = ("robota.permission.decided_by", variant_name(&data.by).into());
                self.add(Instrument::PermissionsDecided, vec![verdict, by], 1);
            }
            Event::TurnFinished(data) => self.turn_finished(data, ts),
            // Events that no metric counts.
            _ => {}
        }
    }

    /// Counts the open model call, if there is one. `at` is when it ended; `None` if unknown.
    fn end_call(&mut self, at: Option<Timestamp>, error: Option<&'static str>) {
        let Some(started) = self.open.call.take() else { return };
        let attributes = self.model_attributes(error.map(Cow::Borrowed));
        if let Some(at) = at {
            self.record(Instrument::ModelCallDuration, attributes.clone(), seconds(started, at));
        }
        self.add(Instrument::ModelCalls, attributes, 1);
    }

    fn add_usage(&mut self, usage: Option<Usage>) {
        // Without usage from the vendor there is no record: a 0 would lower the averages.
        let Some(usage) = usage else { return };
        for (kind, tokens) in [("input", usage.input_tokens), ("output", usage.output_tokens)] {
            let mut attributes = self.model_attributes(None);
            attributes.push(("gen_ai.token.type", kind.into()));
            #[expect(clippy::cast_precision_loss, reason = "exact up to 2^53 tokens")]
            self.record(Instrument::Tokens, attributes, tokens as f64);
        }
        for (kind, tokens) in [
            // Only where there are some: most vendors report no such parts, and each would be a
            // series of zeros.
            ("cache_read", usage.cache_read_tokens),
            ("cache_write", usage.cache_write_tokens),
            ("reasoning", usage.reasoning_tokens),
        ] {
            if tokens > 0 {
                let mut attributes = self.model_attributes(None);
                attributes.push(("robota.token.kind", kind.into()));
                self.add(Instrument::TokenDetails, attributes, tokens);
            }
        }
    }

    fn compaction_ended(&mut self, error: Option<&'static str>) {
        let trigger = self.open.compaction.take().unwrap_or_else(|| OTHER.to_owned());
        let mut attributes: Attributes = vec![("robota.compaction.trigger", trigger.into())];
        attributes.extend(error.map(|error| ("error.type", error.into())));
        self.add(Instrument::Compactions, attributes, 1);
    }

    fn tool_finished(&mut self, data: &ToolFinished, ts: Timestamp) {
        let outcome = &data.outcome;
        // Codes of other programs (an MCP server, a plugin) are not from a fixed list; each would
        // be a new time series.
        let error = (!outcome.ok).then(|| outcome.error_code.as_deref().map_or(OTHER, stable_code));
        let error = error.map(|error| ("error.type", error.to_owned().into()));
        let tool = self.open.tools.remove(&data.call);
        let started = tool.as_ref().and_then(|tool| tool.started);
        // The name of an unknown tool is made up by the model, so it is not used as an attribute.
        let known = outcome.error_code.as_deref() != Some("unknown_tool");
        let name = tool.filter(|_| known).map_or(OTHER.into(), |tool| tool.name.into());
        let name = ("gen_ai.tool.name", name);
        if let Some(started) = started {
            let mut attributes: Attributes =
                vec![name.clone(), ("gen_ai.tool.type", "function".into())];
            attributes.extend(error.clone());
            self.record(Instrument::ToolDuration, attributes, seconds(started, ts));
        }
        // "Unknown" is a call that a crash interrupted: it may have had effects.
        let outcome_name = match (outcome.ok, outcome.ran) {
            (true, _) => "ok",
            (false, DidRun::Yes) => "failed",
            (false, DidRun::No) => "not_run",
            (false, DidRun::Maybe) => "unknown",
        };
        let mut attributes: Attributes = vec![name, ("robota.tool.outcome", outcome_name.into())];
        attributes
            .extend(data.class.map(|class| ("robota.tool.class", variant_name(&class).into())));
        attributes.extend(error);
        self.add(Instrument::ToolCalls, attributes, 1);
    }

    fn turn_finished(&mut self, data: &TurnFinished, ts: Timestamp) {
        // A call without an end: the turn was ended from outside, so its duration means nothing.
        self.end_call(None, Some("lost"));
        self.open.tools.clear();
        let error = data.error.as_ref().map(|error| ("error.type", error.kind.code().into()));
        if let Some(started) = self.open.turn.take() {
            let attributes = error.into_iter().collect();
            self.record(Instrument::TurnDuration, attributes, seconds(started, ts));
        }
        self.add(Instrument::Turns, vec![("robota.turn.end", variant_name(&data.end).into())], 1);
    }

    /// Returns the attributes of model calls.
    fn model_attributes(&self, error: Option<Cow<'static, str>>) -> Attributes {
        let or_other =
            |text: &str| if text.is_empty() { OTHER.into() } else { text.to_owned().into() };
        let mut attributes: Attributes = vec![
            ("gen_ai.operation.name", "chat".into()),
            ("gen_ai.provider.name", or_other(provider_name(&self.open.provider))),
            ("gen_ai.request.model", or_other(&self.open.model)),
        ];
        attributes.extend(error.map(|error| ("error.type", error)));
        attributes
    }

    fn add(&mut self, instrument: Instrument, attributes: Attributes, count: u64) {
        self.series.entry((instrument, attributes)).or_insert_with(|| instrument.zero()).add(count);
    }

    fn record(&mut self, instrument: Instrument, attributes: Attributes, value: f64) {
        let series = self.series.entry((instrument, attributes));
        series.or_insert_with(|| instrument.zero()).record(value);
    }
}

/// Returns the seconds between two events; 0 if the clock was set back in between.
fn seconds(from: Timestamp, to: Timestamp) -> f64 {
    to.duration_since(from).as_secs_f64().max(0.0)
}

#[cfg(test)]
mod tests;
