//! Who decides about calls that need approval: a tool of an MCP server, hooks of a host, nobody.

use robota_testkit::mock::{MockServer, Reply, Scenario};
use serde_json::{Value, json};

use crate::headless::TOUCH;
use crate::home::{Home, stderr, stdout};
use crate::host::{Host, kinds};
use crate::mcp::{known, prompt, result_text};
use crate::schema::parse_lines;

const DECIDES: [&str; 2] = ["--permission-prompt-tool", "mcp__fake__decide"];

fn touch(file: &str) -> Reply {
    Reply::new().tool("Bash", json!({"command": format!("touch {file}")}))
}

#[tokio::test]
async fn sdk_08_dont_ask_does_not_ask_a_tool() {
    for (mode, made) in [("default", true), ("dontAsk", false)] {
        let home = known("plain").await;
        let mock =
            MockServer::start(Scenario::reply(touch("allowed")).then("Done.")).await.unwrap();
        let args = [&DECIDES[..], &["--permission-mode", mode]].concat();
        let output = prompt(&home, &mock, &args).await;
        assert_eq!(stdout(&output), "Done.\n", "{}", stderr(&output));
        assert_eq!(home.path("project/allowed").exists(), made, "{mode}");
        assert_eq!(result_text(&mock, 1).contains("dontAsk"), !made, "{}", result_text(&mock, 1));
    }
}

#[tokio::test]
async fn sdk_08_a_tool_can_interrupt_and_return_rules() {
    let home = known("plain").await;
    let mock =
        MockServer::start(Scenario::reply(touch("stop")).then("Not reached.")).await.unwrap();
    let stream = ["--output-format", "stream-json", "--verbose"];
    let args = [&DECIDES[..], &stream].concat();
    let output = prompt(&home, &mock, &args).await;
    let lines = parse_lines(&stdout(&output));
    let result = lines.last().unwrap();
    assert_eq!(result["terminal_reason"], "aborted_tools", "{result} {}", stderr(&output));
    assert_eq!(mock.calls().len(), 1);

    let scenario = Scenario::reply(touch("kept")).then(touch("kept")).then("Done.");
    let mock = MockServer::start(scenario).await.unwrap();
    let output = prompt(&home, &mock, &args).await;
    let sources: Vec<Value> = parse_lines(&stdout(&output))
        .iter()
        .filter(|line| line["type"] == "user")
        .map(|line| line["tool_result_meta"][0]["permission_decision"]["source"].clone())
        .collect();
    assert_eq!(sources, ["user", "rule"], "the second call is not asked about");
}

#[test]
fn sdk_08_a_later_dont_ask_reaches_hooks_of_a_host() {
    let home = Home::new();
    let mut host = Host::start(&home, &format!("- Hi.\n- {TOUCH}\n- Done."), &[]);
    let hooks = json!({"PermissionRequest": [{"hookCallbackIds": ["h0"]}]});
    host.request(&json!({"subtype": "initialize", "hooks": hooks}));
    host.say("hello");
    host.until("result");
    let mode = json!({"subtype": "set_permission_mode", "mode": "dontAsk"});
    assert_eq!(host.request(&mode)["subtype"], "success");
    host.say("go");
    let lines = host.until("result");
    assert!(!kinds(&lines).contains(&"control_request".to_owned()), "{:?}", kinds(&lines));
    assert!(!home.path("project/made").exists());
    host.finish();
}
