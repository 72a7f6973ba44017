//! `cargo xtask`: reads the arguments and calls the step of that name.
//!
//! The steps are the modules of the library in this folder; its first page explains them.
//!
//! Exit codes: 0 when the step passed, 1 when it failed, 2 for a usage error.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the build steps print to the terminal"
)]

use std::path::Path;
use std::process::ExitCode;

use xtask::{bench, fuzz, oracle, screens, setup, suite, tidy};

const USAGE: &str = "\
usage: cargo xtask STEP

  setup                    install what the tests need, or say what to install
  test                     run every check and every test
  tidy                     check the conventions that no compiler checks
  gen [--check]            write the generated files, or only compare them
  fuzz --secs N [TARGET]   fuzz each target (or one) for N seconds
  oracle --secs N [--seed S] [--count N]
                           run what the permission policy calls read-only, and check what it did
  bench [FILTER]           run the benchmarks; print ratios measured in one run
  bench program [DIR] [--only SCENARIO]
                           measure only the program against its speed budget; DIR contains
                           `robota` and `mock-model`, otherwise both are built
  bench terminal [DIR] [--only SCENARIO]
                           measure only the terminal: echo of keys, CPU, memory
  screens [DIR [NAME]]     draw the pictures of the terminal program in docs/screens";

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
            fuzz::run(&root, secs, target.first().copied())
        }
        ["oracle", args @ ..] => oracle::run(&root, args),
        ["bench"] => bench::run(&root, None),
        ["bench", what @ ("program" | "terminal"), built @ .., "--only", only]
            if built.len() < 2 =>
        {
            bench::measure(&root, what, built.first().map(Path::new), Some(only))
        }
        ["bench", what @ ("program" | "terminal"), built @ ..] if built.len() < 2 => {
            bench::measure(&root, what, built.first().map(Path::new), None)
        }
        ["screens", rest @ ..] if rest.len() < 3 => {
            screens::draw(&root, rest.first().map(Path::new), rest.get(1).copied())
        }
        ["bench", filter] => bench::run(&root, Some(filter)),
        ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprintln!("{USAGE}");
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
    let words: Vec<&str> = cargo.split(' ').chain(args.iter().copied()).collect();
    xtask::sh::run(root, &words, &[])
}
