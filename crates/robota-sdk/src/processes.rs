//! The child processes of a session: their supervisor, their environment, and what a crash left.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use robota_config::Settings;
use robota_config::plugins::{InstalledPlugin, Plugins};
use robota_core::env_ref::Secret;
use robota_core::ids::CallId;
use robota_exec::{Environment, ReaperProgram, RecordedExit, Supervisor, reaper};
use robota_session::RecoveryHint;
use robota_tools::LocalCrashCleanup;

/// Returns the supervisor that owns all child processes. With a reaper, a process ends them if this
/// one crashes, and records their exits in the project's `.robota/reaper`.
pub(crate) fn supervisor(cwd: &Path, reaper: Option<ReaperProgram>) -> Supervisor {
    match reaper {
        // Only Linux passes orphans to a process that asks for them.
        Some(program) if cfg!(target_os = "linux") => {
            Supervisor::with_reaper(program.records(reaper_records(cwd)))
        }
        _ => Supervisor::new(),
    }
}

fn reaper_records(cwd: &Path) -> PathBuf {
    cwd.join(".robota").join("reaper")
}

/// Returns what cleans up after a crashed run: it ends its processes and settles its files.
pub(crate) fn crash_cleanup(cwd: &Path) -> Arc<LocalCrashCleanup> {
    Arc::new(LocalCrashCleanup::new().records(reaper_records(cwd)))
}

/// Returns what the reaper recorded of calls that ran when an earlier run crashed, and ends
/// processes of them that still run.
#[must_use]
pub fn recovery_hints(cwd: &Path) -> Vec<RecoveryHint> {
    let records = reaper::read_records(&reaper_records(cwd)).unwrap_or_default();
    records
        .into_iter()
        .map(|record| {
            if record.exit.is_none() {
                // It may have ended since, which is no failure.
                let _ = reaper::kill_leftover(&record.process());
            }
            let exit = record.exit.map(|exit| match exit {
                RecordedExit::Code(code) => code,
                // As shells report it.
                RecordedExit::Signal(signal) => 128 + signal,
            });
            RecoveryHint { exit, ..RecoveryHint::of(CallId::from(record.call)) }
        })
        .collect()
}

/// Returns the environment of commands and hooks: that of this process, overridden by the `env`
/// settings (an empty value removes a variable). Secrets are left out unless a setting names them:
/// `passEnv`, or `env` for one that is not the key of a provider.
#[must_use]
pub fn command_environment(settings: &Settings, keys: &[Secret]) -> Environment {
    let set = &settings.values.env;
    let mut all = process_environment();
    for (name, value) in set {
        all.set(name, value);
    }
    let removed =
        |name: &OsStr| set.iter().any(|(set, value)| value.is_empty() && name == set.as_str());
    let all = all.iter().filter(|(name, _)| !removed(name));
    let all: Environment = all.collect();
    // By value: a key may be in a variable of any name.
    let is_key = |value: &OsStr| keys.iter().any(|key| value == key.expose());
    let used = all.iter().filter(|(_, value)| is_key(value)).map(|(name, _)| name);
    let mut secrets: Vec<_> = used.map(|name| name.to_string_lossy().into_owned()).collect();
    secrets.extend(settings.key_variables());
    let mut pass = settings.values.pass_env.clone().unwrap_or_default();
    pass.extend(set.keys().filter(|name| !secrets.contains(name)).cloned());
    all.without_secrets(&secrets, &pass)
}

/// Returns the environment of commands with the programs of plugins at the end of `PATH`, so that
/// they replace none of the system's.
pub(crate) fn with_plugins(mut environment: Environment, plugins: &Plugins) -> Environment {
    let folders: Vec<_> = plugins.active().filter_map(InstalledPlugin::bin).collect();
    if folders.is_empty() {
        return environment;
    }
    let path = environment.get("PATH").map(OsStr::to_owned).unwrap_or_default();
    let known: Vec<_> = std::env::split_paths(&path).collect();
    // A folder whose name has a colon cannot be part of it.
    if let Ok(path) = std::env::join_paths(known.into_iter().chain(folders)) {
        environment.set("PATH", path);
    }
    environment
}

/// Returns the environment of this process.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "commands inherit the environment of the process")]
pub fn process_environment() -> Environment {
    std::env::vars_os().collect()
}
