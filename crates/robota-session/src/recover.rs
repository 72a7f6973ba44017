//! Recovery: what a dead writer left open is closed, operation by operation (KODE-05).
//!
//! [`open_operations`] says what is open, [`recover`] what events close it. Both are pure: what
//! is known from elsewhere (exit codes from the reaper, the caller's own knowledge, what a
//! PostToolUse hook says when it is run again) is given as data. First the answer that was
//! being streamed is committed, then every call that is owed a result gets exactly one, in the
//! order of the calls, in one message. Nothing else enters the conversation.

use std::collections::HashMap;

use robota_core::checkpoint::FoundFile;
use robota_core::error::{ErrorData, ErrorKind};
use robota_core::event::{
    AssistantMessage, CompactionFailed, Event, HookFinished, Interrupted, Recovered,
    ToolBatchFinished, ToolFinished, ToolResultAdded, TurnEnd, TurnFinished,
};
use robota_core::hook::{HookAnswer, HookPoint, HookReply, PostToolDecision};
use robota_core::ids::{CallId, Ids, InputId, MessageId, TurnId};
use robota_core::message::{Block, Cause, Message, MessageState, ResultBlock};
use robota_core::state::{CallStage, OpenCall, OpenTurn, State};
use robota_core::tool::{Ran, ToolOutcome};

/// What somebody else knows of a call that was running.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// The call.
    pub call: CallId,
    /// How its process ended, if that is known.
    pub exit: Option<i32>,
    /// What it had said by then.
    pub partial_output: Option<String>,
    /// How the files are that it was about to change.
    pub files: Vec<(String, FoundFile)>,
}

impl Evidence {
    /// Nothing is known of it yet.
    #[must_use]
    pub fn of(call: CallId) -> Self {
        Self { call, exit: None, partial_output: None, files: Vec::new() }
    }
}

/// What becomes of a call that a dead writer left open.
#[derive(Debug, Clone, PartialEq)]
pub enum Choice {
    /// It is sealed: its result says whether it ran, as far as is known.
    Seal,
    /// It came to this, says the caller, who knows.
    Outcome(ToolOutcome),
}

/// What is known beside the journal.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Known {
    /// From whoever watched the processes.
    pub evidence: Vec<Evidence>,
    /// What the caller chose; calls it does not name are sealed.
    pub choices: HashMap<CallId, Choice>,
    /// What the PostToolUse hooks said that were run again; a call that waits for its hook and
    /// is not here has its result withheld.
    pub post_hooks: HashMap<CallId, HookReply>,
}

/// Something a dead writer left open.
#[derive(Debug, Clone, PartialEq)]
pub enum OpenOperation {
    /// An input whose hook had not finished: it is run again.
    Input(InputId),
    /// A model call (points A and G), with what had streamed.
    Model {
        /// The turn.
        turn: Option<TurnId>,
        /// What had streamed.
        text: String,
    },
    /// A tool call (points B to F).
    Call {
        /// The call.
        call: Box<OpenCall>,
        /// Whether it may have had effects.
        ran: Ran,
    },
    /// A compaction: it never happened.
    Compaction,
}

/// What a dead writer left open; nothing, if it was at rest.
#[must_use]
pub fn open_operations(state: &State) -> Vec<OpenOperation> {
    let mut open = Vec::new();
    if state.compacting {
        open.push(OpenOperation::Compaction);
    }
    let Some(turn) = &state.turn else { return open };
    if let Some(input) = turn.input.as_ref().filter(|input| state.inputs.contains_key(*input)) {
        open.push(OpenOperation::Input(input.clone()));
    } else if turn.calls.is_empty() && !state.compacting {
        open.push(OpenOperation::Model { turn: turn.id.clone(), text: turn.text.clone() });
    }
    let calls = turn.calls.values().map(|call| OpenOperation::Call {
        call: Box::new(call.clone()),
        ran: match &call.stage {
            CallStage::Called | CallStage::InPreHook | CallStage::Asked | CallStage::Allowed => {
                Ran::No
            }
            CallStage::Started => Ran::Maybe,
            CallStage::Finished(outcome) | CallStage::InPostHook(outcome) => outcome.ran,
        },
    });
    open.extend(calls);
    open
}

/// Calls that ran and whose PostToolUse hook did not finish, with what they came to. `hooked`
/// says whether there is such a hook now.
#[must_use]
pub fn awaiting_post_hook(state: &State, hooked: bool) -> Vec<(OpenCall, ToolOutcome)> {
    let calls = state.turn.iter().flat_map(|turn| turn.calls.values());
    calls
        .filter_map(|call| match &call.stage {
            CallStage::InPostHook(outcome) => Some((call.clone(), (**outcome).clone())),
            // The hook was to begin with the same append that says how the call ended.
            CallStage::Finished(outcome)
                if hooked && !call.post_hooked && outcome.ran == Ran::Yes =>
            {
                Some((call.clone(), (**outcome).clone()))
            }
            _ => None,
        })
        .collect()
}

/// The events that close what a dead writer left open; none when nothing is. They belong to the
/// turn that was open.
#[must_use]
pub fn recover(state: &State, known: &Known, ids: &dyn Ids) -> Vec<Event> {
    let mut events: Vec<Event> = Vec::new();
    if state.compacting {
        let text = "the process ended while the conversation was being summarised";
        events.push(CompactionFailed { error: ErrorData::new(ErrorKind::Storage, text) }.into());
    }
    let Some(turn) = &state.turn else {
        if !events.is_empty() {
            events.push(Recovered { sealed: Vec::new() }.into());
        }
        return events;
    };
    events.push(Interrupted { cause: Cause::Crash, note: None }.into());
    events.extend(commit(turn, ids));
    let (settled, sealed) = settle(state, turn, known, ids);
    events.extend(settled);
    events.push(
        TurnFinished {
            end: TurnEnd::Interrupted,
            rounds: turn.round,
            tools_executed: turn.tools_executed,
            usage: turn.usage,
            error: None,
        }
        .into(),
    );
    events.push(Recovered { sealed }.into());
    events
}

/// The answer that was being streamed, with its complete calls; nothing where nothing had come.
fn commit(turn: &OpenTurn, ids: &dyn Ids) -> Option<Event> {
    let mut blocks = Vec::new();
    if !turn.thinking.is_empty() {
        blocks.push(Block::thinking(turn.thinking.clone(), None));
    }
    if !turn.text.is_empty() {
        blocks.push(Block::text(turn.text.clone()));
    }
    let calls = turn.calls.values().filter(|call| !call.committed);
    blocks.extend(calls.map(|call| Block::ToolUse(call.tool_use.clone())));
    if blocks.is_empty() {
        return None;
    }
    let message = Message::assistant(ids, blocks, MessageState::Interrupted(Cause::Crash));
    Some(AssistantMessage { round: turn.round, message }.into())
}

/// One result for every call that is owed one.
fn settle(
    state: &State,
    turn: &OpenTurn,
    known: &Known,
    ids: &dyn Ids,
) -> (Vec<Event>, Vec<CallId>) {
    let (mut events, mut results, mut sealed) = (Vec::new(), Vec::new(), Vec::new());
    // A write may have been torn between two results: they still are one message.
    let message = turn.settling.clone().unwrap_or_else(|| MessageId::mint(ids));
    let told = state.view.messages.last().filter(|last| Some(&last.id) == turn.settling.as_ref());
    let told: Vec<_> = told.iter().flat_map(|last| last.tool_results()).collect();
    let mut failed = told.iter().map(|result| u32::from(result.is_error)).sum();
    for (id, call) in &turn.calls {
        let mut context = call.context.clone();
        let outcome = match (&call.stage, known.choices.get(id)) {
            (CallStage::Finished(outcome), _) if !known.post_hooks.contains_key(id) => {
                (**outcome).clone()
            }
            (CallStage::Finished(outcome) | CallStage::InPostHook(outcome), _) => {
                let reply = known.post_hooks.get(id);
                let (finished, told) = hooked(id, outcome, reply);
                join(&mut context, reply.and_then(|reply| reply.context.clone()));
                events.push(finished.into());
                told
            }
            (_, Some(Choice::Outcome(outcome))) => {
                events.push(finish(id, outcome.clone()));
                outcome.clone()
            }
            (stage, Some(Choice::Seal) | None) => {
                let evidence = known.evidence.iter().find(|evidence| evidence.call == *id);
                let outcome = seal(&call.tool_use.name, stage, evidence);
                sealed.push(id.clone());
                events.push(finish(id, outcome.clone()));
                outcome
            }
        };
        failed += u32::from(!outcome.ok);
        let mut result = outcome.to_result(&call.tool_use);
        result.content.extend(context.map(ResultBlock::text));
        let message = message.clone();
        results.push(ToolResultAdded { round: turn.round, message, result }.into());
    }
    if !results.is_empty() || turn.settling.is_some() {
        let added = u32::try_from(told.len() + results.len()).unwrap_or(u32::MAX);
        events.extend(results);
        events.push(ToolBatchFinished { round: turn.round, added, skipped: 0, failed }.into());
    }
    (events, sealed)
}

fn join(context: &mut Option<String>, words: Option<String>) {
    if let Some(words) = words {
        *context = Some(match context.take() {
            Some(earlier) => format!("{earlier}\n{words}"),
            None => words,
        });
    }
}

fn finish(call: &CallId, outcome: ToolOutcome) -> Event {
    ToolFinished { call: call.clone(), class: None, outcome, duration_ms: 0 }.into()
}

/// What a PostToolUse hook that was run again makes of a recorded outcome; without one, and with
/// one that answered for something else, the model does not get to see it.
fn hooked(
    call: &CallId,
    outcome: &ToolOutcome,
    reply: Option<&HookReply>,
) -> (HookFinished, ToolOutcome) {
    let withheld = |reason: &str| {
        let text = format!("The result is withheld: {reason}");
        ToolOutcome { ran: outcome.ran, ..ToolOutcome::failed("withheld", text) }
    };
    let (decision, reason, replaced) = match reply.map(|reply| &reply.answer) {
        Some(HookAnswer::PostToolUse(PostToolDecision::Continue)) => ("continue", None, None),
        Some(HookAnswer::PostToolUse(PostToolDecision::Replace { outcome: told })) => {
            ("replace", None, Some(ToolOutcome { ran: outcome.ran, ..told.clone() }))
        }
        Some(HookAnswer::PostToolUse(PostToolDecision::Block { reason })) => {
            let text = format!("Blocked by hook: {reason}");
            let told = ToolOutcome::failed("blocked_by_hook", text);
            ("block", Some(reason.clone()), Some(ToolOutcome { ran: outcome.ran, ..told }))
        }
        Some(_) | None => {
            ("cancelled", None, Some(withheld("its PostToolUse hook did not finish.")))
        }
    };
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

/// What a call is told that nobody knows the end of.
fn seal(name: &str, stage: &CallStage, evidence: Option<&Evidence>) -> ToolOutcome {
    let not_run = |when: &str, word: &str| {
        let text = format!("{name} did not run: the process ended {when}.");
        ToolOutcome::not_run("interrupted", text).with_metadata("sealed", word)
    };
    match stage {
        CallStage::Called => not_run("before it was decided whether it may", "called"),
        CallStage::InPreHook => not_run("while its PreToolUse hook ran", "in_pre_hook"),
        CallStage::Asked => not_run("before anybody approved it", "asked"),
        CallStage::Allowed => not_run("before it was started", "allowed"),
        CallStage::Started | CallStage::Finished(_) | CallStage::InPostHook(_) => {
            let mut text = format!(
                "The process ended while {name} was running. It may have had effects: check \
                 before you repeat it."
            );
            if let Some(code) = evidence.and_then(|evidence| evidence.exit) {
                text.push_str(&format!(" It ended with code {code}."));
            }
            for line in evidence.iter().flat_map(|evidence| files_now(&evidence.files)) {
                text.push('\n');
                text.push_str(&line);
            }
            if let Some(output) = evidence.and_then(|evidence| evidence.partial_output.as_ref()) {
                text.push_str("\nIts output so far:\n");
                text.push_str(output);
            }
            let outcome = ToolOutcome::failed("interrupted", text);
            ToolOutcome { ran: Ran::Maybe, ..outcome }.with_metadata("sealed", "started")
        }
    }
}

/// What the model is told of files that a call was about to change.
fn files_now(files: &[(String, FoundFile)]) -> Vec<String> {
    let groups = [
        (FoundFile::Old, "Not changed"),
        (FoundFile::New, "Changed, as it was to be"),
        (FoundFile::PutBack, "Put back to what it was, since not all of its files were changed"),
        (FoundFile::Other, "Not what it was, nor what it was to be: look at it"),
    ];
    let told = groups.into_iter().map(|(now, words)| {
        let paths = files.iter().filter(|(_, found)| *found == now);
        (words, paths.map(|(path, _)| path.as_str()).collect::<Vec<_>>())
    });
    told.filter(|(_, paths)| !paths.is_empty())
        .map(|(words, paths)| format!("{words}: {}", paths.join(", ")))
        .collect()
}

#[cfg(test)]
mod tests;
