//! Removes secrets from what tools, hooks and providers return, before the machine receives it.

use crate::approve::Answer;
use crate::hook::{
    AfterChange, BatchDecision, HookAnswer, HookQuestion, HookReply, PostToolDecision,
    PreToolDecision, PromptDecision, StopDecision,
};
use crate::redact::Redactor;
use crate::turn::Input;

/// Removes secrets from an input. The model's stream is not changed.
pub(super) fn redact(redactor: &Redactor, input: &mut Input) {
    match input {
        Input::ToolFinished { outcome, .. } => redactor.outcome(outcome),
        Input::Hooked { reply, .. } => redact_reply(redactor, reply),
        // What a user answered is not changed.
        Input::Answered { answer: Answer::ByHook { answer }, .. } => {
            redact_permission(redactor, answer);
        }
        Input::ModelFailed(error) => error.redact(redactor),
        Input::Compacted(Err(error)) => redactor.error(error),
        _ => {}
    }
}

/// Removes secrets from the reply of hooks that were run outside a turn.
pub fn redact_reply(redactor: &Redactor, reply: &mut HookReply) {
    redact_answer(redactor, &mut reply.answer);
    clean_optional(redactor, &mut reply.context);
    clean_optional(redactor, &mut reply.stop);
}

fn redact_answer(redactor: &Redactor, answer: &mut HookAnswer) {
    match answer {
        HookAnswer::UserPromptSubmit(PromptDecision::Continue { context })
        | HookAnswer::PostToolBatch(BatchDecision::Continue { context }) => {
            clean_optional(redactor, context);
        }
        HookAnswer::UserPromptSubmit(PromptDecision::Block { reason })
        | HookAnswer::PreToolUse(PreToolDecision::Deny { reason })
        | HookAnswer::PostToolUse(PostToolDecision::Block { reason })
        | HookAnswer::PostToolBatch(BatchDecision::Stop { reason })
        | HookAnswer::Stop(StopDecision::Continue { reason }) => redactor.clean(reason),
        HookAnswer::PreToolUse(PreToolDecision::Ask(question)) => {
            redact_question(redactor, question);
        }
        HookAnswer::PreToolUse(PreToolDecision::Allow { reason }) => {
            clean_optional(redactor, reason);
        }
        HookAnswer::PreToolUse(PreToolDecision::Change { input, then }) => {
            redactor.value(input);
            match then {
                AfterChange::Judge => {}
                AfterChange::Allow { reason } => clean_optional(redactor, reason),
                AfterChange::Ask(question) => redact_question(redactor, question),
            }
        }
        HookAnswer::PreToolUse(PreToolDecision::Answer { outcome })
        | HookAnswer::PostToolUse(PostToolDecision::Replace { outcome }) => {
            redactor.outcome(outcome);
        }
        HookAnswer::PreToolUse(PreToolDecision::Continue)
        | HookAnswer::PostToolUse(PostToolDecision::Continue)
        | HookAnswer::Stop(StopDecision::Finish) => {}
    }
}

/// Removes secrets from the answer that a hook gave instead of the user.
fn redact_permission(redactor: &Redactor, answer: &mut Answer) {
    match answer {
        Answer::Allow { note } | Answer::Remember { note, .. } | Answer::Deny { note } => {
            clean_optional(redactor, note);
        }
        // Rules and folders are the user's own, and are not part of the journal in this form.
        Answer::AllowChanged { input, note } | Answer::Update { input: Some(input), note, .. } => {
            redactor.value(input);
            clean_optional(redactor, note);
        }
        Answer::Update { input: None, note, .. } => clean_optional(redactor, note),
        Answer::DenyAndStop { reason } | Answer::Unanswered { reason } => redactor.clean(reason),
        Answer::ByHook { answer } => redact_permission(redactor, answer),
    }
}

fn redact_question(redactor: &Redactor, question: &mut HookQuestion) {
    redactor.clean(&mut question.reason);
    redactor.fields(&mut question.metadata);
}

fn clean_optional(redactor: &Redactor, text: &mut Option<String>) {
    if let Some(text) = text {
        redactor.clean(text);
    }
}
