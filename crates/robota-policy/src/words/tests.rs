use std::collections::BTreeSet;
use std::path::Path;

use super::LISTS;

/// The names of lists in the sources of a folder.
fn named(folder: &Path, names: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            named(&path, names);
        } else if path.extension().is_some_and(|kind| kind == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            for call in ["words::list(\"", "words::has(\"", "words::within(\"", "covers(\""] {
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
    let lists = LISTS.keys().filter(|name| !name.starts_with("choice."));
    // `destroying.git` is a part of `destroying`, for one program.
    let lists = lists.filter_map(|name| name.split('.').next());
    let lists: BTreeSet<String> = lists.map(str::to_owned).collect();
    assert_eq!(names, lists);
}
