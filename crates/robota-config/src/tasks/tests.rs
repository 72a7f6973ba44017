use robota_core::clock::Clock;

use super::*;
use crate::error::ConfigError;
use crate::places::Places;

const FULL: &str = "# T-1: Add login\n\n- **Status**: in-progress\n- **Branch**: `feat/login`\n- **Scope**: crates/auth\n\n\
## Objective\n\nUsers can log in\nwith a password.\n\n## Completion Criteria\n\n- [x] Form\n- [ ] Test\n- [ ] Docs\n\n```\n- [ ] code\n```\n";

struct World {
    dir: tempfile::TempDir,
}

impl World {
    fn new(files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let file = dir.path().join(".agents/tasks").join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        }
        Self { dir }
    }

    fn reader(&self) -> ContextReader {
        ContextReader::new(&Places::new(self.dir.path().join("home"), self.dir.path()))
    }

    fn load(&self) -> TaskFiles {
        TaskFiles::load(&self.reader(), None)
    }
}

fn titles(tasks: &[&TaskFile]) -> Vec<String> {
    tasks.iter().map(|task| task.title.clone()).collect()
}

#[test]
fn sdk_19_task_files_are_found_without_readme_and_folders() {
    let world = World::new(&[
        ("b.md", FULL),
        ("a.md", "no heading"),
        ("README.md", "# Read me"),
        ("readme.md", "# Read me"),
        ("completed/c.md", "# C"),
        ("empty.md", ""),
        ("note.txt", "# N"),
    ]);
    let tasks = world.load();
    let found: Vec<_> = tasks.tasks.iter().map(|task| task.path.display().to_string()).collect();
    assert_eq!(found, [".agents/tasks/a.md", ".agents/tasks/b.md"]);
    assert!(tasks.report.is_empty());
    let task = &tasks.tasks[1];
    assert_eq!(task.status, TaskFileStatus::InProgress);
    assert_eq!(task.branch.as_deref(), Some("feat/login"));
    assert_eq!(task.scope.as_deref(), Some("crates/auth"));
    assert_eq!(task.objective.as_deref(), Some("Users can log in with a password."));
    assert_eq!(task.open_items, ["Test", "Docs"]);
    assert_eq!(tasks.tasks[0].title, "a");
    assert!(World::new(&[]).load().tasks.is_empty());
}

#[test]
fn sdk_19_tasks_are_selected_by_branch_and_status() {
    let task = |title: &str, status: &str, branch: &str| {
        format!("# {title}\n- **Status**: {status}\n- **Branch**: {branch}\n")
    };
    let files = [
        ("a.md", task("unknown", "perhaps", "x")),
        ("b.md", task("todo", "todo", "x")),
        ("c.md", task("progress", "In Progress", "x")),
        ("d.md", task("done", "Completed", "main")),
        ("e.md", task("mine", "todo", "main")),
    ];
    let files: Vec<_> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let tasks = World::new(&files).load();
    let select = |max_tasks, current_branch| {
        titles(&tasks.select(&TaskSelection { max_tasks, current_branch }))
    };
    assert_eq!(select(9, Some("main")), ["mine", "progress", "todo", "unknown"]);
    assert_eq!(select(2, Some("main")), ["mine", "progress"]);
    assert_eq!(select(9, None), ["progress", "todo", "mine", "unknown"]);
    assert_eq!(select(0, None), [""; 0]);
}

#[test]
fn sdk_19_tasks_are_formatted_as_facts() {
    let tasks = World::new(&[("b.md", FULL)]).load();
    assert_eq!(
        format_tasks(&tasks.select(&TaskSelection::default())),
        "## Active Task Context\n\n### T-1: Add login\n\n- Path: .agents/tasks/b.md\n- Status: in-progress\n\
         - Branch: feat/login\n- Scope: crates/auth\n- Objective: Users can log in with a password.\n\
         - Open items:\n  - Test\n  - Docs\n"
    );
    assert_eq!(format_tasks(&[]), "");
}

struct Fixed;

impl Clock for Fixed {
    fn now(&self) -> jiff::Timestamp {
        "2026-04-28T23:30:00Z".parse().unwrap()
    }
}

#[test]
fn sdk_19_the_status_is_updated_with_dated_progress() {
    for (text, expected) in [
        (
            "# T\n- **Status**: todo\n\n## Progress\n\n- 2026-01-01: Begun.\n\n## Notes\nx\n",
            "# T\n- **Status**: completed\n\n## Progress\n\n- 2026-01-01: Begun.\n- 2026-04-28: It works.\n\n## Notes\nx\n",
        ),
        (
            "# T\ntext\n",
            "# T\n\n- **Status**: completed\ntext\n\n## Progress\n\n- 2026-04-28: It works.\n",
        ),
        (
            "# T\n- **Branch**: b\n## Progress",
            "# T\n- **Status**: completed\n- **Branch**: b\n## Progress\n\n- 2026-04-28: It works.\n",
        ),
        ("", "- **Status**: completed\n\n## Progress\n\n- 2026-04-28: It works.\n"),
        (
            "Status: todo\r\n",
            "- **Status**: completed\r\n\r\n## Progress\r\n\r\n- 2026-04-28: It works.\r\n",
        ),
        (
            "---\nstatus: todo\nx: y\n---\n# T\n",
            "---\nstatus: completed\nx: y\n---\n# T\n\n## Progress\n\n- 2026-04-28: It works.\n",
        ),
        (
            "---\nx: y\n---\ntext",
            "---\nx: y\n---\n- **Status**: completed\ntext\n\n## Progress\n\n- 2026-04-28: It works.\n",
        ),
        (
            "```\n- **Status**: code\n```\n",
            "- **Status**: completed\n```\n- **Status**: code\n```\n\n## Progress\n\n- 2026-04-28: It works.\n",
        ),
    ] {
        let changed = with_status(text, TaskFileStatus::Completed, Some("It\nworks."), Fixed.now());
        assert_eq!(changed, expected, "{text:?}");
    }
    assert_eq!(
        with_status("Status: x", TaskFileStatus::Todo, None, Fixed.now()),
        "- **Status**: todo\n"
    );
}

#[test]
fn sdk_19_a_task_file_is_rewritten_inside_the_checkout_only() {
    let world = World::new(&[("a.md", "# A\n- **Status**: todo\n")]);
    let file = std::path::Path::new(".agents/tasks/a.md");
    update_task_file(&world.reader(), file, TaskFileStatus::Completed, Some("Done."), &Fixed)
        .unwrap();
    let text = std::fs::read_to_string(world.dir.path().join(file)).unwrap();
    assert_eq!(text, "# A\n- **Status**: completed\n\n## Progress\n\n- 2026-04-28: Done.\n");
    assert_eq!(world.load().tasks[0].status, TaskFileStatus::Completed);

    let outside = tempfile::NamedTempFile::new().unwrap();
    std::os::unix::fs::symlink(outside.path(), world.dir.path().join(".agents/tasks/out.md"))
        .unwrap();
    for name in [".agents/tasks/out.md", ".agents/tasks/none.md", "../x", "/etc/hostname"] {
        let path = std::path::Path::new(name);
        let error = update_task_file(&world.reader(), path, TaskFileStatus::Todo, None, &Fixed);
        assert!(matches!(error, Err(ConfigError::Refused { .. })), "{name}");
    }
    assert_eq!(std::fs::read(outside.path()).unwrap(), b"");
    let report = world.load().report;
    assert!(report.problems[0].message.contains("leaves the checkout"));
}

#[test]
fn sdk_19_a_status_below_a_header_that_is_not_valid_is_read() {
    let text = "---\nStatus: x\n- **Status**: todo\n---";
    let changed = with_status(text, TaskFileStatus::Completed, None, Fixed.now());
    let task = parse::task(Path::new("t.md"), "t", &changed);
    assert_eq!(task.status, TaskFileStatus::Completed, "{changed}");
}

proptest::proptest! {
    #[test]
    fn a_new_status_is_read_again(lines in proptest::collection::vec(
        proptest::sample::select(vec![
            "# T", "", "- **Status**: todo", "Status: x", "- **Branch**: b", "---", "status: todo",
            "```", "~~~", "text", "## Progress", "- [ ] item", "  - Scope: x",
        ]), 0..8)) {
        let text = lines.join("\n");
        let changed = with_status(&text, TaskFileStatus::Completed, Some("p"), Fixed.now());
        let task = parse::task(Path::new("t.md"), "t", &changed);
        proptest::prop_assert_eq!(task.status, TaskFileStatus::Completed, "{}", changed);
        proptest::prop_assert!(changed.contains("- 2026-04-28: p"));
    }
}

#[test]
fn a_comment_in_the_header_is_no_progress_section() {
    let text = "---\nstatus: todo\n## Progress\n---\n# T\n";
    let changed = with_status(text, TaskFileStatus::Completed, Some("p"), Fixed.now());
    let expected =
        "---\nstatus: completed\n## Progress\n---\n# T\n\n## Progress\n\n- 2026-04-28: p\n";
    assert_eq!(changed, expected);
    assert_eq!(parse::task(Path::new("t.md"), "t", &changed).status, TaskFileStatus::Completed);
}
