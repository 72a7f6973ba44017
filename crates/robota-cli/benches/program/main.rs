//! Measures the program as users run it, against a model on loopback, and prints the budget with each
//! number. A time depends on the machine more than on the code, so no number is asserted.
//!
//! `cargo xtask bench program` runs the scenarios without a terminal, and `cargo xtask bench terminal`
//! those on a pseudo terminal. Cargo builds the program with the features of a release: no
//! dev-dependency adds one to a crate of the program.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods)]
#![allow(clippy::print_stdout)]

mod headless;
#[allow(dead_code, reason = "the tests use the rest")]
#[path = "../../tests/program/home.rs"]
mod home;
#[allow(dead_code, reason = "the tests use the rest")]
#[path = "../../tests/program/pty.rs"]
mod pty;
mod report;
#[allow(dead_code, reason = "the tests use the rest")]
#[path = "../../tests/program/schema.rs"]
mod schema;
mod terminal;
mod usage;

use futures::future::LocalBoxFuture;

use crate::home::Home;
use crate::report::Report;

/// What is measured together: its group, its name, and the function that measures it.
type Scenario = (&'static str, &'static str, for<'a> fn(&'a mut Report) -> LocalBoxFuture<'a, ()>);

const SCENARIOS: &[Scenario] = &[
    ("program", "version", |report| Box::pin(headless::version(report))),
    ("program", "answer", |report| Box::pin(headless::answer(report))),
    ("program", "resume", |report| Box::pin(headless::resume(report))),
    ("program", "stream", |report| Box::pin(headless::stream(report))),
    ("program", "rounds", |report| Box::pin(headless::rounds(report))),
    ("program", "idle-servers", |report| Box::pin(headless::idle_servers(report))),
    // Only a program with the feature `count-allocations` prints how often it allocated.
    ("allocations", "allocations", |report| Box::pin(headless::allocations(report))),
    ("terminal", "start", |report| Box::pin(terminal::start(report))),
    ("terminal", "stream", |report| Box::pin(terminal::stream(report))),
    ("terminal", "idle", |report| Box::pin(terminal::idle(report))),
    ("terminal", "history", |report| Box::pin(terminal::history(report))),
];

/// Creates a home folder and a project on the disk: a folder for temporary files may be in memory, where
/// writing durably costs nothing.
fn home() -> Home {
    Home::in_folder(env!("CARGO_TARGET_TMPDIR"))
}

fn main() {
    // Before the runtime starts threads, because this process must stay small.
    usage::measure_if_asked();
    run();
}

#[tokio::main]
async fn run() {
    // The scenario of the MCP servers configures this program as a server.
    robota_testkit::fake_mcp::serve_if_asked();
    // Cargo adds `--bench`.
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let is_chosen = |(group, name, _): &&Scenario| match words.as_slice() {
        [of, only] => of == group && only == name,
        [of] => of == group,
        _ => false,
    };
    let chosen: Vec<_> = SCENARIOS.iter().filter(is_chosen).collect();
    let all: Vec<_> = SCENARIOS.iter().map(|(group, name, _)| format!("{group} {name}")).collect();
    assert!(!chosen.is_empty(), "no such scenario; GROUP [NAME] is one of: {}", all.join(", "));
    let mut report = Report::begin();
    for (_, _, scenario) in chosen {
        scenario(&mut report).await;
    }
    report.end();
}
