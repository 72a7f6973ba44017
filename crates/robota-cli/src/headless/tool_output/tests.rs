use robota_core::ids::CallId;
use robota_core::message::{BlobRef, Image, ToolInput, ToolUse};

use super::*;

/// Returns the output of a call with this result.
fn output(tool: &str, input: &Value, text: &str, metadata: &Value) -> Value {
    output_with(tool, input, text, metadata, Vec::new())
}

fn output_with(
    tool: &str,
    input: &Value,
    text: &str,
    metadata: &Value,
    more: Vec<ResultBlock>,
) -> Value {
    let call = ToolUse::new(CallId::from("c"), "toolu_1", tool, ToolInput::Json(input.clone()));
    let mut result = ToolResult::text(&call, text, false);
    result.metadata = metadata.as_object().unwrap().clone();
    result.content.extend(more);
    let old_todos = json!([]);
    let finished = FinishedCall {
        input,
        result: &result,
        duration_ms: 1500,
        before: Some("before"),
        old_todos: &old_todos,
        cwd: Path::new("/project"),
        blobs: &LoadedBlobs::default(),
        agents: &[],
    };
    finished.in_line().0
}

#[test]
fn cli_03_file_tools_return_the_shapes_of_the_sdk() {
    let text = "     2\tb\n     3\tc\td\n[lines 2-3 of 9; continue with offset 4]\n";
    let input = json!({"file_path": "a.txt", "offset": 2, "limit": 2});
    assert_eq!(
        output("Read", &input, text, &json!({"lines": 2, "total_lines": 9})),
        json!({"type": "text", "file": {"filePath": "/project/a.txt", "content": "b\nc\td",
            "numLines": 2, "startLine": 2, "totalLines": 9}})
    );
    let diff = "--- a\n+++ a\n@@ -1,2 +1,2 @@\n same\n-old\n+new\n@@ -9 +9 @@\n-x\n+y\n";
    let patch = json!([
        {"oldStart": 1, "oldLines": 2, "newStart": 1, "newLines": 2,
            "lines": [" same", "-old", "+new"]},
        {"oldStart": 9, "oldLines": 1, "newStart": 9, "newLines": 1, "lines": ["-x", "+y"]},
    ]);
    let input = json!({"file_path": "/else/a", "old_string": "old", "new_string": "new"});
    assert_eq!(
        output("Edit", &input, "Edited", &json!({"diff": diff})),
        json!({"filePath": "/else/a", "oldString": "old", "newString": "new",
            "originalFile": "before", "structuredPatch": patch, "userModified": false,
            "replaceAll": false})
    );
    let input = json!({"file_path": "a", "content": "x"});
    assert_eq!(
        output("Write", &input, "Wrote", &json!({"diff": diff, "created": false})),
        json!({"type": "update", "filePath": "/project/a", "content": "x",
            "structuredPatch": patch, "originalFile": "before"})
    );
    assert_eq!(output("Write", &input, "", &json!({"created": true}))["type"], "create");
}

#[test]
fn an_image_that_is_too_large_for_a_line_has_no_data() {
    let blob = BlobRef { sha256: "0".to_owned(), bytes: 10_000_000 };
    let image = Image { blob, media_type: "image/png".to_owned(), extra: Map::new() };
    let input = json!({"file_path": "a.png"});
    let output = output_with("Read", &input, "", &json!({}), vec![ResultBlock::Image(image)]);
    let file = json!({"base64": "", "type": "image/png", "originalSize": 10_000_000});
    assert_eq!(output, json!({"type": "image", "file": file}));
}

#[test]
fn cli_03_searches_return_the_shapes_of_the_sdk() {
    let text = "a.rs\nb.rs\n[2 of 7 shown, newest first]\n";
    assert_eq!(
        output("Glob", &json!({"pattern": "*"}), text, &json!({"truncated": true})),
        json!({"filenames": ["a.rs", "b.rs"], "durationMs": 1500, "numFiles": 2,
            "truncated": true})
    );
    let found = json!({"files": 2, "matches": 5, "truncated": false});
    let grep = |input: Value, text: &str| output("Grep", &input, text, &found);
    assert_eq!(
        grep(json!({"pattern": "x"}), "a.rs\nb.rs\n"),
        json!({"mode": "files_with_matches", "filenames": ["a.rs", "b.rs"], "numFiles": 2})
    );
    assert_eq!(
        grep(json!({"output_mode": "content"}), "a.rs:1:x\n"),
        json!({"mode": "content", "numFiles": 2, "filenames": [], "content": "a.rs:1:x",
            "numLines": 1})
    );
    assert_eq!(
        grep(json!({"output_mode": "count"}), "a.rs:5\n"),
        json!({"mode": "count", "numFiles": 2, "filenames": [], "content": "a.rs:5",
            "numMatches": 5})
    );
    assert_eq!(grep(json!({}), "[no match]\n")["filenames"], json!([]));
    let text = "1. One\n   https://one.test\n   text\n2. Two\n   https://two.test\n   \n";
    assert_eq!(
        output("WebSearch", &json!({"query": "q"}), text, &json!({"results": 2})),
        json!({"query": "q", "durationSeconds": 1.5, "results": [{"tool_use_id": "toolu_1",
            "content": [{"title": "One", "url": "https://one.test"},
                {"title": "Two", "url": "https://two.test"}]}]})
    );
    let fetched = json!({"bytes": 9, "status": 200, "url": "https://one.test/"});
    assert_eq!(
        output("WebFetch", &json!({"url": "https://one.test"}), "Text", &fetched),
        json!({"bytes": 9, "code": 200, "codeText": "OK", "result": "Text", "durationMs": 1500,
            "url": "https://one.test/"})
    );
}

#[test]
fn cli_03_other_tools_return_the_shapes_of_the_sdk() {
    let bash = |text: &str, metadata: Value| output("Bash", &json!({}), text, &metadata);
    assert_eq!(
        bash("hello\n", json!({"output_bytes": 6})),
        json!({"stdout": "hello", "stderr": "", "interrupted": false, "isImage": false,
            "noOutputExpected": false})
    );
    assert_eq!(bash("[no output]\n", json!({"output_bytes": 0}))["stdout"], "");
    assert_eq!(bash("Runs", json!({"bash_id": "b1"}))["backgroundTaskId"], "b1");
    let item = json!({"content": "Test", "status": "pending"});
    assert_eq!(
        output("TodoWrite", &json!({}), "", &json!({"todos": [item]})),
        json!({"oldTodos": [], "newTodos":
            [{"content": "Test", "status": "pending", "activeForm": "Test"}]})
    );
    let questions = json!([{"question": "Which?"}, {"question": "Why?"}]);
    assert_eq!(
        output("AskUserQuestion", &json!({"questions": questions}), "", &json!({"answers": ["a"]})),
        json!({"questions": questions, "answers": {"Which?": "a"}})
    );
    assert_eq!(
        output("Other", &json!({}), "text", &json!({"a": 1})),
        json!({"a": 1, "content": "text"})
    );
}

#[test]
fn cli_03_a_command_that_fails_is_an_error_for_hosts() {
    let run = |command: &str, text: &str, code: i64| {
        output("Bash", &json!({"command": command}), text, &json!({"exit_code": code}))
    };
    assert_eq!(run("make", "out\n[exit code 3]\n", 3), "Error: Exit code 3\nout");
    assert_eq!(run("false", "[no output]\n[exit code 1]\n", 1), "Error: Exit code 1\n");
    assert_eq!(run("cat x | grep y", "[exit code 1]\n", 1)["stdout"], "[exit code 1]");
    assert_eq!(run("grep y x", "grep: x\n[exit code 2]\n", 2), "Error: Exit code 2\ngrep: x");
    assert_eq!(run("true", "", 0)["stdout"], "");
}
