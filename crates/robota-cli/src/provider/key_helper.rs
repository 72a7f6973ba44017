//! Keys that a command of the settings prints (`apiKeyHelper`).

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use robota_core::env_ref::Secret;
use robota_core::redact::LateSecrets;
use robota_exec::{CommandSpec, Exit};
use robota_providers::KeySource;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::setup::Setup;
use crate::user_program;

/// How long a key is used before the command runs again, unless [`LIFETIME_VARIABLE`] says so.
// As in Claude Code, whose variable changes it.
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

    async fn run(&self) -> Result<Secret, String> {
        let shell = CommandSpec::new("sh", &self.cwd).args(["-c", self.command.as_str()]);
        let ran = user_program::run(shell.timeout(TIME_LIMIT)).await;
        let ran = ran.map_err(|error| format!("apiKeyHelper cannot run: {error}"))?;
        let how = match ran.exit {
            Exit::Code(0) => None,
            Exit::TimedOut => {
                return Err(format!("apiKeyHelper did not end within {} s", TIME_LIMIT.as_secs()));
            }
            Exit::Code(code) => Some(format!("exit code {code}")),
            Exit::Signal(signal) => Some(format!("signal {signal}")),
            Exit::Cancelled => Some("cancelled".to_owned()),
        };
        if let Some(how) = how {
            return Err(format!("apiKeyHelper failed ({how}): {}", ran.stderr.text().trim()));
        }
        let key = ran.stdout.text().trim().to_owned();
        if key.is_empty() {
            return Err("apiKeyHelper printed no key".to_owned());
        }
        Ok(Secret::new(key))
    }
}

#[async_trait::async_trait]
impl KeySource for CommandKey {
    async fn key(&self, renew: bool) -> Result<Secret, String> {
        // Held while the command runs: calls at the same time must not run it several times.
        let mut current = self.current.lock().await;
        if let Some((key, printed)) = &*current
            && !renew
            && printed.elapsed() < self.lifetime
        {
            return Ok(key.clone());
        }
        let key = self.run().await?;
        // Before the key is used: an error of the service could repeat it.
        self.late.add([key.clone()]).map_err(|error| error.to_string())?;
        *current = Some((key.clone(), Instant::now()));
        Ok(key)
    }
}
