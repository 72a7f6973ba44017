//! Agents and background tasks through the real program, with a mock model service.

use robota_testkit::mock::{MockServer, Reply, Scenario};
use serde_json::{Value, json};

use crate::home::{Home, stderr, stdout};

const KEY: &str = "sk-test-0123456789abcdef";

async fn run(home: &Home, scenario: Scenario, args: &[&str]) -> (Vec<Value>, MockServer) {
    let mock = MockServer::start(scenario).await.unwrap();
    let origin = mock.origin();
    let variables = [("ANTHROPIC_BASE_URL", &*origin), ("ANTHROPIC_API_KEY", KEY)];
    let lines = ["-p", "Go.", "--output-format", "stream-json", "--verbose"];
    let output = home.robota(&[&lines[..], args].concat(), &variables).await;
    assert_eq!(output.status.code(), Some(0), "{} {}", stdout(&output), stderr(&output));
    let lines = stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    (lines, mock)
}

fn of<'l>(lines: &'l [Value], subtype: &str) -> Vec<&'l Value> {
    lines.iter().filter(|line| line["subtype"] == subtype).collect()
}

#[tokio::test]
async fn sdk_15_an_agent_of_the_command_line_works_and_is_reported_in_lines() {
    let home = Home::new();
    home.write("project/notes.txt", "hello world\n");
    let agents = json!({"reader": {
        "description": "Reads files", "prompt": "You read.", "tools": ["Read"],
    }});
    let task =
        json!({"prompt": "Read notes.txt", "subagent_type": "reader", "description": "read"});
    let scenario = Scenario::default()
        .then(Reply::new().tool("Task", task))
        .then(Reply::new().tool("Read", json!({"file_path": "notes.txt"})))
        .then(Reply::new().tool("Read", json!({"file_path": "notes.txt", "offset": 1})))
        .then("It says hello world.")
        .then("All done.");
    let agents = agents.to_string();
    let (lines, mock) =
        run(&home, scenario, &["--agents", &agents, "--allowedTools", "Agent"]).await;
    let init = of(&lines, "init")[0];
    assert!(init["agents"].as_array().unwrap().contains(&json!("reader")), "{init}");
    let started = of(&lines, "task_started")[0];
    assert_eq!(
        (&started["description"], &started["task_type"]),
        (&json!("read"), &json!("local_agent"))
    );
    assert!(started["tool_use_id"].is_string(), "{started}");
    let [_, progress] = of(&lines, "task_progress")[..] else { panic!("{lines:?}") };
    assert_eq!(progress["last_tool_name"], "Read");
    assert_eq!(progress["usage"]["tool_uses"], 2);
    // The answer with the first call has been counted. That with the second may still be streamed: a
    // call that only reads starts at once.
    assert!(progress["usage"]["total_tokens"].as_u64() > Some(0), "{progress}");
    // The agent's calls are lines of their own, between the call that started it and its result.
    let agent_lines: Vec<_> =
        lines.iter().filter(|line| line["parent_tool_use_id"] == started["tool_use_id"]).collect();
    let block = |line: &Value| line["message"]["content"][0].clone();
    let [call, read, _, _] = agent_lines[..] else { panic!("{agent_lines:?}") };
    assert_eq!((&call["type"], &block(call)["name"]), (&json!("assistant"), &json!("Read")));
    assert_eq!((&read["type"], &block(read)["type"]), (&json!("user"), &json!("tool_result")));
    assert_eq!(block(read)["tool_use_id"], block(call)["id"]);
    for line in [call, read] {
        assert_eq!(line["agent_id"], started["task_id"], "{line}");
        assert_eq!(
            (&line["subagent_type"], &line["task_description"]),
            (&json!("reader"), &json!("read"))
        );
    }
    assert_eq!(
        (&started["subagent_type"], &started["is_backgrounded"]),
        (&json!("reader"), &json!(false))
    );
    let at = |found: &dyn Fn(&Value) -> bool| lines.iter().position(found).unwrap();
    let answered = at(&|line| block(line)["tool_use_id"] == started["tool_use_id"]);
    assert!(at(&|line| line == read) < answered, "{lines:?}");
    let output = &lines[answered]["tool_use_result"];
    assert_eq!((&output["status"], &output["agentType"]), (&json!("completed"), &json!("reader")));
    assert_eq!(output["content"][0]["text"], "It says hello world.");
    assert_eq!(output["totalToolUseCount"], 2);
    assert!(output["totalTokens"].as_u64() > Some(0), "{output}");
    let ended = of(&lines, "task_notification")[0];
    assert_eq!((&ended["status"], &ended["task_id"]), (&json!("completed"), &started["task_id"]));
    let log = std::fs::read_to_string(ended["output_file"].as_str().unwrap()).unwrap();
    assert!(log.contains("It says hello world."), "{log}");
    let result = lines.last().unwrap();
    assert_eq!(result["result"], "All done.");
    // The second request is that of the agent.
    let agent = &mock.calls()[1];
    assert!(agent.system().starts_with("You read."), "{}", agent.system());
    assert_eq!(agent.tools(), ["Read", "ReadOutput"]);
    // -c continues the session, not that of its agent.
    let listed = home.robota(&["sessions", "list", "--json"], &[]).await;
    assert!(!stdout(&listed).contains("spawned_by"), "hidden: {}", stdout(&listed));
    let listed = home.robota(&["sessions", "list", "--agents", "--json"], &[]).await;
    assert!(stdout(&listed).contains("spawned_by"), "{}", stdout(&listed));
    let listed = home.robota(&["sessions", "list", "--agents"], &[]).await;
    assert!(stdout(&listed).contains("(agent of "), "{}", stdout(&listed));
}

#[tokio::test]
async fn sdk_15_hooks_of_the_calls_of_agents_have_lines() {
    let home = Home::new();
    home.write("project/notes.txt", "hello world\n");
    let hook =
        json!([{"matcher": "Read", "hooks": [{"type": "command", "command": "echo noted"}]}]);
    home.write("home/.robota/settings.json", json!({"hooks": {"PostToolUse": hook}}));
    let agents = json!({"reader": {"description": "Reads", "prompt": "You read."}}).to_string();
    let task = json!({"prompt": "Read", "subagent_type": "reader", "description": "read"});
    let scenario = Scenario::default()
        .then(Reply::new().tool("Task", task))
        .then(Reply::new().tool("Read", json!({"file_path": "notes.txt"})))
        .then("It says hello world.")
        .then("All done.");
    let args = ["--agents", &agents, "--allowedTools", "Agent", "--include-hook-events"];
    let (lines, _) = run(&home, scenario, &args).await;
    for kind in ["hook_started", "hook_response"] {
        let names: Vec<_> = of(&lines, kind).iter().map(|line| &line["hook_name"]).collect();
        assert_eq!(names, ["PostToolUse:Read"], "{kind}");
    }
    assert_eq!(of(&lines, "hook_response")[0]["stdout"], "noted\n");
}

#[tokio::test]
async fn run_03_a_command_that_still_runs_at_the_end_is_stopped_and_its_end_is_printed() {
    let home = Home::new();
    let command =
        json!({"command": "sleep 1000", "run_in_background": true, "description": "server"});
    let scenario = Scenario::default().then(Reply::new().tool("Bash", command)).then("Started.");
    let mock = MockServer::start(scenario).await.unwrap();
    let origin = mock.origin();
    let variables = [("ANTHROPIC_BASE_URL", &*origin), ("ANTHROPIC_API_KEY", KEY)];
    let bypass = ["--permission-mode", "bypassPermissions"];
    let args = ["-p", "Go.", "--output-format", "stream-json", "--verbose"];
    let output = home.robota(&[&args[..], &bypass].concat(), &variables).await;
    assert_eq!(output.status.code(), Some(0), "{} {}", stdout(&output), stderr(&output));
    let lines: Vec<Value> =
        stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let started = of(&lines, "task_started")[0];
    let ended = of(&lines, "task_notification")[0];
    assert_eq!((&ended["status"], &ended["task_id"]), (&json!("stopped"), &started["task_id"]));
    let note = stderr(&output);
    assert!(note.contains("robota: stopped with the session: bash_1 (server)"), "{note}");
}

/// Runs git in the project, and returns what it prints.
async fn git(home: &Home, args: &[&str]) -> String {
    let dir = home.path("project");
    let environment = robota_exec::Environment::new()
        .with("PATH", "/usr/local/bin:/usr/bin:/bin")
        .with("HOME", &dir);
    let spec = robota_exec::CommandSpec::new("git", &dir).args(args).env(environment);
    let cancel = tokio_util::sync::CancellationToken::new();
    let outcome = robota_exec::Supervisor::new().run(spec, &cancel).await.unwrap();
    assert!(outcome.exit.is_success(), "{args:?} {}", outcome.stderr.text());
    outcome.stdout.text()
}

/// Makes the project a repository with one commit.
async fn repository() -> Home {
    let home = Home::new();
    home.write("project/notes.txt", "hello\n");
    git(&home, &["init", "-q", "-b", "main"]).await;
    git(&home, &["add", "-A"]).await;
    git(&home, &["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "one"]).await;
    home
}

#[tokio::test]
async fn run_05_hooks_run_when_a_worktree_is_made_and_when_it_is_removed() {
    let home = repository().await;
    let log = home.path("hooks.jsonl");
    let hook =
        json!([{"hooks": [{"type": "command", "command": format!("cat >> '{}'", log.display())}]}]);
    let settings = json!({"hooks": {"WorktreeCreate": hook, "WorktreeRemove": hook}});
    home.write("home/.claude/settings.json", settings.to_string());
    let task = json!({"prompt": "Look at it.", "isolation": "worktree"});
    let scenario = Scenario::default()
        .then(Reply::new().tool("Agent", task))
        .then("Nothing to change.")
        .then("All done.");
    let (lines, _mock) = run(&home, scenario, &["--dangerously-skip-permissions"]).await;
    let log = std::fs::read_to_string(log).unwrap_or_else(|error| panic!("{error}: {lines:?}"));
    let calls = serde_json::Deserializer::from_str(&log).into_iter::<serde_json::Value>();
    let calls: Vec<_> = calls.map(Result::unwrap).collect();
    let names: Vec<_> =
        calls.iter().map(|call| call["hook_event_name"].as_str().unwrap()).collect();
    assert_eq!(names, ["WorktreeCreate", "WorktreeRemove"], "{calls:?}");
    let name = calls[0]["name"].as_str().unwrap();
    let path = calls[1]["worktree_path"].as_str().unwrap();
    let folder = std::path::Path::new(path).file_name().unwrap().to_str().unwrap();
    assert!(folder.starts_with(name), "{name} {path}");
    assert!(!std::path::Path::new(path).exists(), "it is clean, so it is removed");
    assert_eq!(calls[0]["cwd"], home.path("project").canonicalize().unwrap().display().to_string());
}

#[tokio::test]
async fn run_05_an_agent_with_a_commit_in_its_worktree_loses_nothing() {
    let home = repository().await;
    let task = json!({"prompt": "Change it.", "isolation": "worktree"});
    let change = "echo changed > notes.txt && git -c user.name=a -c user.email=a@a commit -qam two";
    let scenario = Scenario::default()
        .then(Reply::new().tool("Agent", task))
        .then(Reply::new().tool("Bash", json!({"command": change})))
        .then("Changed.")
        .then("All done.");
    let (lines, _mock) = run(&home, scenario, &["--dangerously-skip-permissions"]).await;
    let text = serde_json::to_string(&lines).unwrap();
    assert!(text.contains("its changes are in"), "{text}");
    assert_eq!(std::fs::read_to_string(home.path("project/notes.txt")).unwrap(), "hello\n");
    assert!(git(&home, &["log", "--all", "--format=%s"]).await.contains("two"));
    let listed = home.robota(&["worktrees", "list"], &[]).await;
    assert!(stdout(&listed).contains("commits"), "{} {}", stdout(&listed), stderr(&listed));
    let pruned = home.robota(&["worktrees", "prune"], &[]).await;
    assert!(stdout(&pruned).starts_with("kept"), "{}", stdout(&pruned));
}

#[tokio::test]
async fn run_05_the_commands_of_worktrees_print_json_and_say_what_is_wrong() {
    let outside = Home::new();
    for command in
        [&["worktrees", "list"][..], &["worktrees", "prune"], &["worktrees", "remove", "x"]]
    {
        let refused = outside.robota(command, &[]).await;
        assert_eq!(refused.status.code(), Some(1), "{command:?}");
        assert!(stderr(&refused).contains("is not in a git repository"), "{}", stderr(&refused));
    }
    let home = repository().await;
    let json = async |args: &[&str]| -> serde_json::Value {
        let output = home.robota(&[&["worktrees"], args, &["--json"]].concat(), &[]).await;
        assert!(output.status.success(), "{args:?}: {}", stderr(&output));
        serde_json::from_str(&stdout(&output)).unwrap()
    };
    assert_eq!(json(&["list"]).await, json!({"worktrees": []}));
    assert_eq!(json(&["prune"]).await, json!({"worktrees": []}));
    for name in ["agent-1-0000abcd", "agent-2-0000abcd"] {
        let (branch, path) = (format!("robota/{name}"), format!(".robota/worktrees/{name}"));
        git(&home, &["worktree", "add", "--quiet", "-b", &branch, &path]).await;
    }
    home.write("project/.robota/worktrees/agent-1-0000abcd/new.txt", "new");
    let pruned = json(&["prune"]).await;
    let pruned: Vec<_> = pruned["worktrees"].as_array().unwrap().iter().collect();
    assert_eq!((&pruned[0]["removed"], &pruned[1]["removed"]), (&json!(false), &json!(true)));
    assert_eq!(pruned[0]["reasons"], json!(["1 untracked file"]));
    assert_eq!(json(&["list"]).await["worktrees"][0]["state"], "1 untracked file");
    let refused = home.robota(&["worktrees", "remove", "agent-1-0000abcd"], &[]).await;
    assert!(stderr(&refused).contains("nothing was removed"), "{}", stderr(&refused));
    let removed = json(&["remove", "agent-1-0000abcd", "--force"]).await;
    assert_eq!(removed, json!({"removed": "agent-1-0000abcd", "branch_kept": false}));
}
