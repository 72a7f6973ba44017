use robota_core::env_ref::Secret;
use robota_core::event::{Event, ProviderPayload, ToolsSet};
use robota_core::permission::Class;
use robota_core::provider::PayloadKind;
use robota_core::tool::ToolSpec;
use serde_json::{Map, json};

use super::*;

fn line(event: impl Into<Event>) -> Envelope {
    let ts = "2026-01-02T03:04:05Z".parse().unwrap();
    Envelope { seq: 7, epoch: 1, ts, turn: None, event: event.into(), min_reader: None }
}

#[test]
fn sess_13_an_export_has_no_secrets_by_name_or_by_value() {
    let payload = json!({"headers": {"Authorization": "Bearer x", "n": [{"x-api-key": "k"}]},
        "body": "the key is sk-12345678."});
    let event = line(ProviderPayload {
        round: 1,
        provider: "p".to_owned(),
        api_surface: None,
        kind: PayloadKind::Request,
        sequence: 0,
        payload,
        metadata: Map::new(),
    });
    let redactor = Redactor::new([Secret::new("sk-12345678")]).unwrap();
    let clean = redact_envelope(&redactor, &event).unwrap().unwrap();
    let text = clean.to_line();
    assert!(!text.contains("Bearer") && !text.contains("sk-1234"), "{text}");
    assert!(text.contains("the key is [REDACTED]."), "{text}");
    assert_eq!((clean.seq, clean.ts), (event.seq, event.ts));
    // Lines without secrets stay unchanged.
    assert_eq!(redact_envelope(&redactor, &clean).unwrap(), None);
}

#[test]
fn sess_13_the_names_of_arguments_are_not_secrets() {
    let schema = json!({"type": "object", "properties": {"password": {"type": "string"}}});
    let tool = ToolSpec {
        name: "login".to_owned(),
        description: String::new(),
        input_schema: schema,
        class: Class::Execute,
    };
    let event = line(ToolsSet { sha256: String::new(), tools: vec![tool] });
    assert_eq!(redact_envelope(&Redactor::default(), &event).unwrap(), None);
    let mut value = json!({"input": {"password": "hunter2"}, "secret": null});
    redact(&Redactor::default(), &mut value);
    assert_eq!(value, json!({"input": {"password": "[REDACTED]"}, "secret": null}));
}

#[test]
fn sess_13_arguments_exported_as_text_contain_no_secrets() {
    use robota_core::event::AssistantMessage;
    use robota_core::ids::CountingIds;
    use robota_core::message::{Block, Message, MessageState, ToolInput, ToolUse};

    let input = ToolInput::Json(json!({"user": "ada", "password": "hunter2"}));
    let call = Block::ToolUse(ToolUse::new("c".into(), "call_0", "login", input));
    let ids = CountingIds::default();
    let message = Message::assistant(&ids, vec![call], MessageState::Complete);
    let created = robota_core::event::SessionCreated {
        session: "s".into(),
        format: 0,
        cwd: None,
        parent: None,
        spawned_by: None,
    };
    let events = [
        Envelope { seq: 1, ..line(created) },
        Envelope { seq: 2, ..line(AssistantMessage { round: 1, message: message.into() }) },
    ];
    let redactor = Redactor::default();
    let log = crate::replay::log::from_events(&"s".into(), &events, &redactor).unwrap();
    let clean = redact_events(&redactor, &events).unwrap();
    let record = crate::replay::Record::from_events(&"s".into(), &clean).unwrap();
    for text in [log.lines.join("\n"), serde_json::to_string(&record).unwrap()] {
        assert!(text.contains("ada") && text.contains("[REDACTED]"), "{text}");
        assert!(!text.contains("hunter2"), "{text}");
    }
}
