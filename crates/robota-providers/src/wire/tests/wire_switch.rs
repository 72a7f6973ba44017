//! A conversation that was started on one wire continues on another.

use robota_core::message::Cause;
use robota_core::provider::{Delta, LeftOut};
use robota_core::streaming::StreamingAnswer;

use super::*;
use crate::fuzzing::read;

/// Returns an answer of each wire, with everything that only this wire understands, as it arrives.
fn answers() -> Vec<(Wire, &'static str)> {
    vec![
        (
            Wire::AnthropicMessages,
            concat!(
                "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"deep\",\"signature\":\"SIGNED\"}}\n\n",
                "data: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
                "data: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"redacted_thinking\",\"data\":\"SIGNED\"}}\n\n",
                "data: {\"type\":\"content_block_stop\",\"index\":1}\n\n",
                "data: {\"type\":\"content_block_start\",\"index\":2,\"content_block\":{\"type\":\"tool_use\",\"id\":\"toolu_x\",\"name\":\"list\",\"input\":{}}}\n\n",
                "data: {\"type\":\"content_block_stop\",\"index\":2}\n\n",
                "data: {\"type\":\"message_stop\"}\n\n",
            ),
        ),
        (
            Wire::ChatCompletions,
            concat!(
                "data: {\"choices\":[{\"delta\":{\"reasoning\":\"deep\",\"reasoning_details\":[{\"type\":\"reasoning.encrypted\",\"data\":\"SIGNED\"}]}}]}\n\n",
                "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"toolu:x/1\",\"function\":{\"name\":\"list\",\"arguments\":\"{}\"}}]},\"finish_reason\":\"tool_calls\"}]}\n\n",
                "data: [DONE]\n\n",
            ),
        ),
        (
            Wire::Responses,
            concat!(
                "data: {\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[{\"type\":\"summary_text\",\"text\":\"deep\"}],\"encrypted_content\":\"SIGNED\"}}\n\n",
                "data: {\"type\":\"response.output_item.done\",\"output_index\":1,\"item\":{\"type\":\"function_call\",\"id\":\"fc_1\",\"call_id\":\"toolu_x\",\"name\":\"list\",\"arguments\":\"{}\"}}\n\n",
                "data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"output\":[]}}\n\n",
            ),
        ),
        (
            Wire::GeminiGenerateContent,
            concat!(
                "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"deep\",\"thought\":true}]}}]}\n\n",
                "data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"list\",\"args\":{}},\"thoughtSignature\":\"SIGNED\"}]},\"finishReason\":\"STOP\"}]}\n\n",
            ),
        ),
    ]
}

/// Returns the conversation with that answer in it and a result for its call.
fn with_answer(wire: Wire, text: &str) -> Vec<Arc<Message>> {
    let ids = CountingIds::default();
    let mut decoder = super::super::decoder(wire, &Quirks::default(), "model-1", &two_tools());
    let (deltas, failure) = read(text.as_bytes(), text.len(), &mut *decoder);
    assert_eq!(failure, None);
    let mut pending = StreamingAnswer::default();
    for delta in deltas {
        match delta {
            Delta::Text(text) => pending.push_text(&text),
            Delta::Thinking(text) => pending.push_thinking(&text),
            Delta::Block(block) => drop(pending.push_block(block, &ids).cloned()),
            _ => {}
        }
    }
    let answer = Message::assistant(&ids, pending.take_blocks(), MessageState::Complete);
    let results: Vec<_> =
        answer.tool_uses().map(|call| ToolResult::text(call, "done", false)).collect();
    assert_eq!(results.len(), 1);
    let messages = vec![
        Message::user(&ids, "go"),
        answer,
        Message::tool("t".into(), results),
        Message::user(&ids, "on"),
    ];
    messages.into_iter().map(Arc::new).collect()
}

#[tokio::test]
async fn reasoning_is_sent_back_only_to_its_own_wire_and_model() {
    let replay = Quirks {
        reasoning_replay: crate::profile::ReasoningReplay::ReasoningDetails,
        ..Quirks::default()
    };
    for (from, answer) in answers() {
        let messages = with_answer(from, answer);
        for to in Wire::ALL {
            let encoder = TestEncoder::quirks(to, replay.clone());
            let same = String::from_utf8(encoder.body(&request(&messages)).await.bytes).unwrap();
            let name = format!("{} -> {}", from.name(), to.name());
            assert_eq!(same.contains("SIGNED"), from == to, "{name}: {same}");
            let body =
                encoder.body(&ModelRequest { model: "other".into(), ..request(&messages) }).await;
            let other = String::from_utf8(body.bytes).unwrap();
            assert!(!other.contains("SIGNED"), "{name}: {other}");
            assert!(!body.left_out.is_empty(), "what is left out is reported: {name}");
        }
    }
}

/// Returns the ids of calls and of results in a body.
fn ids_in(wire: Wire, body: &Value) -> (Vec<String>, Vec<String>) {
    let mut calls = Vec::new();
    let mut results = Vec::new();
    let note = |value: &Value, calls: &mut Vec<String>, key: &str| {
        calls.extend(value.get(key).and_then(Value::as_str).map(str::to_owned));
    };
    let list = |key: &str| body[key].as_array().cloned().unwrap_or_default();
    match wire {
        Wire::AnthropicMessages => {
            for part in
                list("messages").iter().flat_map(|one| one["content"].as_array().cloned().unwrap())
            {
                match part["type"].as_str() {
                    Some("tool_use") => note(&part, &mut calls, "id"),
                    Some("tool_result") => note(&part, &mut results, "tool_use_id"),
                    _ => {}
                }
            }
        }
        Wire::ChatCompletions => {
            for message in list("messages") {
                for call in message["tool_calls"].as_array().into_iter().flatten() {
                    note(call, &mut calls, "id");
                }
                note(&message, &mut results, "tool_call_id");
            }
        }
        Wire::Responses => {
            for item in list("input") {
                match item["type"].as_str() {
                    Some("function_call") => note(&item, &mut calls, "call_id"),
                    Some("function_call_output") => note(&item, &mut results, "call_id"),
                    _ => {}
                }
            }
        }
        Wire::GeminiGenerateContent => {
            for part in
                list("contents").iter().flat_map(|one| one["parts"].as_array().cloned().unwrap())
            {
                if let Some(call) = part.get("functionCall") {
                    note(call, &mut calls, "name");
                }
                if let Some(result) = part.get("functionResponse") {
                    note(result, &mut results, "name");
                }
            }
        }
    }
    (calls, results)
}

#[tokio::test]
async fn core_17_ids_are_sent_back_unchanged_unless_the_wire_rejects_them() {
    let ids = CountingIds::default();
    let calls = [
        tool_use("c1", "call_0", "read", json!({})),
        tool_use("c2", "call_0", "read", json!({})),
        tool_use("c3", "odd:id/with.dots", "read", json!({})),
    ];
    let mut messages = vec![Message::user(&ids, "go")];
    for call in &calls {
        messages.push(Message::assistant(
            &ids,
            vec![Block::ToolUse(call.clone())],
            MessageState::Complete,
        ));
        messages.push(Message::tool(
            call.id.as_str().into(),
            vec![ToolResult::text(call, "ok", false)],
        ));
    }
    let messages: Vec<_> = messages.into_iter().map(Arc::new).collect();
    for wire in Wire::ALL {
        let body = TestEncoder::new(wire).json(&request(&messages)).await;
        let (sent, answered) = ids_in(wire, &body);
        assert_eq!(sent.len(), 3);
        assert_eq!(sent, answered, "{}", wire.name());
        match wire {
            Wire::ChatCompletions => assert_eq!(sent, ["call_0", "call_0", "odd:id/with.dots"]),
            Wire::GeminiGenerateContent => assert_eq!(sent, ["read", "read", "read"]),
            Wire::AnthropicMessages | Wire::Responses => {
                assert_eq!(sent[0], "call_0");
                assert!(sent[1] != "call_0" && sent[1] != sent[2]);
                assert!(sent.iter().all(|id| !id.contains([':', '/', '.'])), "{sent:?}");
            }
        }
    }
}

#[tokio::test]
async fn every_call_has_a_result_and_every_result_its_call() {
    let ids = CountingIds::default();
    let counts = tool_use("c1", "toolu_lost", "read", json!({}));
    let gone = tool_use("c9", "toolu_gone", "read", json!({}));
    let messages: Vec<_> = [
        Message::tool("t0".into(), vec![ToolResult::text(&gone, "whose?", false)]),
        Message::user(&ids, "go"),
        Message::assistant(
            &ids,
            vec![Block::ToolUse(counts)],
            MessageState::Interrupted(Cause::Crash),
        ),
        Message::user(&ids, "on"),
    ]
    .into_iter()
    .map(Arc::new)
    .collect();
    for wire in Wire::ALL {
        let body = TestEncoder::new(wire).json(&request(&messages)).await;
        let (sent, answered) = ids_in(wire, &body);
        assert_eq!(sent.len(), 1, "{}", wire.name());
        assert_eq!(sent, answered, "{}", wire.name());
        let text = body.to_string();
        assert!(!text.contains("whose?") && text.contains("No result"), "{text}");
        assert!(text.contains("interrupted by a crash"), "{text}");
    }
}

#[tokio::test]
async fn a_user_message_comes_first_where_required() {
    let ids = CountingIds::default();
    let messages: Vec<_> = [
        Message::assistant(&ids, "Where were we?", MessageState::Complete),
        Message::user(&ids, "go"),
    ]
    .into_iter()
    .map(Arc::new)
    .collect();
    for (wire, list) in
        [(Wire::AnthropicMessages, "messages"), (Wire::GeminiGenerateContent, "contents")]
    {
        let body = TestEncoder::new(wire).json(&request(&messages)).await;
        assert_eq!(body[list][0]["role"], "user", "{}", wire.name());
        assert_eq!(body[list].as_array().unwrap().len(), 3);
    }
}

#[tokio::test]
async fn invalid_arguments_and_names_are_converted() {
    let ids = CountingIds::default();
    let mut cut = tool_use("c1", "toolu_1", "mcp.server/tool name", json!(null));
    cut.input = ToolInput::parse("{\"path\": ");
    let list = tool_use("c2", "toolu_2", "", json!([1, 2]));
    let answers = vec![ToolResult::text(&cut, "", true), ToolResult::text(&list, "x", false)];
    let messages: Vec<_> = [
        Message::user(&ids, "go"),
        Message::assistant(
            &ids,
            vec![Block::ToolUse(cut), Block::ToolUse(list)],
            MessageState::Complete,
        ),
        Message::tool("t".into(), answers),
    ]
    .into_iter()
    .map(Arc::new)
    .collect();
    for wire in Wire::ALL {
        let text = TestEncoder::new(wire).json(&request(&messages)).await.to_string();
        assert!(text.contains("mcp_server_tool_name") && text.contains("unnamed"), "{text}");
        assert!(text.contains("invalid_json") && text.contains("value"), "{text}");
    }
}

#[tokio::test]
async fn missing_or_unsupported_attachments_become_text() {
    let ids = CountingIds::default();
    let messages = [Arc::new(Message::user(
        &ids,
        vec![
            Block::Image(image(b"nobody has this", "image/png")),
            Block::Image(image(PNG, "image/png")),
        ],
    ))];
    for wire in Wire::ALL {
        let body = TestEncoder::new(wire).body(&request(&messages)).await;
        let left_out = LeftOut { missing: 1, ..LeftOut::default() };
        assert_eq!(body.left_out, left_out, "{}", wire.name());
        assert!(String::from_utf8(body.bytes).unwrap().contains("[attachment not available"));
        let blind = TestEncoder::quirks(wire, Quirks { images: false, ..Quirks::default() });
        let body = blind.body(&request(&messages)).await;
        let left_out = LeftOut { attachments: 2, ..LeftOut::default() };
        assert_eq!(body.left_out, left_out);
        // The second time, the cached bytes and the cached counts are used.
        assert_eq!(blind.body(&request(&messages)).await.left_out, left_out);
        assert!(String::from_utf8(body.bytes).unwrap().contains("[image left out"));
    }
}
