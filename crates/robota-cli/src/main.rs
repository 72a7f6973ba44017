//! The `robota` program: arguments, headless output, and the demonstration.
//!
//! It is the only crate that prints and that reads the program's arguments; everything it does
//! is composed in [`compose`] from the crates below. `robota --version` starts no runtime and
//! reads no file.

#[cfg(feature = "count-allocations")]
mod allocations;
mod args;
mod commands;
mod compose;
mod debug;
mod demo;
mod hooks;
mod output;
mod print;
mod provider;
mod sandbox;
mod setup;
mod signals;
mod stdin;
mod store;
mod telemetry;
mod which;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser as _;
use robota_core::error::Diagnose;

use args::{Cli, Command, OutputFormat, PermissionsCommand};

/// How the program can end. Scripts rely on these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Exit {
    /// It did what it was asked.
    Ok,
    /// It failed.
    Failure,
    /// It was called wrongly.
    Usage,
    /// It was interrupted.
    Interrupted,
}

/// An argument that cannot be used.
#[derive(Debug)]
struct Usage(String);

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

impl Exit {
    fn code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Failure => 1,
            Self::Usage => 2,
            Self::Interrupted => 130,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

fn main() -> ExitCode {
    #[expect(clippy::disallowed_methods, reason = "the program's own arguments, once")]
    let arguments: Vec<OsString> = std::env::args_os().collect();
    // Asked by scripts and editors all the time: no parser, no runtime, no settings.
    if let [_, flag] = arguments.as_slice()
        && (flag == "--version" || flag == "-V")
    {
        output::line(concat!("robota ", env!("CARGO_PKG_VERSION")));
        return Exit::Ok.into();
    }
    if let [_, flag] = arguments.as_slice()
        && flag == compose::REAPER
    {
        return match robota_exec::reaper::serve() {
            Ok(()) => Exit::Ok.into(),
            Err(_) => Exit::Failure.into(),
        };
    }
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            let exit = if error.use_stderr() { Exit::Usage } else { Exit::Ok };
            // Nothing is left to do when even the usage cannot be printed.
            let _ = error.print();
            return exit.into();
        }
    };
    let as_json = cli.command.is_none() && cli.print.output_format == OutputFormat::Json;
    let exit = run(cli).unwrap_or_else(|error| {
        let (message, hint) = (format!("{error:#}"), hint(&error));
        output::complain(&message);
        if let Some(hint) = &hint {
            output::note(&format!("hint: {hint}"));
        }
        if as_json {
            output::line(&output::failure(&message, hint.as_deref()).to_string());
        }
        if error.is::<Usage>() { Exit::Usage } else { Exit::Failure }
    });
    #[cfg(feature = "count-allocations")]
    allocations::tell();
    exit.into()
}

/// What the user can do about an error, where one of ours is among its causes.
fn hint(error: &anyhow::Error) -> Option<String> {
    fn of<E: Diagnose + std::error::Error + 'static>(
        cause: &(dyn std::error::Error + 'static),
    ) -> Option<String> {
        cause.downcast_ref::<E>().and_then(Diagnose::hint)
    }
    error.chain().find_map(|cause| {
        of::<robota_providers::BuildError>(cause)
            .or_else(|| of::<robota_config::ConfigError>(cause))
            .or_else(|| of::<robota_core::journal::JournalError>(cause))
            .or_else(|| of::<robota_core::resume::ResumeError>(cause))
            .or_else(|| of::<robota_exec::ExecError>(cause))
            .or_else(|| of::<robota_core::sandbox::SandboxError>(cause))
            .or_else(|| of::<robota_session::replay::ReplayError>(cause))
            .or_else(|| of::<robota_session::SessionError>(cause))
    })
}

fn run(cli: Cli) -> anyhow::Result<Exit> {
    match cli.command {
        None => on_runtime(print::run(cli.print)),
        Some(Command::Demo(args)) => on_runtime(demo::run(args)),
        Some(Command::Permissions(args)) => match args.command {
            PermissionsCommand::Check(args) => commands::permissions::check(&args),
        },
        Some(Command::Config(args)) => commands::config::run(&args),
        Some(Command::Trust(args)) => commands::trust::run(&args),
        Some(Command::Sessions(args)) => on_runtime(commands::sessions::run(*args)),
        Some(Command::Models(args)) => on_runtime(commands::models::run(args)),
        Some(Command::Doctor(args)) => on_runtime(commands::doctor::run(args)),
    }
}

/// Only what runs an agent pays for a runtime. One thread does all the waiting: what works or
/// blocks is given to others, and a stream whose pieces go back and forth between threads costs
/// several times as much.
fn on_runtime(task: impl Future<Output = anyhow::Result<Exit>>) -> anyhow::Result<Exit> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| anyhow::anyhow!("cannot start the runtime: {error}"))?;
    let exit = runtime.block_on(task);
    // A blocking read of a silent stdin must not keep the program alive.
    runtime.shutdown_background();
    exit
}
