use super::full_name;

#[test]
fn families_have_short_names() {
    for (name, expected) in [
        ("sonnet", "claude-sonnet-5-5"),
        ("Opus", "claude-opus-5-5"),
        ("sonnet[1m]", "claude-sonnet-5-5"),
        ("claude-opus-5", "claude-opus-5"),
        ("gpt-6.1-sol", "gpt-6.1-sol"),
        ("inherit", "inherit"),
    ] {
        assert_eq!(full_name(name).as_deref(), Some(expected), "{name}");
    }
    assert_eq!(full_name("default"), None);
}
