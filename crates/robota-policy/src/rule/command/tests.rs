use super::*;

#[test]
fn word_boundaries_and_exact_commands() {
    for (pattern, text, want) in [
        ("ls *", "ls", true),
        ("ls *", "ls -la", true),
        ("ls *", "lsof", false),
        ("ls*", "lsof", true),
        ("ls:*", "ls -la", true),
        ("npm run test:*", "npm run test --watch", true),
        ("npm run test:*", "npm run test:unit", false),
        ("git status", "git status", true),
        ("git status", "git status -s", false),
        ("* --version", "node --version", true),
        ("git * main", "git checkout main", true),
        ("git * main", "git main", false),
        ("git  commit *", "git commit -m x", true),
    ] {
        assert_eq!(CommandPattern::new(pattern).unwrap().matches(text), want, "{pattern} / {text}");
    }
    assert!(CommandPattern::new(":*").is_err());
    assert!(CommandPattern::new(" *").is_err());
}
