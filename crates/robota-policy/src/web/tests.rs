use super::*;

fn hit(pattern: &str, url: &str) -> bool {
    HostPattern::new(pattern).unwrap().matches(&Target::parse(url).unwrap())
}

#[test]
fn the_host_is_the_one_a_client_connects_to() {
    for (pattern, url, want) in [
        ("domain:docs.rs", "https://docs.rs/serde", true),
        ("domain:docs.rs", "https://DOCS.RS./x", true),
        ("domain:Docs.rs.", "https://docs.rs:8443/x", true),
        ("domain:docs.rs", "https://docs.rs@evil.com/", false),
        ("domain:docs.rs", "https://evil.com/docs.rs", false),
        ("domain:docs.rs", "https://a.docs.rs/", false),
        ("domain:docs.rs", "https://docs.rs.evil.com/", false),
        ("domain:*.docs.rs", "https://a.docs.rs/", true),
        ("domain:*.docs.rs", "https://a.b.docs.rs/", true),
        ("domain:*.docs.rs", "https://docs.rs/", false),
        ("domain:*.docs.rs", "https://evildocs.rs/", false),
        ("domain:api.*.com", "https://api.x.com/", true),
        ("domain:api.*.com", "https://api.x.y.com/", false),
        ("domain:127.0.0.1", "http://2130706433/", true),
        ("domain:127.0.0.1", "http://0x7f.1/", true),
        ("domain:[::1]", "http://[0:0:0:0:0:0:0:1]/", true),
        ("domain:bücher.de", "https://xn--bcher-kva.de/", true),
        ("domain:*", "https://anything.at/all", true),
        ("https://docs.rs/serde/*", "https://docs.rs/serde/latest", true),
        ("https://docs.rs/serde/*", "http://docs.rs/serde/latest", false),
        ("https://docs.rs/serde/*", "https://docs.rs/other", false),
    ] {
        assert_eq!(hit(pattern, url), want, "{pattern} / {url}");
    }
}

#[test]
fn what_is_no_domain_is_refused() {
    for spec in
        ["domain:", "domain:a/b", "domain:https://a", "domain:a:80", "docs.rs", "https://*.rs/"]
    {
        assert!(HostPattern::new(spec).is_err(), "{spec}");
    }
    for url in ["file:///etc/passwd", "ftp://a/b", "javascript:alert(1)", "nonsense", "http://"] {
        assert!(Target::parse(url).is_err(), "{url}");
    }
}
