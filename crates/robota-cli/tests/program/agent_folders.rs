//! Folders that join and leave the workspace of a session reach its agents, in the same process and in
//! processes of their own: what they may do without a question, and their sandbox.

use robota_testkit::mock::{MockServer, Reply, Scenario};
use robota_testkit::{Part, requires};
use serde_json::{Value, json};

use crate::home::Home;
use crate::host::{Host, STREAM};
use crate::tools::folder_outside_tmp;

const KEY: &str = "sk-test-0123456789abcdef";

/// Returns a home with a sandbox that must work; none if the system has none.
fn sandboxed() -> Option<Home> {
    let home = Home::new();
    let doctor = home.command(&["doctor"]).output().unwrap();
    let text = String::from_utf8(doctor.stdout).unwrap();
    let present = ["landlock", "bubblewrap"].iter().any(|name| text.contains(name));
    requires(Part::Bubblewrap, present.then_some(()))?;
    let settings = json!({"sandbox": {"enabled": true, "failIfUnavailable": true}});
    home.write("home/.robota/settings.json", settings);
    Some(home)
}

/// Returns the definition of an agent, and a call that starts it.
fn worker(own_process: bool) -> (String, Reply) {
    let agents = json!({"worker": {"description": "Works", "prompt": "You work.",
        "ownProcess": own_process}});
    let task = json!({"prompt": "Do it.", "subagent_type": "worker", "description": "do it"});
    (agents.to_string(), Reply::new().tool("Agent", task))
}

fn bash(command: &str) -> Reply {
    Reply::new().tool("Bash", json!({ "command": command }))
}

/// Runs a prompt in the mode `acceptEdits`. `answer` returns the changes of permissions with which a
/// command is approved. Returns the commands that were asked about.
async fn run(
    home: &Home,
    scenario: Scenario,
    agents: &str,
    answer: impl Fn(&str) -> Value + Send + 'static,
) -> Vec<String> {
    let mock = MockServer::start(scenario).await.unwrap();
    let args = ["--permission-prompt-tool", "stdio", "--allowedTools", "Agent"];
    let more = ["--permission-mode", "acceptEdits", "--agents", agents];
    let mut command = home.command(&[&["-p"][..], &STREAM, &args, &more].concat());
    command.env("ANTHROPIC_BASE_URL", mock.origin()).env("ANTHROPIC_API_KEY", KEY);
    let ended = tokio::task::spawn_blocking(move || {
        let mut host = Host::spawn(&mut command);
        host.say("Go.");
        let mut asked = Vec::new();
        while let Some(line) = host.line() {
            match line["type"].as_str() {
                Some("control_request") => {
                    let input = &line["request"]["input"];
                    let text = input["command"].as_str().unwrap_or_default().to_owned();
                    let allow = json!({"behavior": "allow", "updatedInput": input,
                        "updatedPermissions": answer(&text)});
                    host.answer(&line, &allow);
                    asked.push(text);
                }
                Some("result") => {
                    assert_eq!(line["result"], "Done.", "{line}");
                    host.finish();
                    return asked;
                }
                _ => {}
            }
        }
        panic!("no result; asked about {asked:?}")
    });
    ended.await.unwrap()
}

#[tokio::test]
async fn run_04_an_agent_that_runs_follows_the_folders_of_its_session() {
    for own_process in [false, true] {
        let Some(home) = sandboxed() else { return };
        let outside = tempfile::tempdir_in(folder_outside_tmp()).unwrap();
        let folder = outside.path().canonicalize().unwrap();
        let touch = |name: &str| format!("touch {}/{name}", folder.display());
        let (agents, start) = worker(own_process);
        let scenario = Scenario::reply(start)
            .then(bash(&touch("before")))
            .then(bash("no-such-tool add"))
            .then(bash(&touch("after")))
            .then(bash("no-such-tool remove"))
            .then(bash(&touch("removed")))
            .then("Worked.")
            .then("Done.");
        let named = folder.clone();
        let answer = move |command: &str| {
            let change = match command {
                "no-such-tool add" => "addDirectories",
                "no-such-tool remove" => "removeDirectories",
                _ => return json!([]),
            };
            json!([{"type": change, "directories": [named], "destination": "session"}])
        };
        let asked = run(&home, scenario, &agents, answer).await;
        // A command in the folder needs no approval while the folder belongs to the workspace.
        let expected =
            [&touch("before"), "no-such-tool add", "no-such-tool remove", &touch("removed")];
        assert_eq!(asked, expected, "own process: {own_process}");
        let exists = |name: &str| folder.join(name).exists();
        assert!(!exists("before"), "own process: {own_process}");
        assert!(exists("after"), "own process: {own_process}");
        assert!(!exists("removed"), "own process: {own_process}");
    }
}

#[tokio::test]
async fn run_04_an_agent_starts_with_the_folders_that_its_session_has_by_then() {
    for own_process in [false, true] {
        let Some(home) = sandboxed() else { return };
        let outside = tempfile::tempdir_in(folder_outside_tmp()).unwrap();
        let folder = outside.path().canonicalize().unwrap();
        // One that does not exist any more does not keep the agent from starting.
        let (folder_of_answer, gone) = (folder.clone(), folder.join("gone"));
        std::fs::create_dir(&gone).unwrap();
        let touch = format!("touch {}/after", folder.display());
        let (agents, start) = worker(own_process);
        let scenario = Scenario::reply(bash("no-such-tool add"))
            .then(bash("no-such-tool remove"))
            .then(start)
            .then(bash(&touch))
            .then("Worked.")
            .then("Done.");
        let answer = move |command: &str| match command {
            "no-such-tool add" => json!([{"type": "addDirectories",
                "directories": [folder_of_answer, gone], "destination": "session"}]),
            "no-such-tool remove" => {
                std::fs::remove_dir(&gone).unwrap();
                json!([])
            }
            _ => json!([]),
        };
        let asked = run(&home, scenario, &agents, answer).await;
        assert!(!asked.contains(&touch), "own process: {own_process}: {asked:?}");
        assert!(folder.join("after").exists(), "own process: {own_process}");
    }
}
