//! The events of the journal in the names of the five vocabularies that clients and tools know.

use crate::generate::{codes, table};

const HEAD: &str = include_str!("vocabulary_head.txt");

/// Returns the vocabularies in the order of the columns: the id of the promise, purpose, every name.
pub(super) fn vocabularies() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    include_str!("vocabularies.txt").split("\n\n").filter_map(|paragraph| {
        let (head, names) = paragraph.split_once('\n')?;
        let (id, purpose) = head.split_once(' ')?;
        Some((id, purpose, names))
    })
}

/// Returns the rows of the table: the event, and its names in each vocabulary.
pub(super) fn rows() -> impl Iterator<Item = (&'static str, Vec<Vec<&'static str>>)> {
    let lines = include_str!("vocabulary.txt").lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| {
        let mut cells = line.split('|').map(str::trim);
        let event = cells.next().unwrap_or_default();
        (event, cells.map(|cell| cell.split_whitespace().collect()).collect())
    })
}

/// Returns the section of the page.
pub(super) fn section() -> String {
    let purposes = vocabularies().map(|(id, purpose, _)| format!("- **{id}**: {purpose}.\n"));
    let head: Vec<_> = ["event"].into_iter().chain(vocabularies().map(|(id, ..)| id)).collect();
    let rows = rows().map(|(event, columns)| {
        let cells = columns.iter().map(|names| match names.as_slice() {
            [] => "–".to_owned(),
            names => codes(names, ", "),
        });
        [format!("`{event}`")].into_iter().chain(cells).collect()
    });
    format!("{HEAD}\n{}\n{}", purposes.collect::<String>(), table(&head, rows))
}
