//! A host of the program: writes lines to it, and reads and validates its lines.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::home::Home;
use crate::schema::assert_valid;

/// A running program that a host drives.
pub(crate) struct Host {
    pub(crate) child: Child,
    pub(crate) stdin: Option<ChildStdin>,
    pub(crate) stdout: Option<BufReader<ChildStdout>>,
}

/// The arguments of a host.
pub(crate) const STREAM: [&str; 5] =
    ["--output-format", "stream-json", "--verbose", "--input-format", "stream-json"];

impl Host {
    /// Starts the program with a script.
    pub(crate) fn start(home: &Home, script: &str, args: &[&str]) -> Self {
        home.write("project/script.yaml", script).write("project/notes.txt", "hello\n");
        let script = ["--provider", "scripted:script.yaml"];
        Self::spawn(&mut home.command(&[&STREAM[..], &script, args].concat()))
    }

    pub(crate) fn spawn(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().map(BufReader::new);
        Self { child, stdin, stdout }
    }

    pub(crate) fn send(&mut self, line: &Value) {
        writeln!(self.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    pub(crate) fn say(&mut self, text: &str) {
        self.send(&json!({"type": "user", "message": {"role": "user", "content": text},
            "parent_tool_use_id": null, "session_id": "default"}));
    }

    /// Sends a control request and returns the answer.
    pub(crate) fn request(&mut self, request: &Value) -> Value {
        self.send(&json!({"type": "control_request", "request_id": "r-1", "request": request}));
        let answer = self.until("control_response").pop().unwrap();
        assert_eq!(answer["response"]["request_id"], "r-1");
        answer["response"].clone()
    }

    /// Answers a request of the program.
    pub(crate) fn answer(&mut self, request: &Value, response: &Value) {
        self.send(&json!({"type": "control_response", "response": {"subtype": "success",
            "request_id": request["request_id"], "response": response}}));
    }

    /// Returns the next line.
    pub(crate) fn line(&mut self) -> Option<Value> {
        let mut text = String::new();
        if self.stdout.as_mut().unwrap().read_line(&mut text).unwrap() == 0 {
            return None;
        }
        let line = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        assert_valid(&line);
        Some(line)
    }

    /// Returns the lines up to one of this type.
    pub(crate) fn until(&mut self, kind: &str) -> Vec<Value> {
        let mut lines = Vec::new();
        while let Some(line) = self.line() {
            let found = line["type"] == kind;
            lines.push(line);
            if found {
                return lines;
            }
        }
        panic!("no {kind} in {lines:?}")
    }

    /// Closes standard input and returns the remaining lines and the exit code.
    pub(crate) fn finish(mut self) -> (Vec<Value>, Option<i32>, String) {
        drop(self.stdin.take());
        let mut lines = Vec::new();
        while let Some(line) = self.line() {
            lines.push(line);
        }
        let output = self.child.wait_with_output().unwrap();
        (lines, output.status.code(), String::from_utf8(output.stderr).unwrap())
    }
}

/// Returns `type` or `type/subtype` of each line.
pub(crate) fn kinds(lines: &[Value]) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let kind = |line: &Value| match line.get("subtype") {
        Some(subtype) => format!("{}/{}", text(&line["type"]), text(subtype)),
        None => text(&line["type"]),
    };
    lines.iter().map(kind).collect()
}
