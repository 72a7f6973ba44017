//! Sessions with the built-in tools in a temporary folder, and a comparable form of its files.
#![allow(dead_code, reason = "each test file uses its own part of it")]

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use robota_core::gate::{Gate, Grant, Judgement, Source};
use robota_core::message::ToolUse;
use robota_core::permission::{Class, Verdict};
use robota_core::scripted::{Script, ScriptedProvider};
use robota_core::tool::{ToolScope, ToolSpec};
use robota_exec::{Environment, Supervisor};
use robota_session::{Session, SessionBuilder};
use robota_store::FileStore;
use robota_tools::{CaptureLimits, LocalCrashCleanup, ToolWorkspace};
use serde_json::{Map, Value, json};

/// A folder with a project and a store, and the limits of its sessions.
pub(crate) struct TestSession {
    dir: PathBuf,
    _temporary: Option<tempfile::TempDir>,
    pub(crate) store: Arc<FileStore>,
    pub(crate) limits: Option<CaptureLimits>,
}

/// Allows everything; a command that starts with `cat` and has no redirection is proven to read.
struct TestGate;

#[async_trait::async_trait]
impl Gate for TestGate {
    async fn judge(&self, call: &ToolUse, tool: &ToolSpec) -> Judgement {
        let command = call.input.json().and_then(|input| input["command"].as_str());
        let reads =
            command.is_some_and(|command| command.starts_with("cat") && !command.contains('>'));
        let class = if reads { Class::Inspect } else { tool.class };
        let (verdict, source) = (Verdict::Allow, Source::Mode);
        let (reason, rules, grant) = (String::new(), Vec::new(), Grant::Full);
        Judgement { verdict, class, reason, source, rules, grant }
    }
}

impl TestSession {
    pub(crate) fn new() -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let dir = temporary.path().canonicalize().unwrap();
        std::fs::create_dir(dir.join("project")).unwrap();
        Self { _temporary: Some(temporary), ..Self::at(&dir) }
    }

    /// Uses a folder that another process made.
    pub(crate) fn at(dir: &Path) -> Self {
        let store = Arc::new(FileStore::new(dir.join("store")));
        // The projects of tests are small, and are watched nevertheless.
        let limits = Some(CaptureLimits { watched_entries: 0, ..CaptureLimits::default() });
        Self { dir: dir.to_owned(), _temporary: None, store, limits }
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.dir.join("project")
    }

    pub(crate) fn builder(&self, script: Script) -> SessionBuilder {
        let env = Environment::new().with("PATH", "/usr/bin:/bin");
        let workspace = ToolWorkspace::new(self.root(), Supervisor::new(), env)
            .capture_limits(self.limits.clone());
        let tools = move |scope: &ToolScope| {
            robota_tools::tools(&workspace.for_session(scope.blobs.clone()))
        };
        Session::builder(ScriptedProvider::new(script), "test-model")
            .cwd(self.root().display().to_string())
            .gate(Arc::new(TestGate))
            .tool_factory(Arc::new(tools))
            .crash_cleanup(Arc::new(LocalCrashCleanup::new()))
    }

    pub(crate) async fn create(&self, script: Script) -> Session {
        self.builder(script).create(self.store.clone(), None).await.unwrap()
    }
}

/// Returns everything below a folder: kind, mode, content and link target by path.
pub(crate) fn tree(root: &Path) -> Value {
    let mut found = Map::new();
    add(root, root, &mut found);
    Value::Object(found)
}

fn add(root: &Path, folder: &Path, found: &mut Map<String, Value>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
        let metadata = path.symlink_metadata().unwrap();
        let mode = metadata.permissions().mode() & 0o7777;
        let state = if metadata.is_dir() {
            add(root, &path, found);
            json!({ "folder": mode })
        } else if metadata.is_symlink() {
            json!({ "link": std::fs::read_link(&path).unwrap() })
        } else if metadata.is_file() {
            let hash = robota_core::message::BlobRef::of(&std::fs::read(&path).unwrap());
            json!({ "file": mode, "hash": hash.sha256, "bytes": hash.bytes })
        } else {
            json!("special")
        };
        found.insert(name, state);
    }
}
