//! What it costs to read the context of a project: the files opened, the bytes read and the time, for
//! a project with 500 skills, 30 agents and 50,000 files, of which only a few are needed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, missing_docs)]

use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use robota_config::agents::Agents;
use robota_config::instructions::{InstructionOptions, Instructions};
use robota_config::project::ProjectFacts;
use robota_config::skills::{ListingCaps, Skills};
use robota_config::tasks::{TaskFiles, TaskSelection, format_tasks};
use robota_config::{ContextReader, Places, ReadCounts, TrustStore};

fn put(root: &Path, path: &str, text: &str) {
    let file = root.join(path);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}

fn project(root: &Path, skills: usize, files: usize) -> Places {
    for n in 0..skills {
        let text = format!(
            "---\nname: s{n}\ndescription: Does {n} things with care\n---\n{}",
            "body\n".repeat(500)
        );
        put(root, &format!("project/.claude/skills/skill-{n:03}/SKILL.md"), &text);
    }
    for folder in 0..files / 500 {
        std::fs::create_dir_all(root.join(format!("project/src/{folder}"))).unwrap();
        for file in 0..500 {
            std::fs::write(root.join(format!("project/src/{folder}/{file}.rs")), "").unwrap();
        }
    }
    for n in 0..AGENTS {
        let text = format!("---\nname: a{n}\ndescription: Does {n}\n---\n{}", "body\n".repeat(500));
        put(root, &format!("project/.claude/agents/a{n:02}.md"), &text);
    }
    std::fs::create_dir_all(root.join("project/.git")).unwrap();
    put(root, "project/AGENTS.md", &"Use four spaces.\n".repeat(200));
    put(root, "project/CLAUDE.md", "See @AGENTS.md and @docs/style.md\n");
    put(root, "project/docs/style.md", "Style.\n");
    put(root, "project/.claude/rules/rust.md", "---\npaths: '*.rs'\n---\nRust.\n");
    put(root, "project/.agents/tasks/one.md", "# One\n- **Status**: todo\n");
    put(root, "home/.claude/CLAUDE.md", "Be brief.\n");
    Places::new(root.join("home"), root.join("project"))
}

/// The agents of the project. They are read only where subagents are used.
const AGENTS: usize = 30;

/// Reads the agents too, for a session with subagents.
fn start_with_agents(places: &Places) -> (usize, ReadCounts) {
    let reader = ContextReader::new(places);
    let agents = Agents::load_first(&reader, &TrustStore::load(places), Vec::new(), 32);
    let more = reader.counts();
    let (bytes, counts) = start(places, more.files);
    (bytes + agents.listing().len(), counts + more)
}

/// Reads what the first request of a session needs.
fn start(places: &Places, agents: u64) -> (usize, ReadCounts) {
    let reader = ContextReader::new(places);
    let instructions = Instructions::load(&reader, InstructionOptions::default());
    let listing = Skills::find(&reader).listing(&ListingCaps::beside(agents));
    let facts = ProjectFacts::detect(&reader);
    let tasks = TaskFiles::load(&reader, None);
    let tasks = format_tasks(&tasks.select(&TaskSelection::default()));
    let bytes: usize = instructions.files.iter().map(|file| file.text.len()).sum();
    let bytes = bytes + listing.text.len() + tasks.len() + facts.types.len();
    (bytes, reader.counts())
}

fn context(criterion: &mut Criterion) {
    let dir = tempfile::tempdir().unwrap();
    let places = project(dir.path(), 500, 50_000);
    let (bytes, counts) = start(&places, 0);
    println!(
        "context of a project with 500 skills and 50,000 files: {} files opened, {} folders listed, \
         {} bytes read, {bytes} bytes of text",
        counts.files, counts.folders, counts.bytes
    );
    let (_, with_agents) = start_with_agents(&places);
    println!(
        "with 30 agents: {} files opened, {} bytes read",
        with_agents.files, with_agents.bytes
    );
    let mut group = criterion.benchmark_group("context");
    group.sample_size(20).warm_up_time(Duration::from_millis(500));
    group.measurement_time(Duration::from_secs(2));
    group.bench_function("500 skills, 50,000 files", |bencher| {
        bencher.iter(|| start(black_box(&places), 0));
    });
    group.bench_function("with 30 agents", |bencher| {
        bencher.iter(|| start_with_agents(black_box(&places)));
    });
    group.finish();
}

criterion_group!(benches, context);
criterion_main!(benches);
