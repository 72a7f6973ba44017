use robota_core::ids::SessionId;
use robota_core::journal::{JournalStore as _, MemoryStore};
use robota_testkit::fn_tool;

use super::*;

fn blobs() -> Arc<dyn Blobs> {
    MemoryStore::new().blobs(&SessionId::from("s"))
}

async fn run(text: String, limit: usize, blobs: &Arc<dyn Blobs>) -> ToolOutcome {
    let inner = fn_tool("big", Class::Execute, move |_| {
        let text = text.clone();
        async move { ToolOutcome::failed("exit", text).with_metadata("exit_code", 3) }
    });
    let redactor = Redactor::new([robota_core::env_ref::Secret::new("sk-12345678")]);
    let spilling = Spilling { inner: Arc::new(inner), blobs: blobs.clone(), limit, redactor };
    spilling.run(json!({}), ToolContext::detached()).await
}

#[tokio::test]
async fn sess_03_long_output_is_cut_to_its_head_and_tail_and_can_be_read_whole() {
    let blobs = blobs();
    let whole: String = (0..5000).map(|line| format!("line {line} äöü\n")).collect();
    let outcome = run(whole.clone(), 1000, &blobs).await;
    let told = outcome.text();
    assert!(told.len() < 1400 && told.starts_with("line 0 ") && told.ends_with("line 4999 äöü\n"));
    assert_eq!((outcome.ok, outcome.error_code.as_deref()), (false, Some("exit")));
    assert_eq!(outcome.metadata["exit_code"], 3);

    let call = told.split("ReadOutput with ").nth(1).unwrap().split(" ...]").next().unwrap();
    let mut input: Value = serde_json::from_str(call).unwrap();
    input["offset"] = json!(0);
    let reader = ReadOutput::new(blobs);
    let mut read = String::new();
    loop {
        reader.check(&input).unwrap();
        let text = reader.run(input.clone(), ToolContext::detached()).await.text();
        let (part, note) = text.rsplit_once("\n[bytes ").unwrap();
        read.push_str(part);
        match note.split("from offset ").nth(1) {
            Some(offset) => {
                input["offset"] = json!(offset.trim_end_matches(']').parse::<u64>().unwrap());
            }
            None => break,
        }
    }
    assert_eq!(read, whole);
}

#[tokio::test]
async fn sess_03_short_output_stays_as_it_is() {
    let outcome = run("short".to_owned(), 1000, &blobs()).await;
    assert_eq!((outcome.text().as_str(), outcome.metadata.get("spilled")), ("short", None));
}

#[tokio::test]
async fn sess_13_what_is_kept_has_no_secrets() {
    let blobs = blobs();
    let outcome =
        run(format!("{}sk-12345678{}", "x".repeat(900), "y".repeat(900)), 100, &blobs).await;
    let blob: BlobRef = serde_json::from_value(outcome.metadata["spilled"].clone()).unwrap();
    let kept = String::from_utf8(blobs.get(&blob).await.unwrap().unwrap()).unwrap();
    assert!(kept.contains("[REDACTED]") && !kept.contains("sk-12345678"));
}

#[tokio::test]
async fn sess_03_names_that_are_none_are_told() {
    let reader = ReadOutput::new(blobs());
    for name in ["", "x", "output:../../etc/passwd-3", "output:zz-1"] {
        let outcome = reader.run(json!({"output": name}), ToolContext::detached()).await;
        assert_eq!(outcome.error_code.as_deref(), Some("invalid_input"), "{name}");
    }
    let gone = format!("{PREFIX}{}-3", "a".repeat(64));
    let outcome = reader.run(json!({"output": gone}), ToolContext::detached()).await;
    assert_eq!(outcome.error_code.as_deref(), Some("not_found"));
}
