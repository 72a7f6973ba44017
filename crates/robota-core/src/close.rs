//! Closes a turn that did not run to its end. An abort, a failed store, recovery after a crash, a
//! fork and a dropped [`Agent::run`](crate::agent::Agent::run) all use this code.
//!
//! [`close_turn`] is pure: it computes the events that close the turn from the state and from what
//! the caller knows. First it commits the answer that was streaming. Then every call without a
//! result gets exactly one, in call order, in one message. Nothing else is added to the
//! conversation.

mod operations;

use std::collections::HashMap;

pub use operations::{OpenOperation, open_operations};

use crate::checkpoint::FoundFile;
use crate::error::{ErrorData, ErrorKind};
use crate::event::{
    AssistantMessage, CompactionFailed, Event, HookFinished, Interrupted, Recovered,
    ToolBatchFinished, ToolFinished, ToolResultAdded, TurnEnd, TurnFinished,
};
use crate::hook::{EndedCall, HookAnswer, HookPoint, HookReply, PostToolDecision};
use crate::ids::{CallId, Ids, MessageId};
use crate::message::{Block, Cause, Message, MessageState, ResultBlock};
use crate::state::{CallStage, OpenCall, OpenTurn, State, join_context};
use crate::tool::{DidRun, ToolOutcome};
use crate::turn::{INTERRUPTED_TOOL, batch_hook_finished};

/// Why and how a turn is closed, and what is known about its calls.
#[derive(Debug, Clone, PartialEq)]
pub struct Closing {
    /// What interrupted the turn, such as the user or a crash.
    pub cause: Cause,
    /// How the turn ends; recorded in `turn_finished`.
    pub end: TurnEnd,
    /// The failure that ended the turn; `None` if it did not end with one.
    pub error: Option<ErrorData>,
    /// Whether to record `interrupted`, unless the journal already has it.
    pub announce: bool,
    /// What is known about calls that were running.
    pub hints: Vec<RecoveryHint>,
    /// What the caller chose for calls without an outcome; all other such calls are sealed.
    pub choices: HashMap<CallId, CloseAs>,
    /// The replies of PostToolUse hooks that were run again. A call that waits for its hook and is
    /// not listed here has its result withheld.
    pub post_hooks: HashMap<CallId, HookReply>,
    /// The reply of PostToolBatch hooks that were run again; none if they were not.
    pub batch_hook: Option<HookReply>,
}

impl Closing {
    /// Creates the closing of an interrupted turn about which nothing is known but its state.
    #[must_use]
    pub fn of(cause: Cause) -> Self {
        Self {
            cause,
            end: TurnEnd::Interrupted,
            error: None,
            announce: true,
            hints: Vec::new(),
            choices: HashMap::new(),
            post_hooks: HashMap::new(),
            batch_hook: None,
        }
    }
}

/// What is known about a call that was running when its process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecoveryHint {
    /// The call that the hint is about; hints for other calls have no effect.
    pub call: CallId,
    /// The exit code of its process; `None` if not known.
    pub exit: Option<i32>,
    /// Its output so far; `None` uses the end of the output that the journal has.
    pub partial_output: Option<String>,
    /// The state of the files that it was about to change.
    pub files: Vec<(String, FoundFile)>,
}

impl RecoveryHint {
    /// Creates a hint without any information.
    #[must_use]
    pub fn of(call: CallId) -> Self {
        Self { call, exit: None, partial_output: None, files: Vec::new() }
    }
}

/// How to close a call that has no outcome.
#[derive(Debug, Clone, PartialEq)]
pub enum CloseAs {
    /// Its result says that it did not run, or that it may have had effects.
    Seal,
    /// The caller knows the outcome, which is recorded as it is.
    Outcome(ToolOutcome),
}

/// Returns the calls that ran and whose PostToolUse hook did not finish, with their outcomes.
/// `hooked` says whether such a hook is configured now.
#[must_use]
pub fn awaiting_post_hook(state: &State, hooked: bool) -> Vec<(OpenCall, ToolOutcome)> {
    let calls = state.turn.iter().flat_map(|turn| turn.calls.values());
    calls
        .filter_map(|call| match &call.stage {
            // The journal says that the hook started, so its reply is required whatever is
            // configured now: without it the result is withheld.
            CallStage::InPostHook(outcome) => Some((call.clone(), (**outcome).clone())),
            // `tool_finished` and `hook_started` are one append; a torn write can end between them.
            CallStage::Finished(outcome)
                if hooked && !call.post_hooked && outcome.ran == DidRun::Yes =>
            {
                Some((call.clone(), (**outcome).clone()))
            }
            _ => None,
        })
        .collect()
}

/// Returns the calls of an answer whose PostToolBatch hooks started and did not finish; none if there is
/// no such answer.
#[must_use]
pub fn awaiting_batch_hook(state: &State) -> Option<Vec<EndedCall>> {
    let turn = state.turn.as_ref().filter(|turn| turn.batch_hook)?;
    let ended = turn.calls.values().map(|call| match &call.stage {
        CallStage::Finished(outcome) => {
            Some(EndedCall { tool_use: call.as_started(), outcome: (**outcome).clone() })
        }
        // The hooks start after the last of these stages.
        CallStage::Called
        | CallStage::InPreHook
        | CallStage::Asked
        | CallStage::Allowed
        | CallStage::Started
        | CallStage::InPostHook(_) => None,
    });
    ended.collect()
}

/// Returns the events that close an open compaction and an open turn; none if nothing is open.
/// Append them with the id of the turn that was open.
#[must_use]
pub fn close_turn(state: &State, closing: &Closing, ids: &dyn Ids) -> Vec<Event> {
    close(state, closing, ids).0
}

/// Like [`close_turn`], after a crash: adds an event that lists the calls that were sealed.
#[must_use]
pub fn recover(state: &State, closing: &Closing, ids: &dyn Ids) -> Vec<Event> {
    let (mut events, sealed) = close(state, closing, ids);
    if !events.is_empty() {
        events.push(Recovered { sealed }.into());
    }
    events
}

fn close(state: &State, closing: &Closing, ids: &dyn Ids) -> (Vec<Event>, Vec<CallId>) {
    let mut events: Vec<Event> = Vec::new();
    if state.compacting {
        // A compaction is not continued: its model call is lost, and the conversation still fits as
        // before.
        let text = match closing.cause {
            Cause::Crash => "the process ended while the conversation was being summarised",
            _ => "it was interrupted",
        };
        events.push(CompactionFailed { error: ErrorData::new(ErrorKind::Storage, text) }.into());
    }
    let Some(turn) = &state.turn else { return (events, Vec::new()) };
    if closing.announce && closing.end == TurnEnd::Interrupted && turn.interrupted.is_none() {
        events.push(Interrupted { cause: closing.cause, note: None }.into());
    }
    // Before the results: a result without the answer that asked for it would be refused by every
    // service.
    events.extend(commit(turn, closing.cause, ids));
    let sealed = resolve_calls(state, turn, closing, ids, &mut events);
    events.push(
        TurnFinished {
            end: closing.end,
            // The counts of the fold, not of the machine: after a crash there is no machine.
            rounds: turn.round,
            tools_executed: turn.tools_executed,
            usage: turn.usage,
            error: closing.error.clone(),
            stop: None,
        }
        .into(),
    );
    (events, sealed)
}

/// Commits the answer that was streaming, with its complete calls; `None` if nothing had arrived.
fn commit(turn: &OpenTurn, cause: Cause, ids: &dyn Ids) -> Option<Event> {
    let mut blocks = Vec::new();
    if !turn.thinking.is_empty() {
        // Without the signature, which arrives at the end of the block. Wires that need one leave such
        // a block out.
        blocks.push(Block::thinking(turn.thinking.clone(), None));
    }
    if !turn.text.is_empty() {
        blocks.push(Block::text(turn.text.clone()));
    }
    // A call that is committed is part of an earlier message; repeating it would give it two
    // results.
    let calls = turn.calls.values().filter(|call| !call.committed);
    blocks.extend(calls.map(|call| Block::ToolUse(call.tool_use.clone())));
    if blocks.is_empty() {
        return None;
    }
    let message = Message::assistant(ids, blocks, MessageState::Interrupted(cause));
    Some(AssistantMessage { round: turn.round, message: message.into() }.into())
}

/// Adds one result for every call without one; returns the calls that were sealed.
fn resolve_calls(
    state: &State,
    turn: &OpenTurn,
    closing: &Closing,
    ids: &dyn Ids,
    events: &mut Vec<Event>,
) -> Vec<CallId> {
    let (mut results, mut sealed) = (Vec::new(), Vec::new());
    // A crash may have separated two results of one append; the missing ones go into the same message.
    let message = turn.settling.clone().unwrap_or_else(|| MessageId::mint(ids));
    let added = state.view.messages.last().filter(|last| Some(&last.id) == turn.settling.as_ref());
    let added: Vec<_> = added.iter().flat_map(|last| last.tool_results()).collect();
    let mut failed = added.iter().map(|result| u32::from(result.is_error)).sum();
    let batch = turn.batch_hook.then(|| batch_hook_finished(closing.batch_hook.as_ref()));
    let batch_context = batch.as_ref().and_then(|event| event.context.clone());
    events.extend(batch.map(Event::from));
    let last = turn.calls.keys().last();
    // In the order of the answer: `calls` is an ordered map.
    for (id, call) in &turn.calls {
        let mut context = call.context.clone();
        if Some(id) == last {
            join_context(&mut context, batch_context.as_deref());
        }
        let outcome = match (&call.stage, closing.choices.get(id)) {
            (CallStage::Finished(outcome), _) if !closing.post_hooks.contains_key(id) => {
                (**outcome).clone()
            }
            (CallStage::Finished(outcome) | CallStage::InPostHook(outcome), _) => {
                let reply = closing.post_hooks.get(id);
                let (finished, outcome) = apply_post_hook(id, outcome, reply);
                join_context(&mut context, reply.and_then(|reply| reply.context.as_deref()));
                events.push(finished.into());
                outcome
            }
            (_, Some(CloseAs::Outcome(outcome))) => {
                events.push(finish(id, outcome.clone()));
                outcome.clone()
            }
            (stage, Some(CloseAs::Seal) | None) => {
                let hint = closing.hints.iter().find(|hint| hint.call == *id);
                let outcome = match stage {
                    CallStage::Started => seal_running(call, closing.cause, hint),
                    // Intents are durable before their effects, so a call without `tool_started`
                    // has certainly not run.
                    _ => seal_unstarted(call, closing.cause),
                };
                sealed.push(id.clone());
                events.push(finish(id, outcome.clone()));
                outcome
            }
        };
        failed += u32::from(!outcome.ok);
        let mut result = outcome.to_result(&call.tool_use);
        result.content.extend(context.map(ResultBlock::text));
        // All results share one message, as in a turn that ended normally.
        let (message, result) = (message.clone(), result.into());
        results.push(ToolResultAdded { round: turn.round, message, result }.into());
    }
    // Also if only `tool_batch_finished` is missing: the batch has to end before the turn does.
    if !results.is_empty() || turn.settling.is_some() {
        let added = u32::try_from(added.len() + results.len()).unwrap_or(u32::MAX);
        events.extend(results);
        events.push(ToolBatchFinished { round: turn.round, added, skipped: 0, failed }.into());
    }
    sealed
}

fn finish(call: &CallId, outcome: ToolOutcome) -> Event {
    let (call, outcome) = (call.clone(), outcome.into());
    ToolFinished { call, class: None, outcome, duration_ms: 0 }.into()
}

/// Returns the outcome after a PostToolUse hook that was run again. Without a reply, or with a
/// reply for another hook point, the model does not see the outcome.
fn apply_post_hook(
    call: &CallId,
    outcome: &ToolOutcome,
    reply: Option<&HookReply>,
) -> (HookFinished, ToolOutcome) {
    let (decision, reason, replaced) = match reply.map(|reply| &reply.answer) {
        Some(HookAnswer::PostToolUse(PostToolDecision::Continue)) => ("continue", None, None),
        Some(HookAnswer::PostToolUse(PostToolDecision::Replace { outcome })) => {
            ("replace", None, Some(outcome.clone()))
        }
        Some(HookAnswer::PostToolUse(PostToolDecision::Block { reason })) => {
            let text = format!("Blocked by hook: {reason}");
            ("block", Some(reason.clone()), Some(ToolOutcome::failed("blocked_by_hook", text)))
        }
        Some(_) | None => {
            let text = "The result is withheld: its PostToolUse hook did not finish.";
            ("cancelled", None, Some(ToolOutcome::failed("withheld", text)))
        }
    };
    // A hook may hide the outcome from the model; the call ran nevertheless.
    let replaced = replaced.map(|replaced| ToolOutcome { ran: outcome.ran, ..replaced });
    let finished = HookFinished {
        point: HookPoint::PostToolUse,
        call: Some(call.clone()),
        decision: decision.to_owned(),
        reason,
        input: None,
        outcome: replaced.clone(),
        context: reply.and_then(|reply| reply.context.clone()),
        stop: None,
    };
    (finished, replaced.unwrap_or_else(|| outcome.clone()))
}

/// Returns the outcome of a call that did not start.
fn seal_unstarted(call: &OpenCall, cause: Cause) -> ToolOutcome {
    // Only after a crash does the model need to know how far the call got; otherwise the cause is
    // enough.
    if cause != Cause::Crash {
        return ToolOutcome::not_run("interrupted", not_run_text(cause));
    }
    let (when, stage) = match call.stage {
        CallStage::InPreHook => ("while its PreToolUse hook ran", "in_pre_hook"),
        CallStage::Asked => ("before it was approved", "asked"),
        CallStage::Allowed => ("before it was started", "allowed"),
        _ => ("before it was decided whether it may", "called"),
    };
    let text = format!("{} did not run: the process ended {when}.", call.tool_use.name);
    ToolOutcome::not_run("interrupted", text).with_metadata("sealed", stage)
}

/// Returns the result text of a call that did not run.
pub(crate) fn not_run_text(cause: Cause) -> &'static str {
    match cause {
        Cause::User => INTERRUPTED_TOOL,
        Cause::Shutdown => "Execution interrupted by shutdown",
        Cause::Crash => "Execution interrupted by a crash",
        Cause::Provider => "Execution interrupted by a provider error",
        Cause::Store => "Execution interrupted by a storage error",
    }
}

/// Returns the outcome of a call whose end is not known.
fn seal_running(call: &OpenCall, cause: Cause, hint: Option<&RecoveryHint>) -> ToolOutcome {
    let what = match cause {
        Cause::Crash => "The process ended",
        _ => "The turn was interrupted",
    };
    let name = &call.tool_use.name;
    let mut text = format!(
        "{what} while {name} was running. It may have had effects: check before you repeat it."
    );
    if let Some(code) = hint.and_then(|hint| hint.exit) {
        text.push_str(&format!(" It ended with code {code}."));
    }
    for line in hint.iter().flat_map(|hint| describe_files(&hint.files)) {
        text.push('\n');
        text.push_str(&line);
    }
    let given = hint.and_then(|hint| hint.partial_output.as_deref());
    let output = given.unwrap_or_else(|| call.output.as_str());
    if !output.is_empty() {
        text.push_str("\nIts output so far:\n");
        text.push_str(output);
    }
    let outcome = ToolOutcome::failed("interrupted", text);
    ToolOutcome { ran: DidRun::Maybe, ..outcome }.with_metadata("sealed", "started")
}

/// Describes the files that the call was about to change.
fn describe_files(files: &[(String, FoundFile)]) -> Vec<String> {
    let groups = [
        (FoundFile::Old, "Not changed"),
        (FoundFile::New, "Changed completely"),
        (FoundFile::PutBack, "Restored to its previous content, since not all files were changed"),
        (FoundFile::Other, "Has neither its previous nor its intended content: inspect it"),
    ];
    let lines = groups.into_iter().map(|(now, text)| {
        let paths = files.iter().filter(|(_, found)| *found == now);
        (text, paths.map(|(path, _)| path.as_str()).collect::<Vec<_>>())
    });
    lines
        .filter(|(_, paths)| !paths.is_empty())
        .map(|(text, paths)| format!("{text}: {}", paths.join(", ")))
        .collect()
}

#[cfg(test)]
mod tests;
