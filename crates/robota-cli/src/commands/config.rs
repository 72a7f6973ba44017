//! `robota config list|get|set|explain`: effective values, the files that set them, ignored values.

use anyhow::Context as _;
use robota_config::keys::{self, KeySupport};
use robota_config::{KeyPath, Layer, Problem, SettingsWriter, Severity, TrustStore};
use robota_core::clock::SystemClock;
use serde_json::{Map, Value, json};

use crate::args::{ConfigArgs, ConfigCommand, PlaceArgs, SetLayer, SettingsArgs};
use crate::setup::Setup;
use crate::{Exit, output};

/// Runs a `robota config` subcommand.
pub(crate) fn run(args: &ConfigArgs) -> anyhow::Result<Exit> {
    match &args.command {
        ConfigCommand::List { json, settings } => list(*json, settings),
        ConfigCommand::Get { key, settings } => get(key, settings),
        ConfigCommand::Set { key, value, layer, settings } => {
            set(key, value.as_deref(), *layer, settings)
        }
        ConfigCommand::Explain { key, json, settings } => explain(key.as_deref(), *json, settings),
    }
}

fn parse_key(text: &str) -> anyhow::Result<KeyPath> {
    KeyPath::parse(text)
        .with_context(|| format!("invalid key `{text}`; a key looks like permissions.allow"))
}

fn get(name: &str, settings: &SettingsArgs) -> anyhow::Result<Exit> {
    let setup = Setup::load(settings, None)?;
    let key = parse_key(name)?;
    match setup.settings.get(&key) {
        Some(Value::String(text)) => output::line(&text),
        Some(value) => output::line(&format!("{value:#}")),
        None => {
            output::error(&format!("`{key}` is not set"));
            return Ok(report_errors(&setup, Some(&key)).unwrap_or(Exit::Failure));
        }
    }
    Ok(report_errors(&setup, Some(&key)).unwrap_or(Exit::Ok))
}

/// Prints the errors of the settings files and returns the exit code that they cause: what was
/// printed are the values without these files. With a key, errors of other keys do not count.
fn report_errors(setup: &Setup, key: Option<&KeyPath>) -> Option<Exit> {
    let about = |problem: &Problem| match (&problem.key, key) {
        (Some(about), Some(key)) => about == key,
        (None, _) | (_, None) => true,
    };
    let problems = setup.settings.report.problems.iter();
    let errors: Vec<_> =
        problems.filter(|problem| problem.severity == Severity::Error && about(problem)).collect();
    for error in &errors {
        output::error(&error.to_string());
    }
    if errors.is_empty() {
        return None;
    }
    if !setup.settings.permissions.unreadable.is_empty() {
        output::note("robota: what the file sets is unknown; see `robota config explain`");
    }
    Some(Exit::Configuration)
}

fn list(as_json: bool, settings: &SettingsArgs) -> anyhow::Result<Exit> {
    let setup = Setup::load(settings, None)?;
    let explanations = setup.settings.explain(&KeyPath::default());
    if as_json {
        let list: Map<_, _> =
            explanations.into_iter().map(|one| (one.key.to_string(), one.value)).collect();
        output::line(&Value::Object(list).to_string());
        return Ok(report_errors(&setup, None).unwrap_or(Exit::Ok));
    }
    if explanations.is_empty() {
        output::note("robota: no settings file sets anything");
    }
    for explanation in &explanations {
        let used = match keys::support(&explanation.key) {
            Some(KeySupport::NoEffect) | None => "  (no effect)",
            Some(KeySupport::Supported | KeySupport::Partial | KeySupport::Members(_)) => "",
        };
        output::line(&format!("{} = {}{used}", explanation.key, explanation.value));
    }
    Ok(report_errors(&setup, None).unwrap_or(Exit::Ok))
}

fn set(
    name: &str,
    value: Option<&str>,
    layer: SetLayer,
    settings: &PlaceArgs,
) -> anyhow::Result<Exit> {
    let setup = Setup::load(settings, None)?;
    let key = parse_key(name)?;
    // A value that is not JSON is a string: `robota config set model some-model` needs no quotes.
    let value = value.map(|text| serde_json::from_str(text).unwrap_or_else(|_| Value::from(text)));
    let layer = match layer {
        SetLayer::User => Layer::UserRobota,
        SetLayer::Project => Layer::ProjectRobota,
        SetLayer::Local => Layer::ProjectRobotaLocal,
    };
    let mut trust = TrustStore::load(&setup.places);
    let mut writer =
        SettingsWriter { places: &setup.places, trust: &mut trust, clock: &SystemClock };
    let written = writer.set(layer, &key, value.as_ref())?;
    let file = written.file.display();
    if value.is_none() && !written.changed {
        output::line(&format!("`{key}` was not set in {file}"));
        return Ok(Exit::Ok);
    }
    let done = if value.is_some() { "set" } else { "removed" };
    output::line(&format!("{done} `{key}` in {file}"));
    if keys::support(&key) == Some(KeySupport::NoEffect) {
        output::note(&format!("robota: `{key}` has no effect yet in this version"));
    }
    if !written.trusted {
        output::note("robota: it takes effect once you trust this folder (robota trust)");
    }
    Ok(Exit::Ok)
}

fn explain(name: Option<&str>, as_json: bool, settings: &SettingsArgs) -> anyhow::Result<Exit> {
    let setup = Setup::load(settings, None)?;
    let key = match name {
        Some(name) => parse_key(name)?,
        None => KeyPath::default(),
    };
    let explanations = setup.settings.explain(&key);
    let dropped: Vec<_> = setup.settings.dropped(&key).collect();
    let problems: Vec<_> = setup.settings.problems(&key).collect();
    if as_json {
        output::line(
            &json!({
                "trust": setup.settings.trust,
                "set": explanations,
                "dropped": dropped,
                "problems": problems,
            })
            .to_string(),
        );
        return Ok(Exit::Ok);
    }
    if explanations.is_empty() && dropped.is_empty() && problems.is_empty() {
        output::line(&match name {
            Some(name) => format!("`{name}` is not set in any file"),
            None => "no settings file sets anything".to_owned(),
        });
    }
    for explanation in explanations {
        output::line(&format!("{} = {}", explanation.key, explanation.value));
        for origin in &explanation.set_by {
            output::line(&format!("  set by {origin}"));
        }
        for (value, origin) in &explanation.overridden {
            output::line(&format!("  overrides {value} from {origin}"));
        }
    }
    for dropped in dropped {
        output::line(&format!("ignored: {dropped}"));
    }
    for problem in problems {
        output::line(&format!("problem: {problem}"));
    }
    Ok(Exit::Ok)
}
