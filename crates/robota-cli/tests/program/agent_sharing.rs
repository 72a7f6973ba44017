//! What an agent shares with the session that started it, in the same process and in one of its own:
//! lines about hooks, rules that are added while it runs, and MCP servers.

use robota_testkit::mock::{MockServer, Reply, Scenario};
use serde_json::{Value, json};

use crate::home::{Home, stderr, stdout};
use crate::host::{Host, STREAM};
use crate::mcp::entry;

const KEY: &str = "sk-test-0123456789abcdef";

/// Returns the definition of an agent, and a call that starts it.
fn worker(own_process: bool, more: &Value) -> (String, Reply) {
    let mut agent =
        json!({"description": "Works", "prompt": "You work.", "ownProcess": own_process});
    for (key, value) in more.as_object().into_iter().flatten() {
        agent[key] = value.clone();
    }
    let task = json!({"prompt": "Do it.", "subagent_type": "worker", "description": "do it"});
    (json!({"worker": agent}).to_string(), Reply::new().tool("Agent", task))
}

/// Runs a prompt, and returns the lines.
async fn run(home: &Home, mock: &MockServer, args: &[&str]) -> Vec<Value> {
    let origin = mock.origin();
    let variables = [("ANTHROPIC_BASE_URL", &*origin), ("ANTHROPIC_API_KEY", KEY)];
    let lines = ["-p", "Go.", "--output-format", "stream-json", "--verbose"];
    let bypass = ["--permission-mode", "bypassPermissions"];
    let output = home.robota(&[&lines[..], &bypass, args].concat(), &variables).await;
    assert_eq!(output.status.code(), Some(0), "{} {}", stdout(&output), stderr(&output));
    stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn run_04_hooks_of_an_agent_have_lines_wherever_it_runs() {
    for own_process in [false, true] {
        let home = Home::new();
        home.write("project/notes.txt", "hello\n");
        let hook = |command: &str| json!([{"hooks": [{"type": "command", "command": command}]}]);
        let hooks = json!({"PreToolUse": [{"matcher": "Read",
            "hooks": [{"type": "command", "command": "echo seen; echo why >&2; exit 3"}]}],
            "PostToolBatch": hook("true")});
        home.write("home/.robota/settings.json", json!({"hooks": hooks}));
        let (agents, start) = worker(own_process, &json!({}));
        let read = Reply::new().tool("Read", json!({"file_path": "notes.txt"}));
        let scenario = Scenario::reply(start).then(read).then("It says hello.").then("Done.");
        let mock = MockServer::start(scenario).await.unwrap();
        let lines = run(&home, &mock, &["--agents", &agents, "--include-hook-events"]).await;
        let of = |subtype: &str| -> Vec<&Value> {
            lines.iter().filter(|line| line["subtype"] == subtype).collect()
        };
        let responses = of("hook_response");
        let seen = responses.iter().find(|line| line["hook_name"] == "PreToolUse:Read");
        let seen = seen.unwrap_or_else(|| panic!("{own_process}: {responses:?}"));
        assert_eq!((&seen["stdout"], &seen["stderr"]), (&json!("seen\n"), &json!("why\n")));
        assert_eq!((&seen["exit_code"], &seen["outcome"]), (&json!(3), &json!("error")));
        assert_eq!(of("hook_started").len(), responses.len(), "{own_process}");
        // Those of the calls of the agent, and of the call of the session that started it.
        let batches = responses.iter().filter(|line| line["hook_name"] == "PostToolBatch").count();
        assert_eq!(batches, 2, "{own_process}: {responses:?}");
    }
}

#[tokio::test]
async fn run_04_a_rule_that_is_added_while_an_agent_runs_applies_to_it() {
    for own_process in [false, true] {
        let home = Home::new();
        let (agents, start) = worker(own_process, &json!({}));
        let touch =
            |file: &str| Reply::new().tool("Bash", json!({"command": format!("touch {file}")}));
        let scenario = Scenario::reply(start)
            .then(touch("first"))
            .then(touch("second"))
            .then("Refused.")
            .then("Done.");
        let mock = MockServer::start(scenario).await.unwrap();
        let args = ["--permission-prompt-tool", "stdio", "--allowedTools", "Agent", "--agents"];
        let mut command = home.command(&[&["-p"][..], &STREAM, &args, &[&agents]].concat());
        command.env("ANTHROPIC_BASE_URL", mock.origin()).env("ANTHROPIC_API_KEY", KEY);
        let ended = tokio::task::spawn_blocking(move || {
            let mut host = Host::spawn(&mut command);
            host.say("Go.");
            let asked = host.until("control_request").pop().unwrap();
            assert_eq!(asked["request"]["input"]["command"], "touch first", "{asked}");
            let rule = json!({"toolName": "Bash", "ruleContent": "touch second"});
            let update = json!({"type": "addRules", "rules": [rule], "behavior": "deny",
                "destination": "session"});
            let allow = json!({"behavior": "allow", "updatedInput": asked["request"]["input"],
                "updatedPermissions": [update]});
            host.answer(&asked, &allow);
            let lines = host.until("result");
            host.finish();
            lines
        });
        let lines = ended.await.unwrap();
        assert_eq!(lines.last().unwrap()["result"], "Done.", "{own_process}: {lines:?}");
        assert!(home.path("project/first").exists(), "{own_process}");
        assert!(!home.path("project/second").exists(), "{own_process}");
        let asked = lines.iter().any(|line| line["type"] == "control_request");
        assert!(!asked, "{own_process}: a denied call has no question: {lines:?}");
    }
}

#[tokio::test]
async fn run_04_an_agent_reads_resources_of_its_own_servers_only() {
    for own_process in [false, true] {
        let home = Home::new();
        for name in ["one", "two"] {
            let config = entry("plain").to_string();
            home.robota(&["mcp", "add-json", "-s", "user", name, &config], &[]).await;
        }
        let tested = home.robota(&["mcp", "test"], &[]).await;
        assert!(stdout(&tested).contains("two: connected"), "{}", stdout(&tested));
        let (agents, start) = worker(own_process, &json!({"mcpServers": ["one"]}));
        let read = |server: &str| {
            let input = json!({"server": server, "uri": "demo://one"});
            Reply::new().tool("ReadMcpResource", input)
        };
        let scenario = Scenario::reply(start)
            .then(Reply::new().tool("ListMcpResources", json!({})))
            .then(read("two"))
            .then(read("one"))
            .then("Read.")
            .then("Done.");
        let mock = MockServer::start(scenario).await.unwrap();
        let lines = run(&home, &mock, &["--agents", &agents]).await;
        assert_eq!(lines.last().unwrap()["result"], "Done.");
        let result = |call: usize| crate::mcp::result_text(&mock, call);
        let listed = result(2);
        assert!(listed.contains("one: demo://one"), "{own_process}: {listed}");
        assert!(!listed.contains("two:"), "{own_process}: {listed}");
        assert!(result(3).contains("there is no MCP server `two`"), "{}", result(3));
        assert!(result(4).contains("the resource"), "{}", result(4));
    }
}
