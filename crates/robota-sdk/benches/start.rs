//! What it costs to open an `InteractiveSession` in a project with 500 skills, 30 agents and 50,000
//! files: the files opened in the user's folders, the bytes that the process read, and the time. The
//! target is less than 60 files and less than 5 ms before the first request. With a journal in memory
//! the time is that of the program alone; the difference is what the disk takes to sync a new journal.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, missing_docs)]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use robota_config::ProgramEnvironment;
use robota_core::journal::MemoryStore;
use robota_core::scripted::{Script, ScriptedProvider};
use robota_sdk::{AgentOptions, InteractiveSession, ModelSetup, Project, ProjectOptions};
use rustix::fs::inotify;

fn put(root: &Path, path: &str, text: &str) {
    let file = root.join(path);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}

/// Writes the home folder and the project, and returns all folders.
fn folders(root: &Path) -> Vec<PathBuf> {
    let body = "body\n".repeat(500);
    for n in 0..500 {
        let text = format!("---\nname: s{n}\ndescription: Does {n} things\n---\n{body}");
        put(root, &format!("project/.claude/skills/skill-{n:03}/SKILL.md"), &text);
    }
    for n in 0..30 {
        let text = format!("---\nname: a{n}\ndescription: Does {n}\n---\n{body}");
        put(root, &format!("project/.claude/agents/a{n:02}.md"), &text);
    }
    for file in 0..50_000 {
        put(root, &format!("project/src/{}/{file}.rs", file / 500), "");
    }
    put(root, "project/.git/HEAD", "ref: refs/heads/main\n");
    put(root, "project/AGENTS.md", &"Use four spaces.\n".repeat(200));
    put(root, "project/CLAUDE.md", "See @AGENTS.md and @docs/style.md\n");
    put(root, "project/docs/style.md", "Style.\n");
    put(root, "project/.claude/rules/rust.md", "---\npaths: '*.rs'\n---\nRust.\n");
    put(root, "project/.claude/settings.json", r#"{"permissions": {"deny": ["Bash(rm *)"]}}"#);
    put(root, "project/.agents/tasks/one.md", "# One\n- **Status**: todo\n");
    put(root, "home/.claude/CLAUDE.md", "Be brief.\n");
    put(root, "home/.robota/settings.json", r#"{"language": "English"}"#);
    std::fs::create_dir_all(root.join("project/.robota/sessions")).unwrap();
    let mut all = vec![root.to_owned()];
    let mut at = 0;
    while let Some(folder) = all.get(at).cloned() {
        let entries = folder.read_dir().unwrap().map(Result::unwrap);
        all.extend(entries.filter(|it| it.file_type().unwrap().is_dir()).map(|it| it.path()));
        at += 1;
    }
    all
}

/// Where the journal of a session is.
#[derive(Clone, Copy)]
enum Journal {
    File,
    Memory,
}

/// Opens a session, and returns how long it took and the session.
async fn open(root: &Path, journal: Journal) -> (Duration, InteractiveSession) {
    let home = root.join("home").display().to_string();
    let start = Instant::now();
    let options = ProjectOptions {
        cwd: Some(root.join("project")),
        environment: Some(ProgramEnvironment::from_iter([("HOME".to_owned(), home)])),
        ..ProjectOptions::default()
    };
    let project = Project::load(options).unwrap();
    let provider = Arc::new(ScriptedProvider::new(Script::new()));
    let mut builder = InteractiveSession::builder(project, ModelSetup::new(provider, "any-model"))
        .agents(AgentOptions { tool: true, ..AgentOptions::default() });
    if let Journal::Memory = journal {
        builder = builder.store(Arc::new(MemoryStore::new()));
    }
    let session = builder.open().await.unwrap();
    (start.elapsed(), session)
}

/// Returns the bytes that this process has read.
fn bytes_read() -> u64 {
    let io = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
    let line = io.lines().find_map(|line| line.strip_prefix("rchar: "));
    line.and_then(|bytes| bytes.parse().ok()).unwrap_or_default()
}

/// Returns the names of the files in these folders that were opened since the watch began.
fn opened(watch: &std::os::fd::OwnedFd) -> Vec<String> {
    let mut buffer = vec![std::mem::MaybeUninit::uninit(); 1 << 20];
    let mut events = inotify::Reader::new(watch, &mut buffer);
    let mut names = Vec::new();
    while let Ok(event) = events.next() {
        if !event.events().contains(inotify::ReadFlags::ISDIR) {
            names.extend(event.file_name().map(|name| name.to_string_lossy().into_owned()));
        }
    }
    names
}

fn start(criterion: &mut Criterion) {
    let dir = tempfile::tempdir().unwrap();
    let folders = folders(dir.path());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let watch = inotify::init(inotify::CreateFlags::NONBLOCK).unwrap();
    for folder in &folders {
        inotify::add_watch(&watch, folder, inotify::WatchFlags::OPEN).unwrap();
    }
    let before = bytes_read();
    let (took, session) = runtime.block_on(open(dir.path(), Journal::File));
    let bytes = bytes_read() - before;
    let names = opened(&watch);
    println!(
        "first start with 500 skills, 30 agents and 50,000 files: {} files opened, {bytes} bytes \
         read, {:.1} ms",
        names.len(),
        took.as_secs_f64() * 1000.0
    );
    let others: Vec<_> =
        names.iter().filter(|name| *name != "SKILL.md" && !name.starts_with('a')).collect();
    println!("besides skills and agents: {others:?}");
    drop(watch);
    runtime.block_on(session.shutdown("end")).unwrap();
    let mut group = criterion.benchmark_group("start");
    group.sample_size(20).measurement_time(Duration::from_secs(3));
    for (name, journal) in [("journal in a file", Journal::File), ("in memory", Journal::Memory)] {
        group.bench_function(format!("500 skills, 30 agents, 50,000 files, {name}"), |bencher| {
            bencher.iter_custom(|iterations| {
                let mut all = Duration::ZERO;
                for _ in 0..iterations {
                    let (took, session) = runtime.block_on(open(dir.path(), journal));
                    all += took;
                    runtime.block_on(session.shutdown("end")).unwrap();
                }
                all
            });
        });
    }
    group.finish();
}

criterion_group!(benches, start);
criterion_main!(benches);
