use super::*;

const LIST: &str = include_str!("tests/list.txt");
const TESTS: &str = include_str!("tests/sources.txt");

fn made(list: &str, tests: &str) -> Result<String> {
    page(&Tree::parse(&format!("-- {IDS}\n{list}{tests}")))
}

#[test]
fn clauses_are_listed_with_their_status_and_counted() {
    let page = made(LIST, TESTS).unwrap();
    let counts = "2 promises, 3 clauses: 1 are shown by tests, 1 in part, 1 not yet.";
    assert!(page.contains(counts), "{page}");
    assert!(page.contains("| A message \\| has an id. | shown | `core_01_id` |\n"), "{page}");
    assert!(page.contains("| It has usage. | partial: cost | `it::core_01_both` |\n"), "{page}");
}

#[test]
fn a_test_that_is_missing_ignored_or_not_unique_is_an_error() {
    let error = |list: &str, tests: &str| format!("{:#}", made(list, tests).unwrap_err());
    let missing = error(&LIST.replace("by core_01_id", "by core_01_ids"), TESTS);
    assert!(missing.contains("no test `core_01_ids` (the nearest: `core_01_id`)"), "{missing}");
    let ignored = TESTS.replace("async", "#[ignore = \"slow\"]\nasync");
    assert!(error(LIST, &ignored).contains("no test `it::core_01_both`"));
    let twice = error(&LIST.replace("it::", ""), TESTS);
    assert!(twice.contains("`core_01_both` is one of"), "{twice}");
    let invented = TESTS.replace("async fn core_01_both", "async fn core_02_both");
    let invented = error(&LIST.replace("it::", ""), &invented);
    assert!(invented.contains("names CORE-02, which is not in the list"), "{invented}");
}

#[test]
fn a_list_that_says_too_little_is_an_error() {
    for case in include_str!("tests/wrong.txt").split("\n\n") {
        let (what, list) = case.split_once('\n').unwrap();
        let error = format!("{:#}", parse(list).unwrap_err());
        assert!(error.contains(what), "{list}: {error}");
    }
}

#[test]
fn the_sentence_of_the_readme_has_the_counts() {
    let text = format!("# R\n\n{MARKER}[Old](x).\n\nMore.\n");
    let readme = readme(&Tree::parse(&format!("-- {IDS}\n{LIST}-- {README}\n{text}"))).unwrap();
    assert!(readme.contains("splits the promises into 3 clauses: 1 are shown"), "{readme}");
    assert!(readme.ends_with(".\n\nMore.\n") && !readme.contains("Old"), "{readme}");
}

#[test]
fn the_list_of_the_repository_is_whole() {
    let tree = Tree::load(&crate::tree::root()).unwrap();
    let promises = load(&tree).unwrap();
    let areas = ["CORE", "SESS", "SDK", "TOOL", "RUN", "KODE", "CLI"];
    let count = |area: &&str| promises.iter().filter(|p| p.id.starts_with(*area)).count();
    assert_eq!(areas.iter().map(count).collect::<Vec<_>>(), [30, 18, 27, 5, 9, 15, 3]);
}
