use super::*;

fn matches(pattern: &str, url: &str) -> bool {
    UrlPattern::parse(pattern).unwrap().matches(&Url::parse(url).unwrap())
}

#[test]
fn a_wildcard_stays_within_its_part() {
    for (pattern, url, expected) in [
        ("https://hooks.example.com/*", "https://hooks.example.com/a/b?c=d", true),
        ("https://hooks.example.com/*", "http://hooks.example.com/a", false),
        ("https://hooks.example.com/*", "https://hooks.example.com:444/a", false),
        ("https://hooks.example.com:444/*", "https://hooks.example.com:444/a", true),
        ("https://hooks.example.com/*", "https://hooks.example.com.evil.org/a", false),
        ("https://*.example.com/*", "https://a.b.example.com/x", true),
        ("https://*.example.com/*", "https://evil.org/.example.com/x", false),
        ("https://*.example.com/*", "https://evil.org?.example.com/", false),
        ("https://example.com/a/*", "https://example.com/a/../secret", false),
        ("https://example.com/a/*/z", "https://example.com/a/b/z", true),
        ("https://example.com/a/*/z", "https://example.com/a/b/y", false),
        ("https://example.com/aa*aa", "https://example.com/aaa", false),
        ("https://example.com", "https://example.com/", true),
        ("https://example.com", "https://example.com/x", false),
        ("http://localhost:*", "http://localhost:9/x", true),
        ("http://localhost:8080/x", "http://localhost:8080/x", true),
        ("http://LOCALHOST/x", "http://localhost/x", true),
        ("http://127.1/x", "http://127.0.0.1/x", true),
        ("http://[::1]:8080/*", "http://[0:0::1]:8080/x", true),
        ("https://*/*", "https://anything.org/x", true),
    ] {
        assert_eq!(matches(pattern, url), expected, "{pattern} {url}");
    }
}

#[test]
fn only_a_pattern_that_names_the_host_allows_a_private_address() {
    let url = Url::parse("http://127.0.0.1:8080/x").unwrap();
    let allows = |pattern| UrlPattern::parse(pattern).unwrap().allows_private(&url);
    assert!(allows("http://127.0.0.1:8080/x") && allows("http://127.0.0.1:*"));
    assert!(!allows("http://*:8080/x") && !allows("http://127.0.0.*:8080/x"));
    assert!(!allows("http://127.0.0.1:8081/x"));
}

#[test]
fn invalid_patterns_are_refused_with_a_reason() {
    for pattern in [
        "example.com",
        "ftp://a/*",
        "https://u@a/*",
        "https:///x",
        "https://a:b/",
        "*",
        "",
        "https://",
    ] {
        let error = UrlPattern::parse(pattern).unwrap_err();
        assert!(error.to_string().contains("write one like"), "{error}");
    }
}
