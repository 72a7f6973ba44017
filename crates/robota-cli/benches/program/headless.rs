//! Runs without a terminal. The journal is on, with the defaults of `robota -p`; times are medians.

use std::process::Command;
use std::time::{Duration, Instant};

use robota_testkit::fake_mcp;
use robota_testkit::mock::{Failure, MockServer, Reply, Scenario, Stall, Step};
use serde_json::json;

use crate::home;
use crate::home::{Home, program, stderr};
use crate::report::Unit::{Count, Kilobytes, Megabytes, Milliseconds, Times};
use crate::report::{Report, by_1024, median};
use crate::usage::{Spent, cpu, measure, memory_mb, peak, wall};

/// The chunks of the long answer.
const DELTAS: u32 = 20_000;
/// Rounds of one tool call each.
const ROUNDS: u32 = 50;
/// Rounds of the session that is resumed.
const LONG: u32 = 200;
const LONG_SESSION: &str = "agent:bench/session:long";
const ASK: [&str; 6] = ["-p", "Go on.", "--provider", "anthropic", "--model", "mock-model"];
const STREAM_JSON: [&str; 3] = ["--output-format", "stream-json", "--verbose"];
/// How many MCP servers are configured and not used.
const SERVERS: usize = 20;
/// Repetitions of fast and of slow measurements.
const QUICK: usize = 41;
const SLOW: usize = 5;

/// Starts a model that always gives the same short answer.
pub(crate) async fn short_answer() -> MockServer {
    serve(Scenario::reply("Done.").looped()).await
}

async fn serve(scenario: impl Into<Scenario>) -> MockServer {
    MockServer::start(scenario).await.unwrap()
}

/// Starts a model that gives the long answer.
async fn long_answer() -> MockServer {
    let steps = format!("loop: true\nanswers: [{{steps: [{{text: \"word \", times: {DELTAS}}}]}}]");
    serve(Scenario::from_yaml(&steps).unwrap()).await
}

/// Starts a model that reads a file this many times and then answers.
async fn calls(home: &Home, count: u32) -> MockServer {
    home.write("project/notes.txt", "hello\n");
    let call = || Reply::new().tool("Read", json!({"file_path": "notes.txt"}));
    let first = Scenario::reply(call());
    serve((1..count).fold(first, |all, _| all.then(call())).then("Done.")).await
}

/// Returns the command that asks a model.
fn ask(home: &Home, mock: &MockServer, more: &[&str]) -> Command {
    let mut command = home.command(&[&ASK[..], more].concat());
    command.env("ANTHROPIC_BASE_URL", mock.origin()).env("ANTHROPIC_API_KEY", "none");
    command
}

/// Runs the program until it has answered.
async fn answered(home: &Home, mock: &MockServer, more: &[&str]) -> Spent {
    let spent = measure(ask(home, mock, more)).await;
    assert!(spent.success, "the run with {more:?} failed");
    spent
}

/// Measures answers of a new model each.
async fn answers(home: &Home, model: impl AsyncFn() -> MockServer) -> Vec<Spent> {
    let mut all = Vec::new();
    for _ in 0..SLOW {
        all.push(answered(home, &model().await, &[]).await);
    }
    all
}

/// Runs the program until a model refuses. Returns the time to the first request, and its size.
async fn first_request(home: &Home, more: &[&str]) -> (Duration, u64) {
    let mock = serve(Failure::status(400, "Enough.")).await;
    let start = Instant::now();
    let arrival = async {
        let call = mock.call(1).await;
        (start.elapsed(), call.body.len() as u64)
    };
    let arrival = tokio::time::timeout(Duration::from_secs(30), arrival);
    // Directly: the start of a process between them would count.
    let mut command = tokio::process::Command::from(ask(home, &mock, more));
    let (arrival, ended) = tokio::join!(arrival, command.output());
    ended.unwrap();
    arrival.expect("no request arrived")
}

/// Returns how much later the first request is with other options, in milliseconds; both are measured
/// in turns.
async fn later(home: &Home, without: &[&str], with: &[&str]) -> f64 {
    let (mut base, mut all) = (Vec::new(), Vec::new());
    for _ in 0..QUICK {
        base.push(first_request(home, without).await.0);
        all.push(first_request(home, with).await.0);
    }
    median(&all) - median(&base)
}

pub(crate) async fn version(report: &mut Report) {
    let home = home();
    let size = std::fs::metadata(program()).unwrap().len() / 1024;
    report.row("binary", Megabytes, by_1024(size), 30.0);
    let mut all = Vec::new();
    for _ in 0..QUICK {
        all.push(measure(home.command(&["--version"])).await);
    }
    report.row("`--version`", Milliseconds, wall(&all), 4.0);
    report.row("`--version`, memory", Megabytes, peak(&all), 12.0);
}

pub(crate) async fn answer(report: &mut Report) {
    let (home, mock) = (home(), short_answer().await);
    let (mut cold, mut whole, mut bytes) = (Vec::new(), Vec::new(), 0);
    for _ in 0..QUICK {
        let after = first_request(&home, &[]).await;
        bytes = after.1;
        cold.push(after.0);
        whole.push(answered(&home, &mock, &[]).await);
    }
    report.row("start to first request", Milliseconds, median(&cold), 20.0);
    report.row("first request, in an empty project", Kilobytes, by_1024(bytes), 12.0);
    report.row("one answer, whole", Milliseconds, wall(&whole), None);
    report.row("one answer, memory", Megabytes, peak(&whole), 30.0);
    // What is shared with no other program: heap, stacks and relocated data. The peak counts pages of the
    // program's file too, which the system maps in blocks, used or not: it follows the size of the file.
    let stalled = serve(Reply::new().step(Step::Stall(Stall::Forever))).await;
    let mut program = tokio::process::Command::from(ask(&home, &stalled, &STREAM_JSON));
    let child = program.kill_on_drop(true).spawn().unwrap();
    stalled.call(1).await;
    let written = memory_mb(child.id().unwrap(), "smaps_rollup", "Private_Dirty");
    report.row("one answer, memory that it wrote", Megabytes, written, 5.0);
}

pub(crate) async fn resume(report: &mut Report) {
    let home = home();
    let mock = calls(&home, LONG).await;
    let new = ["--session-id", LONG_SESSION, "--permission-mode", "plan"];
    answered(&home, &mock, &new).await;
    let measured = later(&home, &[], &["-r", LONG_SESSION]).await;
    report.row(format!("resume of {LONG} rounds, over a cold start"), Milliseconds, measured, 2.0);
}

pub(crate) async fn stream(report: &mut Report) {
    let home = home();
    let base = answers(&home, short_answer).await;
    let all = answers(&home, long_answer).await;
    let per_thousand = |value: f64| value * 1e3 / f64::from(DELTAS);
    let name = |what: &str| format!("{DELTAS} deltas: {what}");
    let (whole, start) = (per_thousand(cpu(&all)), per_thousand(cpu(&base)));
    report.row(name("CPU per 1,000, the start included"), Milliseconds, whole, 3.0);
    report.row(name("CPU per 1,000, alone"), Milliseconds, whole - start, None);
    report.row(name("memory"), Megabytes, peak(&all), 30.0);
    let mock = long_answer().await;
    let partial = [&STREAM_JSON[..], &["--include-partial-messages"]].concat();
    let (mut lines, mut events) = (Vec::new(), Vec::new());
    for _ in 0..SLOW {
        lines.push(answered(&home, &mock, &partial).await);
        events.push(answered(&home, &mock, &["--output-format", "events"]).await);
    }
    let ratio = cpu(&lines) / cpu(&events);
    report.row(name("CPU of stream-json with partial messages, of events"), Times, ratio, 1.5);
}

pub(crate) async fn allocations(report: &mut Report) {
    let home = home();
    let count = async |mock: &MockServer| -> f64 {
        let mut command = tokio::process::Command::from(ask(&home, mock, &[]));
        let output = command.env("ROBOTA_COUNT_ALLOCATIONS", "1").output().await.unwrap();
        let printed = stderr(&output);
        let count = printed.lines().find_map(|line| line.strip_prefix("allocations: "));
        count.expect("build with --features count-allocations").trim().parse().unwrap()
    };
    let (start, whole) = (count(&short_answer().await).await, count(&long_answer().await).await);
    let per_thousand = |value: f64| value * 1e3 / f64::from(DELTAS);
    let name = |what: &str| format!("{DELTAS} deltas: allocations per 1,000, {what}");
    report.row(name("the start included"), Count, per_thousand(whole), 4000.0);
    report.row(name("alone"), Count, per_thousand(whole - start), None);
}

pub(crate) async fn rounds(report: &mut Report) {
    let home = home();
    let base = answers(&home, short_answer).await;
    let all = answers(&home, async || calls(&home, ROUNDS).await).await;
    let name = |what: &str| format!("{ROUNDS} tool rounds: {what}");
    let per_round = (wall(&all) - wall(&base)) / f64::from(ROUNDS);
    report.row(name("per round, the model included"), Milliseconds, per_round, 3.0);
    report.row(name("memory"), Megabytes, peak(&all), 30.0);
}

/// Measures what MCP servers cost that are configured and not used.
pub(crate) async fn idle_servers(report: &mut Report) {
    let home = home();
    let add = async |name: String, entry: serde_json::Value| {
        let words = ["mcp", "add-json", "-s", "user", &name, &entry.to_string()];
        assert!(measure(home.command(&words)).await.success, "cannot add {name}");
    };
    let started = home.path("started");
    for number in 0..SERVERS {
        let words = format!("started={}", started.display());
        add(format!("server{number}"), fake_mcp::command("idle-servers", &words)).await;
    }
    // The tools of a server are known once it was connected.
    assert!(measure(home.command(&["mcp", "test"])).await.success, "a server does not work");
    std::fs::remove_file(&started).unwrap();
    let none = ["--strict-mcp-config"];
    let name = format!("first request with {SERVERS} idle MCP servers, over none");
    report.row(name, Milliseconds, later(&home, &none, &[]).await, 2.0);
    assert!(!started.exists(), "a server was started although its tools are known");
    // Servers that never answer, so that their tools are never known. They are configured like the
    // others: the first request waits for servers that `--mcp-config` names.
    for number in 0..SERVERS {
        add(format!("mute{number}"), json!({"command": "sleep", "args": ["1000"]})).await;
    }
    let name = format!("the same, and {SERVERS} servers that never answer");
    report.row(name, Milliseconds, later(&home, &none, &[]).await, 2.0);
}
