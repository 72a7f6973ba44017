use tokio::net::TcpListener;

use super::*;

fn check(server: &str, url: &str) -> Result<(), String> {
    LoginAddresses::of(&Url::parse(server).unwrap()).check(&Url::parse(url).unwrap())
}

#[test]
fn addresses_of_this_machine_and_of_private_networks_are_for_servers_that_are_there() {
    let public = "https://mcp.example.com/mcp";
    for address in [
        "https://127.0.0.1/token",
        "https://localhost/token",
        "https://LOCALHOST./token",
        "https://a.localhost/token",
        "https://[::1]/token",
        "https://[::ffff:127.0.0.1]/token",
        "https://10.0.0.1/token",
        "https://192.168.1.1/token",
        "https://100.64.0.1/token",
        "https://169.254.169.254/latest",
        "https://[::ffff:169.254.169.254]/latest",
        "https://[fe80::1]/token",
        "https://[fd00::1]/token",
        "https://0.0.0.0/token",
        "https://2130706433/token",
        "https://0x7f.1/token",
    ] {
        assert!(check(public, address).is_err(), "{address}");
    }
    assert_eq!(check(public, "https://login.example.com/token"), Ok(()));
    assert_eq!(check(public, "https://93.184.216.34/token"), Ok(()));
    for (server, address, permitted) in [
        ("http://localhost:1/mcp", "http://127.0.0.1:2/token", true),
        ("http://127.0.0.1:1/mcp", "http://localhost:2/token", true),
        ("http://127.0.0.1:1/mcp", "http://10.0.0.1/token", false),
        ("http://127.0.0.1:1/mcp", "http://169.254.169.254/token", false),
        ("https://10.0.0.4/mcp", "https://10.9.9.9/token", true),
        ("https://10.0.0.4/mcp", "https://127.0.0.1/token", false),
        ("https://10.0.0.4/mcp", "https://169.254.169.254/token", false),
    ] {
        assert_eq!(check(server, address).is_ok(), permitted, "{server} {address}");
    }
}

#[test]
fn names_are_checked_by_what_they_mean_at_the_time_of_the_connection() {
    let addresses = LoginAddresses::of(&Url::parse("https://mcp.example.com/mcp").unwrap());
    // Its owner can let any name mean an address of this machine, also the server's own.
    for name in ["https://mcp.example.com/token", "https://login.example.com/token"] {
        assert_eq!(addresses.check(&Url::parse(name).unwrap()), Ok(()));
    }
    for address in ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "fe80::1"] {
        assert!(!addresses.permits(address.parse().unwrap()), "{address}");
    }
    assert!(addresses.is_checked("LOGIN.example.com."));
    assert!(!addresses.is_checked("proxy.example.com"), "no request named it");
}

#[tokio::test]
async fn a_name_for_an_address_of_this_machine_is_not_connected_to() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let requests = LoginRequests::new(&Url::parse("http://mcp.example.com/mcp").unwrap()).unwrap();
    // As if a request had named it: the check of the name itself would refuse it before.
    requests.addresses.hosts.lock().unwrap().insert("localhost".to_owned());
    let error = requests.client.get(format!("http://localhost:{port}/")).send().await.unwrap_err();
    let text = robota_core::error::error_chain(&error);
    assert!(text.contains("localhost is not on the public internet"), "{text}");
}

#[test]
fn only_encrypted_addresses_of_the_web_are_used() {
    let server = "https://mcp.example.com/mcp";
    for address in [
        "http://login.example.com/token",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "ssh://login.example.com/",
        "https://user@login.example.com/token",
        "https://:secret@login.example.com/token",
    ] {
        assert!(check(server, address).is_err(), "{address}");
    }
    assert_eq!(check("http://mcp.example.com/mcp", "http://login.example.com/token"), Ok(()));
}

#[test]
fn an_authorisation_server_describes_only_itself() {
    let check = |url: &str, document: Value| {
        check_issuer(&Url::parse(url).unwrap(), document.to_string().as_bytes())
    };
    let of = |issuer: &str| serde_json::json!({"issuer": issuer, "token_endpoint": "https://x/t"});
    let own = "https://evil.example/x/.well-known/anything";
    assert!(check(own, of("https://honest.example")).is_err());
    assert!(check(own, of("http://evil.example")).is_err());
    assert!(check(own, of("https://evil.example:444")).is_err());
    assert!(check(own, of("")).is_err());
    assert!(check(own, serde_json::json!({"authorization_endpoint": "https://x/a"})).is_err());
    assert_eq!(check(own, of("https://evil.example/x")), Ok(()));
    // Other documents have no issuer.
    assert_eq!(check(own, serde_json::json!({"resource": "https://evil.example/x"})), Ok(()));
}

#[tokio::test]
async fn a_server_that_never_answers_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://127.0.0.1:{}/token", listener.local_addr().unwrap().port());
    let server = Url::parse(&url).unwrap();
    let requests = LoginRequests::with_limit(&server, Duration::from_millis(50)).unwrap();
    let sent = requests.send(reqwest::Request::new(Method::POST, server)).await;
    let error = sent.unwrap_err();
    let text = robota_core::error::error_chain(&*error);
    assert!(text.contains("timed out"), "{text}");
}
