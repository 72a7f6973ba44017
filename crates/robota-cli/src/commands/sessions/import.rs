//! `robota sessions import`: creates a session from an export or a file of another agent, or copies
//! a session that another user wrote.

use std::collections::HashMap;
use std::path::Path;

use anyhow::Context as _;
use robota_core::ids::{RandomIds, SessionId};
use robota_core::journal::{JournalStore, read_all};
use robota_sdk::find_session;
use robota_session::replay::{Destination, Imported, Record, blob_refs, journal, log, record};

use super::args::{ImportArgs, ImportFormat};
use super::{Context, files, import_agent};
use crate::{Exit, Usage, output};

/// Imports a session.
pub(super) async fn run(args: ImportArgs) -> anyhow::Result<Exit> {
    let context = Context::open(&args.store).await?;
    let id = args.id.as_deref().map(SessionId::from);
    // Clap requires a source, except with --list.
    let source = args.source.as_deref().unwrap_or_default();
    let imported = match args.from {
        Some(agent) if args.list => return import_agent::list(&context, agent, args.store.json),
        Some(agent) => import_agent::run(&context, agent, source, id.as_ref()).await?,
        None if source == "-" || Path::new(source).exists() => {
            from_file(&*context.store, source, args.format, id.as_ref()).await?
        }
        None => from_session(&*context.store, source, id.as_ref()).await?,
    };
    if args.store.json {
        output::line(&serde_json::to_string(&imported)?);
    } else {
        print_result(&imported);
    }
    Ok(Exit::Ok)
}

async fn from_file(
    store: &dyn JournalStore,
    name: &str,
    format: ImportFormat,
    id: Option<&SessionId>,
) -> anyhow::Result<Imported> {
    let source = files::read(name, format)?;
    let to = Destination::new(store).with_id(id).with_blobs(&source.blobs);
    Ok(match source.format {
        ImportFormat::Journal => journal::import(&to, journal::parse(&source.bytes)?).await?,
        ImportFormat::Record => {
            let text = String::from_utf8_lossy(&source.bytes);
            record::import(&to, &Record::parse(&text)?, &RandomIds).await?
        }
        // `files::read` has replaced `Auto` by the format it detected.
        ImportFormat::Log | ImportFormat::Auto => {
            log::import(&to, &source.bytes, &source.payloads, &RandomIds).await?
        }
    })
}

/// Copies a session of the store that another user wrote.
async fn from_session(
    store: &dyn JournalStore,
    name: &str,
    id: Option<&SessionId>,
) -> anyhow::Result<Imported> {
    let session = find_session(store, name)
        .await
        .with_context(|| format!("`{name}` is neither a file nor a session"))?;
    if !store.head(&session).await?.foreign {
        let text =
            format!("session `{session}` is already yours; `robota sessions fork` copies it");
        return Err(Usage(text).into());
    }
    let events = read_all(store, &session, 0).await?;
    let mut blobs = HashMap::new();
    for blob in events.iter().flat_map(blob_refs) {
        // The import reports a blob that is missing.
        if let Some(bytes) = store.blobs(&session).get(&blob).await? {
            blobs.insert(blob.sha256, bytes);
        }
    }
    // Made from the events, so that a second import finds the first one.
    let copy = journal::copy_id(&events);
    let to = Destination::new(store).with_id(Some(id.unwrap_or(&copy))).with_blobs(&blobs);
    Ok(journal::import(&to, events).await?)
}

fn print_result(imported: &Imported) {
    let session = &imported.session;
    if imported.already {
        output::line(&format!("{session} was already imported; nothing changed"));
        return;
    }
    output::line(&format!("imported {session} ({} events)", imported.events));
    for call in &imported.sealed {
        output::note(&format!(
            "robota: call {call} has no recorded result; the model receives a note instead"
        ));
    }
    if imported.orphans > 0 {
        let count = imported.orphans;
        output::note(&format!(
            "robota: {count} results belong to no call; the model does not see them"
        ));
    }
    for reason in &imported.unreadable {
        output::note(&format!("robota: skipped an invalid entry: {reason}"));
    }
    for blob in &imported.missing_blobs {
        output::note(&format!("robota: blob {blob} is missing in the import"));
    }
}

#[cfg(test)]
mod tests;
