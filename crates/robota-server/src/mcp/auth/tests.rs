use super::*;

#[test]
fn only_the_exact_token_is_accepted() {
    let headers = |values: &[&str]| {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(header::AUTHORIZATION, value.parse().unwrap());
        }
        headers
    };
    assert!(has_token(&headers(&["Bearer secret"]), "secret"));
    assert!(has_token(&headers(&["bearer secret"]), "secret"));
    for refused in [
        &[][..],
        &["secret"],
        &["Bearer"],
        &["Bearer "],
        &["Bearer secre"],
        &["Bearer secret2"],
        &["Basic secret"],
        &["Bearer secret", "Bearer secret"],
    ] {
        assert!(!has_token(&headers(refused), "secret"), "{refused:?}");
    }
}
