//! `cargo xtask`: reads the arguments and calls the step of that name.
//!
//! Exit codes: 0 when the step passed, 1 when it failed, 2 for a usage error.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "they print to the terminal")]

use std::path::Path;
use std::process::ExitCode;

use xtask::{programs, setup, suite, tidy};

const USAGE: &str = include_str!("usage.txt");

fn main() -> ExitCode {
    #[expect(clippy::disallowed_methods, reason = "a program's main reads its arguments")]
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let root = xtask::tree::root();
    let result = match args.as_slice() {
        ["setup"] => setup::run(&root),
        ["test"] => suite::run(&root),
        ["tidy"] => tidy::run(&root),
        ["gen"] | ["gen", "--check"] => generate(&root, &args),
        ["fuzz", "--secs", secs, target @ ..]
            if target.len() < 2 && secs.parse().is_ok_and(|secs: u32| secs > 0) =>
        {
            programs::fuzz(&root, secs, target.first().copied())
        }
        ["oracle", args @ ..] => programs::oracle(&root, args),
        ["bench"] => programs::bench(&root, None),
        ["bench", group @ ("program" | "terminal" | "allocations"), args @ ..] => {
            programs::measure(&root, group, args)
        }
        ["bench", filter] => programs::bench(&root, Some(filter)),
        ["screens"] => programs::pictures(&root, ""),
        ["screens", name] => programs::pictures(&root, name),
        ["help" | "--help" | "-h"] => {
            print!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(feature = "generate")]
fn generate(root: &Path, args: &[&str]) -> anyhow::Result<()> {
    match args {
        [_, "--check"] => xtask::generate::check(root),
        _ => xtask::generate::write(root),
    }
}

/// Builds this program again with the generators and calls them.
#[cfg(not(feature = "generate"))]
fn generate(root: &Path, args: &[&str]) -> anyhow::Result<()> {
    let cargo = "cargo run --quiet --profile quick --package xtask --features generate --";
    xtask::sh::run(root, &format!("{cargo} {}", args.join(" ")), &[])
}
