use robota_core::ids::SessionId;
use robota_core::journal::{JournalStore as _, MemoryStore};
use robota_core::message::BlobRef;
use robota_core::permission::Class;
use robota_testkit::fn_tool;
use serde_json::json;

use super::*;

fn blobs() -> Arc<dyn Blobs> {
    MemoryStore::new().blobs(&SessionId::from("s"))
}

async fn run(text: String, limit: usize, blobs: &Arc<dyn Blobs>) -> ToolOutcome {
    let inner = fn_tool("big", Class::Execute, move |_| {
        let text = text.clone();
        async move { ToolOutcome::failed("exit", text).with_metadata("exit_code", 3) }
    });
    let redactor = Redactor::new([robota_core::env_ref::Secret::new("sk-12345678")]).unwrap();
    let (inner, blobs) = (Arc::new(inner), blobs.clone());
    let hosted = SessionTool { inner, blobs, limit: Some(limit), redactor };
    hosted.run(json!({}), ToolContext::detached()).await
}

#[tokio::test]
async fn sess_03_long_output_is_cut_to_its_head_and_tail_and_can_be_read_whole() {
    let blobs = blobs();
    let whole: String = (0..5000).map(|line| format!("line {line} äöü\n")).collect();
    let outcome = run(whole.clone(), 1000, &blobs).await;
    let shown = outcome.text();
    assert!(
        shown.len() < 1400 && shown.starts_with("line 0 ") && shown.ends_with("line 4999 äöü\n")
    );
    assert_eq!((outcome.ok, outcome.error_code.as_deref()), (false, Some("exit")));
    assert_eq!(outcome.metadata["exit_code"], 3);

    let call = shown.split("ReadOutput with ").nth(1).unwrap().split(" ...]").next().unwrap();
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
async fn sess_13_stored_output_has_no_secrets() {
    let blobs = blobs();
    let outcome =
        run(format!("{}sk-12345678{}", "x".repeat(2900), "y".repeat(900)), 100, &blobs).await;
    let blob: BlobRef = serde_json::from_value(outcome.metadata["spilled"].clone()).unwrap();
    let kept = String::from_utf8(blobs.get(&blob).await.unwrap().unwrap()).unwrap();
    assert!(kept.contains("[REDACTED]") && !kept.contains("sk-12345678"));
}

#[tokio::test]
async fn sess_03_invalid_output_names_are_reported() {
    let reader = ReadOutput::new(blobs());
    for name in ["", "x", "output:../../etc/passwd-3", "output:zz-1", "output:zz-1-parts"] {
        let outcome = reader.run(json!({"output": name}), ToolContext::detached()).await;
        assert_eq!(outcome.error_code.as_deref(), Some("invalid_input"), "{name}");
    }
    let gone = format!("output:{}-3", "a".repeat(64));
    let outcome = reader.run(json!({"output": gone}), ToolContext::detached()).await;
    assert_eq!(outcome.error_code.as_deref(), Some("not_found"));
}

/// A tool that stores its own output is not cut a second time, unless it exceeds the limit by far.
#[tokio::test]
async fn sess_03_output_that_a_tool_has_cut_is_not_cut_again() {
    struct Streams(ToolSpec, usize);

    #[async_trait::async_trait]
    impl Tool for Streams {
        fn spec(&self) -> &ToolSpec {
            &self.0
        }

        async fn run(&self, _input: Value, context: ToolContext) -> ToolOutcome {
            let store = context.output.unwrap();
            let mut writer = store.keep();
            for _ in 0..self.1 {
                writer.write(&[b'x'; 1_000_000]).await.unwrap();
            }
            let kept = writer.finish().await.unwrap();
            let shown = "y".repeat(store.limit());
            let note = kept.note(1, 2, 3);
            ToolOutcome::ok(format!("{shown}{note}")).with_metadata("spilled", kept.place)
        }
    }

    let blobs = blobs();
    let spec = fn_tool("big", Class::Execute, |_| async { ToolOutcome::ok("") }).spec().clone();
    for (millions, kept, parts) in [(3, 3_000_000, 1), (10, 10_000_000, 3), (70, MAX_KEPT, 16)] {
        let hosted = SessionTool {
            inner: Arc::new(Streams(spec.clone(), millions)),
            blobs: blobs.clone(),
            limit: Some(100),
            redactor: Redactor::default(),
        };
        let outcome = hosted.run(json!({}), ToolContext::detached()).await;
        let shown = outcome.text();
        assert!(shown.starts_with(&format!("{}[... 1 of 2 bytes", "y".repeat(100))), "{shown}");
        // The metadata names every blob, so that an export includes it.
        let named = serde_json::to_string(&outcome.metadata).unwrap().matches("sha256").count();
        assert_eq!(named, if parts == 1 { 1 } else { parts + 1 });
        let call = shown.split("ReadOutput with ").nth(1).unwrap().split(" ...]").next().unwrap();
        let mut input: Value = serde_json::from_str(call).unwrap();
        for offset in [0, kept - 15_000, kept] {
            input["offset"] = json!(offset);
            let reader = ReadOutput::new(blobs.clone());
            let text = reader.run(input.clone(), ToolContext::detached()).await.text();
            assert_eq!(text.matches('x').count(), (kept - offset).min(20_000), "{offset}");
            assert!(text.contains(&format!(" of {kept}; ")), "{text}");
        }
    }
}

#[tokio::test]
async fn progress_output_is_limited() {
    let shown = Arc::new(AtomicUsize::new(0));
    let into = shown.clone();
    let progress = limit_progress(Progress::new(move |text| {
        into.fetch_add(text.len(), Ordering::Relaxed);
    }));
    for _ in 0..3_000 {
        progress.show("ü".repeat(500));
    }
    let shown = shown.load(Ordering::Relaxed);
    assert!((MAX_PROGRESS - 1..MAX_PROGRESS + 100).contains(&shown), "{shown}");
}

/// A tool with a limit of its own.
struct Limited(robota_testkit::FnTool);

#[async_trait::async_trait]
impl Tool for Limited {
    fn spec(&self) -> &ToolSpec {
        self.0.spec()
    }

    fn output_limit(&self) -> Option<usize> {
        Some(20_000)
    }

    async fn run(&self, input: Value, context: ToolContext) -> ToolOutcome {
        self.0.run(input, context).await
    }
}

#[tokio::test]
async fn the_limit_of_a_tool_replaces_that_of_the_session() {
    let inner = Limited(fn_tool("big", Class::Execute, |_| async { "x".repeat(15_000) }));
    let redactor = Redactor::new([]).unwrap();
    let hosted =
        SessionTool { inner: Arc::new(inner), blobs: blobs(), limit: Some(1_000), redactor };
    assert_eq!(hosted.output_limit(), Some(20_000));
    let outcome = hosted.run(json!({}), ToolContext::detached()).await;
    assert_eq!(outcome.text().len(), 15_000);
}
