use super::*;

fn broken(text: &str) -> usize {
    check(&Tree::of(&[
        ("docs/guide.md", text),
        ("docs/events.md", ""),
        ("README.md", ""),
        ("crates/a/src/lib.rs", ""),
    ]))
    .len()
}

#[test]
fn dead_links_are_found() {
    assert_eq!(broken("see [this](missing.md)"), 1);
    assert_eq!(broken("[a](events.md) and [b](../events.md#x)"), 1);
    assert_eq!(broken("[ref]: gone.md \"title\""), 1);
    assert_eq!(broken("![picture](shot.png)"), 1);
    assert_eq!(broken("[out](../../README.md)"), 1);
}

#[test]
fn living_links_are_fine() {
    assert_eq!(
        broken("[a](events.md) [b](events.md#top \"t\") [c](../README.md) [d](/README.md)"),
        0
    );
    assert_eq!(broken("[folder](../crates/a/) [web](https://example.com/x) [here](#part)"), 0);
    assert_eq!(broken("[ref]: ../crates/a/src/lib.rs"), 0);
}

#[test]
fn code_is_no_link() {
    assert_eq!(broken("`[a](missing.md)`\n```\n[b](missing.md)\n```\n"), 0);
}
