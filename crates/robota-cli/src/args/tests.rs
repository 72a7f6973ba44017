use clap::{Command, CommandFactory as _};

use super::*;

/// Renders the help of a command and of all its subcommands, one snapshot each.
fn snapshot_help(command: &mut Command, name: &str) {
    let help = command.render_long_help().to_string();
    insta::assert_snapshot!(name, help);
    for subcommand in command.get_subcommands_mut() {
        if subcommand.get_name() != "help" {
            let name = format!("{name}_{}", subcommand.get_name());
            snapshot_help(subcommand, &name);
        }
    }
}

#[test]
fn cli_03_help_of_every_command() {
    let mut command = Cli::command().term_width(100);
    // Gives the subcommands their full names and the flags of `help` and `version`.
    command.build();
    snapshot_help(&mut command, "robota");
}

#[test]
fn every_option_is_described() {
    fn check(command: &Command) {
        let name = command.get_name();
        assert!(command.get_about().is_some(), "`{name}` has no description");
        for argument in command.get_arguments() {
            let id = argument.get_id();
            assert!(argument.get_help().is_some(), "`{id}` of `{name}` has no description");
        }
        for subcommand in command.get_subcommands() {
            check(subcommand);
        }
    }
    check(&Cli::command());
}

#[test]
fn options_about_calls_are_refused_by_commands_that_run_none() {
    for command in ["sessions list", "sessions show x", "schedule list", "schedule pause x y"] {
        let words = ["robota"].into_iter().chain(command.split(' '));
        for option in ["--allowedTools=Read", "--disallowedTools=Read", "--add-dir=src"] {
            let refused = Cli::try_parse_from(words.clone().chain([option]));
            let kind = refused.map(|_| ()).map_err(|error| error.kind());
            assert_eq!(kind, Err(clap::error::ErrorKind::UnknownArgument), "{command} {option}");
        }
        Cli::try_parse_from(words.clone().chain(["--cwd=src", "--trust"])).unwrap();
    }
    let runs = ["robota", "schedule", "run", "x", "--allowedTools=Read", "--add-dir=src"];
    Cli::try_parse_from(runs).unwrap();
}
