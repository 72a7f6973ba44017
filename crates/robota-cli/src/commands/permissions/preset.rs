//! `robota permissions preset`: shows the shipped rule sets and adds one to the settings.

use anyhow::Context as _;
use robota_config::{Layer, RuleList, SettingsWriter, TrustStore, rule_check};
use robota_core::clock::SystemClock;
use robota_policy::{Preset, presets};

use crate::args::{PlaceArgs, PresetCommand};
use crate::setup::Setup;
use crate::{Exit, Usage, output};

pub(super) fn run(command: &PresetCommand) -> anyhow::Result<Exit> {
    match command {
        PresetCommand::List => {
            for preset in presets() {
                output::line(&format!(
                    "{}  {} rules: {}",
                    preset.name,
                    preset.rules.len(),
                    preset.description
                ));
            }
        }
        PresetCommand::Show { name } => show(find(name)?),
        PresetCommand::Add { name, yes, settings } => return add(find(name)?, *yes, settings),
    }
    Ok(Exit::Ok)
}

fn find(name: &str) -> anyhow::Result<&'static Preset> {
    let known = presets().iter().map(|preset| preset.name).collect::<Vec<_>>().join(", ");
    presets()
        .iter()
        .find(|preset| preset.name == name)
        .ok_or_else(|| Usage(format!("no rule set is called `{name}`; there are: {known}")).into())
}

fn show(preset: &Preset) {
    output::line(&format!("{}: {}", preset.name, preset.description));
    for rule in preset.rules {
        output::line(&format!("  allow {rule}"));
    }
}

/// Shows the rules, and writes them to the user's settings with `add`.
fn add(preset: &Preset, yes: bool, settings: &PlaceArgs) -> anyhow::Result<Exit> {
    show(preset);
    // The rules allow calls without a question, so the user sees them first.
    if !yes {
        output::line(&format!(
            "Nothing was changed. Run `robota permissions preset add {} --yes` to add these rules \
             to your settings.",
            preset.name
        ));
        return Ok(Exit::Ok);
    }
    let setup = Setup::load(settings, None)?;
    let mut trust = TrustStore::load(&setup.places);
    let mut writer =
        SettingsWriter { places: &setup.places, trust: &mut trust, clock: &SystemClock };
    let check = rule_check(&setup.places);
    let mut file = None;
    for rule in preset.rules {
        let written = writer.add_rule(Layer::UserRobota, RuleList::Allow, rule, &check)?;
        file = Some(written.file);
    }
    let file = file.context("the rule set is empty")?;
    output::line(&format!("added {} rules to {}", preset.rules.len(), file.display()));
    Ok(Exit::Ok)
}
