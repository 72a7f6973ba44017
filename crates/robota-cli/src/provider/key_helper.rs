//! Keys that a command of the settings prints (`apiKeyHelper`).

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use robota_core::env_ref::Secret;
use robota_core::redact::LateSecrets;
use robota_providers::KeySource;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::setup::Setup;

/// How long a key is used before the command runs again, unless [`LIFETIME_VARIABLE`] says so.
const LIFETIME: Duration = Duration::from_secs(5 * 60);

/// The variable with the lifetime of a key in milliseconds.
const LIFETIME_VARIABLE: &str = "CLAUDE_CODE_API_KEY_HELPER_TTL_MS";

/// How long the command may take.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// Runs the command, and remembers the key that it printed.
pub(super) struct CommandKey {
    command: String,
    cwd: PathBuf,
    lifetime: Duration,
    /// Receives every key, so that no session shows it.
    late: LateSecrets,
    current: Mutex<Option<(Secret, Instant)>>,
}

impl CommandKey {
    /// Returns the source of keys that the settings name.
    pub(super) fn of_settings(setup: &Setup) -> Option<Arc<Self>> {
        let command = setup.settings.values.api_key_helper.clone()?;
        let millis = setup.environment.get(LIFETIME_VARIABLE).and_then(|text| text.parse().ok());
        Some(Arc::new(Self {
            command,
            cwd: setup.places.cwd.clone(),
            lifetime: millis.map_or(LIFETIME, Duration::from_millis),
            late: setup.late_secrets.clone(),
            current: Mutex::new(None),
        }))
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "a program of the user, not a command of an agent"
    )]
    async fn run(&self) -> Result<Secret, String> {
        let mut command = tokio::process::Command::new("sh");
        command.args(["-c", &self.command]).current_dir(&self.cwd).kill_on_drop(true);
        let running = command.stdin(Stdio::null()).output();
        let output = tokio::time::timeout(TIME_LIMIT, running)
            .await
            .map_err(|_| format!("apiKeyHelper did not end within {} s", TIME_LIMIT.as_secs()))?
            .map_err(|error| format!("apiKeyHelper cannot run: {error}"))?;
        let errors = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            return Err(format!("apiKeyHelper failed ({}): {}", output.status, errors.trim()));
        }
        let key = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        if key.is_empty() {
            return Err("apiKeyHelper printed no key".to_owned());
        }
        Ok(Secret::new(key))
    }
}

#[async_trait::async_trait]
impl KeySource for CommandKey {
    async fn key(&self, renew: bool) -> Result<Secret, String> {
        let mut current = self.current.lock().await;
        if let Some((key, printed)) = &*current
            && !renew
            && printed.elapsed() < self.lifetime
        {
            return Ok(key.clone());
        }
        let key = self.run().await?;
        self.late.add([key.clone()]).map_err(|error| error.to_string())?;
        *current = Some((key.clone(), Instant::now()));
        Ok(key)
    }
}
