//! The state, its update and its view do no I/O, start nothing and read no clock: only the modules
//! that are named here do.

use std::path::{Path, PathBuf};

/// What is allowed to do I/O.
const IMPURE: [&str; 6] = [
    // Connects the program with the terminal and the session.
    "run",
    "run.rs",
    // Writes to what it is given.
    "screen",
    "screen.rs",
    // List files and load grammars, on threads of their own.
    "popup/walk.rs",
    "highlight.rs",
];

/// The words of code that does I/O.
const FORBIDDEN: [&str; 12] = [
    "std::fs",
    "std::io",
    "std::net",
    "std::env",
    "std::process",
    "std::thread",
    "tokio::fs",
    "tokio::spawn",
    "Instant::now",
    "SystemTime",
    "println!",
    "block_on",
];

/// Pages may describe work for others, which waits, reads the clock and looks at files.
const FORBIDDEN_OUTSIDE_OF_PAGES: [&str; 7] = [
    "tokio::",
    "SystemClock",
    ".exists()",
    ".is_file()",
    ".is_dir()",
    ".metadata()",
    "canonicalize(",
];

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn update_and_view_do_no_io() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/terminal");
    let mut found = Vec::new();
    files(&folder, &mut found);
    assert!(found.len() > 100, "{}", found.len());
    let mut wrong = Vec::new();
    for file in found {
        let name = file.strip_prefix(&folder).unwrap();
        let is_test = name.to_str().unwrap().contains("test");
        if is_test || IMPURE.iter().any(|allowed| name.starts_with(allowed)) {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        let page = name.starts_with("screens");
        let more: &[&str] = if page { &[] } else { &FORBIDDEN_OUTSIDE_OF_PAGES };
        let words = FORBIDDEN.iter().chain(more).filter(|word| text.contains(**word));
        wrong.extend(words.map(|word| format!("{}: {word}", name.display())));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
