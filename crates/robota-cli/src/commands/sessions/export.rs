//! `robota sessions export`: a session as a file.

use std::borrow::Cow;
use std::path::Path;

use robota_core::env_ref::{Secret, SecretSource};
use robota_core::ids::SessionId;
use robota_core::journal::{JournalStore, read_all};
use robota_core::message::BlobRef;
use robota_core::redact::Redactor;
use robota_session::replay::log::Payload;
use robota_session::replay::{
    Record, blob_refs, journal, log, markdown, redact_events, transcript,
};
use serde_json::{Value, json};

use super::args::{ExportArgs, ExportFormat};
use super::find::find;
use super::{Place, files};
use crate::setup::Setup;
use crate::{Exit, Usage, output};

/// What is written.
struct Export {
    bytes: Vec<u8>,
    payloads: Vec<Payload>,
    blobs: Vec<BlobRef>,
    redacted: u64,
}

/// Writes it.
pub(super) async fn run(args: ExportArgs) -> anyhow::Result<Exit> {
    let place = Place::of(&args.store).await?;
    let (setup, store) = (&place.setup, &place.store);
    let session = find(&**store, &args.session).await?;
    let redactor = redactor(setup, &args.redact);
    let export = make(&**store, &session, args.format, &redactor).await?;
    if export.redacted > 0 {
        let lines = export.redacted;
        output::note(&format!("secrets were taken out of {lines} lines; their checksums are new"));
    }
    let told = json!({
        "session": session,
        "format": args.format.word(),
        "bytes": export.bytes.len(),
        "payloads": export.payloads.len(),
        "blobs": export.blobs.len(),
        "redacted": export.redacted,
    });
    match &args.output {
        Some(file) => {
            let left_out = write(&**store, &session, &export, file, &redactor, args.force).await?;
            for (blob, why) in &left_out {
                output::note(&format!("robota: the blob {blob} {why}; it is left out"));
            }
            if args.store.json {
                output::line(&with(told, "file", json!(file)).to_string());
            } else {
                output::note(&format!("{} is in {}", session, file.display()));
            }
        }
        None => print(&export, told, args.store.json)?,
    }
    Ok(Exit::Ok)
}

async fn make(
    store: &dyn JournalStore,
    session: &SessionId,
    format: ExportFormat,
    redactor: &Redactor,
) -> anyhow::Result<Export> {
    let events = read_all(store, session, 0).await?;
    let mut blobs = Vec::new();
    for blob in events.iter().flat_map(blob_refs) {
        if !blobs.contains(&blob) {
            blobs.push(blob);
        }
    }
    let events = redact_events(redactor, &events)?;
    let plain = |bytes| Export { bytes, payloads: Vec::new(), blobs: blobs.clone(), redacted: 0 };
    Ok(match format {
        ExportFormat::Journal => {
            let exported = journal::export(store, session, redactor).await?;
            Export { redacted: exported.redacted, ..plain(exported.bytes) }
        }
        ExportFormat::Record => {
            let record = Record::from_events(session, &events)?;
            let mut bytes = serde_json::to_vec_pretty(&record)?;
            bytes.push(b'\n');
            plain(bytes)
        }
        ExportFormat::Log => {
            let exported = log::from_events(session, &events, redactor)?;
            Export { payloads: exported.payloads.clone(), ..plain(exported.bytes()) }
        }
        ExportFormat::Markdown => {
            let text = markdown(&transcript(session, &events), redactor);
            Export { blobs: Vec::new(), ..plain(text.into_bytes()) }
        }
    })
}

/// Writes the file and what belongs to it, which comes first. Returns the blobs that are left
/// out, and why.
async fn write(
    store: &dyn JournalStore,
    session: &SessionId,
    export: &Export,
    file: &Path,
    redactor: &Redactor,
    force: bool,
) -> anyhow::Result<Vec<(String, &'static str)>> {
    if !force && file.exists() {
        let text = format!("{} is there already; --force writes over it", file.display());
        return Err(Usage(text).into());
    }
    let folder = file.parent().unwrap_or(Path::new(""));
    for payload in &export.payloads {
        files::write_beside(&folder.join(&payload.path), &payload.bytes)?;
    }
    let mut left_out = Vec::new();
    for blob in &export.blobs {
        match store.blobs(session).get(blob).await? {
            // Files are kept as they were, whatever was in them; an export is for others.
            Some(bytes) if holds_secret(redactor, &bytes) => {
                left_out.push((blob.sha256.clone(), "holds a secret"));
            }
            Some(bytes) => {
                files::write_beside(&files::blobs_folder(file).join(&blob.sha256), &bytes)?;
            }
            None => left_out.push((blob.sha256.clone(), "is gone")),
        }
    }
    files::write(file, &export.bytes, force)?;
    Ok(left_out)
}

fn holds_secret(redactor: &Redactor, bytes: &[u8]) -> bool {
    matches!(redactor.text(&String::from_utf8_lossy(bytes)), Cow::Owned(_))
}

fn print(export: &Export, told: Value, json: bool) -> anyhow::Result<()> {
    if !export.payloads.is_empty() {
        let text =
            "this log has large fields, which lie in files beside it: name one with --output";
        return Err(Usage(text.to_owned()).into());
    }
    if !export.blobs.is_empty() {
        let count = export.blobs.len();
        output::note(&format!("{count} blobs are not in what is printed; --output keeps them"));
    }
    let text = String::from_utf8_lossy(&export.bytes);
    if json {
        output::line(&with(told, "content", text.as_ref().into()).to_string());
    } else {
        output::line(text.trim_end_matches('\n'));
    }
    Ok(())
}

fn with(mut told: Value, name: &str, value: Value) -> Value {
    if let Value::Object(fields) = &mut told {
        fields.insert(name.to_owned(), value);
    }
    told
}

/// Knows every key of the settings, every variable that is named like a secret, and what the
/// user names.
fn redactor(setup: &Setup, given: &[String]) -> Redactor {
    let lookup = setup.environment.lookup();
    let keys = setup.settings.values.providers.values().filter_map(|profile| {
        let source = SecretSource::parse(profile.api_key.as_ref()?).ok()?;
        source.resolve(&lookup).ok()
    });
    let given = given.iter().map(Secret::new);
    setup.redactor(&keys.chain(given).collect::<Vec<_>>())
}
