//! Images and documents: those of a host, and those that a call reads.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use robota_testkit::mock::{MockServer, Reply, Scenario};
use serde_json::{Value, json};

use crate::home::Home;
use crate::protocol::{user, with_mock};

#[tokio::test]
async fn sdk_08_images_of_the_host_and_of_files_reach_the_model_and_the_host() {
    // The smallest PNG: one pixel.
    let png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let home = Home::new();
    let bytes = STANDARD.decode(png).unwrap();
    std::fs::write(home.path("project/pixel.png"), bytes).unwrap();
    let read = Reply::new().tool("Read", json!({"file_path": "pixel.png"}));
    let mock = MockServer::start(Scenario::reply(read).then("Seen.")).await.unwrap();
    let content = json!([{"type": "text", "text": "look"}, {"type": "image", "source":
        {"type": "base64", "media_type": "image/png", "data": png}}]);
    let input = format!("{}\n", user(&content));
    let (printed, code) = with_mock(&home, &mock, &[], &input).await;
    assert_eq!(code, Some(0), "{printed:?}");
    let calls = mock.calls();
    assert_eq!(calls[0].json["messages"][0]["content"][1]["source"]["data"], png);
    let result = printed.iter().find(|line| line["type"] == "user").unwrap();
    let blocks = result["message"]["content"][0]["content"].as_array().unwrap();
    assert_eq!(blocks.last().unwrap()["source"]["data"], png, "{result}");
    let file = &result["tool_use_result"]["file"];
    assert_eq!((&file["base64"], &file["type"]), (&json!(png), &json!("image/png")));
}

#[tokio::test]
async fn sdk_08_a_short_pdf_file_that_is_read_reaches_the_model_and_the_host() {
    let bytes = "%PDF-1.4\n1 0 obj <</Type /Page>> endobj\n%%EOF\n";
    let pdf = STANDARD.encode(bytes);
    let home = Home::new();
    home.write("project/a.pdf", bytes);
    let read = Reply::new().tool("Read", json!({"file_path": "a.pdf"}));
    let mock = MockServer::start(Scenario::reply(read).then("Seen.")).await.unwrap();
    let input = format!("{}\n", user(&json!("read")));
    let (printed, code) = with_mock(&home, &mock, &[], &input).await;
    assert_eq!(code, Some(0), "{printed:?}");
    let is_document = |result: &Value| {
        let block = result["content"].as_array().unwrap().last().unwrap();
        let source = (&block["source"]["media_type"], &block["source"]["data"]);
        assert_eq!(
            (&block["type"], source),
            (&json!("document"), (&json!("application/pdf"), &json!(pdf)))
        );
    };
    is_document(&mock.calls()[1].json["messages"][2]["content"][0]);
    let result = printed.iter().find(|line| line["type"] == "user").unwrap();
    is_document(&result["message"]["content"][0]);
    let output = &result["tool_use_result"];
    assert_eq!((&output["type"], &output["file"]["base64"]), (&json!("pdf"), &json!(pdf)));
}

#[tokio::test]
async fn sdk_08_documents_of_the_host_reach_every_service() {
    let pdf = STANDARD.encode("%PDF-1.4 pages");
    let source = |kind: &str, media_type: &str, data: &str| json!({"type": kind, "media_type": media_type, "data": data});
    let content = json!([
        {"type": "text", "text": "read"},
        {"type": "document", "title": "The plan",
            "source": source("base64", "application/pdf", &pdf)},
        {"type": "document", "source": source("text", "text/plain", "some notes")},
    ]);
    let home = Home::new();
    home.write("project/input.jsonl", format!("{}\n", user(&content)));
    let mock = MockServer::start(Scenario::reply("Seen.")).await.unwrap();
    let args = [&crate::host::STREAM[..], &["--model", "gpt-6.1-sol"]].concat();
    let mut command = home.command(&args);
    let input = std::fs::File::open(home.path("project/input.jsonl")).unwrap();
    command
        .stdin(input)
        .env("OPENAI_BASE_URL", format!("{}/v1", mock.origin()))
        .env("OPENAI_API_KEY", "sk-test-0123456789");
    let output = tokio::process::Command::from(command).kill_on_drop(true).output().await.unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let sent = mock.calls()[0].json.to_string();
    for part in [&format!("data:application/pdf;base64,{pdf}"), "The plan", "some notes"] {
        assert!(sent.contains(part), "{part}: {sent}");
    }
}
