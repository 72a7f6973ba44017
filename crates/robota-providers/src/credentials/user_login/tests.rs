use serde_json::json;

use super::*;

#[test]
fn the_refresh_token_of_a_login_is_exchanged() {
    let file = json!({"type": "authorized_user", "client_id": "client-1",
        "client_secret": "secret-1", "refresh_token": "refresh-1", "quota_project_id": "project-1"});
    let login = UserLogin::parse(&Secret::new(file.to_string())).unwrap().unwrap();
    let request = login.request(Timestamp::UNIX_EPOCH).unwrap();
    assert_eq!(request.url.as_str(), TOKEN_ADDRESS);
    assert_eq!(
        String::from_utf8_lossy(&request.body),
        "grant_type=refresh_token&client_id=client-1&client_secret=secret-1&refresh_token=refresh-1"
    );
    assert_eq!(login.quota_project(), Some("project-1"));
}

#[test]
fn other_files_are_not_logins() {
    for other in ["{}", "no JSON", r#"{"type": "service_account", "client_email": "a"}"#] {
        assert!(UserLogin::parse(&Secret::new(other)).is_none(), "{other}");
    }
    let incomplete = r#"{"type": "authorized_user", "client_id": "client-1"}"#;
    assert!(UserLogin::parse(&Secret::new(incomplete)).unwrap().is_err());
}
