use super::*;

fn extract(text: &str) -> Vec<(MemoryKind, String)> {
    let entries = CandidateExtractor::enabled().candidates(text);
    entries.iter().map(|entry| (entry.kind(), entry.text().to_owned())).collect()
}

#[test]
fn sdk_18_extraction_is_off_by_default() {
    let text = "Remember that we deploy on Fridays.";
    assert_eq!(CandidateExtractor::default().candidates(text), []);
    assert_eq!(CandidateExtractor::enabled().candidates(text).len(), 1);
}

#[test]
fn sdk_18_lasting_statements_become_candidates() {
    let one = |kind, text: &str| vec![(kind, text.to_owned())];
    for (text, expected) in [
        (
            "Fix it. Always run the linter first.",
            one(MemoryKind::Feedback, "Always run the linter first."),
        ),
        ("I prefer short answers.", one(MemoryKind::User, "I prefer short answers.")),
        ("We use pnpm here.", one(MemoryKind::Project, "We use pnpm here.")),
        (
            "The docs are in docs/design.",
            one(MemoryKind::Reference, "The docs are in docs/design."),
        ),
        ("항상 테스트를 실행해.", one(MemoryKind::Feedback, "항상 테스트를 실행해.")),
        ("Fix the bug in main.rs.", Vec::new()),
        ("Do we use pnpm?", Vec::new()),
        ("```\nnever do this.\n```", Vec::new()),
        ("> never do this.", Vec::new()),
        ("Remember that the password is hunter2.", Vec::new()),
    ] {
        assert_eq!(extract(text), expected, "{text}");
    }
    assert_eq!(extract(&format!("Never {}", "x".repeat(300))), []);
    assert_eq!(extract(&"Never do a. Never do b. ".repeat(9)).len(), 2, "copies count once");
    let many: String = (0..9).map(|at| format!("Never do number {at} again.\n")).collect();
    assert_eq!(extract(&many).len(), MAX_CANDIDATES);
}
