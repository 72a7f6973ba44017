//! `robota sessions import`: a session of one's own from an export, or from a session that
//! somebody else wrote.

use std::collections::HashMap;
use std::path::Path;

use robota_core::ids::{RandomIds, SessionId};
use robota_core::journal::{JournalStore, read_all};
use robota_session::replay::{Destination, Imported, Record, blob_refs, journal, log, record};

use super::args::{ImportArgs, ImportFormat};
use super::find::find;
use super::{Place, files};
use crate::{Exit, Usage, output};

/// Imports it.
pub(super) async fn run(args: ImportArgs) -> anyhow::Result<Exit> {
    let place = Place::of(&args.store).await?;
    let id = args.id.as_deref().map(SessionId::from);
    let imported = if args.source == "-" || Path::new(&args.source).exists() {
        from_file(&*place.store, &args, id.as_ref()).await?
    } else {
        from_session(&*place.store, &args.source, id.as_ref()).await?
    };
    if args.store.json {
        output::line(&serde_json::to_string(&imported)?);
    } else {
        tell(&imported);
    }
    Ok(Exit::Ok)
}

async fn from_file(
    store: &dyn JournalStore,
    args: &ImportArgs,
    id: Option<&SessionId>,
) -> anyhow::Result<Imported> {
    let source = files::read(&args.source, args.format)?;
    let to = Destination::new(store).with_id(id).with_blobs(&source.blobs);
    Ok(match source.format {
        ImportFormat::Journal => journal::import(&to, journal::parse(&source.bytes)?).await?,
        ImportFormat::Record => {
            let text = String::from_utf8_lossy(&source.bytes);
            record::import(&to, &Record::parse(&text)?, &RandomIds).await?
        }
        // What it looks like was found out when it was read.
        ImportFormat::Log | ImportFormat::Auto => {
            log::import(&to, &source.bytes, &source.payloads, &RandomIds).await?
        }
    })
}

/// A copy of a session that somebody else wrote.
async fn from_session(
    store: &dyn JournalStore,
    name: &str,
    id: Option<&SessionId>,
) -> anyhow::Result<Imported> {
    let session = find(store, name).await.map_err(|error| {
        error.context(format!("there is no file `{name}`, and no session either"))
    })?;
    if !store.head(&session).await?.foreign {
        let text =
            format!("`{session}` is yours already; `robota sessions fork` makes another of it");
        return Err(Usage(text).into());
    }
    let events = read_all(store, &session, 0).await?;
    let mut blobs = HashMap::new();
    for blob in events.iter().flat_map(blob_refs) {
        if let Some(bytes) = store.blobs(&session).get(&blob).await? {
            blobs.insert(blob.sha256, bytes);
        }
    }
    let copy = journal::copy_id(&events);
    let to = Destination::new(store).with_id(Some(id.unwrap_or(&copy))).with_blobs(&blobs);
    Ok(journal::import(&to, events).await?)
}

fn tell(imported: &Imported) {
    let session = &imported.session;
    if imported.already {
        output::line(&format!("{session} was imported before; nothing was done"));
        return;
    }
    output::line(&format!("imported {session} ({} events)", imported.events));
    for call in &imported.sealed {
        output::note(&format!("robota: no result of {call} was recorded; the model is told so"));
    }
    if imported.orphans > 0 {
        let count = imported.orphans;
        output::note(&format!("robota: {count} results belong to no call; no model sees them"));
    }
    for reason in &imported.unreadable {
        output::note(&format!("robota: left out, because it cannot be read: {reason}"));
    }
    for blob in &imported.missing_blobs {
        output::note(&format!("robota: the blob {blob} did not come with it"));
    }
}

#[cfg(test)]
mod tests;
