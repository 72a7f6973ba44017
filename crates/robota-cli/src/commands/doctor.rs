//! `robota doctor`: checks everything that a run needs.

use std::time::Duration;

use robota_config::{KeyPath, Problem, Severity, keys};
use robota_core::catalogue::{Catalogue, format_tokens};
use robota_core::error::Diagnose as _;
use robota_core::sandbox::SandboxLevel;
use robota_exec::ShellCommand;
use robota_exec::sandbox::{Confinement, ReadOnlyFence, SandboxSupport, probe};
use robota_sdk::processes;
use robota_sdk::sandbox::{self, SandboxRequest};
use serde::Serialize;

use crate::args::DoctorArgs;
use crate::provider::{self, ProviderRequest, WantedModel};
use crate::setup::Setup;
use crate::{Exit, output};

/// How long the terminal waits for the provider.
// Less than the command waits: the page shows nothing before all checks have ended.
const REPORT_TIMEOUT: Duration = Duration::from_secs(10);

/// The result of one check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Health {
    Ok,
    Warning,
    Failed,
}

#[derive(Debug, Serialize)]
struct Check {
    name: &'static str,
    health: Health,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    /// Restrictions that the sandbox cannot enforce on this system, and settings without effect.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    gaps: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    probe: Option<robota_providers::Probe>,
}

impl Check {
    fn new(name: &'static str, health: Health, message: impl Into<String>) -> Self {
        Self { name, health, message: message.into(), hint: None, gaps: Vec::new(), probe: None }
    }

    fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// Runs all checks and prints their results.
pub(crate) async fn run(args: DoctorArgs) -> anyhow::Result<Exit> {
    let setup = Setup::load(&args.settings, None)?;
    let request = ProviderRequest {
        provider: args.provider.as_deref(),
        model: WantedModel::Flag(args.model.as_deref()),
    };
    let checks = checks(request, &setup, Duration::from_secs(args.timeout)).await;
    let failed = checks.iter().any(|check| check.health == Health::Failed);
    if args.json {
        output::line(&serde_json::json!({"ok": !failed, "checks": checks}).to_string());
    } else {
        checks.iter().flat_map(lines).for_each(|line| output::line(&line));
    }
    Ok(if failed { Exit::Failure } else { Exit::Ok })
}

/// Runs all checks with a provider and a model. Returns the lines that `robota doctor` prints.
pub(crate) async fn report(
    setup: &Setup,
    provider: Option<&str>,
    model: Option<&str>,
) -> Vec<String> {
    let request = ProviderRequest { provider, model: WantedModel::Flag(model) };
    let checks = checks(request, setup, REPORT_TIMEOUT).await;
    checks.iter().flat_map(lines).collect()
}

async fn checks(request: ProviderRequest<'_>, setup: &Setup, timeout: Duration) -> Vec<Check> {
    let mut checks = vec![settings(setup), sessions(setup), shell(setup)];
    checks.extend(sandbox(setup).await);
    checks.push(model(request, setup, timeout).await);
    checks
}

fn lines(check: &Check) -> Vec<String> {
    let mark = match check.health {
        Health::Ok => "ok  ",
        Health::Warning => "warn",
        Health::Failed => "FAIL",
    };
    let mut lines = vec![format!("{mark}  {:<9} {}", check.name, check.message)];
    lines.extend(check.hint.iter().map(|hint| format!("                {hint}")));
    lines.extend(check.gaps.iter().map(|gap| format!("                not enforced: {gap}")));
    lines
}

fn settings(setup: &Setup) -> Check {
    let problems = &setup.settings.report.problems;
    if let Some(problem) = &setup.keys.problem {
        return Check::new("settings", Health::Failed, problem.as_str())
            .hint("correct or delete the file, then run `robota setup`");
    }
    let errors = problems.iter().filter(|problem| problem.severity == Severity::Error).count();
    let folder = setup.places.cwd.display();
    let is_error = |problem: &&Problem| problem.severity == Severity::Error;
    // A key without effect is less important than a value that is wrong.
    match problems.iter().find(is_error).or(problems.first()) {
        None => Check::new("settings", Health::Ok, format!("valid, for {folder}")),
        Some(first) => {
            let health = if errors > 0 { Health::Failed } else { Health::Warning };
            let more = problems.len() - 1;
            let more = if more > 0 { format!(" (and {more} more)") } else { String::new() };
            let unused = problems.iter().filter_map(|problem| problem.key.as_ref());
            let has_none = |key: &&KeyPath| {
                matches!(keys::support(key), Some(keys::KeySupport::NoEffect) | None)
            };
            let mut unused: Vec<_> = unused.filter(has_none).map(ToString::to_string).collect();
            unused.dedup();
            let hint = "run `robota config explain` to see all of them";
            let hint = match unused.is_empty() {
                true => hint.to_owned(),
                false => format!("{hint}; keys without effect: {}", unused.join(", ")),
            };
            Check::new("settings", health, format!("{first}{more}")).hint(hint)
        }
    }
}

/// Checks that the project's sessions folder can be written.
fn sessions(setup: &Setup) -> Check {
    let folder = setup.places.cwd.join(".robota").join("sessions");
    // The first session creates the folder, so that it need not exist yet.
    let existing = folder.ancestors().find(|path| path.exists()).map(std::path::Path::to_owned);
    // Creates a file, because permission bits do not apply to root.
    let writable = existing.is_some_and(|folder| tempfile::tempfile_in(folder).is_ok());
    if writable {
        Check::new("sessions", Health::Ok, format!("stored in {}", folder.display()))
    } else {
        Check::new("sessions", Health::Failed, format!("cannot write to {}", folder.display()))
            .hint("use another folder (--cwd) or another store (--store)")
    }
}

/// Checks that there is a shell for commands.
fn shell(setup: &Setup) -> Check {
    let environment = processes::command_environment(&setup.settings, &[]);
    match ShellCommand::new("true", &setup.places.cwd).env(environment).into_spec() {
        Ok(spec) => Check::new("shell", Health::Ok, spec.program.display().to_string()),
        Err(error) => {
            let check = Check::new("shell", Health::Failed, error.to_string());
            match error.hint() {
                Some(hint) => check.hint(hint),
                None => check,
            }
        }
    }
}

/// Checks which restrictions this system can enforce for commands.
async fn sandbox(setup: &Setup) -> [Check; 2] {
    let environment = processes::command_environment(&setup.settings, &[]);
    // Probed and not read from the version of the kernel: containers often forbid what it can do.
    let support = probe(&environment).await;
    let request = sandbox::request(setup);
    let fence = sandbox::read_only(&request.fence, &support, &environment);
    let read_only = read_only(request.read_only_fence, fence);
    [level(request, &support, setup), read_only]
}

/// Checks whether commands that were proven to only read are kept from writing.
fn read_only(wanted: bool, fence: Option<ReadOnlyFence>) -> Check {
    const NAME: &str = "fence";
    match fence {
        Some(fence) if wanted => {
            let by = fence.confinement().boundaries().means.join(", ");
            let message =
                format!("commands that only read cannot write or use the network, via {by}");
            Check::new(NAME, Health::Ok, message)
        }
        Some(_) => Check::new(
            NAME,
            Health::Warning,
            "off: a mistake in the proof that a command only reads would have effects",
        )
        .hint("remove the setting sandbox.readOnlyFence"),
        None => Check::new(
            NAME,
            Health::Warning,
            "not available: only the proof keeps commands that run without a question from writing",
        )
        .hint("it needs Linux 5.13 with Landlock enabled, or bubblewrap"),
    }
}

/// Checks the level that the settings ask for.
fn level(request: SandboxRequest, support: &SandboxSupport, setup: &Setup) -> Check {
    let off = request.fence.level == SandboxLevel::Off;
    let (required, mut gaps) = (request.required, request.unsupported);
    // Without a sandbox the check still says what the user could turn on.
    let fence = if off { sandbox::example(&setup.places.cwd) } else { request.fence };
    match Confinement::new(fence, support) {
        Ok(confinement) => {
            let boundaries = confinement.boundaries();
            let by = boundaries.means.join(", ");
            let level = sandbox::name(boundaries.fence.level);
            let network = if boundaries.fence.network { "on" } else { "off" };
            let message = if off {
                format!("off (available: {level} via {by})")
            } else {
                format!("{level}, network {network}, via {by}")
            };
            gaps.extend(boundaries.gaps.iter().cloned());
            let check = Check { gaps, ..Check::new("sandbox", Health::Ok, message) };
            if off {
                check.hint(
                    "turn it on with --sandbox workspace-write or the setting sandbox.enabled",
                )
            } else {
                check
            }
        }
        Err(error) => {
            let health = match (off, required) {
                (true, _) => Health::Ok,
                // Commands then run without a sandbox; with `required` they do not run.
                (false, false) => Health::Warning,
                (false, true) => Health::Failed,
            };
            let message =
                if off { format!("off (not available: {error})") } else { error.to_string() };
            Check { gaps, ..Check::new("sandbox", health, message) }
        }
    }
}

/// Checks that the model answers and calls tools.
async fn model(request: ProviderRequest<'_>, setup: &Setup, limit: Duration) -> Check {
    let chosen = match provider::choose(request, setup).await {
        Ok(chosen) => chosen,
        Err(error) => {
            let check = Check::new("model", Health::Failed, format!("{error:#}"));
            return match crate::hint(&error) {
                Some(hint) => check.hint(hint),
                None => check,
            };
        }
    };
    let Some(service) = chosen.service else {
        return Check::new("model", Health::Ok, "replayed from a script");
    };
    let name = format!("{} at {} ({})", chosen.model, service.http.address(), service.selected_by);
    let probe = match tokio::time::timeout(limit, service.http.probe(&chosen.model)).await {
        Ok(Ok(probe)) => probe,
        Ok(Err(error)) => {
            let check = Check::new("model", Health::Failed, format!("{name}: {error}"));
            return match error.hint() {
                Some(hint) => check.hint(hint),
                None => check,
            };
        }
        Err(_elapsed) => {
            let message = format!("{name}: no response within {} s", limit.as_secs());
            return Check::new("model", Health::Failed, message);
        }
    };
    let window =
        probe.context_window.unwrap_or_else(|| Catalogue::builtin().context_window(&chosen.model));
    let message = format!(
        "{name}: first output after {} ms, complete after {} ms, context window {}{}",
        probe.first_delta.as_millis(),
        probe.total.as_millis(),
        format_tokens(window),
        if probe.calls_tools { ", calls tools" } else { "" },
    );
    let mut check = if probe.calls_tools {
        Check::new("model", Health::Ok, message)
    } else {
        Check::new("model", Health::Warning, message)
            .hint("the model did not call the requested tool; choose a model that supports tools")
    };
    check.probe = Some(probe);
    check
}
