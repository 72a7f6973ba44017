//! Checks that every case is listed, so that it runs.

#[test]
fn every_case_is_listed() {
    let list = include_str!("../cases.rs");
    let named: Vec<&str> =
        list.split_whitespace().map(|word| word.trim_end_matches(");")).collect();
    let sources = [
        include_str!("answers.rs"),
        include_str!("tools.rs"),
        include_str!("failures.rs"),
        include_str!("framing.rs"),
        include_str!("connections.rs"),
        include_str!("requests.rs"),
    ];
    let cases: Vec<&str> = sources
        .iter()
        .flat_map(|source| source.split("pub async fn ").skip(1))
        .filter_map(|rest| rest.split('(').next())
        .collect();
    assert!(cases.len() > 30, "{cases:?}");
    for case in cases {
        assert!(named.contains(&case), "{case} is in no list");
    }
}
