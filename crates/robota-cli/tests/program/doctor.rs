//! The output of `robota doctor`.

use robota_testkit::mock::{MockServer, Reply, Scenario};
use serde_json::json;

use crate::home::{Home, stderr, stdout};

/// Replaces what depends on the machine: folders, addresses, times, and what the kernel can enforce.
fn normalised(home: &Home, text: &str, origin: &str) -> String {
    let text =
        text.replace(&home.path("").display().to_string(), "/TEMP/").replace(origin, "ORIGIN");
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("not enforced: "));
    lines.map(|line| format!("{line}\n")).collect()
}

fn filters() -> insta::Settings {
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"(shell +)/\S+", "${1}SHELL");
    settings.add_filter(
        r"sandbox   off \((available: workspace-write via|not available:) .*\)",
        "sandbox   SUPPORT",
    );
    settings.add_filter(
        r"\w+ +fence     (commands that only|not available:) .*\n( +it needs .*\n)?",
        "ok    fence     SUPPORT\n",
    );
    // The hint is there only where a sandbox is available.
    settings.add_filter(r" +turn it on with --sandbox .*\n", "");
    settings.add_filter(r"after \d+ ms", "after TIME");
    settings
}

#[tokio::test]
async fn cli_02_doctor_output_if_all_is_well() {
    let home = Home::new();
    let mock = MockServer::start(Scenario::reply(Reply::new().tool("ping", json!({}))));
    let mock = mock.await.unwrap();
    let origin = mock.origin();
    let variables = [("ANTHROPIC_BASE_URL", &*origin), ("ANTHROPIC_API_KEY", "sk-test-0123456789")];
    let output = home.robota(&["doctor"], &variables).await;
    assert_eq!(output.status.code(), Some(0), "{} {}", stdout(&output), stderr(&output));
    let text = normalised(&home, &stdout(&output), &origin);
    filters().bind(|| insta::assert_snapshot!("doctor_ok", text));
}

#[tokio::test]
async fn cli_02_doctor_output_if_checks_fail() {
    let home = Home::new();
    home.write("home/.robota/settings.json", json!({"model": 7, "theme": "dark"}));
    home.write("project/.robota", "a file where the folder of the sessions should be");
    let output = home.robota(&["doctor", "--provider", "openai"], &[]).await;
    assert_eq!(output.status.code(), Some(1), "{} {}", stdout(&output), stderr(&output));
    let text = normalised(&home, &stdout(&output), "ORIGIN");
    filters().bind(|| insta::assert_snapshot!("doctor_failed", text));
}
