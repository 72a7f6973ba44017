use super::*;

#[tokio::test]
async fn a_name_that_exists_nowhere_is_not_looked_up() {
    let resolver = SystemResolver::default();
    for name in ["api.invalid", "api.invalid."] {
        let error = resolver.resolve(name.parse().unwrap()).await.err().unwrap();
        let unknown = error.downcast_ref::<UnknownHost>().unwrap();
        assert_eq!((unknown.host.as_str(), unknown.cause.as_deref()), (name, None));
    }
    assert!(resolver.resolve("localhost".parse().unwrap()).await.unwrap().next().is_some());
    assert!(resolver.found.lock().unwrap().contains("localhost"));
}

#[test]
fn only_a_definite_answer_is_final() {
    let text = "failed to lookup address information: ";
    for (error, expected) in [
        (std::io::Error::other(format!("{text}Name or service not known")), true),
        (std::io::Error::other(format!("{text}No address associated with hostname")), true),
        (std::io::Error::other(format!("{text}Temporary failure in name resolution")), false),
        (std::io::Error::other(format!("{text}Try again")), false),
        (std::io::Error::from_raw_os_error(24), false),
    ] {
        assert_eq!(is_final(&error), expected, "{error}");
    }
}
