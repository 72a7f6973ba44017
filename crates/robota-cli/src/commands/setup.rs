//! `robota setup`: chooses a provider, stores its key, chooses a model and tries it.

use std::io::Read as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use robota_config::{KeyPath, Layer, ProgramEnvironment, SettingsWriter, TrustStore};
use robota_core::clock::SystemClock;
use robota_core::env_ref::{EnvRef, Secret};
use robota_core::error::Diagnose as _;
use robota_providers::{
    CredentialRequirement, Profile, ProviderSettings, SetupField, Vendors, build,
};
use serde_json::{Map, Value, json};

use crate::args::{KeyPlaceArg, PlaceArgs, SetupArgs};
use crate::setup::Setup;
use crate::stored_keys::{self, KeyPlace, StoredKeys};
use crate::{Exit, Usage, output, prompt, provider};

/// How long the model may take for its answer.
const PROBE_TIMEOUT: Duration = Duration::from_secs(60);

/// The key of a provider, and where it is kept.
enum Key {
    /// The service needs none.
    None,
    /// A variable of the environment has it.
    Variable(EnvRef, Secret),
    /// It is stored under the name of this variable.
    Store(EnvRef, Secret, KeyPlace),
}

impl Key {
    fn secret(&self) -> Option<&Secret> {
        match self {
            Self::None => None,
            Self::Variable(_, secret) | Self::Store(_, secret, _) => Some(secret),
        }
    }

    fn variable(&self) -> Option<&EnvRef> {
        match self {
            Self::None => None,
            Self::Variable(variable, _) | Self::Store(variable, _, _) => Some(variable),
        }
    }
}

/// Asks whether to set up a provider, and does so. Returns whether a provider was set up.
pub(crate) async fn offer(cwd: Option<PathBuf>) -> bool {
    let home = ProgramEnvironment::of_process().home().is_some();
    output::note("No model provider is configured.");
    let answer = prompt::ask("Set one up now? (y, or n to see the other ways)", Some("y"));
    let yes = answer.is_ok_and(|answer| answer.to_lowercase().starts_with('y'));
    // Without a home folder there is no place for the settings.
    if !home || !yes {
        return false;
    }
    loop {
        let args = SetupArgs {
            provider: None,
            model: None,
            base_url: None,
            key_env: None,
            key_stdin: false,
            key_in: KeyPlaceArg::File,
            no_probe: false,
            settings: PlaceArgs { cwd: cwd.clone(), ..PlaceArgs::default() },
        };
        match run(args).await {
            Ok(_) => return true,
            Err(error) => output::error(&format!("{error:#}")),
        }
        let again = prompt::ask("Try again? (y or n)", Some("n"));
        if !again.is_ok_and(|answer| answer.to_lowercase().starts_with('y')) {
            return false;
        }
    }
}

/// Asks for what the arguments leave out, tries the model, and writes the settings of the user.
pub(crate) async fn run(args: SetupArgs) -> anyhow::Result<Exit> {
    let setup = Setup::load(&args.settings, None)?;
    let home = setup.places.home.clone().context(
        "there is no home folder to write settings to; set HOME, or pass the provider and key by \
         flags and environment variables",
    )?;
    let vendors = provider::vendors(&setup)?;
    let vendor = choose_vendor(&args, &vendors)?;
    let base_url = choose_address(&args, &vendor, &setup)?;
    let key = choose_key(&args, &vendor, &setup)?;
    let model = choose_model(&args, &vendor)?;
    // Before anything is written: settings with a key that does not work would fail every later
    // run.
    if !args.no_probe {
        let settings = ProviderSettings {
            model: Some(model.clone()),
            api_key: key.secret().cloned(),
            base_url: base_url.clone(),
            ..ProviderSettings::default()
        };
        try_model(&vendor, settings, &model, &setup).await?;
    }
    if let Key::Store(variable, secret, place) = &key {
        let mut keys = StoredKeys::load(Some(&home));
        keys.set(&home, variable.name(), secret, *place)?;
        output::line(&match place {
            KeyPlace::File => {
                format!("stored the key in {}", stored_keys::file(&home).display())
            }
            KeyPlace::Keyring => "stored the key in the keyring".to_owned(),
        });
    }
    let mut profile = Map::new();
    profile.insert("type".to_owned(), json!(vendor.vendor));
    profile.insert("model".to_owned(), json!(model));
    if let Some(variable) = key.variable() {
        profile.insert("apiKey".to_owned(), json!(variable.to_string()));
    }
    if let Some(base_url) = base_url {
        profile.insert("baseURL".to_owned(), json!(base_url));
    }
    let file = write_settings(&setup, &vendor.vendor, &profile)?;
    output::line(&format!("wrote {} with {model} in {}", vendor.name, file.display()));
    output::line("Try it:  robota -p \"What is in this folder?\"");
    Ok(Exit::Ok)
}

fn missing(flag: &str, what: &str) -> anyhow::Error {
    Usage(format!("{flag} is missing: {what}")).into()
}

fn choose_vendor(args: &SetupArgs, vendors: &Vendors) -> anyhow::Result<Arc<Profile>> {
    if let Some(name) = &args.provider {
        let found = vendors.find(name);
        let unknown =
            || Usage(format!("unknown provider `{name}`; vendors: {}", vendors.supported()));
        return Ok(Arc::clone(found.ok_or_else(unknown)?));
    }
    if !prompt::is_interactive() {
        return Err(missing("--provider", &format!("one of {}", vendors.supported())));
    }
    let all: Vec<_> = vendors.iter().collect();
    for (number, vendor) in all.iter().enumerate() {
        output::note(&format!("{:>3}  {:<14} {}", number + 1, vendor.vendor, vendor.name));
    }
    loop {
        let answer = prompt::ask("Provider (number or name)", None)?;
        let by_number =
            answer.parse::<usize>().ok().and_then(|number| all.get(number.wrapping_sub(1)));
        if let Some(vendor) = by_number.copied().or_else(|| vendors.find(&answer)) {
            return Ok(Arc::clone(vendor));
        }
        output::note(&format!("there is no provider `{answer}`"));
    }
}

/// Returns the address, if it is not the vendor's own.
fn choose_address(
    args: &SetupArgs,
    vendor: &Profile,
    setup: &Setup,
) -> anyhow::Result<Option<String>> {
    if args.base_url.is_some() || vendor.base_url.is_some() {
        return Ok(args.base_url.clone());
    }
    let mut of_variables = ProviderSettings::default();
    provider::fill_in(vendor, &mut of_variables, setup)?;
    if of_variables.base_url.is_some() {
        // Every run reads the variables again.
        return Ok(None);
    }
    if !prompt::is_interactive() {
        return Err(missing("--base-url", &format!("{} has no address of its own", vendor.name)));
    }
    let (question, default) = question(vendor, &SetupField::BaseUrl, "Address of the service");
    prompt::ask(&question, default.as_deref()).map(Some)
}

/// Returns the question of the vendor's file about a setting, and its default.
fn question(vendor: &Profile, field: &SetupField, usual: &str) -> (String, Option<String>) {
    match vendor.setup.iter().find(|prompt| prompt.field == *field) {
        Some(prompt) => (prompt.question.clone(), prompt.default.clone()),
        None => (usual.to_owned(), None),
    }
}

fn choose_key(args: &SetupArgs, vendor: &Profile, setup: &Setup) -> anyhow::Result<Key> {
    let lookup = |name: &str| setup.environment.get(name).map(str::to_owned);
    if let Some(name) = &args.key_env {
        let variable = EnvRef::new(name).map_err(|error| Usage(format!("--key-env: {error}")))?;
        // Read now, so that a typing error in the name is not found only by the first run.
        let secret = variable.resolve(&lookup)?;
        return Ok(Key::Variable(variable, secret));
    }
    let place = match args.key_in {
        KeyPlaceArg::File => KeyPlace::File,
        KeyPlaceArg::Keyring => KeyPlace::Keyring,
    };
    // The variable under which a key is stored: the vendor's own, or one made from its name.
    let own = vendor.api_key_env.first().cloned().unwrap_or_else(|| {
        let name = vendor.vendor.to_ascii_uppercase();
        format!("{}_API_KEY", name.replace(|letter: char| !letter.is_ascii_alphanumeric(), "_"))
    });
    let variable = EnvRef::new(&own)?;
    if args.key_stdin {
        let mut text = String::new();
        // Bounded, because a wrong file in place of a key would be kept in memory as a whole.
        std::io::stdin().lock().take(64 * 1024).read_to_string(&mut text)?;
        let secret = Secret::new(text.trim());
        anyhow::ensure!(!secret.is_blank(), Usage("--key-stdin: the input is empty".to_owned()));
        return Ok(Key::Store(variable, secret, place));
    }
    let in_environment = vendor.api_key_env.iter().find_map(|name| {
        let variable = EnvRef::new(name).ok()?;
        let secret = variable.resolve(&lookup).ok()?;
        Some(Key::Variable(variable, secret))
    });
    if let Some(key) = in_environment {
        if let Some(variable) = key.variable() {
            output::note(&format!("using the key in the variable {}", variable.name()));
        }
        return Ok(key);
    }
    let asks = vendor.setup.iter().any(|prompt| prompt.field == SetupField::ApiKey);
    // Some vendors take a key or other credentials, such as those of a cloud account.
    if vendor.credential != CredentialRequirement::Required || vendor.credentials.is_some() {
        if !asks || !prompt::is_interactive() {
            return Ok(Key::None);
        }
        let (question, _) = question(vendor, &SetupField::ApiKey, "API key");
        let secret = Secret::new(prompt::ask_secret(&question)?.trim());
        return Ok(match secret.is_blank() {
            true => Key::None,
            false => Key::Store(variable, secret, place),
        });
    }
    if !prompt::is_interactive() {
        return Err(missing("--key-env or --key-stdin", &format!("{} needs a key", vendor.name)));
    }
    if let Some(link) = vendor.help_link() {
        output::note(&format!("Keys: {}", link.url));
    }
    let (question, _) = question(vendor, &SetupField::ApiKey, "API key");
    let secret = Secret::new(prompt::ask_secret(&question)?.trim());
    anyhow::ensure!(!secret.is_blank(), "the key is empty; nothing was changed");
    Ok(Key::Store(variable, secret, place))
}

fn choose_model(args: &SetupArgs, vendor: &Profile) -> anyhow::Result<String> {
    match (&args.model, vendor.default_model.as_deref()) {
        (Some(model), _) => Ok(model.clone()),
        (None, default) if prompt::is_interactive() => {
            let (question, of_question) = question(vendor, &SetupField::Model, "Model");
            prompt::ask(&question, of_question.as_deref().or(default))
        }
        (None, Some(default)) => Ok(default.to_owned()),
        (None, None) => {
            let list = format!("`robota models --provider {}` lists the models", vendor.vendor);
            Err(missing("--model", &list))
        }
    }
}

/// Asks the model to call a tool.
async fn try_model(
    vendor: &Arc<Profile>,
    mut settings: ProviderSettings,
    model: &str,
    setup: &Setup,
) -> anyhow::Result<()> {
    // A run fills in the same, such as the address of a gateway.
    provider::fill_in(vendor, &mut settings, setup)?;
    output::note(&format!("trying {model} ..."));
    let http = build(vendor, settings, &provider::host(setup)?)?;
    let unchanged = "nothing was changed (--no-probe skips this check)";
    match tokio::time::timeout(PROBE_TIMEOUT, http.probe(model)).await {
        Ok(Ok(probe)) => {
            let tools = if probe.calls_tools { "calls tools" } else { "did not call a tool" };
            output::note(&format!(
                "{model} answered in {} ms and {tools}",
                probe.total.as_millis()
            ));
            Ok(())
        }
        Ok(Err(error)) => {
            let hint = error.hint().map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
            anyhow::bail!("{error}; {unchanged}{hint}")
        }
        Err(_elapsed) => {
            anyhow::bail!("no answer within {} s; {unchanged}", PROBE_TIMEOUT.as_secs())
        }
    }
}

/// Writes the profile, and selects it.
fn write_settings(
    setup: &Setup,
    name: &str,
    profile: &Map<String, Value>,
) -> anyhow::Result<PathBuf> {
    let mut trust = TrustStore::load(&setup.places);
    let mut writer =
        SettingsWriter { places: &setup.places, trust: &mut trust, clock: &SystemClock };
    let mut set = |key: &str, value: Option<&Value>| {
        let key = KeyPath::parse(key).with_context(|| format!("invalid key `{key}`"))?;
        Ok::<_, anyhow::Error>(writer.set(Layer::UserRobota, &key, value)?)
    };
    // Fields that an earlier set-up wrote and this one leaves out are removed.
    for field in ["type", "model", "apiKey", "baseURL"] {
        // As a text of JSON: a name with a dot is quoted in a path of keys.
        set(&format!("providers.{}.{field}", Value::from(name)), profile.get(field))?;
    }
    Ok(set("currentProvider", Some(&Value::from(name)))?.file)
}
