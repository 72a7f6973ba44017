use proptest::prelude::*;
use robota_core::message::ToolInput;
use serde_json::{Value, json};

use super::*;
use crate::fuzzing::{local_quirks, read_text};

/// Decodes a text: text as `T`, reasoning as `R`, calls by name and arguments.
fn decoded(text: &str) -> Vec<String> {
    show(&read_text(&[text.to_owned()], &local_quirks()))
}

fn show(deltas: &[Delta]) -> Vec<String> {
    let one = |delta: &Delta| match delta {
        Delta::Text(text) => Some(format!("T {text}")),
        Delta::Thinking(text) => Some(format!("R {text}")),
        Delta::Block(Block::ToolUse(call)) => {
            let ToolInput::Json(input) = &call.input else { panic!("{call:?}") };
            Some(format!("{} {input}", call.name))
        }
        Delta::End(reason) => Some(format!("{reason:?}")),
        _ => None,
    };
    deltas.iter().filter_map(one).collect()
}

const READ: &str = r#"read {"path":"a.txt"}"#;

#[test]
fn every_form_of_call_is_parsed() {
    let forms = [
        "<tool_call>\n{\"name\":\"read\",\"arguments\":{\"path\":\"a.txt\"}}\n</tool_call>",
        "<tool_call>\n<function=read>\n<parameter=path>\na.txt\n</parameter>\n</function>\n</tool_call>",
        "<function=read>\n<parameter=path>\na.txt\n</parameter>\n</function>",
        "<|tool_call>call:read{path:<|\"|>a.txt<|\"|>}<tool_call|>",
        "<start_function_call>call:read{path:<escape>a.txt<escape>}<end_function_call>",
        "[TOOL_CALLS][{\"name\":\"read\",\"arguments\":{\"path\":\"a.txt\"},\"id\":\"abc123def\"}]",
        "[TOOL_CALLS]read[ARGS]{\"path\":\"a.txt\"}",
        "```json\n{\"name\": \"read\", \"arguments\": {\"path\": \"a.txt\"}}\n```",
        "<tool_call>{\"name\":\"read\",\"parameters\":\"{\\\"path\\\":\\\"a.txt\\\"}\"}</tool_call>",
        // Without a closing mark.
        "<tool_call>{\"name\":\"read\",\"arguments\":{\"path\":\"a.txt\"}}",
    ];
    for form in forms {
        assert_eq!(decoded(form), [READ, "ToolUse"], "{form}");
    }
}

#[test]
fn text_around_calls_is_kept_and_white_space_between_calls_is_dropped() {
    let one = "<tool_call>{\"name\":\"read\",\"arguments\":{\"path\":\"a.txt\"}}</tool_call>";
    let text = format!("I look.\n{one}\n{one}\nDone.");
    assert_eq!(decoded(&text), ["T I look.\n", READ, READ, "T Done.", "ToolUse"]);
}

#[test]
fn xml_values_are_converted_by_the_schema() {
    let xml =
        "<function=read><parameter=path>7</parameter><parameter=n>\n7\n</parameter></function>";
    assert_eq!(decoded(xml)[0], r#"read {"path":"7","n":7}"#);
    let gemma = "<|tool_call>call:list{path:<|\"|>a, {b}<|\"|>,n:3,deep:{x:[1,true,null,-2.5]}}<tool_call|>";
    assert_eq!(
        decoded(gemma)[0],
        r#"list {"path":"a, {b}","n":3,"deep":{"x":[1,true,null,-2.5]}}"#
    );
}

#[test]
fn text_that_is_not_a_valid_call_stays_text() {
    let texts = [
        "<tool_call>{\"name\":\"unknown\",\"arguments\":{}}</tool_call>",
        "<tool_call>not json</tool_call> and more",
        "Use `<tool_call>` to call.",
        "```json\n{\"a\": 1}\n```\n",
        "inline ```json\n{\"name\":\"read\",\"arguments\":{}}\n``` is no fence",
        "a < b and [TOOL",
        "<function=nobody></function>",
        "<|tool_call>call:read{path<tool_call|>",
    ];
    for text in texts {
        assert_eq!(decoded(text), [format!("T {text}"), "EndTurn".into()], "{text}");
    }
}

#[test]
fn a_closing_mark_inside_an_argument() {
    let text =
        "<tool_call>{\"name\":\"read\",\"arguments\":{\"path\":\"</tool_call>\"}}</tool_call>";
    assert_eq!(decoded(text)[0], r#"read {"path":"</tool_call>"}"#);
}

#[test]
fn reasoning_in_text() {
    assert_eq!(decoded("<think>\nHm.\n</think>\n\nHi"), ["R \nHm.\n", "T Hi", "EndTurn"]);
    assert_eq!(decoded(" <think>cut"), ["R cut", "EndTurn"]);
    assert_eq!(decoded("I <think> so"), ["T I <think> so", "EndTurn"]);
    let gemma = "<|channel>thought\nHm.<channel|>Hi<|channel>thought\nNow.<|tool_call>call:list{}<tool_call|>";
    assert_eq!(decoded(gemma), ["R Hm.", "T Hi", "R Now.", "list {}", "ToolUse"]);
}

#[test]
fn structured_calls_disable_text_calls() {
    let mut decoder = crate::wire::decoder(
        crate::profile::Wire::ChatCompletions,
        &local_quirks(),
        "m",
        &crate::fuzzing::two_tools(),
    );
    let mut out = DeltaQueue::new();
    let events: [Value; 2] = [
        json!({"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "x", "function":
            {"name": "list", "arguments": "{}"}}]}, "finish_reason": "tool_calls"}]}),
        json!({"choices": [{"delta": {"content": "<tool_call>{\"name\":\"read\",\"arguments\":{}}</tool_call>"}}]}),
    ];
    for event in events {
        decoder.event("", &event.to_string(), &mut out).unwrap();
    }
    decoder.event("", "[DONE]", &mut out).unwrap();
    let shown = show(&out.into_iter().collect::<Vec<_>>());
    assert_eq!(shown[0], "list {}");
    assert!(shown[1].starts_with("T <tool_call>"), "{shown:?}");
}

#[test]
fn without_tools_text_is_not_parsed() {
    let mut decoder = crate::wire::decoder(
        crate::profile::Wire::ChatCompletions,
        &local_quirks(),
        "m",
        &Arc::from([]),
    );
    let mut out = DeltaQueue::new();
    let event = json!({"choices": [{"delta": {"content": "<tool_call>x"}}]}).to_string();
    decoder.event("", &event, &mut out).unwrap();
    assert_eq!(out.pop_front(), Some(Delta::Text("<tool_call>x".into())));
}

proptest! {
    #[test]
    fn piece_size_does_not_matter(
        pieces in prop::collection::vec(prop_oneof![
            Just("<think>"), Just("</think>"), Just("<|channel>thought\n"), Just("<channel|>"),
            Just("<tool_call>"), Just("</tool_call>"), Just("{\"name\":\"read\",\"arguments\":{}}"),
            Just("<function=list>"), Just("</function>"), Just("<|tool_call>"), Just("call:read{n:1}"),
            Just("<tool_call|>"), Just("[TOOL_CALLS]"), Just("read[ARGS]{}"), Just("```json\n"),
            Just("```"), Just("\n"), Just("ü😀 words "), Just("<"), Just("["), Just("<|"),
        ], 0..12),
        size in 1usize..9,
    ) {
        let text = pieces.concat();
        let quirks = local_quirks();
        let letters: Vec<char> = text.chars().collect();
        let cut: Vec<String> = letters.chunks(size).map(|part| part.iter().collect()).collect();
        prop_assert_eq!(read_text(&cut, &quirks), read_text(&[text], &quirks));
    }
}
