use super::*;

#[test]
fn only_a_host_names_a_metadata_server() {
    let server = MetadataServer::new("metadata.google.internal").unwrap();
    let request = server.request(Timestamp::UNIX_EPOCH).unwrap();
    let address = "http://metadata.google.internal/computeMetadata/v1/instance/service-accounts/default/token";
    assert_eq!(request.url.as_str(), address);
    assert_eq!(request.headers[FLAVOR], "Google");
    for invalid in ["", "a/b", "user@host", "host?q", "host#f", "http://host"] {
        assert!(MetadataServer::new(invalid).is_err(), "{invalid}");
    }
}
