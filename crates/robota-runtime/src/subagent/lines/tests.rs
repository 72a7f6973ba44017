use robota_core::approve::{Answer, Scope};
use robota_core::task::{TaskFinished, TaskStatus};

use super::*;

#[test]
fn run_04_lines_are_the_same_after_any_split() {
    let sent = [
        FromAgent::Opened,
        FromAgent::Event { line: "{\"text\":\"two\\nlines\"}".to_owned() },
        FromAgent::Ended { finished: Box::new(TaskFinished::new(TaskStatus::Completed)), taken: 1 },
    ];
    let bytes: Vec<u8> = sent.iter().flat_map(encode).collect();
    for size in 1..=bytes.len() {
        let mut splitter = LineSplitter::default();
        let lines: Vec<_> = bytes.chunks(size).flat_map(|piece| splitter.push(piece)).collect();
        let read: Vec<FromAgent> =
            lines.iter().map(|line| serde_json::from_slice(line).unwrap()).collect();
        assert_eq!(read, sent);
    }
}

#[test]
fn run_04_answers_survive_the_way_to_the_process() {
    let answers = [
        Answer::Allow { note: None },
        Answer::Remember {
            scope: Scope::Session,
            rules: vec!["Bash(ls)".to_owned()],
            note: Some("fine".to_owned()),
        },
        Answer::AllowChanged { input: serde_json::json!({"command": "ls"}), note: None },
        Answer::Deny { note: Some("no".to_owned()) },
        Answer::Unanswered { reason: "nobody".to_owned() },
    ];
    for answer in answers {
        let sent = ToAgent::Reply { number: 7, reply: AgentReply::Answer(answer) };
        let read: ToAgent = serde_json::from_slice(&encode(&sent)).unwrap();
        assert_eq!(read, sent);
    }
}
