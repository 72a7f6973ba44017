//! What commands are kept from: `--sandbox`, and the `sandbox` settings.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use robota_config::model::SandboxSettings;
use robota_core::error::Diagnose as _;
use robota_core::sandbox::{Fence, SandboxLevel};
use robota_exec::Environment;
use robota_exec::sandbox::{Confinement, probe};
use serde_json::Value;

use crate::output;
use crate::setup::Setup;

/// A fence, and what of the settings it leaves out.
pub(crate) struct Wanted {
    /// What is to be kept apart.
    pub(crate) fence: Fence,
    /// Whether nothing may run without it.
    pub(crate) or_nothing: bool,
    /// Settings that cannot be kept here, each with what happens instead.
    pub(crate) left_out: Vec<String>,
}

/// What the argument and the settings ask for. An argument that asks for more than the settings
/// always counts; one that asks for less counts where the settings let it.
pub(crate) fn wanted(asked: Option<SandboxLevel>, setup: &Setup) -> Wanted {
    let none = SandboxSettings::default();
    let settings = setup.settings.values.sandbox.as_ref().unwrap_or(&none);
    let level = match (asked, settings.enabled) {
        (Some(level @ (SandboxLevel::ReadOnly | SandboxLevel::WorkspaceWrite)), _) => level,
        (Some(SandboxLevel::Off) | None, Some(true)) => SandboxLevel::WorkspaceWrite,
        (Some(SandboxLevel::Off) | None, Some(false) | None) => SandboxLevel::Off,
    };
    let asked_for_one = asked.is_some_and(|level| level != SandboxLevel::Off);
    let mut left_out = Vec::new();
    let fence = fence(level, settings, setup, &mut left_out);
    let or_nothing = asked_for_one || settings.fail_if_unavailable == Some(true);
    Wanted { fence, or_nothing, left_out }
}

fn fence(
    level: SandboxLevel,
    settings: &SandboxSettings,
    setup: &Setup,
    left_out: &mut Vec<String>,
) -> Fence {
    let workspace = setup.workspace();
    let files = settings.filesystem.clone().unwrap_or_default();
    let mut writable = vec![workspace.cwd.clone()];
    writable.extend(workspace.additional.iter().map(|dir| workspace.cwd.join(dir)));
    writable.push(PathBuf::from("/tmp"));
    writable.extend(setup.environment.get("TMPDIR").map(PathBuf::from));
    writable.extend(files.allow_write.iter().map(|path| workspace.resolve(path)));
    // What is not there cannot be fenced in.
    writable.retain(|path| path.exists());
    let resolve = |paths: &[String]| paths.iter().map(|path| workspace.resolve(path)).collect();
    let mut hidden: Vec<_> = resolve(&files.deny_read);
    let (protected, shown) = (resolve(&files.deny_write), resolve(&files.allow_read));
    let credentials = settings.other.get("credentials");
    hidden.extend(texts(credentials, "files").iter().map(|path| workspace.resolve(path)));
    let network = settings.network.clone().unwrap_or_default();
    let everywhere = network.allowed_domains.iter().any(|domain| domain == "*");
    if !network.allowed_domains.is_empty() && (!everywhere || !network.denied_domains.is_empty()) {
        left_out.push(
            "sandbox.network: hosts cannot be told apart, so the network is off; only \
             allowedDomains [\"*\"] without deniedDomains turns it on"
                .to_owned(),
        );
    }
    let mut leave = |given: bool, what: &str| {
        if given {
            left_out.push(what.to_owned());
        }
    };
    leave(
        !settings.excluded_commands.is_empty(),
        "sandbox.excludedCommands: every command runs inside",
    );
    leave(
        settings.auto_allow_bash_if_sandboxed == Some(true),
        "sandbox.autoAllowBashIfSandboxed: the rules decide, inside too",
    );
    leave(
        settings.allow_unsandboxed_commands == Some(true),
        "sandbox.allowUnsandboxedCommands: every command runs inside",
    );
    let known = |key: &&String| *key != "credentials";
    let unknown = settings.other.keys().filter(known).map(|key| format!("sandbox.{key}"));
    let unknown = unknown.chain(files.other.keys().map(|key| format!("sandbox.filesystem.{key}")));
    let unknown = unknown.chain(network.other.keys().map(|key| format!("sandbox.network.{key}")));
    left_out.extend(unknown.map(|key| format!("{key}: this version does not know it")));
    let network = everywhere && network.denied_domains.is_empty();
    Fence { level, writable, protected, hidden, shown, network }
}

/// The texts of a list below a setting that is not a type of its own.
fn texts(setting: Option<&Value>, key: &str) -> Vec<String> {
    let list = setting.and_then(|setting| setting.get(key)?.as_array());
    let texts = list.into_iter().flatten().filter_map(Value::as_str);
    texts.map(str::to_owned).collect()
}

/// The environment of commands behind a fence: without what `sandbox.credentials.envVars` names.
pub(crate) fn environment(environment: &Environment, confined: bool, setup: &Setup) -> Environment {
    let settings = setup.settings.values.sandbox.as_ref();
    let credentials = settings.and_then(|settings| settings.other.get("credentials"));
    let kept_from = texts(credentials, "envVars");
    let kept = environment.iter().filter(|(name, _)| {
        !confined || !kept_from.iter().any(|kept_from| kept_from.as_str() == *name)
    });
    kept.fold(Environment::new(), |env, (name, value)| env.with(name, value))
}

/// Makes it ready; none when there is nothing to keep apart. A system that cannot is an error
/// only where nothing may run without it.
pub(crate) async fn confinement(
    wanted: Wanted,
    environment: &Environment,
) -> anyhow::Result<Option<Arc<Confinement>>> {
    if wanted.fence.level == SandboxLevel::Off {
        return Ok(None);
    }
    for setting in &wanted.left_out {
        output::note(&format!("robota: does not count: {setting}"));
    }
    let support = probe(environment).await;
    match Confinement::new(wanted.fence, &support) {
        Ok(confinement) => {
            // What the settings name and the system could keep with more help.
            let gaps = confinement.boundaries().gaps.iter();
            for gap in gaps.filter(|gap| gap.contains("install bubblewrap")) {
                output::note(&format!("robota: not kept: {gap}"));
            }
            Ok(Some(Arc::new(confinement)))
        }
        Err(error) if wanted.or_nothing => {
            Err(error).context("the sandbox that was asked for cannot be had")
        }
        Err(error) => {
            output::complain(&format!("commands run without a sandbox: {error}"));
            if let Some(hint) = error.hint() {
                output::note(&format!("hint: {hint}"));
            }
            Ok(None)
        }
    }
}

/// How a level is written.
pub(crate) fn name(level: SandboxLevel) -> &'static str {
    match level {
        SandboxLevel::Off => "off",
        SandboxLevel::WorkspaceWrite => "workspace-write",
        SandboxLevel::ReadOnly => "read-only",
    }
}

/// The fence somebody would get who asked for one.
pub(crate) fn example(cwd: &Path) -> Fence {
    let writable = vec![cwd.to_owned()];
    let (protected, hidden, shown) = (Vec::new(), Vec::new(), Vec::new());
    let level = SandboxLevel::WorkspaceWrite;
    Fence { level, writable, protected, hidden, shown, network: false }
}
