//! Who answers: from arguments, settings and the environment to a provider.
//!
//! In this order: `--provider` (a profile of the settings, a vendor, or a script), the vendor in
//! `--model vendor/model`, the profile the settings choose, the first vendor whose key or address
//! the environment holds, a server on this machine.

mod environment;
mod found;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use robota_config::ActiveProvider;
use robota_core::env_ref::Secret;
use robota_core::provider::{Provider, ProviderConfig};
use robota_core::scripted::{Script, ScriptedProvider};
use robota_providers::{
    CredentialRequirement, Host, HttpProvider, Profile, ProviderSettings, Vendors, build,
    find_local,
};
use serde_json::Value;

use crate::Usage;
use crate::setup::Setup;
use environment::Variables;

/// What a script is called, unless it is named.
const SCRIPTED_MODEL: &str = "scripted";

/// A server on this machine that does not answer within this is not there.
const LOCAL: Duration = Duration::from_millis(400);

/// How long a service may be silent when nothing says.
const SILENCE: Duration = Duration::from_secs(120);

/// Who answers.
pub(crate) struct Chosen {
    /// The provider.
    pub(crate) provider: Arc<dyn Provider>,
    /// The same, where it is a service.
    pub(crate) service: Option<Service>,
    /// Which model.
    pub(crate) model: String,
    /// How long it may be silent.
    pub(crate) timeout: Duration,
    /// The key it was given, which must not be seen anywhere.
    pub(crate) secrets: Vec<Secret>,
}

/// A model's service.
pub(crate) struct Service {
    /// The provider.
    pub(crate) http: Arc<HttpProvider>,
    /// Whose it is.
    pub(crate) vendor: Arc<Profile>,
    /// What chose it, for people.
    pub(crate) because: String,
}

/// What the user says about who is to answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wish<'a> {
    /// `--provider`
    pub(crate) provider: Option<&'a str>,
    /// `--model`
    pub(crate) model: Option<&'a str>,
}

/// The vendors there are: the built-in ones and those of the settings.
pub(crate) fn vendors(setup: &Setup) -> anyhow::Result<Vendors> {
    let mut vendors = Vendors::builtin();
    for (name, fields) in &setup.settings.values.vendors {
        let mut fields = fields.clone();
        fields.entry("type").or_insert_with(|| Value::from(name.as_str()));
        vendors = vendors
            .with_user(&Value::Object(fields))
            .with_context(|| format!("the settings' vendor `{name}` cannot be used"))?;
    }
    Ok(vendors)
}

/// How services are reached from here.
pub(crate) fn host(setup: &Setup) -> anyhow::Result<Host> {
    Ok(Host::new(Variables::of(setup).transport()?))
}

/// Chooses who answers.
pub(crate) async fn choose(wish: Wish<'_>, setup: &Setup) -> anyhow::Result<Chosen> {
    if let Some(file) = wish.provider.and_then(|name| name.strip_prefix("scripted:")) {
        let model = wish.model.or(setup.settings.values.model.as_deref());
        return scripted(file, model);
    }
    let vendors = vendors(setup)?;
    let host = host(setup)?;
    let variables = Variables::of(setup);
    let named = match wish.provider {
        Some(name) => Some(named(name, setup, &vendors)?),
        None => None,
    };
    let (named, model) = match (named, wish.model.and_then(|model| vendors.split_model(model))) {
        (None, Some((vendor, model))) => {
            let because = format!("--model {}/…", vendor.vendor);
            (Some(Named::Vendor(Arc::clone(vendor), because)), Some(model))
        }
        // `--provider openrouter --model openrouter/x/y` and the like: said twice is fine.
        (Some(named), Some((vendor, model))) if named.is(vendor) => (Some(named), Some(model)),
        (named, _) => (named, wish.model),
    };
    let named = match named {
        Some(named) => Some(named),
        None => setup.settings.provider()?.map(|active| {
            let because = format!("the settings' profile `{}`", active.name);
            Named::Profile(Box::new(active), because)
        }),
    };
    let named = named.or_else(|| {
        let (vendor, variable) = variables.first_vendor(&vendors)?;
        Some(Named::Vendor(vendor, format!("the variable {variable}")))
    });
    match named {
        Some(named) => found::service(named, model, setup, &vendors, &host),
        None => local(model, setup, &vendors, &host).await,
    }
}

/// What names a service.
enum Named {
    /// A profile of the settings.
    Profile(Box<ActiveProvider>, String),
    /// A vendor, with what the environment knows of it.
    Vendor(Arc<Profile>, String),
}

impl Named {
    fn is(&self, vendor: &Profile) -> bool {
        match self {
            Self::Profile(active, _) => active.kind.eq_ignore_ascii_case(&vendor.vendor),
            Self::Vendor(named, _) => named.vendor == vendor.vendor,
        }
    }
}

fn named(name: &str, setup: &Setup, vendors: &Vendors) -> anyhow::Result<Named> {
    if let Some(active) = setup.settings.profile(name)? {
        return Ok(Named::Profile(Box::new(active), format!("--provider {name}")));
    }
    match vendors.find(name) {
        Some(vendor) => Ok(Named::Vendor(Arc::clone(vendor), format!("--provider {name}"))),
        None => {
            let profiles: Vec<_> = setup.settings.values.providers.keys().cloned().collect();
            let profiles = if profiles.is_empty() {
                String::new()
            } else {
                format!("; profiles of your settings: {}", profiles.join(", "))
            };
            Err(Usage(format!(
                "unknown provider `{name}`; vendors: {}{profiles}; scripted:FILE plays a script \
                 (docs/scripted.md)",
                vendors.supported()
            ))
            .into())
        }
    }
}

fn scripted(file: &str, model: Option<&str>) -> anyhow::Result<Chosen> {
    let text =
        std::fs::read_to_string(Path::new(file)).with_context(|| format!("cannot read {file}"))?;
    let script = Script::from_yaml(&text).with_context(|| format!("{file} is not a script"))?;
    Ok(Chosen {
        provider: Arc::new(ScriptedProvider::new(script)),
        service: None,
        model: model.unwrap_or(SCRIPTED_MODEL).to_owned(),
        timeout: SILENCE,
        secrets: Vec::new(),
    })
}

/// What a script is called.
pub(crate) fn scripted_model() -> String {
    SCRIPTED_MODEL.to_owned()
}

/// Nothing is set up: is there a server on this machine?
async fn local(
    model: Option<&str>,
    setup: &Setup,
    vendors: &Vendors,
    host: &Host,
) -> anyhow::Result<Chosen> {
    let servers = find_local(vendors, host, LOCAL).await;
    let model = model.or(setup.settings.values.model.as_deref());
    let fits = |server: &&robota_providers::LocalServer| match model {
        Some(model) => server.models.entries.iter().any(|entry| entry.id == model),
        None => !server.models.entries.is_empty(),
    };
    let Some(server) = servers.iter().find(fits) else {
        let seen = match servers.first() {
            Some(server) => format!(
                "\n{} runs on this machine, but has {}.",
                server.profile.name,
                match model {
                    Some(model) => format!("no model `{model}`"),
                    None => "no models yet".to_owned(),
                }
            ),
            None => String::new(),
        };
        anyhow::bail!("{}{seen}", nothing_set_up(vendors));
    };
    let first = server.models.entries.first().map(|entry| entry.id.as_str());
    let model = model.or(first).unwrap_or_default().to_owned();
    let because = format!("{} runs on this machine", server.profile.name);
    let settings = ProviderSettings { model: Some(model.clone()), ..ProviderSettings::default() };
    let http = build(&server.profile, settings, host)?;
    Ok(Chosen {
        provider: http.clone(),
        service: Some(Service { http, vendor: Arc::clone(&server.profile), because }),
        model,
        timeout: SILENCE,
        secrets: Vec::new(),
    })
}

fn nothing_set_up(vendors: &Vendors) -> String {
    let mut text = "no model is set up. Any one of these will do:\n".to_owned();
    let with_a_key = |vendor: &&Arc<Profile>| {
        vendor.credential == CredentialRequirement::Required && !vendor.api_key_env.is_empty()
    };
    for vendor in vendors.iter().filter(with_a_key) {
        let link = vendor.help_link().map(|link| format!("   {}", link.url)).unwrap_or_default();
        let key = format!("export {}=…", vendor.api_key_env[0]);
        text.push_str(&format!("  {key:<32}{}{link}\n", vendor.name));
    }
    let local: Vec<_> = vendors.local().map(|vendor| vendor.name.as_str()).collect();
    text.push_str(&format!("  start a server on this machine: {}\n", local.join(", ")));
    text.push_str(
        "  robota -p … --provider NAME, or a profile in the settings (docs/providers.md)\n",
    );
    text.push_str("To see a whole run without any set-up: robota demo");
    text
}

/// The settings of a profile as a provider's.
fn from_profile(
    active: &ActiveProvider,
    setup: &Setup,
) -> anyhow::Result<(ProviderSettings, ProviderConfig)> {
    let variables = Variables::of(setup);
    let config = active.config(&|name| variables.get(name).map(str::to_owned))?;
    Ok((ProviderSettings::from_config(&config)?, config))
}
