//! The `robota` program: the command line, headless runs, and the demo.
//!
//! This is the only crate that prints and that reads the program's arguments. `robota-sdk` builds
//! everything it runs. `robota --version` starts no runtime and reads no
//! file.

mod agent_process;
#[cfg(feature = "count-allocations")]
mod allocations;
mod args;
mod colour;
mod commands;
mod debug;
mod demo;
mod headless;
mod hosted;
mod lines;
mod main_agent;
mod output;
mod prompt;
mod provider;
mod setup;
mod signals;
mod stdin;
mod stored_keys;
mod telemetry;
mod terminal;
mod user_program;

use std::cell::OnceCell;
use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser as _;
use robota_core::error::Diagnose;
use robota_core::ids::SessionId;

use args::{Cli, Command, InputFormat, OutputFormat};
use headless::FailureFormat;

/// The exit status of the program. Scripts rely on the codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Exit {
    /// Code 0: success.
    Ok,
    /// Code 1: failure.
    Failure,
    /// Code 2: usage error.
    Usage,
    /// Code 3: the settings or the model provider are not configured correctly.
    Configuration,
    /// Code 4: a limit was reached: model calls, budget, length of the answer.
    Limit,
    /// Code 130: interrupted by Ctrl-C or a closed terminal.
    Interrupted,
    /// Code 143: terminated by SIGTERM.
    Terminated,
}

/// A usage error: a missing or invalid argument. The program exits with [`Exit::Usage`].
#[derive(Debug)]
struct Usage(String);

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// A configuration error: no usable provider, model or settings. The program exits with
/// [`Exit::Configuration`].
#[derive(Debug)]
struct Configuration(anyhow::Error);

impl Configuration {
    /// Marks an error as one of the configuration, unless it is a usage error.
    fn wrap(error: anyhow::Error) -> anyhow::Error {
        if error.is::<Usage>() { error } else { Self(error).into() }
    }
}

impl std::fmt::Display for Configuration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:#}", self.0)
    }
}

impl std::error::Error for Configuration {}

impl Exit {
    fn code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Failure => 1,
            Self::Usage => 2,
            Self::Configuration => 3,
            Self::Limit => 4,
            Self::Interrupted => 130,
            Self::Terminated => 143,
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
    // Scripts and editors ask for the version often: answer without parser, runtime or settings.
    if let [_, flag] = arguments.as_slice()
        && (flag == "--version" || flag == "-V" || flag == "-v")
    {
        output::line(concat!("robota ", env!("CARGO_PKG_VERSION")));
        return Exit::Ok.into();
    }
    // Before the parser: a reaper needs no settings and no runtime, and starts with many sessions.
    if let [_, flag] = arguments.as_slice()
        && flag == setup::REAPER
    {
        return match robota_exec::reaper::serve() {
            Ok(()) => Exit::Ok.into(),
            Err(_) => Exit::Failure.into(),
        };
    }
    if let [_, flag] = arguments.as_slice()
        && flag == agent_process::AGENT
    {
        return on_runtime(agent_process::run()).map_or_else(
            |error| {
                output::error(&format!("{error:#}"));
                Exit::Failure.into()
            },
            Into::into,
        );
    }
    // Read from the raw arguments: a host expects a result line even if the parser refuses them.
    let asked = args::asked_format(&arguments);
    let cli = match Cli::try_parse_from(args::before_command::move_behind(arguments)) {
        Ok(cli) => cli.complete(),
        Err(error) => {
            // Clap reports --help and --version as errors too.
            let exit = if error.use_stderr() { Exit::Usage } else { Exit::Ok };
            match unknown_option(&error) {
                Some(text) => output::note(&text),
                // If the usage text cannot be printed, there is nowhere to report that.
                None => drop(error.print()),
            }
            if let (Exit::Usage, Some(format)) = (exit, asked) {
                let text = unknown_option(&error).unwrap_or_else(|| error.render().to_string());
                headless::print_failure(format, text.trim(), None, None);
                if format.output == OutputFormat::StreamJson {
                    headless::wait_for_first_line();
                }
            }
            return exit.into();
        }
    };
    let format = cli
        .command
        .is_none()
        .then_some(FailureFormat { output: cli.print.output_format, verbose: cli.print.verbose });
    // Kept now, because the arguments are moved into the run.
    let has_host = format.is_some() && cli.print.input_format == InputFormat::StreamJson;
    let session = OnceCell::new();
    let exit = run(cli, &session).unwrap_or_else(|error| {
        let (message, hint) = (format!("{error:#}"), hint(&error));
        output::error(&message);
        if let Some(hint) = &hint {
            output::note(&format!("hint: {hint}"));
        }
        if let Some(format) = format {
            headless::print_failure(format, &message, hint.as_deref(), session.get());
        }
        if has_host {
            headless::wait_for_first_line();
        }
        exit_of(&error)
    });
    #[cfg(feature = "count-allocations")]
    allocations::report();
    exit.into()
}

/// Returns the text about an option that does not exist, in the form that scripts search for.
fn unknown_option(error: &clap::Error) -> Option<String> {
    use clap::error::{ContextKind, ContextValue, ErrorKind};

    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    let option = text(ContextKind::InvalidArg).filter(|text| text.starts_with('-'))?;
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    if let Some(reason) = args::refused::reason(&option) {
        return Some(format!("error: unknown option '{option}'\nNot supported: {reason}."));
    }
    let similar = text(ContextKind::SuggestedArg);
    let similar = similar.map(|name| format!("\n(Did you mean {name}?)")).unwrap_or_default();
    Some(format!("error: unknown option '{option}'{similar}\nFor more information, try '--help'."))
}

/// Returns the exit status of a program that failed.
fn exit_of(error: &anyhow::Error) -> Exit {
    if error.is::<Usage>() {
        Exit::Usage
    } else if error.is::<Configuration>() {
        Exit::Configuration
    } else {
        Exit::Failure
    }
}

/// Returns the hint of the first cause in the chain that has one.
fn hint(error: &anyhow::Error) -> Option<String> {
    fn of<E: Diagnose + std::error::Error + 'static>(
        cause: &(dyn std::error::Error + 'static),
    ) -> Option<String> {
        cause.downcast_ref::<E>().and_then(Diagnose::hint)
    }
    // The wrapped error is not in the chain.
    if let Some(Configuration(error)) = error.downcast_ref() {
        return hint(error);
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
            .or_else(|| of::<robota_sdk::SdkError>(cause))
            .or_else(|| of::<robota_sdk::WorktreeError>(cause))
    })
}

fn run(cli: Cli, session: &OnceCell<SessionId>) -> anyhow::Result<Exit> {
    if cli.command.is_none()
        && let Some(usage) = args::before_command::misplaced(&cli.print)
    {
        return Err(usage.into());
    }
    match cli.command {
        None if terminal::is_wanted(&cli.print) => on_runtime(terminal::run(cli.print)),
        None => on_runtime(headless::run(cli.print, session)),
        Some(Command::Demo(args)) => on_runtime(demo::run(args)),
        Some(Command::Permissions(args)) => commands::permissions::run(&args.command),
        Some(Command::Config(args)) => commands::config::run(&args),
        Some(Command::Trust(args)) => commands::trust::run(&args),
        Some(Command::Plugin(args)) => on_runtime(commands::plugin::run(args)),
        Some(Command::Sessions(args)) => on_runtime(commands::sessions::run(*args)),
        Some(Command::Worktrees(args)) => on_runtime(commands::worktrees::run(args.command)),
        Some(Command::Schedule(args)) => on_runtime(commands::schedule::run(*args)),
        Some(Command::Models(args)) => on_runtime(commands::models::run(args)),
        Some(Command::Setup(args)) => on_runtime(commands::setup::run(args)),
        Some(Command::Doctor(args)) => on_runtime(commands::doctor::run(args)),
        Some(Command::Acp(args)) => on_runtime(commands::acp::run(*args)),
        Some(Command::Mcp(args)) => on_runtime(commands::mcp::run(*args)),
        Some(Command::Completions { shell }) => commands::completions::completions(shell),
        Some(Command::Man { dir }) => commands::completions::man(dir.as_deref()),
    }
}

/// Runs a task on a new Tokio runtime. Commands that need none do not pay for starting one.
///
/// The runtime has a single thread: blocking work runs on the blocking pool, and passing the
/// chunks of a stream between worker threads costs several times as much.
fn on_runtime(task: impl Future<Output = anyhow::Result<Exit>>) -> anyhow::Result<Exit> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| anyhow::anyhow!("cannot start the async runtime: {error}"))?;
    let exit = runtime.block_on(task);
    // Do not wait for blocking tasks: a read of a silent stdin would keep the program alive.
    runtime.shutdown_background();
    exit
}
