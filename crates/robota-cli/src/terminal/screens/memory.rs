//! What the model remembers: the instruction files that it was given, and the topics of the project's
//! memory.

use robota_core::catalogue::format_tokens;
use robota_sdk::Project;
use robota_sdk::memory::ProjectMemory;

use super::details::{self, Body, Entry, Kind, LoadedDetails, file_name};
use super::{Opening, work};

const KIND: Kind = Kind {
    title: "Memory",
    empty: "There are no instruction files and no remembered facts.",
    find: || work(|context| async move { LoadedDetails(Ok(entries(&context.setup))) }),
};

/// Opens the page.
pub(super) fn open() -> Opening {
    details::open(&KIND)
}

fn entries(project: &Project) -> Vec<Entry> {
    let mut entries: Vec<_> = project
        .instructions()
        .files
        .into_iter()
        .map(|file| Entry {
            title: file_name(&file.path, &project.places),
            detail: format!("{} tokens", format_tokens(file.tokens)),
            body: Body::Text(file.text),
            file: Some(file.path),
        })
        .collect();
    if entries.is_empty() {
        let file = project.cwd().join("AGENTS.md");
        entries.push(Entry {
            title: file_name(&file, &project.places),
            detail: "does not exist yet: the editor creates it".to_owned(),
            body: Body::Text("Instructions for agents in this project.".to_owned()),
            file: Some(file),
        });
    }
    let memory = ProjectMemory::open(project.cwd());
    for topic in memory.iter().flat_map(ProjectMemory::topics) {
        let text = memory.as_ref().ok().and_then(|memory| memory.topic(&topic).ok());
        entries.push(Entry {
            title: topic,
            detail: "remembered facts".to_owned(),
            body: Body::Text(text.unwrap_or_default()),
            file: None,
        });
    }
    entries
}

#[cfg(test)]
mod tests;
