//! What the tests of both readers share.

use robota_core::ids::{CountingIds, SessionId};
use robota_core::journal::{JournalStore as _, MemoryStore, read_all};
use robota_core::message::{Message, Role};
use robota_core::state::State;
use robota_session::replay::{Destination, Imported, Record};
use serde_json::Value;

use super::{ForeignSession, ImportSource, read};

/// A session that was read and imported.
pub(super) struct Done {
    pub(super) session: ForeignSession,
    pub(super) imported: Imported,
    pub(super) state: State,
    pub(super) record: Record,
}

pub(super) fn jsonl(lines: &[Value]) -> Vec<u8> {
    lines.iter().map(|line| format!("{line}\n")).collect::<String>().into_bytes()
}

pub(super) fn import(agent: ImportSource, bytes: &[u8]) -> Done {
    let session = read(agent, bytes, "fallback").unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let (store, ids) = (MemoryStore::new(), CountingIds::default());
        let to = Destination::new(&store);
        let imported = session.import(&to, &ids).await.unwrap();
        assert!(
            session.import(&to, &ids).await.unwrap().already,
            "a second import changes nothing"
        );
        let id = SessionId::from(session.record.id.as_str());
        assert!(!store.head(&id).await.unwrap().foreign);
        let events = read_all(&store, &id, 0).await.unwrap();
        let state = State::fold(&events).unwrap();
        let record = Record::of(&store, &id).await.unwrap();
        Done { session, imported, state, record }
    })
}

impl Done {
    /// Returns what the model sees: one line per message.
    pub(super) fn view(&self) -> Vec<String> {
        self.state.view.messages.iter().map(|message| describe(message)).collect()
    }

    /// Returns the history: one line per message or entry.
    pub(super) fn history(&self) -> Vec<String> {
        let text = |entry: &Value| {
            let data = &entry["data"];
            let what = entry["type"].as_str().unwrap_or_default();
            match data["content"].as_str().or_else(|| data["summary"].as_str()) {
                Some(content) => format!("{what}: {content}"),
                None => what.to_owned(),
            }
        };
        self.record.history.iter().map(text).collect()
    }
}

fn describe(message: &Message) -> String {
    let calls: Vec<_> = message.tool_uses().map(|call| call.name.as_str()).collect();
    let results: Vec<_> = message.tool_results().map(|result| result.as_text()).collect();
    match message.role() {
        Role::User => format!("user: {}", message.text()),
        Role::Assistant if calls.is_empty() => format!("assistant: {}", message.text()),
        Role::Assistant => format!("assistant: {} -> {}", message.text(), calls.join(", ")),
        Role::Tool => format!("results: {}", results.join(" | ")),
        Role::System => format!("system: {}", message.text()),
    }
}

/// Checks that every call in the view has exactly one result, in the message behind it.
pub(super) fn assert_paired(state: &State) {
    let messages = &state.view.messages;
    for (at, message) in messages.iter().enumerate() {
        let calls: Vec<_> = message.tool_uses().map(|call| call.call.clone()).collect();
        if calls.is_empty() {
            continue;
        }
        let next = messages.get(at + 1).expect("results follow the calls");
        let results: Vec<_> = next.tool_results().map(|result| result.call.clone()).collect();
        assert_eq!(results, calls);
    }
}

#[test]
fn files_are_found_newest_first_without_links_and_subagents() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    };
    let own = write("-app/aaaa.jsonl", "{}\n{\"cwd\": \"/app\"}\n");
    write("-app/aaaa/subagents/agent-1.jsonl", "{}");
    write("-app/agent-2.jsonl", "{}");
    write("-app/notes.txt", "");
    #[cfg(unix)]
    std::os::unix::fs::symlink(dir.path(), dir.path().join("loop")).unwrap();
    let found = super::find_files(ImportSource::Claude, dir.path());
    assert_eq!(found.iter().map(|file| &file.path).collect::<Vec<_>>(), [&own]);
    assert_eq!((found[0].cwd().as_deref(), found[0].bytes), (Some("/app"), 19));
    let rollout =
        write("2026/01/02/rollout-x.jsonl", r#"{"type":"session_meta","payload":{"cwd":"/b"}}"#);
    let found = super::find_files(ImportSource::Codex, dir.path());
    assert_eq!(found.iter().map(|file| &file.path).collect::<Vec<_>>(), [&rollout]);
    assert_eq!(found[0].cwd().as_deref(), Some("/b"));
    assert!(super::find_files(ImportSource::Codex, &dir.path().join("none")).is_empty());
}
