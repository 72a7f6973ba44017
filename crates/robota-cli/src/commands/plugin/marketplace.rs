//! `robota plugin marketplace`: adds, updates, lists, searches and removes marketplaces.

use robota_config::plugins::Plugins;

use super::short;
use super::source::{Found, Sources};
use crate::args::MarketplaceCommand;
use crate::{Usage, output};

/// Runs the command.
pub(super) async fn run(
    sources: &Sources<'_>,
    plugins: &mut Plugins,
    command: MarketplaceCommand,
) -> anyhow::Result<()> {
    match command {
        MarketplaceCommand::Add { source } => {
            let found = sources.marketplace(&source).await?;
            let name = add(plugins, &found)?;
            output::line(&format!("Added the marketplace {name}."));
        }
        MarketplaceCommand::Update { name } => update(sources, plugins, name.as_deref()).await?,
        MarketplaceCommand::List => list(sources, plugins),
        MarketplaceCommand::Remove { name } => {
            if !plugins.remove_marketplace(&name)? {
                return Err(Usage(format!("there is no marketplace `{name}`")).into());
            }
            output::line(&format!("Removed the marketplace {name}."));
        }
        MarketplaceCommand::Search { text } => {
            let mut lines = Vec::new();
            for (market, marketplace) in plugins.marketplaces() {
                // A marketplace that cannot be read must not hide the plugins of the others; the
                // list reports it.
                let Ok(marketplace) = marketplace else { continue };
                let found = marketplace.search(&text);
                lines.extend(
                    found.map(|entry| format!("{}@{market}: {}", entry.name, entry.description)),
                );
            }
            if lines.is_empty() {
                output::line(&format!("No plugin of the known marketplaces matches `{text}`."));
            }
            lines.iter().for_each(|line| output::line(line));
        }
    }
    Ok(())
}

fn add(plugins: &mut Plugins, found: &Found) -> anyhow::Result<String> {
    Ok(match &found.origin.git {
        Some(git) => plugins.add_marketplace_from(found.folder(), git.clone())?,
        None => plugins.add_marketplace(found.folder())?,
    })
}

fn list(sources: &Sources<'_>, plugins: &Plugins) {
    let mut known = Vec::new();
    for (name, marketplace) in plugins.marketplaces() {
        known.push(name);
        let commit = plugins.marketplace_repository(name).and_then(|git| git.commit.as_deref());
        let commit = commit.map(|commit| format!(" at commit {}", short(commit)));
        let commit = commit.unwrap_or_default();
        match marketplace {
            Ok(found) => {
                let (count, folder) = (found.plugins.len(), found.folder.display());
                output::line(&format!("{name}: {count} plugins in {folder}{commit}"));
            }
            Err(problem) => output::error(&format!("{name}: {problem}")),
        }
    }
    let mut named = sources.named_marketplaces().filter(|name| !known.contains(name)).peekable();
    if known.is_empty() && named.peek().is_none() {
        output::line("No marketplace is known. To add one: robota plugin marketplace add SOURCE");
    }
    for name in named {
        output::line(&format!(
            "{name}: named by the settings; to use it: robota plugin marketplace add {name}"
        ));
    }
}

/// Fetches the lists of marketplaces again. Installed plugins do not change.
async fn update(
    sources: &Sources<'_>,
    plugins: &mut Plugins,
    name: Option<&str>,
) -> anyhow::Result<()> {
    let known: Vec<String> = plugins.marketplaces().map(|(name, _)| name.to_owned()).collect();
    if let Some(name) = name.filter(|name| !known.iter().any(|it| it == name)) {
        return Err(Usage(format!("there is no marketplace `{name}`")).into());
    }
    for market in known.iter().filter(|market| name.is_none_or(|name| *market == name)) {
        let Some(git) = plugins.marketplace_repository(market).cloned() else {
            output::line(&format!("{market} is a folder and always up to date."));
            continue;
        };
        let found = sources.repository(&git, None).await?;
        let new = found.origin.git.as_ref().and_then(|git| git.commit.clone());
        let old = git.commit;
        if add(plugins, &found)? != *market {
            output::note(&format!("the repository of {market} has another name now"));
        }
        match (old, new) {
            (Some(old), Some(new)) if old != new => {
                output::line(&format!("{market}: commit {} to {}", short(&old), short(&new)));
            }
            _ => output::line(&format!("{market} is up to date.")),
        }
    }
    Ok(())
}
