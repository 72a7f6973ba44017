use super::*;

/// The key of RFC 7515, appendix A.2.
const KEY: &str = include_str!("rfc7515.pem");

#[test]
fn the_signature_of_rfc_7515_appendix_a_2() {
    let claims =
        "{\"iss\":\"joe\",\r\n \"exp\":1300819380,\r\n \"http://example.com/is_root\":true}";
    let signed = sign(&key_pair(KEY).unwrap(), r#"{"alg":"RS256"}"#, claims).unwrap();
    assert_eq!(
        signed,
        "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlL\
         mNvbS9pc19yb290Ijp0cnVlfQ.cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7A\
         AuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO7\
         5vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6B\
         fI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe\
         77Rw"
    );
}

#[test]
fn an_assertion_names_the_account_the_audience_and_its_lifetime() {
    let file = json!({"client_email": "bot@p.test", "private_key": KEY, "private_key_id": "k1",
        "token_uri": "https://token.test/t"});
    let account = ServiceAccount::parse(&Secret::new(file.to_string())).unwrap();
    let now: Timestamp = "2026-11-16T10:00:00Z".parse().unwrap();
    let assertion = account.assertion(now).unwrap();
    let part = |at: usize| -> serde_json::Value {
        let bytes = URL_SAFE_NO_PAD.decode(assertion.split('.').nth(at).unwrap()).unwrap();
        serde_json::from_slice(&bytes).unwrap()
    };
    assert_eq!((&part(0)["alg"], &part(0)["kid"]), (&json!("RS256"), &json!("k1")));
    assert_eq!(
        (&part(1)["iss"], &part(1)["aud"]),
        (&json!("bot@p.test"), &json!("https://token.test/t"))
    );
    assert_eq!(part(1)["exp"].as_i64().unwrap() - part(1)["iat"].as_i64().unwrap(), 3_600);
}

#[test]
fn files_that_are_no_key_files_are_refused() {
    for text in ["", "{}", r#"{"client_email":"a","private_key":"x"}"#] {
        assert!(ServiceAccount::parse(&Secret::new(text)).is_err(), "{text}");
    }
}
