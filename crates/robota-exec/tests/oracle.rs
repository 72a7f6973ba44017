//! The oracle: runs what the policy calls read-only, and checks what it did.
//!
//! Generated commands are judged in default mode without rules. Those that are free because they
//! are proven read-only run in a scratch tree with a hostile repository, with the environment of
//! free commands and inside a fence that allows writing to the scratch tree and nothing else. A file
//! that is created, changed or removed, a socket, a program of the repository that ran, and the text
//! of a file outside the workspace in the output are violations. A few programs of toolchains
//! (`PROXIES`) run inside the fence of free commands itself: they may try to write, and nothing may
//! come of it.
//!
//! `cargo xtask oracle --secs N` runs it for longer; these variables choose what is tried:
//! `ROBOTA_ORACLE_COUNT`, `ROBOTA_ORACLE_SECS`, `ROBOTA_ORACLE_SEED`.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

#[path = "oracle/generate.rs"]
mod generate;
#[path = "oracle/run.rs"]
mod run;
#[path = "oracle/scratch.rs"]
mod scratch;

use std::time::{Duration, Instant};

use generate::Generator;
use robota_core::permission::{Class, Verdict};
use robota_exec::OsPaths;
use robota_policy::{Policy, PolicySpec, ToolCall, Workspace};
use run::Runner;
use scratch::Scratch;
use serde_json::json;

/// Commands that run one after the other before the tree is checked.
const BATCH: usize = 100;

/// Threads that try commands, each with a scratch tree and a seed of its own.
const WORKERS: u64 = 2;

#[expect(clippy::disallowed_methods, reason = "how long the oracle runs is chosen outside")]
fn setting(name: &str) -> Option<u64> {
    std::env::var(format!("ROBOTA_ORACLE_{name}")).ok()?.parse().ok()
}

/// Returns whether the policy calls a command read-only.
fn is_free(policy: &Policy, command: &str) -> bool {
    let input = json!({ "command": command });
    let call = ToolCall { tool: "Bash", input: &input, class: Class::Execute };
    let judged = policy.judge(&call, &OsPaths);
    judged.verdict == Verdict::Allow
}

fn policy(scratch: &Scratch) -> Policy {
    let workspace = Workspace::new(scratch.workspace(), scratch.home());
    Policy::new(&PolicySpec::new(workspace), &OsPaths).0
}

/// What was tried, and what was found.
#[derive(Default)]
struct Tried {
    tried: u64,
    ran: u64,
    violations: Vec<String>,
}

/// Tries commands that are generated from one seed, until this many were judged or the time is
/// over. The time begins with the first batch, which is always tried: on a busy machine the preparation
/// alone can take longer.
async fn explore(runner: &Runner, seed: u64, count: u64, time: Option<Duration>) -> Tried {
    let scratch = Scratch::new();
    let policy = policy(&scratch);
    assert!(is_free(&policy, "git status"), "git is tried too");
    let mut generator = Generator::new(seed, |command| is_free(&policy, command));
    let mut out = Tried::default();
    let start = Instant::now();
    let in_time = || time.is_none_or(|time| start.elapsed() < time);
    while out.tried < count && (out.tried == 0 || in_time()) {
        let mut batch = Vec::with_capacity(BATCH);
        while batch.len() < BATCH && out.tried < count {
            out.tried += 1;
            let command = generator.command();
            if is_free(&policy, &command) {
                batch.push(command);
            }
        }
        out.ran += batch.len() as u64;
        let found = runner.violations(&scratch, &batch).await;
        found.iter().for_each(|violation| println!("{violation}"));
        out.violations.extend(found);
        if out.violations.len() >= 50 {
            break;
        }
    }
    out
}

#[test]
fn what_is_called_read_only_has_no_effect() {
    let seed = setting("SEED").unwrap_or(1);
    let secs = setting("SECS");
    let count = setting("COUNT").unwrap_or(if secs.is_some() { u64::MAX } else { 20_000 });
    let time = secs.map(Duration::from_secs);
    let work = move |seed: u64| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let runner = Runner::new().await?;
            Some(explore(&runner, seed, count / WORKERS, time).await)
        })
    };
    let workers: Vec<_> =
        (0..WORKERS).map(|n| std::thread::spawn(move || work(seed * WORKERS + n))).collect();
    let mut all = Tried::default();
    for worker in workers {
        let Some(one) = worker.join().unwrap() else { return };
        all.tried += one.tried;
        all.ran += one.ran;
        all.violations.extend(one.violations);
    }
    let Tried { tried, ran, violations } = all;
    println!("oracle: seed {seed}, {tried} commands, {ran} of them free and run");
    assert!(violations.is_empty(), "{} violations:\n{}", violations.len(), violations.join("\n"));
    assert!(ran * 10 > tried, "only {ran} of {tried} commands are free: nothing is tried");
}

#[tokio::test]
async fn something_is_tried_however_short_the_time_is() {
    let Some(runner) = Runner::new().await else { return };
    let tried = explore(&runner, 1, u64::MAX, Some(Duration::ZERO)).await;
    assert!(tried.ran > 0 && tried.tried > 0, "{} of {}", tried.ran, tried.tried);
    assert!(tried.violations.is_empty(), "{:?}", tried.violations);
}

/// The oracle finds each kind of effect.
#[tokio::test]
async fn effects_are_found() {
    let Some(runner) = Runner::new().await else { return };
    for (command, effect) in [
        ("echo x > new", "created"),
        ("echo x >> a.txt", "changed"),
        ("touch -d 2001-01-01 a.txt", "changed"),
        ("chmod 600 a.txt", "changed"),
        ("rm a.txt", "removed"),
        ("mkdir d", "created"),
        ("cat ../outside/secret.txt", "printed"),
        ("cat ~/secret.txt", "printed"),
        ("git -c core.fsmonitor=.git/run/fsmonitor status", "ran"),
        // The environment of free commands has no attributes, which select the converter.
        ("git -c attr.tree= -c diff.hostile.textconv=.git/run/textconv diff --textconv", "ran"),
        ("git x", "ran"),
    ] {
        let scratch = Scratch::new();
        let found = runner.violations(&scratch, &[command.to_owned()]).await;
        assert!(found.iter().any(|text| text.contains(effect)), "{command}: {found:?}");
    }
    let scratch = Scratch::new();
    let batch: Vec<String> =
        ["ls", "cat a.txt", "rm b.txt", "git log"].iter().map(|text| (*text).to_owned()).collect();
    let found = runner.violations(&scratch, &batch).await;
    assert_eq!(found.len(), 1, "only one of them has an effect: {found:?}");
    assert!(found[0].contains("rm b.txt"), "{found:?}");
    assert!(runner.violations(&scratch, &batch[..2]).await.is_empty(), "the tree was restored");
}
