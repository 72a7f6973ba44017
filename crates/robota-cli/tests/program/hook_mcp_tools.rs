//! Hooks that call a tool of an MCP server of the session.

use robota_testkit::mock::{MockServer, Reply, Scenario};
use serde_json::{Value, json};

use crate::headless::BYPASS;
use crate::home::{Home, stderr, stdout};
use crate::mcp::{known, prompt, result_text};

/// Writes the settings with a hook before Bash calls.
fn with_hook(home: &Home, hook: &Value) {
    let hooks = json!({"PreToolUse": [{"matcher": "Bash", "hooks": [hook]}]});
    home.write("home/.robota/settings.json", json!({"hooks": hooks}));
}

/// Returns a hook whose tool returns this text.
fn says(text: &str) -> Value {
    json!({"type": "mcp_tool", "server": "fake", "tool": "echo", "input": {"text": text}})
}

async fn touch() -> MockServer {
    let call = Reply::new().tool("Bash", json!({"command": "touch made"}));
    MockServer::start(Scenario::reply(call).then("Done.")).await.unwrap()
}

#[tokio::test]
async fn core_22_the_text_of_an_mcp_tool_decides_as_the_output_of_a_command() {
    let deny = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse",
        "permissionDecision": "deny", "permissionDecisionReason": "no: ${tool_input.command}"}});
    for (text, runs, result) in [
        (deny.to_string(), false, "no: touch made"),
        ("all is well".to_owned(), true, ""),
        ("{broken".to_owned(), false, "its JSON cannot be read"),
        ("${tool_input.file_path}".to_owned(), false, "has no field `tool_input.file_path`"),
    ] {
        let home = known("plain").await;
        with_hook(&home, &says(&text));
        let mock = touch().await;
        let output = prompt(&home, &mock, &BYPASS).await;
        assert_eq!(stdout(&output), "Done.\n", "{text}: {}", stderr(&output));
        assert_eq!(home.path("project/made").exists(), runs, "{text}");
        let shown = result_text(&mock, 1);
        assert!(shown.contains(result), "{text}: {shown}");
    }
}

#[tokio::test]
async fn core_22_an_mcp_hook_that_cannot_be_called_blocks_at_gates() {
    let hook = |server: &str, tool: &str| json!({"type": "mcp_tool", "server": server, "tool": tool, "timeout": 20});
    for (hook, expected) in [
        (hook("missing", "echo"), "the session has no MCP server `missing`"),
        (hook("fake", "missing"), "it has no tool `missing`"),
        (hook("fake", "crash"), "failed"),
    ] {
        let home = known("plain").await;
        with_hook(&home, &hook);
        let mock = touch().await;
        prompt(&home, &mock, &BYPASS).await;
        assert!(!home.path("project/made").exists(), "{hook}");
        let shown = result_text(&mock, 1);
        assert!(shown.contains("mcp_tool hook") && shown.contains(expected), "{hook}: {shown}");
    }
}

#[tokio::test]
async fn core_22_a_rule_denies_the_tool_of_a_hook_and_elsewhere_its_failure_is_a_warning() {
    let home = known("plain").await;
    with_hook(&home, &says("fine"));
    let mock = touch().await;
    let denied = [BYPASS[0], "--disallowedTools", "mcp__fake__echo"];
    prompt(&home, &mock, &denied).await;
    assert!(result_text(&mock, 1).contains("a rule denies the tool `mcp__fake__echo`"));
    let stop = json!([{"hooks": [{"type": "mcp_tool", "server": "missing", "tool": "x"}]}]);
    home.write("home/.robota/settings.json", json!({"hooks": {"Stop": stop}}));
    let mock = MockServer::start(Scenario::reply("Done.")).await.unwrap();
    let output = prompt(&home, &mock, &[]).await;
    assert_eq!(stdout(&output), "Done.\n");
    assert!(stderr(&output).contains("no MCP server `missing`"), "{}", stderr(&output));
}
