use bytes::Bytes;
use reqwest::header::{HeaderMap, HeaderValue};

use super::*;

/// Returns the keys of the test suite of Signature Version 4.
fn example() -> Aws {
    Aws {
        access_key_id: "AKIDEXAMPLE".to_owned(),
        secret_access_key: Secret::new("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
        session_token: None,
        region: "us-east-1".to_owned(),
        service: "service".to_owned(),
    }
}

fn signed(method: Method, path: &str, kind: Option<&'static str>, body: &'static str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    if let Some(kind) = kind {
        headers.insert("content-type", HeaderValue::from_static(kind));
    }
    let url = Url::parse(&format!("https://example.amazonaws.com{path}")).unwrap();
    let mut request = Request { method, url, headers, body: Bytes::from_static(body.as_bytes()) };
    let time = "2015-08-30T12:36:00Z".parse().unwrap();
    example().sign(&mut request, time).unwrap();
    request.headers
}

#[test]
fn the_signatures_of_the_aws_test_suite() {
    let form = Some("application/x-www-form-urlencoded");
    #[rustfmt::skip]
    let cases = [
        // get-vanilla
        (Method::Get, "/", None, "", "host;x-amz-date", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
        // get-vanilla-query-order-key-case
        (Method::Get, "/?Param2=value2&Param1=value1", None, "", "host;x-amz-date", "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"),
        // post-vanilla
        (Method::Post, "/", None, "", "host;x-amz-date", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
        // post-x-www-form-urlencoded
        (Method::Post, "/", form, "Param1=value1", "content-type;host;x-amz-date", "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"),
    ];
    for (method, path, kind, body, names, signature) in cases {
        let headers = signed(method, path, kind, body);
        let expected = format!(
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, \
             SignedHeaders={names}, Signature={signature}"
        );
        assert_eq!(headers["authorization"], expected.as_str(), "{path}");
        assert_eq!(headers["x-amz-date"], "20150830T123600Z");
        assert!(headers["authorization"].is_sensitive());
    }
}

#[test]
fn model_names_with_colons_are_encoded_twice_in_the_signed_path() {
    let url = Url::parse("https://h.test/model/a.b-v1%3A0/invoke").unwrap();
    assert_eq!(path(&url), "/model/a.b-v1%253A0/invoke");
}

#[test]
fn a_session_token_is_sent_and_signed() {
    let aws = Aws { session_token: Some(Secret::new("token-1")), ..example() };
    let url = Url::parse("https://example.amazonaws.com/").unwrap();
    let mut request =
        Request { method: Method::Post, url, headers: HeaderMap::new(), body: Bytes::new() };
    aws.sign(&mut request, "2015-08-30T12:36:00Z".parse().unwrap()).unwrap();
    assert_eq!(request.headers["x-amz-security-token"], "token-1");
    let authorization = request.headers["authorization"].to_str().unwrap();
    assert!(authorization.contains("SignedHeaders=host;x-amz-date;x-amz-security-token"));
}
