//! Runs the examples. Each is compiled into this test, so that all are linked once.

#![cfg(all(feature = "runtime", feature = "scripted", feature = "sdk"))]

#[path = "../examples/approval_flow.rs"]
mod approval_flow;
#[path = "../examples/budget_limits.rs"]
mod budget_limits;
#[path = "../examples/chat_server.rs"]
mod chat_server;
#[path = "../examples/custom_tool.rs"]
mod custom_tool;
#[path = "../examples/delegation.rs"]
mod delegation;
#[path = "../examples/fork_and_compare.rs"]
mod fork_and_compare;
#[path = "../examples/one_shot.rs"]
mod one_shot;
#[path = "../examples/path_guard.rs"]
mod path_guard;
#[path = "../examples/resume_after_a_crash.rs"]
mod resume_after_a_crash;
#[path = "../examples/room.rs"]
mod room;
#[path = "../examples/scheduler.rs"]
mod scheduler;
#[path = "../examples/software_team.rs"]
mod software_team;
#[path = "../examples/sse_backend.rs"]
mod sse_backend;
#[path = "../examples/streaming.rs"]
mod streaming;
#[path = "../examples/structured_output.rs"]
mod structured_output;
#[path = "../examples/two_agents.rs"]
mod two_agents;

#[test]
fn example_approval_flow() {
    approval_flow::main().unwrap();
}

#[test]
fn example_budget_limits() {
    budget_limits::main().unwrap();
}

#[test]
fn example_chat_server() {
    chat_server::main().unwrap();
    let lines = include_str!("../examples/chat_server.rs").lines().count();
    assert!(lines <= 60, "{lines} lines");
}

#[test]
fn example_custom_tool() {
    custom_tool::main().unwrap();
}

#[test]
fn example_fork_and_compare() {
    fork_and_compare::main().unwrap();
}

#[test]
fn example_one_shot() {
    one_shot::main().unwrap();
}

#[test]
fn example_path_guard() {
    path_guard::main().unwrap();
}

#[test]
fn example_resume_after_a_crash() {
    resume_after_a_crash::main().unwrap();
}

#[test]
fn example_streaming() {
    streaming::main().unwrap();
}

#[test]
fn example_structured_output() {
    structured_output::main().unwrap();
}

#[test]
fn example_two_agents() {
    two_agents::main().unwrap();
}

#[test]
fn example_delegation() {
    delegation::main().unwrap();
}

#[test]
fn example_room() {
    room::main().unwrap();
}

#[test]
fn example_scheduler() {
    scheduler::main().unwrap();
}

#[test]
fn example_software_team() {
    software_team::main().unwrap();
}

#[test]
fn example_sse_backend() {
    sse_backend::main().unwrap();
}
