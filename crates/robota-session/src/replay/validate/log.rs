//! Validates a session log.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::ValidationReport;
use crate::replay::log::{PayloadRef, Payloads, load};

/// A model call: the run and its round.
type Round = (String, u64);

/// Validates a log and its payload files.
#[must_use]
pub fn log(bytes: &[u8], payloads: &Payloads) -> ValidationReport {
    let mut check = Check { report: ValidationReport::new("log"), ..Check::default() };
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n').enumerate().peekable();
    while let Some((index, line)) = lines.next() {
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let at = format!("line {}", index + 1);
        match serde_json::from_slice::<Value>(line) {
            Ok(mut value) if value.is_object() => {
                check.report.events += 1;
                check.resolve(&mut value, &at, payloads);
                check.line(&value, &at);
            }
            // A log can be read while it is written.
            Err(_) if lines.peek().is_none() && !line.ends_with(b"\n") => {
                let text = "the last line is incomplete";
                check.report.warning("TORN_TAIL", &at, text);
            }
            Ok(_) => check.report.error("MALFORMED_LINE", &at, "it is not a JSON object"),
            Err(error) => check.report.error("MALFORMED_LINE", &at, error.to_string()),
        }
    }
    check.finish(payloads)
}

#[derive(Default)]
struct Check {
    report: ValidationReport,
    init: bool,
    requests: Vec<(Round, String)>,
    native: HashSet<Round>,
    raw: HashSet<Round>,
    normalized: HashSet<Round>,
    /// Runs that failed or were interrupted: their last call needs no response.
    ended: HashSet<String>,
    calls: Vec<((String, String), String)>,
    results: Vec<((String, String), String)>,
    committed: HashMap<(String, String), u64>,
    run: Option<String>,
    next_index: Option<u64>,
    used: HashSet<String>,
}

impl Check {
    /// Replaces references by payloads. Those that fail are reported and replaced by null.
    fn resolve(&mut self, value: &mut Value, at: &str, payloads: &Payloads) {
        match PayloadRef::read(value) {
            Some(Err(reason)) => {
                self.report.references += 1;
                let text = format!("a payload reference is not valid: {reason}");
                self.report.error("PAYLOAD_REFERENCE_INVALID", at, text);
                *value = Value::Null;
            }
            Some(Ok(reference)) => {
                self.report.references += 1;
                self.used.insert(reference.relative_path.clone());
                *value = load(&reference, payloads).unwrap_or_else(|reason| {
                    self.report.error("UNRESOLVED_REPLAY_PAYLOAD", at, reason);
                    Value::Null
                });
            }
            None => match value {
                Value::Array(items) => {
                    items.iter_mut().for_each(|item| self.resolve(item, at, payloads));
                }
                Value::Object(fields) => {
                    fields.values_mut().for_each(|field| self.resolve(field, at, payloads));
                }
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
            },
        }
    }

    fn line(&mut self, line: &Value, at: &str) {
        let text = |name: &str| line.get(name).and_then(Value::as_str).unwrap_or_default();
        let run = text("executionId").to_owned();
        let round = (run.clone(), line.get("round").and_then(Value::as_u64).unwrap_or(0));
        let call = (run.clone(), text("toolCallId").to_owned());
        let has_value = |name: &str| line.get(name).is_some_and(|value| !value.is_null());
        match text("event") {
            "" => self.report.error("MALFORMED_LINE", at, "it has no event name"),
            "session_init" => self.init = true,
            "pre_run" => {
                self.end_run("another run starts");
                self.run = Some(at.to_owned());
            }
            "assistant" => self.run = None,
            "error" | "interrupted" => {
                self.run = None;
                self.ended.insert(run);
            }
            "provider_request" => self.requests.push((round, at.to_owned())),
            "provider_native_raw_payload" => {
                if matches!(text("payloadKind"), "response" | "stream_event") {
                    self.native.insert(round);
                }
            }
            "provider_response_raw" => {
                self.raw.insert(round);
            }
            "provider_response_normalized" if has_value("response") => {
                self.normalized.insert(round);
            }
            "tool_execution_request" => self.calls.push((call, at.to_owned())),
            "tool_execution_result" => self.results.push((call, at.to_owned())),
            "tool_message_committed" => {
                let id = line.pointer("/message/toolCallId").and_then(Value::as_str);
                *self.committed.entry((run, id.unwrap_or_default().to_owned())).or_default() += 1;
            }
            "history_mutation" => {
                self.report.messages += 1;
                if !has_value("message") {
                    self.report.error("MESSAGE_MISSING", at, "a history line has no message");
                }
                let index = line.get("index").and_then(Value::as_u64);
                if let (Some(index), Some(next)) = (index, self.next_index)
                    && index != next
                {
                    let text = format!("expected message {next} of the history");
                    self.report.error("HISTORY_GAP", at, text);
                }
                self.next_index = index.map(|index| index + 1);
            }
            _ => {}
        }
    }

    fn end_run(&mut self, because: &str) {
        if let Some(at) = self.run.take() {
            self.report.error("TERMINAL_MISSING", at, format!("the run has no end: {because}"));
        }
    }

    fn finish(mut self, payloads: &Payloads) -> ValidationReport {
        self.end_run("the log ends");
        if !self.init {
            self.report.error("SESSION_INIT_MISSING", "the log", "there is no `session_init` line");
        }
        let mut seen = HashSet::new();
        for (round, at) in std::mem::take(&mut self.requests) {
            if !seen.insert(round.clone()) {
                continue;
            }
            let answered = self.raw.contains(&round) || self.normalized.contains(&round);
            if !self.native.contains(&round) {
                let text = "the provider's raw payload is missing";
                self.report.warning("PROVIDER_NATIVE_RAW_PAYLOAD_MISSING", &at, text);
            }
            // An interrupted or failed run may end before the answer.
            if !answered && self.ended.contains(&round.0) {
                continue;
            }
            if !self.raw.contains(&round) {
                let text = "the provider's response is missing";
                self.report.error("PROVIDER_RESPONSE_RAW_MISSING", &at, text);
            }
            if !self.normalized.contains(&round) {
                let text = "the provider's normalised response is missing";
                self.report.error("PROVIDER_RESPONSE_NORMALIZED_MISSING", &at, text);
            }
        }
        self.tools();
        for path in payloads.keys().filter(|path| !self.used.contains(*path)) {
            self.report.warning("PAYLOAD_UNUSED", path, "no line refers to this file");
        }
        self.report
    }

    /// Checks that every request has a result, and every result a request and a message. Counts
    /// them, because providers repeat their ids.
    fn tools(&mut self) {
        self.report.calls = self.calls.len() as u64;
        let count = |list: &[((String, String), String)]| {
            let mut counts: HashMap<(String, String), u64> = HashMap::new();
            for (call, _) in list {
                *counts.entry(call.clone()).or_default() += 1;
            }
            counts
        };
        let (mut requests_left, mut results_left) = (count(&self.calls), count(&self.results));
        let take =
            |counts: &mut HashMap<(String, String), u64>, call: &(String, String)| match counts
                .get_mut(call)
                .filter(|count| **count > 0)
            {
                Some(count) => {
                    *count -= 1;
                    true
                }
                None => false,
            };
        for (call, at) in &self.calls {
            if !take(&mut results_left, call) {
                let text = format!("the call {} has no result", call.1);
                self.report.error("TOOL_RESULT_MISSING", at, text);
            }
        }
        for (call, at) in &self.results {
            if !take(&mut requests_left, call) {
                let text = format!("a result of the call {} without a request", call.1);
                self.report.error("TOOL_REQUEST_MISSING", at, text);
            }
            if !take(&mut self.committed, call) {
                let text = format!("the result of the call {} is in no message", call.1);
                self.report.error("TOOL_MESSAGE_MISSING", at, text);
            }
        }
    }
}
