use super::*;

fn read(variables: &[(&str, &'static str)]) -> Result<Option<OtelOptions>, OtelError> {
    OtelOptions::from_variables(|name| {
        variables.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    })
}

#[test]
fn without_an_endpoint_nothing_is_exported() {
    assert!(read(&[]).unwrap().is_none());
    assert!(read(&[(ENDPOINT, " ")]).unwrap().is_none());
    let disabled = [(ENDPOINT, "http://localhost:4318"), ("OTEL_SDK_DISABLED", "TRUE")];
    assert!(read(&disabled).unwrap().is_none());
}

#[test]
fn the_standard_variables_are_read() {
    let options = read(&[
        (ENDPOINT, "https://collector.example/otlp"),
        (HEADERS, "authorization=Bearer%20key%3D1, x-team = a,"),
        (RESOURCE, "service.name=other,deployment.environment.name=test"),
        ("OTEL_SERVICE_NAME", "mine"),
        (PROTOCOL, "http/protobuf"),
        ("OTEL_TRACES_SAMPLER", "parentbased_traceidratio"),
        (SAMPLER_ARG, "0.25"),
        (TIMEOUT, "1500"),
    ])
    .unwrap()
    .unwrap();
    assert_eq!(options.endpoint.as_str(), "https://collector.example/otlp");
    let header = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    assert_eq!(options.headers, [header("authorization", "Bearer key=1"), header("x-team", "a")]);
    assert_eq!(options.service_name, "mine");
    assert_eq!(options.resource, [header("deployment.environment.name", "test")]);
    assert_eq!((options.sample_ratio, options.timeout), (0.25, Duration::from_millis(1500)));
}

#[test]
fn an_invalid_value_is_an_error_that_names_the_variable() {
    let base = (ENDPOINT, "http://localhost:4318");
    for (name, value) in [
        (ENDPOINT, "not an address"),
        (PROTOCOL, "grpc"),
        (HEADERS, "secret-without-a-key"),
        (HEADERS, "key=%ff-secret"),
        (TIMEOUT, "soon"),
    ] {
        let error = read(&[(name, value), base]).unwrap_err().to_string();
        assert!(error.starts_with(name), "{error}");
        assert!(!error.contains("secret"), "{error}");
    }
}

#[test]
fn debug_output_has_no_header_values() {
    let options = read(&[(ENDPOINT, "http://localhost:4318"), (HEADERS, "x-key=secret")]);
    let shown = format!("{:?}", options.unwrap().unwrap());
    assert!(shown.contains("x-key") && !shown.contains("secret"), "{shown}");
}

#[test]
fn an_incomplete_percent_encoding_is_kept() {
    assert_eq!(decode("50%"), Some("50%".to_owned()));
    assert_eq!(decode("%zz%41"), Some("%zzA".to_owned()));
}
