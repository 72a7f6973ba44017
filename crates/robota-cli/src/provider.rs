//! Selects the model provider from arguments, settings and environment variables.
//!
//! The first of these that is given wins: `--provider` (a profile from the settings, a vendor, or a
//! script), the vendor in `--model vendor/model`, `currentProvider` in the settings, a vendor whose
//! key or address is in a variable, a model server that runs on this machine. A model that the
//! catalogue knows goes to its maker, or to a service that offers models of many makers.

pub(crate) mod calls;
mod choices;
mod environment;
mod key_helper;
mod names;
mod service;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use robota_config::ActiveProvider;
use robota_core::env_ref::Secret;
use robota_core::provider::{Provider, ProviderConfig};
use robota_core::scripted::{Script, ScriptedProvider};
use robota_providers::environment::may_have_model;
use robota_providers::{
    CredentialRequirement, Host, HttpProvider, Profile, ProviderSettings, Vendors, Wire, build,
    find_local,
};
use serde_json::Value;

use robota_sdk::{CallSettings, DEFAULT_IDLE_TIMEOUT, ModelSetup};

use crate::Usage;
use crate::setup::Setup;
pub(crate) use choices::model_choices;
use environment::Variables;

/// The model name of a script, unless `--model` or the settings give one.
const SCRIPTED_MODEL: &str = "scripted";

/// The vendor whose key `apiKeyHelper` prints, if nothing else selects one.
// The setting is one of Claude Code, which calls this vendor.
const HELPED_VENDOR: &str = "anthropic";

/// How long the search for local model servers waits for a response.
const LOCAL_PROBE_TIMEOUT: Duration = Duration::from_millis(400);

/// The provider and model that a run uses.
pub(crate) struct ChosenProvider {
    /// The provider that the session calls.
    pub(crate) provider: Arc<dyn Provider>,
    /// Details of the HTTP service; none for a script.
    pub(crate) service: Option<Service>,
    /// The model to ask for.
    pub(crate) model: String,
    /// How long the provider may send nothing before a call fails.
    pub(crate) timeout: Duration,
    /// The key and header values of the provider, for the redactor.
    pub(crate) secrets: Vec<Secret>,
    /// The settings of its calls.
    pub(crate) calls: CallSettings,
}

impl ChosenProvider {
    /// Returns what the user should know about `--betas`; none if it has an effect, or is not given.
    pub(crate) fn betas_note(&self, setup: &Setup) -> Option<String> {
        let wire = self.service.as_ref().map(|service| service.http.wire());
        let none = setup.betas.is_empty() || wire == Some(Wire::AnthropicMessages);
        let name = || self.service.as_ref().map_or("a script", |service| &service.vendor.name);
        (!none).then(|| format!("--betas has no effect with {}", name()))
    }

    /// Returns what a session needs of it.
    pub(crate) fn into_setup(self, effort: Option<String>) -> ModelSetup {
        ModelSetup {
            provider: self.provider,
            model: self.model,
            idle_timeout: self.timeout,
            secrets: self.secrets,
            calls: self.calls,
            effort,
        }
    }
}

/// A model service that is reached by HTTP.
pub(crate) struct Service {
    /// The same provider as [`ChosenProvider::provider`], for probing and listing models.
    pub(crate) http: Arc<HttpProvider>,
    /// The vendor's profile.
    pub(crate) vendor: Arc<Profile>,
    /// What selected it, such as `--provider openai`, for `robota doctor`.
    pub(crate) selected_by: String,
}

/// Nothing selects a provider. The text lists what would.
#[derive(Debug)]
pub(crate) struct NoProvider(String);

impl std::fmt::Display for NoProvider {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NoProvider {}

/// The arguments that select a provider and a model.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProviderRequest<'a> {
    /// The vendor, profile or script of `--provider`; without it the settings decide.
    pub(crate) provider: Option<&'a str>,
    /// The model to select.
    pub(crate) model: WantedModel<'a>,
}

/// Which model to select.
#[derive(Debug, Clone, Copy)]
pub(crate) enum WantedModel<'a> {
    /// The value of `--model`, or the default of the settings or the vendor.
    Flag(Option<&'a str>),
    /// None: the caller only lists models.
    Any,
}

/// Returns the built-in vendors and those of the settings.
pub(crate) fn vendors(setup: &Setup) -> anyhow::Result<Vendors> {
    let mut vendors = Vendors::builtin();
    for (name, fields) in &setup.settings.values.vendors {
        let mut fields = fields.clone();
        fields.entry("type").or_insert_with(|| Value::from(name.as_str()));
        vendors = vendors
            .with_user(&Value::Object(fields))
            .with_context(|| format!("settings key `vendors.{name}`: invalid vendor"))?;
    }
    Ok(vendors)
}

/// Fills in the key, address and model that the settings leave out, from the variables.
pub(crate) fn fill_in(
    vendor: &Profile,
    settings: &mut ProviderSettings,
    setup: &Setup,
) -> anyhow::Result<()> {
    Ok(Variables::new(setup).fill_in(vendor, settings)?)
}

/// Returns the HTTP client configuration: proxy and certificates.
pub(crate) fn host(setup: &Setup) -> anyhow::Result<Host> {
    Ok(Host::new(Variables::new(setup).transport()?))
}

/// Returns whether a model is given with its vendor, as `vendor/model`.
pub(crate) fn names_vendor(model: &str, setup: &Setup) -> bool {
    vendors(setup).is_ok_and(|vendors| vendors.split_model(model).is_some())
}

/// Selects the provider and model of a run.
pub(crate) async fn choose(
    request: ProviderRequest<'_>,
    setup: &Setup,
) -> anyhow::Result<ChosenProvider> {
    let flag = match request.model {
        WantedModel::Flag(model) => model.and_then(names::full_name),
        WantedModel::Any => None,
    };
    let flag = flag.as_deref();
    // Before the vendors and the proxy are read: a script needs neither, so an error in them must
    // not stop it.
    if let Some(file) = request.provider.and_then(|name| name.strip_prefix("scripted:")) {
        let of_settings = names::model_of_settings(setup);
        let model = flag.or(of_settings.as_deref());
        if let Some(model) = model {
            setup.settings.available_models.check(None, model)?;
        }
        let calls = calls::of_settings(setup);
        return Ok(ChosenProvider { calls, ..scripted(file, model)? });
    }
    let vendors = vendors(setup)?;
    let host = host(setup)?;
    let variables = Variables::new(setup);
    let of_settings = names::model_of_settings(setup);
    let of_settings = of_settings.as_deref();
    let selection = match request.provider {
        Some(name) => Some(select_by_name(name, setup, &vendors)?),
        None => None,
    };
    let split = flag.and_then(|model| vendors.split_model(model));
    let (selection, model) = match (selection, split) {
        (None, Some((vendor, model))) => {
            let selected_by = format!("--model {}/…", vendor.vendor);
            (Some(Selection::Vendor(Arc::clone(vendor), selected_by)), Some(model))
        }
        // `--provider openrouter --model openrouter/x/y` names the vendor twice, which is fine.
        (Some(selection), Some((vendor, model))) if selection.is_vendor(vendor) => {
            (Some(selection), Some(model))
        }
        (selection, _) => (selection, flag),
    };
    let profile = match selection {
        Some(_) => None,
        None => setup.settings.provider()?,
    };
    let (profile, unfit) = match profile {
        Some(active) if may_have(&active, flag, &vendors, &variables) => (Some(active), None),
        Some(active) => (None, Some(active)),
        None => (None, None),
    };
    let selection = selection.or_else(|| {
        let active = profile?;
        let selected_by = format!("profile `{}` in the settings", active.name);
        Some(Selection::Profile(Box::new(active), selected_by))
    });
    let selection = match selection {
        Some(selection) => Some(selection),
        None => {
            let wanted = match request.model {
                WantedModel::Flag(_) => model.or(of_settings),
                WantedModel::Any => None,
            };
            let found = match wanted {
                Some(model) => variables.vendor_for_model(&vendors, model)?,
                None => variables.first_vendor(&vendors),
            };
            found
                .map(|(vendor, variable)| Selection::Vendor(vendor, format!("variable {variable}")))
        }
    };
    if let (None, Some(active), Some(model)) = (&selection, unfit, model) {
        anyhow::bail!(
            "the model `{model}` is not one of {}, which the profile `{}` of the settings names; \
             pass --provider NAME or --model NAME/{model}, or set the API key of its maker",
            active.kind,
            active.name
        );
    }
    // A service is only built for a model; a name that no vendor has will do for listing.
    let (for_service, for_local) = match request.model {
        WantedModel::Flag(_) => (model, model.or(of_settings)),
        WantedModel::Any => (Some("any"), None),
    };
    let helper = key_helper::CommandKey::of_settings(setup);
    let selection = selection.or_else(|| {
        helper.as_ref()?;
        let vendor = vendors.find(HELPED_VENDOR)?;
        Some(Selection::Vendor(Arc::clone(vendor), "setting apiKeyHelper".to_owned()))
    });
    let chosen = match selection {
        Some(selection) => {
            service::prepare(selection, for_service, setup, (&vendors, &host), helper).await?
        }
        None => local_server(for_local, &vendors, &host).await?,
    };
    if let WantedModel::Flag(_) = request.model {
        let vendor = chosen.service.as_ref().map(|service| service.vendor.vendor.as_str());
        setup.settings.available_models.check(vendor, &chosen.model)?;
    }
    Ok(ChosenProvider { calls: calls::of_settings(setup), ..chosen })
}

/// Returns whether the profile of the settings may have the model of `--model`. The settings name a
/// vendor for every run; a model of another company goes to that company, or to none.
fn may_have(
    active: &ActiveProvider,
    model: Option<&str>,
    vendors: &Vendors,
    variables: &Variables<'_>,
) -> bool {
    let (Some(model), Some(vendor)) = (model, vendors.find(&active.kind)) else { return true };
    // A gateway may have the models of any company.
    let gateway = active.profile.base_url.is_some()
        || vendor.base_url_env.iter().any(|name| variables.get(name).is_some());
    may_have_model(vendors, vendor, !gateway, model)
}

/// The selected service, with what selected it.
enum Selection {
    /// A profile from the settings.
    Profile(Box<ActiveProvider>, String),
    /// A vendor; its key and address come from variables.
    Vendor(Arc<Profile>, String),
}

impl Selection {
    fn is_vendor(&self, vendor: &Profile) -> bool {
        match self {
            Self::Profile(active, _) => active.kind.eq_ignore_ascii_case(&vendor.vendor),
            Self::Vendor(selected, _) => selected.vendor == vendor.vendor,
        }
    }
}

fn select_by_name(name: &str, setup: &Setup, vendors: &Vendors) -> anyhow::Result<Selection> {
    if let Some(active) = setup.settings.profile(name)? {
        return Ok(Selection::Profile(Box::new(active), format!("--provider {name}")));
    }
    match vendors.find(name) {
        Some(vendor) => Ok(Selection::Vendor(Arc::clone(vendor), format!("--provider {name}"))),
        None => {
            let profiles: Vec<_> = setup.settings.values.providers.keys().cloned().collect();
            let profiles = if profiles.is_empty() {
                String::new()
            } else {
                format!("; profiles in your settings: {}", profiles.join(", "))
            };
            Err(Usage(format!(
                "unknown provider `{name}`; vendors: {}{profiles}; scripted:FILE replays a script \
                 (docs/scripted.md)",
                vendors.supported()
            ))
            .into())
        }
    }
}

fn scripted(file: &str, model: Option<&str>) -> anyhow::Result<ChosenProvider> {
    let text = std::fs::read_to_string(Path::new(file))
        .with_context(|| format!("--provider scripted: cannot read {file}"))?;
    let script = Script::from_yaml(&text)
        .with_context(|| format!("--provider scripted: {file} is not a valid script"))?;
    Ok(ChosenProvider {
        provider: Arc::new(ScriptedProvider::new(script)),
        service: None,
        model: model.unwrap_or(SCRIPTED_MODEL).to_owned(),
        timeout: DEFAULT_IDLE_TIMEOUT,
        secrets: Vec::new(),
        calls: CallSettings::default(),
    })
}

/// Returns the default model name of a script.
pub(crate) fn scripted_model() -> String {
    SCRIPTED_MODEL.to_owned()
}

/// Uses a model server that runs on this machine, since nothing else selects a provider.
async fn local_server(
    model: Option<&str>,
    vendors: &Vendors,
    host: &Host,
) -> anyhow::Result<ChosenProvider> {
    let servers = find_local(vendors, host, LOCAL_PROBE_TIMEOUT).await;
    let has_model = |server: &&robota_providers::LocalServer| match model {
        Some(model) => server.models.entries.iter().any(|entry| entry.id == model),
        None => !server.models.entries.is_empty(),
    };
    let Some(server) = servers.iter().find(has_model) else {
        let found = match servers.first() {
            Some(server) => format!(
                "\n{} runs on this machine but has {}.",
                server.profile.name,
                match model {
                    Some(model) => format!("no model `{model}`"),
                    None => "no models yet".to_owned(),
                }
            ),
            None => String::new(),
        };
        return Err(NoProvider(format!("{}{found}", no_provider_text(vendors))).into());
    };
    let first = server.models.entries.first().map(|entry| entry.id.as_str());
    let model = model.or(first).unwrap_or_default().to_owned();
    let selected_by = format!("{} running on this machine", server.profile.name);
    let settings = ProviderSettings { model: Some(model.clone()), ..ProviderSettings::default() };
    let http = build(&server.profile, settings, host)?;
    Ok(ChosenProvider {
        provider: http.clone(),
        service: Some(Service { http, vendor: Arc::clone(&server.profile), selected_by }),
        model,
        timeout: DEFAULT_IDLE_TIMEOUT,
        secrets: Vec::new(),
        calls: CallSettings::default(),
    })
}

/// Lists every way to configure a provider.
fn no_provider_text(vendors: &Vendors) -> String {
    let mut text = "no model provider is configured. Do one of these:\n".to_owned();
    // Services with other credentials cannot be set up with one variable, so they are not listed.
    let needs_key = |vendor: &&Arc<Profile>| {
        vendor.credential == CredentialRequirement::Required && !vendor.api_key_env.is_empty()
    };
    for vendor in vendors.iter().filter(needs_key) {
        let link = vendor.help_link().map(|link| format!("   {}", link.url)).unwrap_or_default();
        let key = format!("export {}=…", vendor.api_key_env[0]);
        text.push_str(&format!("  {key:<32} {}{link}\n", vendor.name));
    }
    let local: Vec<_> = vendors.local().map(|vendor| vendor.name.as_str()).collect();
    text.push_str(&format!("  start a model server on this machine: {}\n", local.join(", ")));
    text.push_str("  run `robota setup`, which asks for a provider and a key and stores them\n");
    text.push_str("  use --provider NAME, or add a profile to the settings (docs/providers.md)\n");
    text.push_str("To try a run without a provider: robota demo");
    text
}

/// Converts a profile from the settings; `$ENV:NAME` is replaced in its key.
fn profile_settings(
    active: &ActiveProvider,
    setup: &Setup,
) -> anyhow::Result<(ProviderSettings, ProviderConfig)> {
    let variables = Variables::new(setup);
    let config = active.config(&|name| variables.get(name))?;
    Ok((ProviderSettings::from_config(&config)?, config))
}
