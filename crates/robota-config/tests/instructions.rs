//! Instruction files: where they are found, in which order, and what they import.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::{World, lines};
use robota_config::instructions::{
    ImportFilter, InstructionCaps, InstructionFile, InstructionKind, InstructionOptions,
    Instructions,
};
use robota_config::{ContextReader, Layer, Places, SettingSource};

fn load(world: &World) -> Instructions {
    Instructions::load(&world.reader(), InstructionOptions::default())
}

fn texts(files: &[InstructionFile]) -> Vec<&str> {
    files.iter().map(|file| file.text.trim()).collect()
}

#[test]
fn sdk_12_instructions_are_read_from_the_root_down_to_the_working_folder() {
    let mut world = World::new();
    std::fs::create_dir_all(world.path("a/b")).unwrap();
    for (path, text) in [
        ("~/.robota/AGENTS.md", "user agents"),
        ("~/.claude/CLAUDE.md", "user claude"),
        ("~/.claude/rules/style.md", "user rule"),
        ("../AGENTS.md", "parent agents"),
        ("AGENTS.md", "agents"),
        ("CLAUDE.md", "claude"),
        (".claude/CLAUDE.md", "dot claude"),
        (".claude/rules/b.md", "rule b"),
        (".claude/rules/a/z.md", "rule a/z"),
        ("CLAUDE.local.md", "local"),
        ("a/CLAUDE.md", "a claude"),
        ("a/b/AGENTS.md", "b agents"),
        ("a/b/c/AGENTS.md", "too deep"),
        ("other/CLAUDE.md", "other"),
    ] {
        world.put(path, text);
    }
    let cwd = world.places.cwd.clone();
    world.places.cwd = cwd.join("a/b");
    let loaded = load(&world);
    assert_eq!(
        texts(&loaded.files),
        [
            "user agents",
            "user claude",
            "user rule",
            "parent agents",
            "agents",
            "claude",
            "dot claude",
            "rule a/z",
            "rule b",
            "local",
            "a claude",
            "b agents",
        ]
    );
    assert!(loaded.report.is_empty(), "{:?}", lines(&loaded.report));
    let layers: Vec<_> = loaded.files.iter().map(|file| file.origin.layer).collect();
    assert_eq!(layers[..3], [Layer::UserRobota, Layer::UserClaude, Layer::UserClaude]);
    assert_eq!(loaded.files[9].kind, InstructionKind::Local);
    assert_eq!(loaded.files[9].origin.layer, Layer::ProjectClaudeLocal);
    assert_eq!((loaded.files[0].bytes, loaded.files[0].tokens), (11, 3));
    // Two loads are the same, byte for byte.
    assert_eq!(loaded.files, load(&world).files);
}

#[test]
fn sources_and_a_moved_folder_of_the_user_are_respected() {
    let mut world = World::new();
    world.put("~/.claude/CLAUDE.md", "not this");
    world.put("~/elsewhere/CLAUDE.md", "moved");
    world.put("CLAUDE.md", "project");
    world.put("CLAUDE.local.md", "local");
    world.places.claude_dir = Some(world.path("~/elsewhere"));
    assert_eq!(texts(&load(&world).files), ["moved", "project", "local"]);
    world.places.sources = Some(vec![SettingSource::User]);
    assert_eq!(texts(&load(&world).files), ["moved"]);
    world.places.sources = Some(vec![SettingSource::Local]);
    assert_eq!(texts(&load(&world).files), ["local"]);
}

#[test]
fn the_home_folder_as_working_folder_is_the_users() {
    let world = World::new();
    world.put("~/.claude/CLAUDE.md", "mine");
    world.put("~/.claude/rules/r.md", "my rule");
    let home = world.path("~/");
    let reader = ContextReader::new(&Places::new(&home, &home));
    let loaded = Instructions::load(&reader, InstructionOptions::default());
    assert_eq!(texts(&loaded.files), ["mine", "my rule"]);
    assert!(loaded.files.iter().all(|file| file.origin.layer == Layer::UserClaude));
}

#[test]
fn a_file_with_several_names_is_loaded_once() {
    let world = World::new();
    world.put("AGENTS.md", "same\n@AGENTS.md @CLAUDE.md @./AGENTS.md");
    world.link("CLAUDE.md", "AGENTS.md");
    world.link(".claude/CLAUDE.md", "../AGENTS.md");
    let loaded = load(&world);
    assert_eq!(loaded.files.len(), 1);
    assert!(loaded.report.is_empty());
}

#[test]
fn imports_are_relative_to_the_importing_file() {
    let world = World::new();
    world.put("CLAUDE.md", "top @docs/a.md, @docs/with\\ space.md and @\"docs/q q.md\"\n`@no.md`\n```\n@no.md\n```\n<!-- @no.md -->\n@missing.md @someone");
    world.put("no.md", "NO");
    world.put("docs/a.md", "a @b.md @../c.md");
    world.put("docs/b.md", "b");
    world.put("c.md", "c");
    world.put("docs/with space.md", "space");
    world.put("docs/q q.md", "quoted");
    let loaded = load(&world);
    assert_eq!(texts(&loaded.files)[1..], ["a @b.md @../c.md", "b", "c", "space", "quoted"]);
    assert_eq!(loaded.files[2].imported_by, Some(world.path("docs/a.md")));
    assert_eq!(loaded.files[2].kind, InstructionKind::Import);
    assert!(loaded.report.is_empty(), "{:?}", lines(&loaded.report));
}

#[test]
fn imports_are_followed_four_files_deep_and_circles_end() {
    let world = World::new();
    world.put("CLAUDE.md", "0 @1.md");
    for at in 1..8 {
        world.put(&format!("{at}.md"), format!("{at} @{}.md @CLAUDE.md", at + 1));
    }
    let loaded = load(&world);
    assert_eq!(loaded.files.len(), 5);
    assert!(lines(&loaded.report)[0].contains("5.md: not read: imports are followed 4 files deep"));
}

#[test]
fn imports_outside_the_working_folder_need_approval() {
    let world = World::new();
    world.put("~/secret.md", "secret");
    world.put("../near.md", "near");
    world.put("CLAUDE.md", "@~/secret.md @../near.md @/etc/hostname");
    world.put("~/.claude/CLAUDE.md", "mine @../notes.md");
    world.put("~/notes.md", "notes");
    let loaded = load(&world);
    assert_eq!(texts(&loaded.files)[..2], ["mine @../notes.md", "notes"]);
    assert_eq!(loaded.files.len(), 3);
    let pending: Vec<_> = loaded.pending.iter().map(|import| import.path.clone()).collect();
    assert_eq!(
        pending[..2],
        [world.path("~/secret.md"), world.path("../near.md").canonicalize().unwrap()]
    );
    assert_eq!(loaded.pending[0].imported_by, world.path("CLAUDE.md"));

    let approved_imports = vec![pending[0].clone()];
    let options = InstructionOptions { approved_imports, ..InstructionOptions::default() };
    let loaded = Instructions::load(&world.reader(), options);
    assert!(texts(&loaded.files).contains(&"secret"));
    assert!(!texts(&loaded.files).contains(&"near"));
    assert!(loaded.pending.iter().all(|import| import.path != world.path("~/secret.md")));
}

#[test]
fn a_filter_decides_what_may_be_imported() {
    let world = World::new();
    world.put("CLAUDE.md", "@.env @ok.md");
    world.put(".env", "KEY=secret");
    world.put("ok.md", "ok");
    let filter = ImportFilter::new(|path| !path.ends_with(".env"));
    let options =
        InstructionOptions { import_filter: Some(filter), ..InstructionOptions::default() };
    let loaded = Instructions::load(&world.reader(), options);
    assert_eq!(texts(&loaded.files)[1..], ["ok"]);
    assert!(lines(&loaded.report)[0].contains("a permission rule denies it"));
}

#[test]
fn rules_with_paths_wait_for_a_file_that_they_match() {
    let world = World::new();
    world.put(".claude/rules/always.md", "---\ndescription: x\n---\nalways");
    world.put(".claude/rules/globs.md", "---\nglobs: '*.ts'\n---\nglobs");
    world.put(".claude/rules/ts.md", "---\npaths: src/**/*.{ts,tsx}\n---\nts @more.md");
    world.put(".claude/rules/more.md.txt", "");
    world.put(".claude/rules/list.md", "---\npaths:\n  - '*.rs'\n  - lib/**\n---\nlist");
    world.put("~/.claude/rules/user.md", "---\npaths: '*.tsx'\n---\nuser");
    let mut loaded = load(&world);
    assert_eq!(texts(&loaded.files), ["always", "globs"]);
    assert!(lines(&loaded.report)[0].contains("globs.md:2: `globs`: has no effect"));

    for file in ["src/a/b.tsx", "src/c.ts", "x.rs", "lib/y", "z"] {
        world.put(file, "");
    }
    assert_eq!(texts(&loaded.on_access(&world.path("src/a/b.tsx"))), ["user", "ts @more.md"]);
    assert_eq!(texts(&loaded.on_access(&world.path("src/c.ts"))), [""; 0]);
    assert_eq!(texts(&loaded.on_access(std::path::Path::new("x.rs"))), ["list"]);
    assert_eq!(texts(&loaded.on_access(&world.path("lib/y"))), [""; 0]);
    assert_eq!(texts(&loaded.on_access(&world.path("z"))), [""; 0]);
}

#[test]
fn a_subfolder_gives_its_instructions_when_a_file_in_it_is_read() {
    let world = World::new();
    world.put("CLAUDE.md", "top");
    world.put("apps/AGENTS.md", "apps");
    world.put("apps/web/CLAUDE.md", "web @guide.md");
    world.put("apps/web/guide.md", "guide");
    world.put("apps/web/.claude/rules/css.md", "---\npaths: '*.css'\n---\ncss");
    world.put("apps/web/.claude/rules/all.md", "web rule");
    world.put("apps/web/CLAUDE.local.md", "web local");
    world.put("node_modules/x/CLAUDE.md", "foreign");
    for file in ["apps/web/src/x.css", "apps/y", "node_modules/x/i.js", "top.txt"] {
        world.put(file, "");
    }
    let mut loaded = load(&world);
    assert_eq!(texts(&loaded.files), ["top"]);
    assert!(loaded.on_access(&world.path("top.txt")).is_empty());
    assert_eq!(
        texts(&loaded.on_access(&world.path("apps/web/src/x.css"))),
        ["apps", "web @guide.md", "guide", "web rule", "web local", "css"]
    );
    assert!(loaded.on_access(&world.path("apps/web/src/x.css")).is_empty());
    assert!(loaded.on_access(&world.path("apps/y")).is_empty());
    assert!(loaded.on_access(&world.path("node_modules/x/i.js")).is_empty());
    assert!(loaded.on_access(std::path::Path::new("/etc/hostname")).is_empty());
    assert!(loaded.on_access(&world.path("missing/file")).is_empty());
    assert!(loaded.report.is_empty(), "{:?}", lines(&loaded.report));
}

#[test]
fn excluded_files_are_left_out() {
    let world = World::new();
    world.put("CLAUDE.md", "top @docs/a.md");
    world.put("docs/a.md", "a");
    world.put("sub/CLAUDE.md", "sub");
    world.put("sub/x", "");
    let excludes =
        vec!["**/docs/*.md".to_owned(), world.path("sub").display().to_string(), "[".to_owned()];
    let options = InstructionOptions { excludes, ..InstructionOptions::default() };
    let mut loaded = Instructions::load(&world.reader(), options);
    assert_eq!(texts(&loaded.files), ["top @docs/a.md"]);
    assert!(loaded.on_access(&world.path("sub/x")).is_empty());
    assert!(lines(&loaded.report)[0].contains("the glob `[` is not valid"));
}

#[test]
fn long_files_are_cut_with_a_note() {
    let world = World::new();
    world.put("AGENTS.md", "ä".repeat(500));
    world.put("CLAUDE.md", "b".repeat(100));
    world.put(".claude/CLAUDE.md", "c".repeat(100));
    let caps = InstructionCaps { file_bytes: 301, total_bytes: 450, files: 10 };
    let options = InstructionOptions { caps, ..InstructionOptions::default() };
    let loaded = Instructions::load(&world.reader(), options);
    assert_eq!(loaded.files.len(), 3);
    assert!(loaded.files[0].text.ends_with("ä\n[700 bytes of this file are left out]\n"));
    assert_eq!(loaded.files[0].cut_bytes, Some(700));
    assert_eq!(loaded.files[1].cut_bytes, None);
    assert_eq!(loaded.files[2].cut_bytes, Some(50));
    assert_eq!(lines(&loaded.report).len(), 2);

    let caps = InstructionCaps { file_bytes: 301, total_bytes: 300, files: 10 };
    let options = InstructionOptions { caps, ..InstructionOptions::default() };
    let loaded = Instructions::load(&world.reader(), options);
    assert_eq!(loaded.files.len(), 1);
    assert!(
        lines(&loaded.report)[1].contains("CLAUDE.md: not read: the instructions have 300 bytes")
    );
}

#[test]
fn sdk_12_compact_instructions_are_found() {
    let world = World::new();
    world.put("AGENTS.md", "# Project\n\n## Compact Instructions\n\nKeep names.\n\n## Other\nx");
    world.put("CLAUDE.md", "# Compact instructions\nKeep paths.");
    let loaded = load(&world);
    assert_eq!(loaded.compact_instructions().as_deref(), Some("Keep names.\n\nKeep paths."));
    assert_eq!(load(&World::new()).compact_instructions(), None);
}
