use std::num::NonZeroUsize;

use serde_json::json;

use super::*;
use crate::error::Diagnose as _;
use crate::provider::StopReason;

const DOC: &str = include_str!("../../../../../docs/scripted.md");

fn wrong(yaml: &str) -> ScriptError {
    match Script::from_yaml(yaml) {
        Ok(script) => panic!("should be refused, but is {script:?}"),
        Err(error) => error,
    }
}

/// The script is refused at that line, with words that contain each of these.
#[track_caller]
fn refused(yaml: &str, line: u64, words: &[&str]) {
    let error = wrong(yaml);
    assert_eq!(error.line(), Some(line), "{error}");
    for word in words {
        assert!(error.to_string().contains(word), "no {word:?} in: {error}");
    }
}

fn doc_examples() -> Vec<&'static str> {
    DOC.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

#[test]
fn every_example_of_the_documentation_is_a_script() {
    let examples = doc_examples();
    assert_eq!(examples.len(), 2);
    for example in examples {
        if let Err(error) = Script::from_yaml(example) {
            panic!("{error}\n{example}");
        }
    }
}

#[test]
fn the_documented_example_means_what_it_says() {
    let script = Script::from_yaml(doc_examples()[1]).unwrap();
    let twelve = NonZeroUsize::new(12);
    let answers = script.answers();
    assert_eq!(answers.len(), 10);
    assert!(!script.is_looped());
    assert_eq!(
        answers[0],
        ScriptedAnswer::new().text("Hello.").chunked(NonZeroUsize::new(12).unwrap())
    );
    assert_eq!(
        answers[1],
        ScriptedAnswer::new()
            .thinking("They want the notes.", None)
            .text("Let me look.")
            .tool("Read", json!({"file_path": "notes.txt"}))
            .tool("Glob", json!({}))
            .usage(Usage::new(120, 30))
            .chunked(NonZeroUsize::new(12).unwrap())
    );
    assert_eq!(
        answers[2].expect,
        Expect {
            last: Some("hello".to_owned()),
            system: Some("You are".to_owned()),
            tools: vec!["Read".to_owned(), "Glob".to_owned()],
            no_tools: false,
            messages: Some(3),
        }
    );
    assert!(
        matches!(&answers[2].steps[0], Step::Text { chunk, .. } if *chunk == NonZeroUsize::new(3))
    );
    let steps = &answers[3].steps;
    assert!(answers[3].expect.no_tools);
    assert_eq!(
        steps[0],
        Step::Thinking {
            thinking: "Hard to say.".to_owned(),
            signature: Some("c2lnbmVk".to_owned()),
            chunk: twelve,
        }
    );
    assert!(matches!(&steps[1], Step::Text { chunks, .. } if chunks == &["One", " two", " three"]));
    assert_eq!(steps[2], Step::Activity);
    assert_eq!(steps[3], Step::Stall(Stall::For(Duration::from_millis(250))));
    assert_eq!(steps[4], Step::Stall(Stall::Gate("ready".to_owned())));
    assert!(matches!(&steps[5], Step::Tool(tool) if tool.id.as_deref() == Some("toolu_1")));
    assert!(matches!(&steps[6], Step::Tool(tool)
        if tool.input.json().is_none() && tool.chunk == NonZeroUsize::new(4)));
    assert!(matches!(&steps[7], Step::Usage(usage)
        if usage.cache_read_tokens == 100 && usage.cache_write_tokens == 20 && usage.reasoning_tokens == 10));
    assert_eq!(steps[8], Step::Stop(StopReason::MaxTokens));
    let Step::Error(error) = &answers[4].steps[0] else { panic!("an error") };
    assert_eq!(error.kind(), ErrorKind::RateLimit);
    assert_eq!(error.retry_after, Some(Duration::from_millis(500)));
    assert!(error.retryable());
    assert!(
        matches!(&answers[5].steps[1], Step::Error(error) if error.kind() == ErrorKind::Provider)
    );
    assert_eq!(answers[6].steps[1], Step::Drop);
    assert_eq!(answers[7].steps, [Step::Stall(Stall::Forever)]);
    assert_eq!(answers[8].steps[1], Step::Stop(StopReason::Refusal));
    assert_eq!(answers[9].steps[1], Step::Stop(StopReason::Filtered));
}

#[test]
fn the_documentation_lists_every_error_kind() {
    for kind in ErrorKind::ALL {
        let word = serde_json::to_value(kind).unwrap();
        assert!(DOC.contains(&format!("`{}`", word.as_str().unwrap())), "{kind:?}");
    }
}

#[test]
fn retryable_overrides_the_kind() {
    let script =
        Script::from_yaml("- error: {kind: network, message: gone, retryable: false}").unwrap();
    assert!(matches!(&script.answers()[0].steps[0], Step::Error(error) if !error.retryable()));
}

#[test]
fn unknown_keys_name_their_line_and_what_is_allowed() {
    refused("- text: hi\n- txt: hi\n", 2, &["`txt`", "text", "tools", "steps", "expect"]);
    refused("answers: [hi]\nloops: true\n", 2, &["`loops`", "loop", "chunk"]);
    refused("- steps:\n    - text: a\n    - sleep: 3\n", 3, &["`sleep`", "stall"]);
    refused("- expect:\n    tool: Read\n  text: hi\n", 2, &["`tool`", "no_tools"]);
    refused("- usage:\n    inputs: 3\n", 2, &["`inputs`", "cache_read"]);
    refused("- tools:\n    - tool: Read\n      args: {}\n", 3, &["`args`", "input"]);
    refused("- error:\n    message: x\n    after: 3\n", 3, &["`after`", "retry_after_ms"]);
}

#[test]
fn wrong_values_name_their_line_and_what_is_allowed() {
    refused("- text: 42\n", 1, &["42", "quotes"]);
    refused("- hi\n- 42\n", 2, &["42", "an answer"]);
    refused("- text: hi\n  stop: finished\n", 2, &["`finished`", "end_turn", "max_tokens"]);
    refused("- error: {kind: odd, message: x}\n", 1, &["`odd`", "rate_limit"]);
    refused("- error: {kind: network}\n", 1, &["`message`"]);
    refused("- steps:\n  - text: a\n  - stall: a while\n", 3, &["a while", "forever", "gate"]);
    refused("- steps:\n  - stall: {seconds: 3}\n", 2, &["`seconds`", "ms"]);
    refused("- steps:\n  - text: a\n  - dorp\n", 3, &["dorp", "`drop`"]);
    refused("- chunk: 0\n  text: hi\n", 1, &["0", "nonzero"]);
    refused("- usage: {input: -1}\n", 1, &[]);
    refused("- text: {a: 1}\n", 1, &["map", "text"]);
    refused("loop: true\nanswers: [hi]\nloop: false\n", 3, &["`loop`", "twice"]);
}

#[test]
fn keys_that_do_not_go_together_are_refused() {
    refused("- hi\n- text: a\n  steps: [drop]\n", 2, &["`steps`"]);
    refused("- steps:\n  - {text: a, tool: Read}\n", 2, &["exactly one", "text and tool"]);
    refused("- steps:\n  - {chunk: 3}\n", 2, &["exactly one", "none"]);
    refused("- steps:\n  - {text: a, signature: b}\n", 2, &["`signature`", "`thinking`"]);
    refused("- steps:\n  - {text: a, id: b}\n", 2, &["`id`", "`tool`"]);
    refused("- steps:\n  - {stop: end_turn, chunk: 3}\n", 2, &["`chunk`", "`stop`"]);
    refused("- steps:\n  - {tool: A, input: {}, raw: x}\n", 2, &["`input`", "`raw`"]);
    refused("- steps:\n  - drop\n  - text: more\n", 3, &["nothing can follow"]);
    refused("- {error: a, stop: end_turn}\n", 1, &["`error`", "`stop`"]);
    refused("- text: hi\n  expect: {tools: [A], no_tools: true}\n", 2, &["`no_tools`"]);
    refused("- text: hi\n- expect: {last: x}\n", 2, &["says nothing"]);
    refused("- steps: []\n", 1, &["says nothing"]);
}

#[test]
fn what_is_no_script_is_refused() {
    for yaml in ["", "[]", "answers: []", "hello", "42", "answers: {}", "- [", "- \"open", "{a"] {
        let error = wrong(yaml);
        assert_eq!(error.kind(), ErrorKind::Validation);
        assert!(error.hint().unwrap().contains("docs/scripted.md"));
    }
    let error = wrong("- one\n---\n- two\n");
    assert!(error.to_string().contains("more than one document"), "{error}");
}

#[test]
fn anchors_and_aliases_are_refused() {
    let mut bomb = String::from("- text: hi\n- tools:\n  - tool: A\n    input:\n");
    bomb.push_str("      a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n");
    for level in 1..10 {
        let inner = vec![format!("*a{}", level - 1); 10].join(", ");
        bomb.push_str(&format!("      a{level}: &a{level} [{inner}]\n"));
    }
    let error = wrong(&bomb);
    assert!(error.to_string().contains("aliases"), "{error}");
    let merged = wrong("- &a {text: hi}\n- {<<: *a}\n");
    assert!(merged.to_string().contains("aliases"), "{merged}");
}

#[test]
fn what_is_too_deep_or_too_large_is_refused() {
    let deep = format!("- tools: [{{tool: A, input: {}1{}}}]", "[".repeat(60), "]".repeat(60));
    assert!(wrong(&deep).to_string().contains("deep"), "{}", wrong(&deep));
    let abyss = format!("- tools: [{{tool: A, input: {}", "[".repeat(900_000));
    assert!(wrong(&abyss).to_string().len() < 500);
    let blocks: String = (0..1_000).map(|level| format!("{}- \n", " ".repeat(level))).collect();
    wrong(&blocks);
    let many = format!("- tools: [{{tool: A, input: [{}]}}]", "1,".repeat(200_000));
    assert!(wrong(&many).to_string().contains("too large"), "{}", wrong(&many));
    let long = "x".repeat(MAX_SCRIPT_BYTES + 1);
    assert!(wrong(&long).to_string().contains("bytes"));
    let junk = format!("- steps: [{}]", "x".repeat(1_000_000));
    assert!(wrong(&junk).to_string().len() < 1_000, "an error quotes only the beginning");
    let key = format!("- ? {}\n  : 1\n", "x".repeat(1_000_000));
    assert!(wrong(&key).to_string().len() < 1_000);
}

#[test]
fn a_long_text_within_the_limit_is_read_whole() {
    let text = "word ".repeat(200_000);
    let script = Script::from_yaml(&format!("- text: \"{text}\"\n")).unwrap();
    assert_eq!(script, Script::new().text(text));
}

proptest::proptest! {
    #[test]
    fn no_text_makes_it_panic(text in ".{0,200}") {
        let _ = Script::from_yaml(&text);
    }

    #[test]
    fn no_yaml_makes_it_panic(text in "(- |  |text|steps|tool|stall|: |\\{|\\}|\\[|\\]|\"|'|&a|\\*a|<<|\n|!!|\\||>|#|1|,|\\?){0,60}") {
        let _ = Script::from_yaml(&text);
    }
}
