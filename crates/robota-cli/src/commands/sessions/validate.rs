//! `robota sessions validate`: reports everything that is missing or inconsistent in sessions and
//! exports. Exits with code 1 if there are errors.

use std::path::Path;

use anyhow::Context as _;
use robota_core::ids::SessionId;
use robota_core::journal::{JournalError, SessionFilter};
use robota_sdk::find_session;
use robota_session::replay::Record;
use robota_session::replay::validate::{
    self, Finding, FindingSeverity, JournalCheck, ValidationReport,
};
use robota_store::FileStore;
use serde_json::{Value, json};

use super::args::{ImportFormat, ValidateArgs};
use super::{Context, files};
use crate::{Exit, output};

/// Validates the named sessions and files, or all sessions, and prints a report on each.
pub(super) async fn run(args: ValidateArgs) -> anyhow::Result<Exit> {
    let context = Context::open(&args.store).await?;
    let mut reports = Vec::new();
    if args.sources.is_empty() {
        for head in context.store.list(&SessionFilter::default()).await?.sessions {
            let report = session(&context, &head.session).await?;
            reports.push((head.session.to_string(), report));
        }
    }
    for source in &args.sources {
        let report = if source == "-" || Path::new(source).exists() {
            file(source, args.format)?
        } else {
            session(&context, &find_session(&*context.store, source).await?).await?
        };
        reports.push((source.clone(), report));
    }
    let failed =
        |report: &ValidationReport| !report.ok() || (args.strict && !report.findings.is_empty());
    let all_ok = !reports.iter().any(|(_, report)| failed(report));
    if args.store.json {
        let list: Vec<Value> = reports
            .iter()
            .map(|(source, report)| {
                json!({"source": source, "ok": !failed(report), "report": report})
            })
            .collect();
        output::line(&json!({"ok": all_ok, "reports": list}).to_string());
    } else {
        for (source, report) in &reports {
            print_report(source, report);
        }
    }
    Ok(if all_ok { Exit::Ok } else { Exit::Failure })
}

/// Validates a session of the store. For a store of files it reads the bytes of the journal, so that
/// it reports all damage; the store itself stops at the first.
async fn session(context: &Context, session: &SessionId) -> anyhow::Result<ValidationReport> {
    let store = &*context.store;
    let files = match context.sessions_folder() {
        Some(root) => FileStore::new(root).journal_files(session)?,
        None => return Ok(validate::session(store, session).await?),
    };
    let mut check = JournalCheck::new(Some(session.clone()));
    for (index, (file, lines)) in files.iter().enumerate() {
        let place = file.display().to_string();
        let mut bytes = std::fs::read(file).with_context(|| format!("cannot read {place}"))?;
        if let Some(lines) = lines {
            // The lines after them belong to the parent of a fork only.
            bytes.truncate(first_lines(&bytes, *lines));
        }
        check_lines(&mut check, &place, &bytes, index + 1 == files.len());
    }
    match validate::stored(store, session, check).await {
        Err(JournalError::NotFound(_)) if files.is_empty() => {
            anyhow::bail!("session `{session}` not found")
        }
        other => Ok(other?),
    }
}

/// Returns the length of the first lines, in bytes.
fn first_lines(bytes: &[u8], lines: u64) -> usize {
    let lines = usize::try_from(lines).unwrap_or(usize::MAX);
    bytes.split_inclusive(|byte| *byte == b'\n').take(lines).map(<[u8]>::len).sum()
}

fn check_lines(check: &mut JournalCheck, place: &str, bytes: &[u8], last_file: bool) {
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n').enumerate().peekable();
    while let Some((index, line)) = lines.next() {
        let last = last_file && lines.peek().is_none();
        check.line(&format!("{place}, line {}", index + 1), line, last);
    }
}

fn file(name: &str, format: ImportFormat) -> anyhow::Result<ValidationReport> {
    let source = files::read(name, format)?;
    Ok(match source.format {
        ImportFormat::Journal => {
            let mut check = JournalCheck::new(None);
            check_lines(&mut check, name, &source.bytes, true);
            let (mut report, blobs) = check.finish();
            for (blob, at) in blobs {
                report.references += 1;
                let bytes = source.blobs.get(&blob.sha256).map(Vec::as_slice);
                validate::blob_fits(&mut report, &blob, &at, bytes);
            }
            report
        }
        ImportFormat::Record => {
            validate::record(&Record::parse(&String::from_utf8_lossy(&source.bytes))?)
        }
        // `files::read` has replaced `Auto` by the format it detected.
        ImportFormat::Log | ImportFormat::Auto => validate::log(&source.bytes, &source.payloads),
    })
}

fn print_report(source: &str, report: &ValidationReport) {
    let counts = format!(
        "{} {}, {} messages, {} calls",
        report.events,
        match report.format {
            "journal" => "events",
            "log" => "lines",
            _ => "entries",
        },
        report.messages,
        report.calls
    );
    let verdict =
        match (report.count(FindingSeverity::Error), report.count(FindingSeverity::Warning)) {
            (0, 0) => "valid".to_owned(),
            (0, warnings) => format!("valid, {warnings} warnings"),
            (errors, 0) => format!("{errors} errors"),
            (errors, warnings) => format!("{errors} errors, {warnings} warnings"),
        };
    output::line(&format!("{source} ({}): {verdict} ({counts})", report.format));
    for Finding { severity, code, at, message } in &report.findings {
        let mark = match severity {
            FindingSeverity::Error => "✗",
            FindingSeverity::Warning => "!",
        };
        output::line(&format!("  {mark} {code} at {at}: {message}"));
    }
}
