//! Providers in one line. This is the one place of the library that reads the environment.

use std::sync::Arc;

use robota_core::env_ref::Secret;
use robota_providers::{BuildError, Host, HttpProvider, ProviderSettings, environment};

/// Connects to the vendor of a model named `vendor/model`, and returns the provider and the name of
/// the model, as [`Session::builder`](crate::Session::builder) takes them. Nothing is sent yet.
///
/// ```
/// let (provider, model) = robota::connect("anthropic/claude-sonnet-5-5", "sk-...")?;
/// assert_eq!(model, "claude-sonnet-5-5");
/// # Ok::<(), robota::providers::BuildError>(())
/// ```
///
/// For another address, a proxy or options use [`connect`](robota_providers::connect) of
/// [`providers`](crate::providers), which takes settings.
///
/// # Errors
/// When the vendor is unknown, or the key is empty where one is needed.
pub fn connect(
    model: &str,
    key: impl Into<String>,
) -> Result<(Arc<HttpProvider>, String), BuildError> {
    // Only the key is given: the address, the wire and the model's limits are those of the vendor.
    let settings =
        ProviderSettings { api_key: Some(Secret::new(key)), ..ProviderSettings::default() };
    robota_providers::connect(model, settings, &Host::default())
}

/// Connects to the vendor whose API key is in the environment (`ANTHROPIC_API_KEY`,
/// `OPENAI_API_KEY`, ...; `docs/providers.md` lists them), and returns the provider and the model: that of
/// `{VENDOR}_MODEL`, or the vendor's default. Proxy and certificate variables apply.
///
/// # Errors
/// When no key is set, or the settings cannot work.
pub fn connect_from_env() -> Result<(Arc<HttpProvider>, String), BuildError> {
    #[expect(clippy::disallowed_methods, reason = "the caller asks for the environment")]
    // Read once, here: the crates below take a lookup function, so that tests and embedders pass
    // their own.
    let lookup = |name: &str| std::env::var(name).ok();
    // The same variables for proxy and certificates that other programs read.
    let transport = environment::transport(&lookup)?;
    robota_providers::connect_from(&lookup, &Host::new(transport))
}
