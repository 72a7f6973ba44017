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

#[test]
fn only_a_rule_that_names_an_address_or_localhost_reaches_private_addresses() {
    let named = |rule: &str, url: &str, address: &str| {
        let target = Target::parse(url).unwrap();
        HostPattern::new(rule).unwrap().names_address(&target, address.parse().unwrap())
    };
    let (wiki, local) = ("https://wiki.example/", "http://localhost:3000/a");
    assert!(named("domain:127.0.0.1", "http://127.0.0.1:80/", "127.0.0.1"));
    assert!(named("domain:2130706433", "http://127.0.0.1/", "127.0.0.1"));
    assert!(named("domain:[::1]", "http://[::1]/", "::1"));
    assert!(named("domain:127.0.0.1", "http://[::ffff:127.0.0.1]/", "::ffff:127.0.0.1"));
    assert!(
        named("domain:localhost", local, "127.0.0.1") && named("domain:localhost", local, "::1")
    );
    assert!(named("http://localhost:3000/*", local, "127.0.0.1"));
    assert!(named("http://10.0.0.5/*", "http://10.0.0.5/x", "10.0.0.5"));
    assert!(named("domain:10.0.0.5", wiki, "10.0.0.5"), "the address is named");

    assert!(!named("domain:wiki.example", wiki, "10.0.0.5"));
    assert!(!named("https://wiki.example/*", wiki, "10.0.0.5"));
    for broad in ["domain:*", "domain:*.example", "domain:w*.example"] {
        assert!(!named(broad, wiki, "10.0.0.5"), "{broad}");
    }
    assert!(!named("domain:*", "http://127.0.0.1/", "127.0.0.1"));
    assert!(!named("domain:10.0.0.5", wiki, "10.0.0.6"));
    assert!(!named("domain:localhost", wiki, "127.0.0.1"), "the domain leads to this machine");
    assert!(!named("domain:localhost", local, "10.0.0.5"), "localhost leads elsewhere");
    assert!(!named("http://localhost:3000/*", "http://localhost:4000/", "127.0.0.1"));
    assert!(!named("http://10.0.0.5/*", wiki, "10.0.0.5"));
}
