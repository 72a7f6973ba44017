use super::*;

fn tree() -> Tree {
    Tree::parse(include_str!("tests/sources.txt"))
}

#[test]
fn a_page_lists_public_items_with_their_signatures() {
    assert_eq!(page(&tree(), "robota_sdk").unwrap(), include_str!("tests/robota_sdk.txt"));
}

#[test]
fn methods_of_macros_are_listed_and_those_of_another_type_of_the_same_name_are_not() {
    let page = page(&tree(), "robota_core").unwrap();
    let lines: Vec<_> = page.lines().collect();
    let methods = ["  struct Reply", "    pub fn set(mut self, to: Vec<Thing>) -> Self"];
    assert!(lines.windows(2).any(|pair| pair == methods), "{page}");
    assert!(!page.contains("of_another"), "{page}");
}

#[test]
fn types_without_an_example_are_found() {
    let found = ["robota_core::Thing", "robota_sdk::open::Kind", "robota_sdk::open::Port"];
    assert_eq!(without_example(&tree()).unwrap(), found.map(str::to_owned).into());
}

#[test]
fn the_types_of_the_sdk_and_at_the_root_of_robota_have_an_example() {
    let tree = Tree::load(&crate::tree::root()).unwrap();
    assert_eq!(without_example(&tree).unwrap(), BTreeSet::new());
}
