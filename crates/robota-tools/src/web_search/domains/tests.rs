use super::*;

fn domains(allowed: &[&str], blocked: &[&str]) -> Result<Domains, InvalidInput> {
    let list = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
    Domains::new(list(allowed), list(blocked))
}

#[test]
fn results_are_limited_to_domains_and_their_subdomains() {
    let only = domains(&["Example.com", "https://docs.rs/x", "*.b.example"], &[]).unwrap();
    for url in [
        "https://example.com/a",
        "http://www.example.com.",
        "https://docs.rs:8080/",
        "https://c.b.example/",
    ] {
        assert!(only.allow(url), "{url}");
    }
    for url in [
        "https://notexample.com/",
        "https://example.com.evil.net/",
        "https://b.examples/",
        "no url",
    ] {
        assert!(!only.allow(url), "{url}");
    }
    let without = domains(&[], &["example.com"]).unwrap();
    assert!(without.allow("https://docs.rs/"));
    assert!(!without.allow("https://www.example.com/"));
    assert!(domains(&[], &[]).unwrap().allow("https://any.example/"));
}

#[test]
fn the_query_names_the_domains() {
    let both = domains(&["a.example", "b.example"], &["c.example"]).unwrap();
    assert_eq!(both.query("rust"), "rust site:a.example OR site:b.example -site:c.example");
    assert_eq!(both.wanted(5), 20);
    let none = Domains::default();
    assert_eq!((none.query("rust").as_str(), none.wanted(5)), ("rust", 5));
}

#[test]
fn a_domain_that_is_none_is_an_error() {
    for domain in ["", "a b", "user@example.com", "*."] {
        let error = domains(&[domain], &[]).unwrap_err().to_string();
        assert!(error.contains("is not a domain"), "{error}");
    }
    assert!(domains(&["a.example"; 21], &[]).is_err());
}
