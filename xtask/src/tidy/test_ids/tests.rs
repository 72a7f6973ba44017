use super::*;

fn messages(ids: &str, test: &str) -> Vec<String> {
    let source = format!("#[test]\nfn {test}() {{}}\n");
    let tree = Tree::of(&[(checklist::IDS, ids), ("crates/a/tests/x.rs", &source)]);
    check(&tree).into_iter().map(|finding| finding.message).collect()
}

#[test]
fn an_invented_id_is_found() {
    let found = messages("CORE-01 Messages\n", "core_02_entries");
    assert_eq!(found.len(), 1);
    assert!(found[0].contains("claims CORE-02"), "{}", found[0]);
    assert_eq!(messages("CORE-01 Messages\n", "core_01_core_02_both").len(), 1);
}

#[test]
fn known_ids_and_other_names_are_fine() {
    assert_eq!(messages("CORE-01 Messages\n", "core_01_round_trip"), [""; 0]);
    assert_eq!(messages("CORE-01 Messages\n", "core_is_small"), [""; 0]);
    assert_eq!(messages("CORE-01 Messages\n", "http_20_streams"), [""; 0]);
}

#[test]
fn an_unreadable_list_is_found() {
    assert_eq!(messages("CORE-01 Messages\nCORE-01 Again\n", "x").len(), 1);
    assert_eq!(messages("no id here\n", "x").len(), 1);
}
