use super::*;

#[test]
fn wild_matches_whole_text() {
    for (pattern, text, want) in [
        ("git *", "git status", true),
        ("git *", "git", false),
        ("*", "", true),
        ("a*b*c", "axxbyyc", true),
        ("a*b*c", "axxbyy", false),
        ("a\\*b", "a*b", true),
        ("a\\*b", "axb", false),
        ("", "", true),
        ("", "x", false),
    ] {
        assert_eq!(Wild::new(pattern).matches(text), want, "{pattern} / {text}");
    }
}

#[test]
fn unknown_stretches_may_match() {
    let text = |s: &str| -> Vec<Ch> {
        s.chars().map(|c| if c == '?' { Ch::Any } else { Ch::Is(c) }).collect()
    };
    for (pattern, with_holes, want) in [
        ("git push*", "git ? origin", true),
        ("git push*", "git st? origin", false),
        ("rm *", "? -rf x", true),
        ("rm *", "echo ?", false),
        ("rm", "?", true),
        ("a*z", "?", true),
        ("abc", "a?c", true),
        ("abc", "a?d", false),
        ("ab", "a??b", true),
    ] {
        assert_eq!(
            Wild::new(pattern).may_match(&text(with_holes)),
            want,
            "{pattern} / {with_holes}"
        );
    }
}

#[test]
fn path_globs() {
    for (pattern, path, want) in [
        ("src/**", "/w/src/a/b.rs", true),
        ("src/**", "/w/src", false),
        ("src", "/w/src/a", true),
        ("src/*.rs", "/w/src/a.rs", true),
        ("src/*.rs", "/w/src/a/b.rs", false),
        ("**/.env", "/w/.env", true),
        ("**/.env", "/w/a/b/.env", true),
        ("**/.env", "/x/.env", false),
        ("**/*.pem", "/w/k/a.pem", true),
        ("[ab].txt", "/w/a.txt", true),
        ("[!ab].txt", "/w/a.txt", false),
        ("a?c", "/w/abc", true),
        ("../o/x", "/o/x", true),
        ("**", "/w/x", true),
        ("**", "/w", false),
        ("\\*", "/w/*", true),
        ("\\*", "/w/a", false),
    ] {
        let glob = PathGlob::new("/w", pattern).unwrap();
        assert_eq!(glob.covers(path, false), want, "{pattern} / {path}");
    }
    assert!(PathGlob::new("/w", "SRC/**").unwrap().covers("/w/src/a", true));
    assert!(PathGlob::new("/w", "[a").is_err());
    assert!(PathGlob::new("/w", "a\\").is_err());
}

#[test]
fn what_may_lie_below() {
    let env = PathGlob::new("/w", "**/.env").unwrap();
    assert!(env.may_match_below("/w/src", false));
    let anchored = PathGlob::new("/w", ".env").unwrap();
    assert!(!anchored.may_match_below("/w/src", false));
    assert!(anchored.may_match_below("/w", false));
    assert!(anchored.may_match_below("/", false));
}
