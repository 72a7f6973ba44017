//! The official Agent SDKs for Python and TypeScript drive the program, unchanged.
//!
//! Both are installed by name and version.

use std::path::{Path, PathBuf};
use std::process::Command;

use robota_testkit::mock::{MockServer, Reply, Scenario};
use robota_testkit::{Packages, Part, requires};
use serde_json::{Value, json};

use crate::home::Home;
use crate::installed::{run_script, script};
use crate::schema::parse_lines;

const PYTHON: Packages =
    Packages::PyPiSource("python-agent-sdk-0.2.182", "claude-agent-sdk", "0.2.182");
const TYPESCRIPT: Packages = Packages::Npm(
    "typescript-agent-sdk-0.3.325",
    &["@anthropic-ai/claude-agent-sdk@0.3.325", "zod"],
);

/// What the program printed for the SDKs. A change of the protocol must not make these lines invalid;
/// `ROBOTA_RECORD=1` records them again.
const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/stream-json");

/// An SDK that drives the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sdk {
    Python,
    TypeScript,
}

impl Sdk {
    /// Returns the folder of the installed SDK; installs it if it is missing.
    fn folder(self) -> Option<PathBuf> {
        match self {
            // The source package: the others contain a program that is not needed here.
            Self::Python => PYTHON.folder(),
            Self::TypeScript => TYPESCRIPT.folder(),
        }
    }

    fn command(self, folder: &Path) -> Command {
        match self {
            Self::Python => {
                let mut command = Command::new("python3");
                command.env("PYTHONPATH", folder).arg(script("host.py"));
                command
            }
            Self::TypeScript => {
                let mut command = Command::new("node");
                command.current_dir(folder).arg(script("host.mjs"));
                command
            }
        }
    }
}

/// A finished case: what the SDK saw, the project, and the server.
struct Ran {
    sdk: Sdk,
    seen: Value,
    home: Home,
    mock: MockServer,
}

/// Runs a case with both SDKs.
async fn run(case: &str, scenario: impl Fn() -> Scenario) -> Vec<Ran> {
    run_in(case, scenario, |_| {}).await
}

/// Runs a case with both SDKs in a project that is prepared before.
async fn run_in(case: &str, scenario: impl Fn() -> Scenario, prepare: impl Fn(&Home)) -> Vec<Ran> {
    let mut all = Vec::new();
    for (sdk, part) in
        [(Sdk::Python, Part::PythonAgentSdk), (Sdk::TypeScript, Part::TypeScriptAgentSdk)]
    {
        let Some(folder) = requires(part, sdk.folder()) else { continue };
        let home = Home::new();
        prepare(&home);
        let mock = MockServer::start(scenario()).await.unwrap();
        let mut command = sdk.command(&folder);
        command.env("ROBOTA", recorder(&home));
        let seen = run_script(command, case, &home, &mock).await;
        check_lines(&home, sdk, case);
        all.push(Ran { sdk, seen, home, mock });
    }
    all
}

/// Returns a program that runs this one and keeps the lines that the SDK receives.
fn recorder(home: &Home) -> PathBuf {
    use std::os::unix::fs::PermissionsExt as _;

    let program = home.path("recorder");
    // Replaced by the program, so that its signals and its exit code are those that the SDK sees.
    let script = format!(
        "#!/usr/bin/env bash\nexec '{}' \"$@\" > >(tee -a '{}')\n",
        env!("CARGO_BIN_EXE_robota"),
        home.path("lines.jsonl").display()
    );
    home.write("recorder", script);
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o700)).unwrap();
    program
}

/// Asserts that every line that the SDK received is valid. With `ROBOTA_RECORD` they become the
/// recorded lines of the case.
fn check_lines(home: &Home, sdk: Sdk, case: &str) {
    let text = std::fs::read_to_string(home.path("lines.jsonl")).unwrap();
    // The end may be missing: an SDK can end the program in the middle of a line.
    let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
    let lines: Vec<_> = whole.lines().filter(|line| line.starts_with('{')).collect();
    assert!(parse_lines(&lines.join("\n")).len() > 1, "{sdk:?} {case}: {text}");
    if std::env::var_os("ROBOTA_RECORD").is_some() {
        let temporary = home.path("").display().to_string();
        let file = format!("{RECORDED}/{}-{case}.jsonl", format!("{sdk:?}").to_lowercase());
        let text = lines.join("\n").replace(&temporary, "/TEMP/") + "\n";
        // Messages name the folders of this machine.
        let path = std::env::var("PATH").unwrap_or_default();
        let text = text.replace(&path, "/usr/bin:/bin");
        std::fs::write(file, text).unwrap();
    }
}

#[test]
fn sdk_08_recorded_lines_of_sdks_stay_valid() {
    let files: Vec<_> = std::fs::read_dir(RECORDED).unwrap().map(|it| it.unwrap().path()).collect();
    assert!(files.len() > 10, "{files:?}");
    for file in files {
        let lines = parse_lines(&std::fs::read_to_string(&file).unwrap());
        let has = |kind: &str| lines.iter().any(|line| line["type"] == kind);
        assert!(has("control_response"), "{}: the host started the program", file.display());
    }
}

fn bash(command: &str) -> Reply {
    Reply::new().tool("Bash", json!({"command": command}))
}

fn hello() -> Scenario {
    Scenario::reply("Hello there, friend.").looped()
}

#[tokio::test]
async fn sdk_08_the_official_sdks_query() {
    for Ran { sdk, seen, mock, .. } in run("query", hello).await {
        assert_eq!(seen["error"], Value::Null, "{sdk:?} {seen}");
        assert_eq!(seen["text"], "Hello there, friend.", "{sdk:?}");
        let result = &seen["results"][0];
        assert_eq!((&result["subtype"], &result["turns"]), (&json!("success"), &json!(1)));
        assert_eq!(result["session"], seen["session"]);
        assert!(result["cost"].as_f64().unwrap() > 0.0, "{sdk:?} {result}");
        assert_eq!(mock.calls().len(), 1);
    }
}

#[tokio::test]
async fn sdk_08_the_official_sdks_talk_and_change_model_and_mode() {
    for Ran { sdk, seen, mock, .. } in run("client", hello).await {
        assert_eq!(seen["first"]["session"], seen["second"]["session"], "{sdk:?} {seen}");
        assert!(seen["pieces"].as_u64().unwrap() >= 6, "{sdk:?} {seen}");
        assert_eq!(seen["second"]["models"], json!(["claude-opus-5"]), "{sdk:?}");
        assert_eq!(seen["mode"], json!(["acceptEdits"]), "{sdk:?}");
        assert_eq!(mock.calls()[1].json["model"], "claude-opus-5");
        assert!(seen["context"].as_u64().unwrap() > 0);
    }
}

#[tokio::test]
async fn sdk_08_the_official_sdks_list_commands_agents_and_models() {
    let prepare = |home: &Home| {
        let skill = "---\ndescription: Ships it\nargument-hint: <version>\n---\nShip.";
        home.write("project/.claude/skills/ship/SKILL.md", skill);
        let style = "---\nname: Terse\ndescription: Few words\n---\nBe terse.";
        home.write("project/.claude/output-styles/terse.md", style);
    };
    for Ran { sdk, seen, mock, .. } in run_in("supported", hello, prepare).await {
        let find = |list: &str, name: &str| {
            let all = seen[list].as_array().unwrap();
            let found = all.iter().find(|it| it["name"] == name || it["value"] == name);
            found.unwrap_or_else(|| panic!("{sdk:?}: {name} in {list}: {seen}")).clone()
        };
        let compact = find("commands", "compact");
        assert_eq!((&compact["builtin"], compact["description"].is_string()), (&json!(true), true));
        let skill = json!({"name": "ship", "description": "Ships it", "argumentHint": "<version>"});
        assert_eq!(find("commands", "ship"), skill, "{sdk:?}");
        let agent = json!({"name": "reviewer", "description": "Reviews code", "model": "opus"});
        assert_eq!(find("agents", "reviewer"), agent, "{sdk:?}");
        find("agents", "general-purpose");
        assert_eq!(find("models", "default")["resolvedModel"], "claude-sonnet-5-5", "{sdk:?}");
        let opus = find("models", "claude-opus-5-5");
        assert_eq!(opus["displayName"], "Claude Opus 5.5", "{sdk:?}");
        assert_eq!(seen["account"]["apiKeySource"], "ANTHROPIC_API_KEY", "{sdk:?}");
        assert_eq!(seen["styles"], json!(["default", "Terse"]), "{sdk:?}");
        assert_eq!(mock.calls()[0].json["thinking"], json!({"type": "disabled"}), "{sdk:?}");
    }
}

#[tokio::test]
async fn sdk_08_the_official_sdks_interrupt_and_go_on() {
    let scenario = || {
        let half = Reply::new().text("Half an answer").gate("never");
        Scenario::reply(half).then("Again.")
    };
    for Ran { sdk, seen, .. } in run("interrupt", scenario).await {
        let result = &seen["stopped"]["results"][0];
        assert_eq!(result["subtype"], "error_during_execution", "{sdk:?} {seen}");
        assert_eq!(result["reason"], "aborted_streaming");
        assert_eq!(seen["after"]["text"], "Again.", "{sdk:?}");
    }
}

#[tokio::test]
async fn sdk_08_the_official_sdks_decide_about_calls() {
    let scenario = || {
        let calls = Reply::new()
            .tool("Bash", json!({"command": "touch allowed-file"}))
            .tool("Bash", json!({"command": "touch denied-file"}))
            .tool("Bash", json!({"command": "touch changed-file"}));
        Scenario::reply(calls).then("Done.")
    };
    for Ran { sdk, seen, home, .. } in run("permissions", scenario).await {
        assert_eq!(seen["asked"].as_array().unwrap().len(), 3, "{sdk:?} {seen}");
        for (file, exists) in [
            ("allowed-file", true),
            ("denied-file", false),
            ("changed-file", false),
            ("made-instead", true),
        ] {
            assert_eq!(home.path("project").join(file).exists(), exists, "{sdk:?} {file}");
        }
        let denials = &seen["results"][0]["denials"];
        assert_eq!(denials.as_array().unwrap().len(), 1, "{sdk:?}");
        assert_eq!(denials[0]["tool_input"]["command"], "touch denied-file");
        for asked in seen["asked"].as_array().unwrap() {
            let rule = json!({"toolName": "Bash", "ruleContent": asked["command"]});
            assert_eq!(asked["suggestions"][0]["rules"][0], rule, "{sdk:?}: the narrow rule");
        }
    }
}

#[tokio::test]
async fn sdk_08_the_official_sdks_deny_and_interrupt() {
    let scenario = || Scenario::reply(bash("touch ran")).then("Not reached.");
    for Ran { sdk, seen, home, mock } in run("deny_and_interrupt", scenario).await {
        let result = &seen["results"][0];
        assert_eq!(result["subtype"], "error_during_execution", "{sdk:?} {seen}");
        assert_eq!(result["reason"], "aborted_tools", "{sdk:?}");
        assert!(!home.path("project/ran").exists());
        assert_eq!(mock.calls().len(), 1, "{sdk:?}");
    }
}

#[tokio::test]
async fn sdk_08_the_official_sdks_run_hooks_in_code() {
    let scenario = || {
        let calls = Reply::new()
            .tool("Bash", json!({"command": "touch fine"}))
            .tool("Bash", json!({"command": "touch forbidden"}));
        Scenario::reply(calls).then("Done.")
    };
    for Ran { sdk, seen, home, .. } in run("hooks", scenario).await {
        let events: Vec<_> = seen["hooks"]
            .as_array()
            .unwrap()
            .iter()
            .map(|hook| hook[0].as_str().unwrap())
            .collect();
        let expected = ["UserPromptSubmit", "PreToolUse", "PreToolUse", "PostToolUse", "Stop"];
        assert_eq!(events, expected, "{sdk:?} {seen}");
        assert!(home.path("project/fine").exists() && !home.path("project/forbidden").exists());
    }
}

#[tokio::test]
async fn sdk_08_a_hook_that_stops_also_stops_the_tool() {
    let scenario = || Scenario::reply(bash("touch ran")).then("Not reached.");
    for Ran { sdk, seen, home, mock } in run("stop_hook", scenario).await {
        assert_eq!(seen["results"][0]["reason"], "hook_stopped", "{sdk:?} {seen}");
        assert!(!home.path("project/ran").exists(), "{sdk:?}");
        assert_eq!(mock.calls().len(), 1);
    }
}

#[tokio::test]
async fn sdk_08_the_official_sdks_resume_and_fork() {
    for Ran { sdk, seen, mock, .. } in run("resume", hello).await {
        assert_eq!(seen["resumed"]["session"], seen["first"]["session"], "{sdk:?} {seen}");
        assert_ne!(seen["forked"]["session"], seen["first"]["session"], "{sdk:?}");
        let sent: Vec<_> = mock
            .calls()
            .iter()
            .map(|call| call.json["messages"].as_array().unwrap().len())
            .collect();
        assert_eq!(sent, [1, 3, 5], "{sdk:?}: the conversation continues");
        let error = seen["missing"]["error"].as_str().unwrap();
        assert!(error.contains("No conversation found with session ID"), "{sdk:?} {error}");
    }
}

#[tokio::test]
async fn sdk_08_the_official_sdks_get_structured_output() {
    let scenario = || {
        let call = |input| Reply::new().tool("StructuredOutput", input);
        Scenario::reply("In words.")
            .then(call(json!({"answer": "x"})))
            .then(call(json!({"answer": 42})))
    };
    for Ran { sdk, seen, .. } in run("structured", scenario).await {
        let result = &seen["results"][0];
        assert_eq!(result["structured"], json!({"answer": 42}), "{sdk:?} {seen}");
        assert_eq!((&result["subtype"], &seen["error"]), (&json!("success"), &Value::Null));
    }
}

#[tokio::test]
async fn sdk_08_the_official_sdks_set_limits() {
    let scenario = || Scenario::reply(bash("touch ran")).then("Not reached.");
    for (case, subtype, text) in [
        ("budget", "error_max_budget_usd", "Reached maximum budget ($0.00001)"),
        ("turns", "error_max_turns", "Reached maximum number of turns (1)"),
    ] {
        for Ran { sdk, seen, home, mock } in run(case, scenario).await {
            let result = &seen["results"][0];
            assert_eq!(result["subtype"], subtype, "{sdk:?} {seen}");
            assert_eq!(result["errors"], json!([text]), "{sdk:?}");
            assert!(seen["error"].as_str().unwrap().contains(text), "{sdk:?} {seen}");
            assert_eq!(mock.calls().len(), 1, "{sdk:?}");
            assert!(!home.path("project/ran").exists());
        }
    }
}

#[tokio::test]
async fn sdk_08_the_model_calls_tools_in_the_host() {
    let scenario = || {
        let add = Reply::new().tool("mcp__calc__add", json!({"a": 19, "b": 23}));
        Scenario::reply(add).then("It is 42.")
    };
    for Ran { sdk, seen, mock, .. } in run("mcp", scenario).await {
        assert_eq!(seen["error"], Value::Null, "{sdk:?} {seen}");
        assert_eq!(seen["text"], "It is 42.", "{sdk:?} {seen}");
        let calls = mock.calls();
        let tools = calls[0].json["tools"].as_array().unwrap();
        let add = tools.iter().find(|tool| tool["name"] == "mcp__calc__add");
        let add = add.unwrap_or_else(|| panic!("{sdk:?}: the first request offers the tool"));
        assert_eq!(add["description"], "Adds two numbers");
        let messages = calls[1].json["messages"].as_array().unwrap();
        let result = messages.last().unwrap()["content"].to_string();
        assert!(result.contains("the sum is 42"), "{sdk:?} {result}");
        assert_eq!(
            seen["servers"],
            json!([{"name": "calc", "status": "connected", "source": "sdk"}]),
            "{sdk:?}"
        );
    }
}

#[tokio::test]
async fn sdk_08_the_official_sdks_change_mcp_servers() {
    for Ran { sdk, seen, .. } in run("servers", hello).await {
        let statuses = json!(["connected", "disabled", "connected"]);
        assert_eq!(seen["statuses"], statuses, "{sdk:?} {seen}");
        if sdk == Sdk::TypeScript {
            assert_eq!(seen["added"], json!(["calc", "missing"]), "{seen}");
            assert_eq!((&seen["removed"], &seen["failed"]), (&json!([]), &json!(["missing"])));
            let cleared = json!({"added": [], "removed": ["calc", "missing"], "errors": {}});
            assert_eq!(seen["cleared"], cleared, "the servers of this client are gone");
        }
    }
}

#[tokio::test]
async fn sdk_08_the_official_sdks_take_files_back() {
    let write = || Reply::new().tool("Write", json!({"file_path": "a.txt", "content": "one"}));
    for Ran { sdk, seen, mock, .. } in
        run("rewind", || Scenario::reply(write()).then("Written.")).await
    {
        assert_eq!(seen["written"], true, "{sdk:?} {seen}");
        assert_eq!(seen["exists"], false, "{sdk:?} {seen}");
        assert_eq!(mock.calls().len(), 2, "{sdk:?}: the empty prompt calls no model");
    }
}

#[tokio::test]
async fn sdk_08_the_official_sdks_receive_hook_events() {
    let scenario = || Scenario::reply(bash("true")).then("Done.");
    for Ran { sdk, seen, .. } in run("hook_events", scenario).await {
        let events = seen["events"].as_array().unwrap();
        let kinds: Vec<_> = events.iter().map(|it| (&it["subtype"], &it["hook_name"])).collect();
        let expected = json!(["hook_started", "hook_response", "PostToolUse:Bash"]);
        assert_eq!(
            kinds,
            [(&expected[0], &expected[2]), (&expected[1], &expected[2])],
            "{sdk:?} {seen}"
        );
        assert_eq!(
            (&events[1]["exit_code"], &events[1]["outcome"]),
            (&json!(0), &json!("success"))
        );
        assert!(events[1]["stdout"].as_str().unwrap().contains("noted"), "{sdk:?} {seen}");
    }
}

#[tokio::test]
async fn sdk_08_the_official_sdks_answer_questions() {
    let scenario = || {
        let options = |one: &str, two: &str| json!([{"label": one}, {"label": two}]);
        let questions = json!([
            {"question": "Which?", "header": "H", "options": options("red", "blue")},
            {"question": "How many?", "header": "N", "options": options("one", "two")},
        ]);
        Scenario::reply(Reply::new().tool("AskUserQuestion", json!({"questions": questions})))
            .then("Done.")
    };
    for Ran { sdk, seen, mock, .. } in run("questions", scenario).await {
        let asked = seen["asked"].as_array().unwrap();
        assert_eq!(asked.len(), 1, "{sdk:?} {seen}");
        assert_eq!(asked[0]["name"], "AskUserQuestion");
        assert!(asked[0]["id"].as_str().is_some_and(|id| !id.is_empty()), "{sdk:?} {seen}");
        let sent = mock.calls()[1].json["messages"].to_string();
        assert!(sent.contains("Which?: blue") && sent.contains("How many?: two"), "{sdk:?} {sent}");
    }
}

#[tokio::test]
async fn sdk_08_the_official_sdks_choose_skills() {
    let prepare = |home: &Home| {
        for name in ["one", "two"] {
            let text = format!("---\ndescription: About {name}\n---\nDo {name}.");
            home.write(&format!("project/.claude/skills/{name}/SKILL.md"), text);
        }
    };
    for Ran { sdk, seen, mock, .. } in run_in("skills", hello, prepare).await {
        assert_eq!(seen["error"], Value::Null, "{sdk:?} {seen}");
        let system = mock.calls()[0].json["system"].to_string();
        assert!(system.contains("About one") && !system.contains("About two"), "{sdk:?} {system}");
    }
}
