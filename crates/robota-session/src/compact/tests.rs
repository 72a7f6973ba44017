use std::num::NonZeroUsize;

use robota_core::call::CallContext;
use robota_core::event::CompactionTrigger;
use robota_core::ids::{CountingIds, MessageId};
use robota_core::message::{Block, MessageState, ToolInput, ToolResult, ToolUse};
use robota_core::provider::{FailureReason, StopReason};
use robota_core::scripted::{Script, ScriptedAnswer, ScriptedProvider};
use robota_core::state::State;
use serde_json::json;

use super::*;

/// Returns a conversation with that many turns, each with a tool call and about that many bytes.
fn conversation(turns: usize, bytes: usize) -> View {
    let ids = CountingIds::default();
    let mut messages = Vec::new();
    for turn in 0..turns {
        messages.push(Message::user(&ids, format!("question {turn} {}", "q".repeat(bytes / 3))));
        let call = format!("call-{turn}");
        let input = ToolInput::Json(json!({"n": turn}));
        let tool_use = ToolUse::new(call.as_str().into(), &call, "read", input);
        let result = ToolResult::text(&tool_use, "r".repeat(bytes / 3), false);
        let blocks = vec![Block::ToolUse(tool_use)];
        messages.push(Message::assistant(&ids, blocks, MessageState::Complete));
        messages.push(Message::tool(MessageId::from(format!("tool-{turn}")), vec![result]));
        let answer = format!("answer {turn} {}", "a".repeat(bytes / 3));
        messages.push(Message::assistant(&ids, answer, MessageState::Complete));
    }
    Arc::new(messages.into_iter().map(Arc::new).collect())
}

fn request(view: View) -> CompactionRequest {
    CompactionRequest {
        view,
        system: None,
        trigger: CompactionTrigger::Auto,
        instructions: None,
        before: State::default().context(0),
    }
}

fn compactor(script: Script, window: u64) -> (SummaryCompactor, ScriptedProvider) {
    let model = ScriptedProvider::new(script);
    let ids = Arc::new(CountingIds::default());
    (SummaryCompactor::new(Arc::new(model.clone()), "m", window, ids), model)
}

fn kept(view: &View, compaction: &Compaction) -> usize {
    let from = compaction.keep_from.as_ref();
    from.map_or(0, |id| view.len() - view.iter().position(|m| m.id == *id).unwrap())
}

#[tokio::test(start_paused = true)]
async fn sess_06_old_turns_become_a_summary_and_new_ones_stay_verbatim() {
    let view = conversation(10, 3_000);
    let usage = Usage::new(5_000, 200);
    let answer = ScriptedAnswer::new().text("They asked ten things.").usage(usage);
    let (compactor, model) = compactor(Script::new().answer(answer), 20_000);
    let done = compactor.compact(request(view.clone()), CallContext::detached()).await.unwrap();
    assert_eq!(done.summary.text(), "[Context Summary] They asked ten things.");
    assert_eq!(done.summary.usage, Some(usage), "what it cost is known");
    let kept = kept(&view, &done);
    assert_eq!(kept % 4, 0, "whole turns");
    assert!((4..20).contains(&kept), "{kept}");
    let sent = model.requests().remove(0);
    assert!(sent.tools.is_empty());
    let text = sent.messages[0].text();
    assert!(text.contains("question 0") && text.contains("calls read with {\"n\":0}"));
    assert!(!text.contains("question 9"), "what stays is not summarised");
}

#[tokio::test(start_paused = true)]
async fn sess_06_a_history_too_large_for_one_call_is_summarised_in_parts() {
    let view = conversation(40, 6_000);
    let (compactor, model) = compactor(Script::new().text("So far.").looped(), 10_000);
    compactor.compact(request(view), CallContext::detached()).await.unwrap();
    let requests = model.requests();
    assert!(requests.len() > 5, "{}", requests.len());
    for (at, sent) in requests.iter().enumerate() {
        let text = sent.messages[0].text();
        let tokens = text.len() as u64 / 3 + sent.max_output_tokens.unwrap();
        assert!(tokens < 10_000, "part {at} fits, with room for the answer: {tokens}");
        assert_eq!(text.contains("So far."), at > 0, "each part builds on those before");
    }
}

#[tokio::test(start_paused = true)]
async fn sess_06_calls_are_never_separated_from_their_results() {
    for turns in 1..6 {
        for bytes in [30, 300, 3_000, 30_000] {
            let whole = conversation(turns, bytes);
            // A turn may be in the middle of its calls, so every number of messages is tried.
            for length in 2..=whole.len() {
                let view: View = Arc::new(whole[..length].to_vec());
                let (compactor, _) = compactor(Script::new().text("Short.").looped(), 8_000);
                let Ok(done) =
                    compactor.compact(request(view.clone()), CallContext::detached()).await
                else {
                    continue;
                };
                let kept = kept(&view, &done);
                if kept > 0 {
                    let first = &view[view.len() - kept];
                    assert_ne!(first.role(), Role::Tool, "{turns} {bytes} {length}");
                }
                if view.last().unwrap().role() == Role::User {
                    assert!(kept > 0, "an unanswered message stays");
                }
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn sess_06_a_summary_that_is_not_smaller_is_cut_until_it_is() {
    let view = conversation(4, 600);
    let long = "very long ".repeat(5_000);
    let (compactor, _) = compactor(Script::new().text(long), 20_000);
    let done = compactor.compact(request(view.clone()), CallContext::detached()).await.unwrap();
    let cut = view.len() - kept(&view, &done);
    let before: usize = view[..cut].iter().map(|message| transcript::size(message)).sum();
    assert!(done.summary.text().len() < before, "{} < {before}", done.summary.text().len());
    assert!(done.summary.text().contains("[...]"));
}

#[tokio::test(start_paused = true)]
async fn sess_06_the_users_instructions_reach_the_model() {
    let (compactor, model) = compactor(Script::new().text("Short."), 20_000);
    let instructions = Some("keep the file names".to_owned());
    let request = CompactionRequest { instructions, ..request(conversation(4, 600)) };
    compactor.compact(request, CallContext::detached()).await.unwrap();
    assert!(model.requests()[0].messages[0].text().ends_with("keep the file names"));
}

#[tokio::test(start_paused = true)]
async fn sess_06_a_model_that_fails_leaves_the_conversation_as_it_was() {
    let error = robota_core::provider::ProviderError::new(ErrorKind::Authentication, "no key");
    let (compactor, _) = compactor(Script::new().error(error), 20_000);
    let error = compactor
        .compact(request(conversation(4, 600)), CallContext::detached())
        .await
        .unwrap_err();
    assert!(error.message.contains("no key"));
    let (compactor, _) = self::compactor(Script::new().text("  "), 20_000);
    assert!(
        compactor.compact(request(conversation(4, 600)), CallContext::detached()).await.is_err(),
        "no words"
    );
    let overloaded = robota_core::provider::ProviderError::new(ErrorKind::RateLimit, "busy");
    let (compactor, model) = self::compactor(Script::new().error(overloaded).text("Ok."), 20_000);
    compactor.compact(request(conversation(4, 600)), CallContext::detached()).await.unwrap();
    assert_eq!(model.requests().len(), 2, "a failure that may pass is tried again");
}

#[tokio::test(start_paused = true)]
async fn sess_06_nothing_to_summarise_is_an_error() {
    let ids = CountingIds::default();
    let view: View = Arc::new(vec![Arc::new(Message::user(&ids, "Hi"))]);
    let (compactor, model) = compactor(Script::new().text("Short."), 20_000);
    assert!(compactor.compact(request(view), CallContext::detached()).await.is_err());
    assert!(model.requests().is_empty());
}

#[test]
fn sess_06_pieces_contain_everything_and_fit() {
    let view = conversation(3, 5_000);
    let messages: Vec<_> = view.iter().collect();
    let size = NonZeroUsize::new(700).unwrap().get();
    let pieces = transcript::pieces(&messages, size);
    assert!(pieces.iter().all(|piece| piece.len() <= size));
    let whole = pieces.concat();
    assert_eq!(whole, transcript::pieces(&messages, usize::MAX).concat());
    for turn in 0..3 {
        assert!(whole.contains(&format!("question {turn}")));
    }
}

#[test]
fn sess_06_cutting_respects_characters() {
    let text = "äöü".repeat(100);
    for longest in 0..60 {
        let cut = shorten(&text, longest);
        assert!(cut.len() <= longest.max(7), "{longest}: {}", cut.len());
    }
    assert_eq!(shorten("short", 100), "short");
}

#[tokio::test(start_paused = true)]
async fn sess_06_a_summary_that_is_not_whole_never_replaces_the_history() {
    for stop in [
        StopReason::MaxTokens,
        StopReason::WindowFull,
        StopReason::Refusal,
        StopReason::Filtered,
        StopReason::Pause,
    ] {
        let answer = ScriptedAnswer::new().text("They asked").stop(stop.clone());
        let (compactor, _) = compactor(Script::new().answer(answer), 20_000);
        let view = conversation(10, 3_000);
        let failed = compactor.compact(request(view), CallContext::detached()).await;
        assert!(failed.is_err(), "{stop:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn sess_06_a_model_that_reasons_has_room_for_more_than_the_summary() {
    let (compactor, model) = compactor(Script::new().text("Short.").looped(), 100_000);
    let view = conversation(10, 30_000);
    compactor.compact(request(view), CallContext::detached()).await.unwrap();
    assert_eq!(model.requests()[0].max_output_tokens, Some(20_000));
}

#[tokio::test(start_paused = true)]
async fn sess_06_a_window_that_is_smaller_than_assumed_needs_smaller_pieces() {
    let too_long = ProviderError::new(ErrorKind::Validation, "too long")
        .with_reason(FailureReason::ContextTooLong)
        .with_context_window(Some(8_000));
    let mut script = Script::new().error(too_long);
    for _ in 0..40 {
        script = script.text("So far.");
    }
    let (first, model) = compactor(script, 200_000);
    let view = conversation(40, 3_000);
    first.compact(request(view.clone()), CallContext::detached()).await.unwrap();
    let sizes: Vec<_> = model.requests().iter().map(|sent| sent.messages[0].text().len()).collect();
    assert!(sizes[0] > 24_000 && sizes[1..].iter().all(|size| *size < 24_000), "{sizes:?}");

    // A window that the turn found out is used from the start.
    let (second, model) = compactor(Script::new().text("So far.").looped(), 200_000);
    let mut known = request(view);
    known.before = State::default().context(8_000);
    second.compact(known, CallContext::detached()).await.unwrap();
    assert!(model.requests().iter().all(|sent| sent.messages[0].text().len() < 24_000));
}

/// Tokens of a summary that is not used, and of finished pieces before a failure, count too.
#[tokio::test(start_paused = true)]
async fn sess_06_a_failed_summary_reports_what_it_cost() {
    let usage = |tokens| Usage::new(tokens, 7);
    let whole = |tokens| ScriptedAnswer::new().text("So far.").usage(usage(tokens));
    for (script, fails, expected) in [
        (Script::new().answer(ScriptedAnswer::new().usage(usage(50))), true, vec![usage(50)]),
        (
            Script::new()
                .answer(whole(40))
                .answer(whole(30))
                .answer(ScriptedAnswer::new().usage(usage(20))),
            true,
            vec![usage(40) + usage(30) + usage(20)],
        ),
        // An attempt that is retried was paid for, and the summary does not count it.
        (
            (0..40).fold(
                Script::new().answer(ScriptedAnswer::new().usage(usage(25)).cut_off()),
                |script, _| script.answer(whole(40)),
            ),
            false,
            vec![usage(25)],
        ),
        (Script::new().answer(whole(40)).looped(), false, vec![]),
    ] {
        let (compactor, _) = compactor(script, 10_000);
        let context = CallContext::detached();
        let compacting = compactor.compact(request(conversation(40, 6_000)), context.clone());
        let done = compacting.await;
        assert_eq!(done.is_err(), fails, "{done:?}");
        let counted = done.ok().and_then(|done| done.summary.usage).unwrap_or_default();
        let lost: Vec<_> = context
            .meter
            .take_beyond(counted)
            .into_iter()
            .filter_map(|asked| asked.usage)
            .collect();
        assert_eq!(lost, expected);
    }
}
