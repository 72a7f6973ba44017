//! `robota sessions export`: writes a session to a file or to standard output.

use std::borrow::Cow;
use std::path::Path;

use robota_core::env_ref::{Secret, SecretSource};
use robota_core::ids::SessionId;
use robota_core::journal::{JournalStore, read_all};
use robota_core::message::BlobRef;
use robota_core::redact::Redactor;
use robota_sdk::find_session;
use robota_session::replay::log::Payload;
use robota_session::replay::{
    Record, blob_refs, journal, log, markdown, redact_events, transcript,
};
use serde_json::{Value, json};

use super::args::{ExportArgs, ExportFormat};
use super::{Context, files};
use crate::setup::Setup;
use crate::{Exit, Usage, output};

/// An export before it is written.
struct Export {
    bytes: Vec<u8>,
    /// Large fields of a log, which are separate files.
    payloads: Vec<Payload>,
    /// The blobs that the session refers to.
    blobs: Vec<BlobRef>,
    /// The number of journal lines from which secrets were removed.
    redacted: u64,
}

/// Exports a session.
pub(super) async fn run(args: ExportArgs) -> anyhow::Result<Exit> {
    let context = Context::open(&args.store).await?;
    let (setup, store) = (&context.setup, &context.store);
    let session = find_session(&**store, &args.session).await?;
    let redactor = redactor(setup, &args.redact)?;
    let export = build(&**store, &session, args.format, &redactor).await?;
    if export.redacted > 0 {
        let lines = export.redacted;
        output::note(&format!(
            "secrets were removed from {lines} lines, whose checksums were recomputed"
        ));
    }
    let summary = json!({
        "session": session,
        "format": args.format.name(),
        "bytes": export.bytes.len(),
        "payloads": export.payloads.len(),
        "blobs": export.blobs.len(),
        "redacted": export.redacted,
    });
    match &args.output {
        Some(file) => {
            let skipped = write(&**store, &session, &export, file, &redactor, args.force).await?;
            for (blob, reason) in &skipped {
                output::note(&format!("robota: blob {blob} is not exported: it {reason}"));
            }
            if args.store.json {
                output::line(&with(summary, "file", json!(file)).to_string());
            } else {
                output::note(&format!("exported {session} to {}", file.display()));
            }
        }
        None => print(&export, summary, args.store.json)?,
    }
    Ok(Exit::Ok)
}

async fn build(
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
    // Before any format is made, so that no format can leave a secret in.
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

/// Writes the payload and blob files, then the export itself, so that a complete export is one whose
/// main file exists. Returns the hash of each blob that is not exported, and why.
async fn write(
    store: &dyn JournalStore,
    session: &SessionId,
    export: &Export,
    file: &Path,
    redactor: &Redactor,
    force: bool,
) -> anyhow::Result<Vec<(String, &'static str)>> {
    // Before anything is written. `files::write` decides, should the file appear meanwhile.
    if !force && file.exists() {
        let text = format!("{} already exists; pass --force to overwrite it", file.display());
        return Err(Usage(text).into());
    }
    let folder = file.parent().unwrap_or(Path::new(""));
    for payload in &export.payloads {
        files::write_attachment(&folder.join(&payload.path), &payload.bytes)?;
    }
    let mut skipped = Vec::new();
    for blob in &export.blobs {
        match store.blobs(session).get(blob).await? {
            // Blobs are stored unredacted, because a checkpoint restores them. An export may go to
            // other people.
            Some(bytes) if holds_secret(redactor, &bytes) => {
                skipped.push((blob.sha256.clone(), "holds a secret"));
            }
            Some(bytes) => {
                files::write_attachment(&files::blobs_folder(file).join(&blob.sha256), &bytes)?;
            }
            None => skipped.push((blob.sha256.clone(), "is missing in the store")),
        }
    }
    files::write(file, &export.bytes, force)?;
    Ok(skipped)
}

fn holds_secret(redactor: &Redactor, bytes: &[u8]) -> bool {
    matches!(redactor.text(&String::from_utf8_lossy(bytes)), Cow::Owned(_))
}

fn print(export: &Export, summary: Value, json: bool) -> anyhow::Result<()> {
    if !export.payloads.is_empty() {
        let text = "this log has large fields, which are separate files; pass --output FILE";
        return Err(Usage(text.to_owned()).into());
    }
    if !export.blobs.is_empty() {
        let count = export.blobs.len();
        output::note(&format!("{count} blobs are not printed; pass --output FILE to export them"));
    }
    let text = String::from_utf8_lossy(&export.bytes);
    if json {
        output::line(&with(summary, "content", text.as_ref().into()).to_string());
    } else {
        output::line(text.trim_end_matches('\n'));
    }
    Ok(())
}

fn with(mut summary: Value, name: &str, value: Value) -> Value {
    if let Value::Object(fields) = &mut summary {
        fields.insert(name.to_owned(), value);
    }
    summary
}

/// Returns a redactor for the provider keys of the settings, the variables whose names look like
/// secrets, and the texts of `--redact`.
fn redactor(setup: &Setup, given: &[String]) -> anyhow::Result<Redactor> {
    let lookup = setup.environment.lookup();
    let keys = setup.settings.values.providers.values().filter_map(|profile| {
        let source = SecretSource::parse(profile.api_key.as_ref()?).ok()?;
        source.resolve(&lookup).ok()
    });
    let given = given.iter().map(Secret::new);
    Ok(setup.redactor(&keys.chain(given).collect::<Vec<_>>())?)
}
