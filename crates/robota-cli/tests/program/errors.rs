//! The texts of typical errors, as users see them.

use std::fmt::Write as _;
use std::process::Output;

use robota_testkit::mock::{Failure, FailureFormat, MockServer, Reply};
use serde_json::json;

use crate::home::{Home, files_with, stderr, stdout};

/// Commands, their exit codes and what they print to standard error, as one text.
struct Transcript {
    home: Home,
    /// The address of the model service, if there is one.
    service: Option<String>,
    text: String,
}

impl Transcript {
    fn new() -> Self {
        let home = Home::new();
        home.write("project/script.yaml", "- Hello.");
        Self { home, service: None, text: String::new() }
    }

    fn run(&self, args: &[&str]) -> Output {
        let mut command = self.home.command(args);
        if let Some(service) = &self.service {
            command.env("ANTHROPIC_BASE_URL", service).env("ANTHROPIC_API_KEY", "sk-test");
        }
        command.output().unwrap()
    }

    /// Runs a command that has to succeed.
    fn succeed(&self, args: &[&str]) {
        let output = self.run(args);
        assert!(output.status.success(), "{args:?} {} {}", stdout(&output), stderr(&output));
    }

    /// Runs a command and adds its errors to the transcript.
    fn record(&mut self, title: &str, args: &[&str]) {
        let output = self.run(args);
        let arguments: Vec<_> = args.iter().map(|arg| quote(arg)).collect();
        let errors = stderr(&output).replace(&self.home.path("").display().to_string(), "/TEMP/");
        let service = self.service.as_deref().unwrap_or("no service");
        let errors = errors.replace(service, "http://SERVICE");
        let code = output.status.code().unwrap();
        write!(self.text, "# {title}\n$ robota {}\n", arguments.join(" ")).unwrap();
        write!(self.text, "{errors}[exit code {code}]\n\n").unwrap();
    }

    fn snapshot(self, name: &str) {
        let mut settings = insta::Settings::clone_current();
        // The list of vendors grows.
        settings.add_filter("vendors: [^;]*;", "vendors: …;");
        settings.add_filter(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UUID");
        settings.add_filter(
            r"line \d+ is damaged: .* is [0-9a-f]{8}, its bytes say [0-9a-f]{8}",
            "line N is damaged: … its checksum is ONE, its bytes say ANOTHER",
        );
        settings.add_filter(r"pid \d+ on \S+ since [-\d]+ [:\d]+Z", "pid PID on HOST since TIME");
        settings.bind(|| insta::assert_snapshot!(name, self.text));
    }
}

fn quote(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./:=".contains(c);
    if !text.is_empty() && text.chars().all(plain) { text.to_owned() } else { format!("'{text}'") }
}

const SCRIPT: [&str; 4] = ["-p", "hi", "--provider", "scripted:script.yaml"];

fn with_script<'a>(args: &[&'a str]) -> Vec<&'a str> {
    SCRIPT.iter().chain(args).copied().collect()
}

#[test]
fn cli_03_errors_of_providers() {
    let mut errors = Transcript::new();
    errors.record("unknown provider", &["-p", "hi", "--provider", "nobody"]);
    errors.record("missing key", &["-p", "hi", "--provider", "openai"]);
    errors.record("missing script", &["-p", "hi", "--provider", "scripted:missing.yaml"]);
    let settings = json!({"currentProvider": "work", "providers": {"home": {"type": "openai"}}});
    errors.home.write("home/.robota/settings.json", settings);
    errors.record("unknown profile", &["-p", "hi"]);
    let settings = json!({
        "currentProvider": "work",
        "providers": {"work": {"type": "openai", "apiKey": "$ENV:WORK_KEY"}},
    });
    errors.home.write("home/.robota/settings.json", settings);
    errors.record("key refers to a variable that is not set", &["-p", "hi"]);
    let settings = json!({"currentProvider": "work", "providers": {"work": {"model": "m"}}});
    errors.home.write("home/.robota/settings.json", settings);
    errors.record("profile without a type", &["-p", "hi"]);
    errors.snapshot("provider_errors");
}

#[test]
fn cli_03_errors_of_settings() {
    let mut errors = Transcript::new();
    errors.record("settings file not found", &with_script(&["--settings", "missing.json"]));
    errors.record("invalid inline settings", &with_script(&["--settings", "{"]));
    errors.record("invalid rule", &with_script(&["--allowedTools", "Bash("]));
    errors.record("unknown key", &["config", "set", "modle", "x"]);
    errors.record("invalid value", &["config", "set", "permissions.defaultMode", "yolo"]);
    errors.record("key without effect", &["config", "set", "preset", "high"]);
    errors.record("key that is not set", &["config", "get", "language"]);
    let settings =
        "{\n  \"model\": 7,\n  \"theme\": \"dark\",\n  \"colour\": 1,\n  \"verbose\": true\n}\n";
    errors.home.write("home/.robota/settings.json", settings);
    errors.record("invalid value, keys without effect, unknown key", &with_script(&[]));
    errors
        .home
        .write("home/.robota/settings.json", "{\n  \"model\": \"m\"\n  \"theme\": \"dark\"\n}\n");
    errors.record("invalid settings file", &with_script(&[]));
    errors.record("write to an invalid settings file", &["config", "set", "model", "m"]);
    errors.home.write("home/.robota/settings.json", "{}\n");
    let project =
        json!({"permissions": {"allow": ["Bash"]}, "env": {"A": "1"}, "disableAllHooks": true});
    errors.home.write("project/.claude/settings.json", project);
    errors.record("untrusted folder", &with_script(&[]));
    errors.snapshot("settings_errors");
}

#[test]
fn cli_03_errors_of_sessions() {
    let mut errors = Transcript::new();
    errors.record("no session to continue", &with_script(&["-c"]));
    for id in ["agent:dev/session:one", "agent:dev/session:two"] {
        errors.succeed(&with_script(&["--session-id", id]));
    }
    errors.record("unknown session", &with_script(&["-r", "missing"]));
    errors.record("ambiguous id prefix", &with_script(&["-r", "agent:dev"]));
    errors.record("-r without a session", &with_script(&["-r"]));
    errors.record("id in use", &with_script(&["--session-id", "agent:dev/session:one"]));
    errors.record("fork without a session", &with_script(&["--fork-session"]));
    errors.record("unknown store", &with_script(&["--store", "mysql:x"]));
    errors.record("invalid time", &["sessions", "list", "--since", "soon"]);
    errors
        .record("deletion without confirmation", &["sessions", "delete", "agent:dev/session:one"]);
    errors.record("prune without a policy", &["sessions", "prune"]);
    errors.home.write("project/unknown.json", "{\"a\": 1}");
    errors.record("unknown import format", &["sessions", "import", "unknown.json"]);
    let export = ["sessions", "export", "agent:dev/session:one", "-o", "unknown.json"];
    errors.record("existing output file", &export);
    for journal in files_with("agent:dev/session:two", &errors.home.path("project/.robota")) {
        if let Ok(text) = std::fs::read_to_string(&journal) {
            std::fs::write(&journal, text.replace("Hello.", "Hullo.")).unwrap();
        }
    }
    errors.record("damaged session", &with_script(&["-r", "agent:dev/session:two"]));
    errors.snapshot("session_errors");
}

#[test]
fn cli_03_usage_errors() {
    let mut errors = Transcript::new();
    errors.record("no prompt", &["-p"]);
    errors.record("missing folder", &with_script(&["--cwd", "missing"]));
    errors.record("unknown permission mode", &with_script(&["--permission-mode", "yolo"]));
    errors.record("unknown option", &["--frobnicate"]);
    errors.record("missing arguments", &["permissions", "check"]);
    errors.record("a prompt without -p", &["hello"]);
    errors.record("a mistyped command", &["confg", "list"]);
    errors.record("an option before a command", &["--model", "m", "doctor"]);
    errors.record("invalid schema", &with_script(&["--json-schema", "answer.json"]));
    errors.record("missing servers", &with_script(&["--mcp-config", "missing.json"]));
    errors.record("invalid JSON", &["permissions", "check", "--tool", "Bash", "--input", "{"]);
    errors.record("a host's option without a host", &with_script(&["--host-timeout", "5"]));
    errors.record("trust for one run", &["trust", "--trust"]);
    errors.snapshot("usage_errors");
}

/// The service of the model refuses, or cannot be reached.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cli_03_errors_of_the_model_service() {
    let mut errors = Transcript::new();
    let ask = ["-p", "hi", "--model", "mock-model", "--retry-budget", "0"];
    let later = Failure::status(429, "Too many requests.").retry_after("3600");
    for (title, failure) in [
        ("rejected field", Failure::status(400, "temperature: not supported")),
        ("rejected key", Failure::status(401, "invalid x-api-key")),
        ("no credit", Failure::status(402, "Your credit balance is too low.")),
        ("forbidden model", Failure::status(403, "Your key may not use this model.")),
        ("unknown model", Failure::status(404, "model: mock-model")),
        ("too many requests", later),
        ("overload", Failure::status(529, "Overloaded")),
        ("web page", Failure::status(404, "Not found").format(FailureFormat::Html)),
    ] {
        let mock = MockServer::start(Reply::new().error(failure)).await.unwrap();
        errors.service = Some(mock.origin());
        errors.record(title, &ask);
    }
    errors.service = Some(MockServer::refusing_origin().await.unwrap());
    errors.record("no server", &ask);
    errors.snapshot("service_errors");
}

/// Runs that end without the answer that was asked for.
#[test]
fn cli_03_ends_without_an_answer() {
    let mut errors = Transcript::new();
    let read = json!({"tools": [{"tool": "Read", "input": {"file_path": "script.yaml"}}]});
    let remove = json!({"tools": [{"tool": "Bash", "input": {"command": "rm script.yaml"}}]});
    let wrong = json!({"tools": [{"tool": "StructuredOutput", "input": {}}]});
    let cut = json!({"text": "Half an ans", "stop": "max_tokens"});
    for (title, script, args) in [
        ("limit of rounds", json!([read, "Done."]), &["--max-turns", "1"][..]),
        ("denied call", json!([remove, "It is not possible."]), &[]),
        ("refusal", json!([{"text": "I would rather not.", "stop": "refusal"}]), &[]),
        ("limit of the output", json!({"loop": true, "answers": [cut]}), &[]),
        (
            "no structured answer",
            json!({"loop": true, "answers": [wrong]}),
            &["--json-schema", r#"{"type":"object","required":["n"]}"#],
        ),
    ] {
        errors.home.write("project/script.yaml", script);
        errors.record(title, &with_script(args));
    }
    errors.snapshot("ends_without_an_answer");
}

/// One process writes a session at a time.
#[cfg(target_os = "linux")]
#[test]
fn cli_03_error_of_a_session_that_another_process_writes() {
    let mut errors = Transcript::new();
    let fifo = errors.home.path("project/running");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let command = "echo up > running; sleep 1000";
    let script = json!([{"tools": [{"tool": "Bash", "input": {"command": command}}]}, "Done."]);
    errors.home.write("project/busy.yaml", script);
    let args = ["-p", "hi", "--provider", "scripted:busy.yaml", "--session-id"];
    let args = [&args[..], &["agent:dev/session:busy", "--permission-mode", "bypassPermissions"]];
    let mut busy = errors.home.command(&args.concat()).spawn().unwrap();
    // Opening the pipe waits for its writer, the command.
    assert_eq!(std::fs::read_to_string(&fifo).unwrap(), "up\n");
    errors.record("session in use", &with_script(&["-r", "agent:dev/session:busy"]));
    errors.record(
        "deletion of a session in use",
        &["sessions", "delete", "--yes", "agent:dev/session:busy"],
    );
    busy.kill().unwrap();
    busy.wait().unwrap();
    errors.snapshot("locked_session_errors");
}
