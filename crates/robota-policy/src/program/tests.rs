use super::{FAMILIES, INDEX, Program, Shape, read};

#[test]
fn every_entry_is_read_and_no_name_stands_twice() {
    let mut seen = std::collections::BTreeSet::new();
    for entry in FAMILIES.iter().flat_map(|family| read::entries(family)) {
        for name in read::names(entry) {
            assert!(seen.insert(name), "{name} stands twice");
        }
        let program = read::program(entry);
        assert!(program.shape == Shape::Sub || program.subs.is_empty(), "{:?}", program.names);
    }
    assert_eq!(seen.len(), INDEX.len());
    assert!(Program::find("git").is_some());
}
