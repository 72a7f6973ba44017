//! `robota schedule`, and schedules of a session that a host has open.

use std::process::Stdio;

use robota_testkit::mock::{MockServer, Scenario};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::Command;

use crate::home::{Home, files_with, stderr, stdout};

const KEY: &str = "sk-test-0123456789abcdef";

/// Runs the program and returns what it printed.
async fn robota(home: &Home, origin: &str, args: &[&str]) -> String {
    let variables = [("ANTHROPIC_BASE_URL", origin), ("ANTHROPIC_API_KEY", KEY)];
    let output = home.robota(args, &variables).await;
    assert!(output.status.success(), "{args:?}: {} {}", stdout(&output), stderr(&output));
    stdout(&output)
}

/// Creates a session with the name `standup`.
async fn session(scenario: Scenario) -> (Home, MockServer) {
    let (home, mock) = (Home::new(), MockServer::start(scenario).await.unwrap());
    robota(&home, &mock.origin(), &["-p", "Hello.", "--name", "standup"]).await;
    (home, mock)
}

#[tokio::test]
async fn kode_08_schedules_are_added_listed_paused_and_removed() {
    let (home, mock) = session(Scenario::reply("Hi.").then("Hi again.")).await;
    let origin = mock.origin();
    let run = |args: &'static [&'static str]| robota(&home, &origin, args);
    let added = run(&[
        "schedule",
        "add",
        "standup",
        "Summarise.",
        "--id",
        "report",
        "--daily",
        "09:00",
        "--zone",
        "Europe/Stockholm",
    ])
    .await;
    assert!(added.starts_with("report  daily 09:00 Europe/Stockholm, next "), "{added}");
    run(&["schedule", "add", "standup", "Look.", "--id", "inbox", "--cron", "*/15 9-17 * * 1-5"])
        .await;
    let list: Value =
        serde_json::from_str(&run(&["schedule", "list", "standup", "--json"]).await).unwrap();
    let ids: Vec<_> = list.as_array().unwrap().iter().map(|it| it["id"].clone()).collect();
    assert_eq!(ids, ["report", "inbox"]);
    // Another session, without schedules, is not listed.
    run(&["-p", "Hello."]).await;
    let all = run(&["schedule", "list"]).await;
    let lines: Vec<_> = all.lines().collect();
    assert_eq!(lines.len(), 5, "{all}");
    assert!(lines[0].ends_with("  standup") && lines[1].starts_with("  report  daily"), "{all}");
    let all: Value = serde_json::from_str(&run(&["schedule", "list", "--json"]).await).unwrap();
    assert_eq!(all.as_array().unwrap().len(), 1);
    assert_eq!((&all[0]["name"], &all[0]["schedules"]), (&json!("standup"), &list));
    assert!(!list[0]["next"].as_array().unwrap().is_empty());
    let paused = run(&["schedule", "pause", "standup", "report"]).await;
    assert!(paused.contains("paused"), "{paused}");
    let resumed = run(&["schedule", "resume", "standup", "report"]).await;
    assert!(!resumed.contains("paused"), "{resumed}");
    let removed = run(&["schedule", "remove", "standup", "report"]).await;
    assert!(removed.contains("inbox") && !removed.contains("report"), "{removed}");
}

#[tokio::test]
async fn kode_08_a_list_without_a_session_that_cannot_be_read_is_a_failure() {
    let (home, mock) = session(Scenario::reply("Hi.").then("Hi again.")).await;
    let origin = mock.origin();
    let run = |args: &'static [&'static str]| robota(&home, &origin, args);
    run(&["schedule", "add", "standup", "Summarise.", "--id", "report", "--daily", "09:00"]).await;
    run(&["-p", "This one is damaged."]).await;
    let damaged = files_with("This one is damaged.", &home.path("project/.robota"));
    let journal = damaged.iter().find(|file| file.extension().is_some()).unwrap();
    let text = std::fs::read_to_string(journal).unwrap();
    std::fs::write(journal, text.replace("This one is damaged.", "This one is changed.")).unwrap();
    for args in [&["schedule", "list"][..], &["schedule", "list", "--json"]] {
        let output = home.robota(args, &[]).await;
        let (out, errors) = (stdout(&output), stderr(&output));
        assert!(out.contains("report"), "the others are listed: {out}");
        assert_eq!(output.status.code(), Some(1), "{errors}");
        assert!(!errors.is_empty());
    }
}

#[tokio::test]
async fn kode_08_a_schedule_that_is_not_valid_is_refused_with_a_reason() {
    let (home, _mock) = session(Scenario::reply("Hi.")).await;
    for (args, reason) in [
        (&["--daily", "25:00"][..], "25:00"),
        (&["--cron", "bad"], "bad"),
        (&["--daily", "09:00", "--zone", "Nowhere/City"], "Nowhere/City"),
        (&[], "required arguments"),
    ] {
        let args = [&["schedule", "add", "standup", "Go."], args].concat();
        let output = home.robota(&args, &[]).await;
        assert!(!output.status.success(), "{args:?}");
        assert!(stderr(&output).contains(reason), "{args:?}: {}", stderr(&output));
    }
    let output = home.robota(&["schedule", "pause", "standup", "nothing"], &[]).await;
    assert!(stderr(&output).contains("nothing"), "{}", stderr(&output));
}

#[tokio::test]
async fn kode_08_a_schedule_fires_while_a_host_has_the_session_open_and_not_after_one_prompt() {
    let scenario = Scenario::reply("Hi.").then("One.").then("Two.").then("Checked.");
    // The schedule may fire again before the program reads that its input has ended.
    let scenario = scenario.then("Checked.").then("Checked.").then("Checked.");
    let (home, mock) = session(scenario).await;
    let origin = mock.origin();
    let add = ["schedule", "add", "standup", "Check the rules.", "--id", "rules"];
    robota(&home, &origin, &[&add[..], &["--every-steps", "1"]].concat()).await;
    // A run with one prompt ends with it.
    assert_eq!(robota(&home, &origin, &["-c", "-p", "Go on."]).await.trim(), "One.");
    assert_eq!(mock.calls().len(), 2);
    let args = ["-c", "-p", "--output-format", "stream-json", "--input-format", "stream-json"];
    let mut command = home.command(&[&args[..], &["--verbose"]].concat());
    command.env("ANTHROPIC_BASE_URL", &origin).env("ANTHROPIC_API_KEY", KEY);
    command.stdin(Stdio::piped()).stderr(Stdio::inherit());
    let mut child = Command::from(command).kill_on_drop(true).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let message = json!({"type": "user", "message": {"role": "user", "content": "More."}});
    stdin.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut results = Vec::new();
    while results.len() < 2 {
        let line: Value = serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap();
        if line["type"] == "result" {
            results.push(line["result"].clone());
        }
    }
    drop(stdin);
    assert!(child.wait().await.unwrap().success());
    results.sort_by_key(ToString::to_string);
    assert_eq!(results, ["Checked.", "Two."]);
    let sent = mock.calls().iter().map(|call| call.last_text()).collect::<Vec<_>>();
    assert!(sent.iter().any(|text| text.contains("Check the rules.")), "{sent:?}");
}
