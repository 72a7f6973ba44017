//! `robota plugin`: installs, updates, lists, enables, disables and removes plugins.

mod marketplace;
mod source;
mod update;

use robota_config::plugins::{InstalledPlugin, PluginScope, PluginState, Plugins};
use robota_sdk::Project;

use self::source::Sources;
use crate::args::{PluginArgs, PluginCommand, SettingsArgs};
use crate::setup::Setup;
use crate::{Exit, Usage, output};

/// Runs the command.
pub(crate) async fn run(args: PluginArgs) -> anyhow::Result<Exit> {
    let setup = Setup::load(SettingsArgs::default(), None)?;
    let project: &Project = &setup;
    let mut plugins = project.plugins.clone();
    plugins.problems.iter().for_each(|problem| output::error(problem));
    let sources = Sources::new(project);
    match args.command {
        PluginCommand::Install { source, project } => {
            let scope = if project { PluginScope::Project } else { PluginScope::User };
            let found = sources.plugin(&plugins, &source).await?;
            let plugin = plugins.install_from(found.folder(), scope, found.origin.clone())?;
            let name = plugin.manifest.name.clone();
            output::line(&format!("Installed {name} in {}.", plugin.root.display()));
            if let Some(commit) = commit(plugin) {
                output::line(&format!("It is pinned to commit {commit}."));
            }
            // Installed and not enabled: the user sees first what the plugin would do.
            show_requests(&plugins, &name);
            output::line(&format!(
                "It is not used yet. To use it: robota plugin enable {name} --yes"
            ));
        }
        PluginCommand::List => list(&plugins),
        PluginCommand::Enable { name, yes } => {
            known(&plugins, &name)?;
            show_requests(&plugins, &name);
            if yes {
                plugins.enable(&name)?;
                output::line(&format!(
                    "Enabled {name}. If its files change, it is not used until you enable it again."
                ));
            } else {
                output::line(&format!("To use it: robota plugin enable {name} --yes"));
            }
        }
        PluginCommand::Update { name, yes, commit } => {
            update::run(&sources, &mut plugins, name.as_deref(), yes, commit).await?;
        }
        PluginCommand::Disable { name } => {
            known(&plugins, &name)?;
            plugins.disable(&name)?;
            output::line(&format!("Disabled {name}."));
        }
        PluginCommand::Remove { name } => {
            known(&plugins, &name)?;
            plugins.remove(&name)?;
            output::line(&format!("Removed {name}."));
        }
        PluginCommand::Marketplace { command } => {
            marketplace::run(&sources, &mut plugins, command).await?;
        }
    }
    Ok(Exit::Ok)
}

fn known<'p>(plugins: &'p Plugins, name: &str) -> anyhow::Result<&'p InstalledPlugin> {
    let unknown = || Usage(format!("there is no plugin `{name}`; `robota plugin list` shows them"));
    Ok(plugins.get(name).ok_or_else(unknown)?)
}

fn commit(plugin: &InstalledPlugin) -> Option<&str> {
    plugin.git.as_ref()?.commit.as_deref()
}

fn list(plugins: &Plugins) {
    if plugins.iter().next().is_none() {
        output::line("No plugins are installed.");
    }
    for plugin in plugins.iter() {
        let state = match plugin.state {
            PluginState::Enabled => "enabled",
            PluginState::Disabled => "disabled",
            PluginState::TurnedOff => "turned off by the settings",
            PluginState::NotConfigured => "an option is missing, not used",
            PluginState::Changed => "changed, not used",
            PluginState::Broken => "broken, not used",
        };
        let scope = match plugin.scope {
            PluginScope::User => "user",
            PluginScope::Project => "project",
        };
        let manifest = &plugin.manifest;
        let version = match (manifest.version.as_deref(), commit(plugin)) {
            (Some(version), _) => version,
            (None, Some(commit)) => short(commit),
            (None, None) => "no version",
        };
        let description = manifest.description.as_deref().unwrap_or_default();
        output::line(&format!("{} {version} ({scope}, {state}) {description}", plugin.id()));
    }
}

/// Returns the first characters of a commit, as git shows it.
fn short(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}

fn show_requests(plugins: &Plugins, name: &str) {
    let Some(plugin) = plugins.get(name) else { return };
    let requests = plugin.requests();
    if requests.is_empty() {
        output::line(&format!("{name} has no effect: it contains nothing that is used."));
        return;
    }
    output::line(&format!("{name}, when it is enabled:"));
    requests.iter().for_each(|request| output::line(&format!("  {request}")));
}
