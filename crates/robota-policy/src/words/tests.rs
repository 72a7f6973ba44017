use std::collections::BTreeSet;
use std::path::Path;

use super::LISTS;
use crate::shell::Word;
use crate::suggest::destroys::destroys;

/// How the sources look lists up. `list_of` looks up those of one kind, such as `destroying.git`.
const CALLS: [&str; 5] =
    ["words::list(\"", "words::has(\"", "words::within(\"", "covers(\"", "words::list_of(\""];

/// The names of lists in the sources of a folder.
fn named(folder: &Path, names: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            named(&path, names);
        } else if path.extension().is_some_and(|kind| kind == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            for call in CALLS {
                let calls = text.split(call).skip(1);
                names.extend(calls.map(|rest| rest.split('"').next().unwrap().to_owned()));
            }
            if text.contains("all(\"plain-entries\")") {
                names.extend(["plain-entries", "listing-options"].map(str::to_owned));
            }
        }
    }
}

#[test]
fn every_list_that_is_named_exists_and_every_list_is_used() {
    let mut names = BTreeSet::new();
    named(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut names);
    names.retain(|name| !name.contains(['\\', ' ', '{', '/']) && !name.is_empty());
    let lists: BTreeSet<String> = LISTS.keys().map(|name| kind(name)).collect();
    assert_eq!(names, lists);
}

/// The kind of a list that is about one name; else the name of the list.
fn kind(name: &str) -> String {
    name.split('.').next().unwrap().to_owned()
}

#[test]
fn lists_of_one_program_are_about_known_programs_and_subcommands() {
    for (name, words) in LISTS.iter() {
        let Some(about) = name.strip_prefix("destroying.") else { continue };
        let command = about.replace('-', " ");
        for word in words {
            let text = format!("{command} {word} x");
            let given: Vec<_> = text.split(' ').map(Word::parse).collect();
            assert!(destroys(&given), "{text}");
        }
        let given: Vec<_> = format!("{command} x").split(' ').map(Word::parse).collect();
        assert!(!destroys(&given), "{command} x");
    }
}
