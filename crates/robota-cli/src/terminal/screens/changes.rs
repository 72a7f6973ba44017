//! The files that changed since the first prompt, each with its changes.

use robota_config::Places;
use robota_sdk::interactive::diff_lines;
use robota_sdk::{CommandResult, Entered};
use serde_json::Value;

use super::details::{self, Body, Entry, Kind, LoadedDetails, file_name};
use super::{Opening, work};
use crate::terminal::diff;

const KIND: Kind = Kind {
    title: "Changed files",
    empty: "No files have changed since the first prompt.",
    find: || {
        work(|context| async move {
            let places = context.setup.places.clone();
            LoadedDetails(match context.session.enter("/diff").await {
                Ok(Entered::Command(result)) if result.success => Ok(entries(&result, &places)),
                Ok(Entered::Command(result)) => Err(result.message),
                Ok(Entered::Submitted(_)) => Err("/diff is no command".to_owned()),
                Err(error) => Err(error.to_string()),
            })
        })
    },
};

/// Opens the page.
pub(super) fn open() -> Opening {
    details::open(&KIND)
}

fn entries(result: &CommandResult, places: &Places) -> Vec<Entry> {
    let files = result.data.get("files").and_then(Value::as_array);
    files.into_iter().flatten().map(|file| entry(file, places)).collect()
}

fn entry(file: &Value, places: &Places) -> Entry {
    let text = |key: &str| file.get(key).and_then(Value::as_str);
    let path = text("path").unwrap_or_default().to_owned();
    let (detail, body) = match text("diff") {
        Some(diff) => {
            let lines = diff_lines(diff);
            let (added, removed) = diff::counts(&lines);
            (format!("+{added} -{removed}"), Body::Diff { path: path.clone(), lines })
        }
        None => ("not text".to_owned(), Body::Text(format!("{path} is not text."))),
    };
    let file = places.cwd.join(&path);
    Entry { title: file_name(&file, places), detail, body, file: file.is_file().then_some(file) }
}
