//! `robota sessions import --from`: imports sessions of Claude Code and Codex.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use robota_core::ids::{RandomIds, SessionId};
use robota_sdk::import::{ImportReport, ImportSource, SessionFile, find_files, read};
use robota_session::replay::{Destination, Imported};
use serde_json::json;

use super::args::ForeignAgent;
use super::{Context, files, text, time};
use crate::{Exit, Usage, output};

/// How many sessions are listed.
const MAX_LISTED: usize = 50;

impl From<ForeignAgent> for ImportSource {
    fn from(agent: ForeignAgent) -> Self {
        match agent {
            ForeignAgent::Claude => Self::Claude,
            ForeignAgent::Codex => Self::Codex,
        }
    }
}

/// Imports the session in a file of the agent.
pub(super) async fn run(
    context: &Context,
    agent: ForeignAgent,
    source: &str,
    id: Option<&SessionId>,
) -> anyhow::Result<Imported> {
    let agent = ImportSource::from(agent);
    let path = find(context, agent, source)?;
    let stem = path.file_stem().map(|stem| stem.to_string_lossy()).unwrap_or_default();
    let session = read(agent, &files::read_file(&path)?, &stem)
        .map_err(|error| anyhow::Error::new(error).context(format!("{}", path.display())))?;
    let to = Destination::new(&*context.store).with_id(id);
    let imported = session.import(&to, &RandomIds).await?;
    if !imported.already {
        print_report(&session.report);
    }
    Ok(imported)
}

/// Lists the sessions of the agent, most recent first.
pub(super) fn list(context: &Context, agent: ForeignAgent, json: bool) -> anyhow::Result<Exit> {
    let agent = ImportSource::from(agent);
    let found = found(context, agent)?;
    let shown = found.iter().take(MAX_LISTED);
    if json {
        let sessions: Vec<_> = shown
            .map(|file| json!({"path": file.path, "changed": changed(file), "bytes": file.bytes, "cwd": file.cwd()}))
            .collect();
        output::line(&json!({ "sessions": sessions }).to_string());
        return Ok(Exit::Ok);
    }
    if found.is_empty() {
        output::note("no sessions");
        return Ok(Exit::Ok);
    }
    for file in shown {
        let cwd = file.cwd().unwrap_or_default();
        let path = text::plain(&file.path.display().to_string());
        output::line(&format!(
            "{:<17}  {}  {path}",
            time::minute(changed(file)),
            text::short(&cwd, 60)
        ));
    }
    if found.len() > MAX_LISTED {
        let more = found.len() - MAX_LISTED;
        output::note(&format!("{more} older sessions are not listed; pass the path of one"));
    }
    Ok(Exit::Ok)
}

fn changed(file: &SessionFile) -> Timestamp {
    Timestamp::try_from(file.modified).unwrap_or_default()
}

/// Returns the file that the user means: a path, or a part of the name of one file of the agent.
fn find(context: &Context, agent: ImportSource, source: &str) -> anyhow::Result<PathBuf> {
    if Path::new(source).exists() {
        return Ok(PathBuf::from(source));
    }
    let named = |file: &SessionFile| {
        // Not only the beginning: Codex writes the time into the name, before the id.
        file.path.file_name().is_some_and(|name| name.to_string_lossy().contains(source))
    };
    let mut found = found(context, agent)?.into_iter().filter(named);
    match (found.next(), found.next()) {
        (Some(file), None) => Ok(file.path),
        (Some(_), Some(_)) => {
            let text = format!("`{source}` is part of several names; write more of the name");
            Err(Usage(text).into())
        }
        (None, _) => {
            let name = agent.name();
            let text = format!(
                "`{source}` is neither a file nor a session of {name}; `robota sessions import \
                 --from {name} --list` lists them"
            );
            Err(Usage(text).into())
        }
    }
}

fn found(context: &Context, agent: ImportSource) -> anyhow::Result<Vec<SessionFile>> {
    let places = &context.setup.places;
    let home = |name: &str| places.home.as_ref().map(|home| home.join(name));
    let folder = match agent {
        ImportSource::Claude => {
            let own = places.claude_dir.clone().or_else(|| home(".claude"));
            own.map(|folder| folder.join("projects"))
        }
        ImportSource::Codex => {
            let own = context.setup.environment.get("CODEX_HOME").filter(|path| !path.is_empty());
            let own = own.map(PathBuf::from).or_else(|| home(".codex"));
            own.map(|folder| folder.join("sessions"))
        }
    };
    let folder =
        folder.ok_or_else(|| Usage("HOME is not set; pass the path of a file".to_owned()))?;
    Ok(find_files(agent, &folder))
}

fn print_report(report: &ImportReport) {
    let note = |count: u64, what: &str| {
        if count > 0 {
            output::note(&format!("robota: {count} {what}"));
        }
    };
    note(report.malformed, "lines are damaged and were left out");
    note(report.abandoned, "messages are of branches that were left");
    note(report.sidechain, "messages of subagents were left out");
    let kinds =
        report.skipped.iter().map(|(kind, count)| format!("{} {count}", text::short(kind, 40)));
    let kinds: Vec<_> = kinds.collect();
    if !kinds.is_empty() {
        output::note(&format!("robota: lines without a message: {}", kinds.join(", ")));
    }
}
