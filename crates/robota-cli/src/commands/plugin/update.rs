//! `robota plugin update`: shows how the newest version of a plugin differs, and installs it.

use robota_config::plugins::{
    InstalledPlugin, PluginManifest, PluginOrigin, PluginSource, PluginState, Plugins,
};

use super::source::{Found, Sources};
use super::{commit, known, short};
use crate::{Usage, output};

/// The most changed files that are listed.
const MAX_LISTED: usize = 50;

/// Runs the command.
pub(super) async fn run(
    sources: &Sources<'_>,
    plugins: &mut Plugins,
    name: Option<&str>,
    yes: bool,
    wanted: Option<String>,
) -> anyhow::Result<()> {
    let is_all = name.is_none();
    let names = match name {
        Some(name) => {
            let plugin = known(plugins, name)?;
            if plugin.is_in_skills_folder() {
                let text =
                    format!("{name} is not a copy: it is used where it is, with its changes");
                return Err(Usage(text).into());
            }
            vec![plugin.manifest.name.clone()]
        }
        None => {
            let copies = plugins.iter().filter(|plugin| !plugin.is_in_skills_folder());
            copies.map(|plugin| plugin.manifest.name.clone()).collect()
        }
    };
    if names.is_empty() {
        output::line("No plugins are installed.");
    }
    for name in names {
        let plugin = known(plugins, &name)?.clone();
        match newest(sources, &plugin, wanted.clone()).await {
            Ok(found) => one(plugins, &plugin, &found, yes)?,
            // The other plugins can still be updated.
            Err(error) if is_all => output::error(&format!("{name}: {error:#}")),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Finds the newest version where the plugin came from.
async fn newest(
    sources: &Sources<'_>,
    plugin: &InstalledPlugin,
    wanted: Option<String>,
) -> anyhow::Result<Found> {
    let name = &plugin.manifest.name;
    let mut found = match (&plugin.git, wanted) {
        (Some(git), wanted) => sources.repository(git, wanted).await?,
        (None, Some(_)) => {
            return Err(Usage(format!("{name} was not installed from a repository")).into());
        }
        (None, None) => sources.get(PluginSource::Folder(plugin.source.clone().into())).await?,
    };
    found.origin = PluginOrigin {
        marketplace: plugin.marketplace.clone(),
        name: Some(name.clone()),
        ..found.origin
    };
    Ok(found)
}

/// Shows the differences of one plugin, and installs the new version.
fn one(
    plugins: &mut Plugins,
    plugin: &InstalledPlugin,
    found: &Found,
    yes: bool,
) -> anyhow::Result<()> {
    let name = &plugin.manifest.name;
    let changes = plugins.changes(name, found.folder())?;
    if changes.is_empty() {
        output::line(&format!("{name} is up to date."));
        return Ok(());
    }
    let new = found.origin.git.as_ref().and_then(|git| git.commit.as_deref());
    match (commit(plugin), new) {
        (Some(old), Some(new)) => {
            output::line(&format!("{name}: commit {} to {}", short(old), short(new)));
        }
        _ => output::line(&format!("{name}: {}", plugin.source)),
    }
    for change in changes.iter().take(MAX_LISTED) {
        output::line(&format!("  {change}"));
    }
    if let Some(more) = changes.len().checked_sub(MAX_LISTED).filter(|more| *more > 0) {
        output::line(&format!("  and {more} more files"));
    }
    show_new_requests(plugin, found)?;
    if !yes {
        // The commit whose changes were shown: the repository may have a newer one when the user
        // confirms.
        let pin = new.map(|commit| format!(" --commit {commit}")).unwrap_or_default();
        output::line(&format!("To install it: robota plugin update {name}{pin} --yes"));
        return Ok(());
    }
    plugins.install_from(found.folder(), plugin.scope, found.origin.clone())?;
    // The settings turn off only what the user has enabled, so both stay enabled.
    if matches!(plugin.state, PluginState::Enabled | PluginState::TurnedOff) {
        plugins.enable(name)?;
        output::line(&format!("Updated {name}."));
    } else {
        output::line(&format!("Updated {name}. To use it: robota plugin enable {name} --yes"));
    }
    Ok(())
}

/// Shows what the new version does and the installed one does not.
fn show_new_requests(plugin: &InstalledPlugin, found: &Found) -> anyhow::Result<()> {
    let manifest = PluginManifest::read(found.folder()).map_err(anyhow::Error::msg)?;
    let manifest = PluginManifest { name: plugin.manifest.name.clone(), ..manifest };
    let mut new = plugin.clone();
    (new.manifest, new.root) = (manifest, found.folder().to_owned());
    let old = relative_requests(plugin);
    for request in relative_requests(&new).iter().filter(|request| !old.contains(request)) {
        output::line(&format!("  new: {request}"));
    }
    Ok(())
}

/// Returns what a plugin does, without the folder in which this version of it is.
fn relative_requests(plugin: &InstalledPlugin) -> Vec<String> {
    let root = plugin.root.display().to_string();
    // Each version has a folder of its own, by which all requests would differ.
    let relative = |request: &String| request.replace(&root, "${CLAUDE_PLUGIN_ROOT}");
    plugin.requests().iter().map(relative).collect()
}
