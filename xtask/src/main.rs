//! `cargo xtask`: reads the arguments and calls the step of that name.
//!
//! Every step is a module of the library beside this file, which is also where the list of
//! steps is explained. Here is only the way from words to calls.
//!
//! Exit codes: 0 when the step passed, 1 when it failed, 2 when the words make no sense.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a build step talks to the terminal of whoever runs it"
)]

use std::process::ExitCode;

use xtask::{bench, fuzz, generate, setup, suite, tidy};

const USAGE: &str = "\
usage: cargo xtask STEP

  setup                    install what the tests need, or say what to install
  test                     everything that must hold before a change lands
  tidy                     the conventions no compiler checks
  gen [--check]            write the generated files, or only compare them
  fuzz --secs N [TARGET]   fuzz each target (or one) for N seconds
  bench [FILTER]           benchmarks, as ratios measured in one run
  bench program [DIR]      only the program itself, beside its speed budget; DIR has
                           `robota` and `mock-model`, else both are built";

fn main() -> ExitCode {
    #[expect(clippy::disallowed_methods, reason = "a program's main reads its arguments")]
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let root = xtask::tree::root();
    let result = match args.as_slice() {
        ["setup"] => setup::run(),
        ["test"] => suite::run(&root),
        ["tidy"] => tidy::run(&root),
        ["gen"] => generate::write(&root),
        ["gen", "--check"] => generate::check(&root),
        ["fuzz", rest @ ..] => match fuzz::parse(rest) {
            Some(plan) => fuzz::run(&root, &plan),
            None => return usage(),
        },
        ["bench"] => bench::run(&root, None),
        ["bench", "program"] => bench::program(&root, None),
        ["bench", "program", built] => bench::program(&root, Some(built.as_ref())),
        ["bench", filter] => bench::run(&root, Some(filter)),
        ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => return usage(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> ExitCode {
    eprintln!("{USAGE}");
    ExitCode::from(2)
}
