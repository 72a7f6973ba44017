//! `robota plugin`: installs, lists, enables, disables and removes plugins.

use std::path::{Path, PathBuf};

use robota_config::plugins::{PluginScope, PluginState, Plugins};
use robota_config::{Environment, Places};

use crate::args::{MarketplaceCommand, PluginArgs, PluginCommand};
use crate::{Exit, Usage, output};

/// Runs the command.
pub(crate) fn run(args: &PluginArgs) -> anyhow::Result<Exit> {
    let places = Places::from_env(&Environment::of_process())?;
    let mut plugins = Plugins::load(&places);
    plugins.problems.iter().for_each(|problem| output::error(problem));
    match &args.command {
        PluginCommand::Install { source, project } => {
            let scope = if *project { PluginScope::Project } else { PluginScope::User };
            let folder = folder_of(&plugins, source)?;
            let plugin = plugins.install(&folder, scope)?;
            let name = plugin.manifest.name.clone();
            output::line(&format!("Installed {name} in {}.", plugin.root.display()));
            show_requests(&plugins, &name);
            output::line(&format!(
                "It is not used yet. To use it: robota plugin enable {name} --yes"
            ));
        }
        PluginCommand::List => list(&plugins),
        PluginCommand::Enable { name, yes } => {
            if plugins.get(name).is_none() {
                return Err(unknown(name));
            }
            show_requests(&plugins, name);
            if *yes {
                plugins.enable(name)?;
                output::line(&format!(
                    "Enabled {name}. If its files change, it is not used until you enable it again."
                ));
            } else {
                output::line(&format!("To use it: robota plugin enable {name} --yes"));
            }
        }
        PluginCommand::Disable { name } => {
            plugins.get(name).ok_or_else(|| unknown(name))?;
            plugins.disable(name)?;
            output::line(&format!("Disabled {name}."));
        }
        PluginCommand::Remove { name } => {
            plugins.get(name).ok_or_else(|| unknown(name))?;
            plugins.remove(name)?;
            output::line(&format!("Removed {name}."));
        }
        PluginCommand::Marketplace { command } => marketplace(&mut plugins, command)?,
    }
    Ok(Exit::Ok)
}

fn unknown(name: &str) -> anyhow::Error {
    Usage(format!("there is no plugin `{name}`; `robota plugin list` shows them")).into()
}

fn list(plugins: &Plugins) {
    if plugins.iter().next().is_none() {
        output::line("No plugins are installed.");
    }
    for plugin in plugins.iter() {
        let state = match plugin.state {
            PluginState::Enabled => "enabled",
            PluginState::Disabled => "disabled",
            PluginState::Changed => "changed, not used",
            PluginState::Broken => "broken, not used",
        };
        let scope = match plugin.scope {
            PluginScope::User => "user",
            PluginScope::Project => "project",
        };
        let manifest = &plugin.manifest;
        let version = manifest.version.as_deref().unwrap_or("no version");
        let description = manifest.description.as_deref().unwrap_or_default();
        output::line(&format!("{} {version} ({scope}, {state}) {description}", manifest.name));
    }
}

fn show_requests(plugins: &Plugins, name: &str) {
    let Some(plugin) = plugins.get(name) else { return };
    let requests = plugin.requests();
    if requests.is_empty() {
        output::line(&format!("{name} does nothing but be there."));
        return;
    }
    output::line(&format!("{name}, when it is enabled:"));
    requests.iter().for_each(|request| output::line(&format!("  {request}")));
}

/// Returns the folder that a source names: a path, or NAME@MARKETPLACE.
fn folder_of(plugins: &Plugins, source: &str) -> anyhow::Result<PathBuf> {
    if Path::new(source).is_dir() {
        return Ok(PathBuf::from(source));
    }
    let Some((name, market)) = source.split_once('@') else {
        return Err(Usage(format!("`{source}` is no folder and not NAME@MARKETPLACE")).into());
    };
    let found = plugins.marketplaces().find(|(known, _)| *known == market);
    let (_, marketplace) = found.ok_or_else(|| {
        Usage(format!(
            "there is no marketplace `{market}`; add it with `robota plugin marketplace add`"
        ))
    })?;
    let marketplace = marketplace.map_err(|problem| anyhow::anyhow!("{market}: {problem}"))?;
    let entry = marketplace.plugins.iter().find(|entry| entry.name == name);
    let entry = entry.ok_or_else(|| Usage(format!("{market} has no plugin `{name}`")))?;
    let far = || Usage(format!("the source of `{name}` is not a folder of the marketplace"));
    Ok(entry.folder.clone().ok_or_else(far)?)
}

fn marketplace(plugins: &mut Plugins, command: &MarketplaceCommand) -> anyhow::Result<()> {
    match command {
        MarketplaceCommand::Add { folder } => {
            let name = plugins.add_marketplace(folder)?;
            output::line(&format!("Added the marketplace {name}."));
        }
        MarketplaceCommand::List => {
            for (name, marketplace) in plugins.marketplaces() {
                match marketplace {
                    Ok(found) => output::line(&format!(
                        "{name}: {} plugins in {}",
                        found.plugins.len(),
                        found.folder.display()
                    )),
                    Err(problem) => output::error(&format!("{name}: {problem}")),
                }
            }
        }
        MarketplaceCommand::Remove { name } => {
            if !plugins.remove_marketplace(name)? {
                return Err(Usage(format!("there is no marketplace `{name}`")).into());
            }
            output::line(&format!("Removed the marketplace {name}."));
        }
        MarketplaceCommand::Search { text } => {
            for (market, marketplace) in plugins.marketplaces() {
                let Ok(marketplace) = marketplace else { continue };
                for entry in marketplace.search(text) {
                    output::line(&format!("{}@{market}: {}", entry.name, entry.description));
                }
            }
        }
    }
    Ok(())
}
