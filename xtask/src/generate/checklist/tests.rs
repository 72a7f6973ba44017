use super::*;

const LIST: &str = "# comment\n\nCORE-01 Messages\nCORE-02 Entries | events\nKODE-12 Stores\n";

fn made(files: &[(&str, &str)]) -> String {
    let mut all = vec![(IDS, LIST)];
    all.extend_from_slice(files);
    page(&Tree::of(&all)).unwrap()
}

#[test]
fn tests_are_listed_by_the_id_in_their_name() {
    let page = made(&[
        ("crates/robota-core/src/message/tests.rs", "#[test]\nfn core_01_round_trip() {}"),
        ("crates/robota-core/tests/it.rs", "#[tokio::test]\nasync fn core_01_kode_12_both() {}"),
        ("crates/robota-core/src/lib.rs", "mod tests { #[test] fn core_01_inline() {} }"),
    ]);
    let row = page.lines().find(|line| line.starts_with("| CORE-01")).unwrap();
    assert_eq!(
        row,
        "| CORE-01 | Messages | `robota-core::tests::core_01_inline`<br>\
         `robota-core::message::tests::core_01_round_trip`<br>\
         `robota-core::it::core_01_kode_12_both` |"
    );
    assert!(page.contains("| KODE-12 | Stores | `robota-core::it::core_01_kode_12_both` |"));
    assert!(page.contains("2 of 3 have a test."));
}

#[test]
fn what_does_not_run_shows_nothing() {
    let page = made(&[(
        "crates/a/tests/x.rs",
        "fn core_01_helper() {}\n#[test]\n#[ignore = \"slow\"]\nfn core_02_later() {}\n\
         // #[test] fn kode_12_gone() {}\n",
    )]);
    assert_eq!(page.matches("*not yet*").count(), 3);
    assert!(page.contains("| CORE-02 | Entries \\| events | *not yet* |"));
}

#[test]
fn names_claim_ids_at_their_start_only() {
    let areas = ["CORE", "KODE"];
    assert_eq!(claims("core_01_x", &areas), ["CORE-01"]);
    assert_eq!(claims("core_01_kode_12_x", &areas), ["CORE-01", "KODE-12"]);
    assert_eq!(claims("core_1_x", &areas), [""; 0]);
    assert_eq!(claims("shows_core_01", &areas), [""; 0]);
    assert_eq!(claims("core", &areas), [""; 0]);
}

#[test]
fn the_list_of_the_repository_is_whole() {
    let tree = Tree::load(&crate::tree::root()).unwrap();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for id in ids(&tree).unwrap() {
        *counts.entry(id.area).or_default() += 1;
    }
    let counts: Vec<_> = counts.iter().map(|(area, count)| (area.as_str(), *count)).collect();
    assert_eq!(
        counts,
        [
            ("CLI", 3),
            ("CORE", 30),
            ("KODE", 15),
            ("RUN", 9),
            ("SDK", 27),
            ("SESS", 18),
            ("TOOL", 5)
        ]
    );
}
