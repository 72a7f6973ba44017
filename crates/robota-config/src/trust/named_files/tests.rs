use serde_json::json;

use super::*;

/// Returns a project with `scripts/a.sh` (which runs `scripts/b`), `tool.js`, `pkg/mod.py` and
/// `src/data.txt`.
fn project() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    for folder in ["scripts", "pkg", "src", "with space"] {
        std::fs::create_dir(root.join(folder)).unwrap();
    }
    let write = |name: &str, text: &str| std::fs::write(root.join(name), text).unwrap();
    write(
        "scripts/a.sh",
        "#!/bin/sh\n. ./scripts/lib.sh\n\"$(dirname \"$0\")/b\"; scripts/b src/data.txt\n",
    );
    write("scripts/lib.sh", "x=1\n");
    write("scripts/b", "#!/bin/sh\n");
    std::fs::set_permissions(root.join("scripts/b"), std::fs::Permissions::from_mode(0o755))
        .unwrap();
    write("tool.js", "");
    write("pkg/mod.py", "");
    write("src/data.txt", "");
    write("with space/c.sh", "");
    (dir, root)
}

fn names(root: &Path, command: &str) -> Vec<String> {
    let found = NamedFiles::find(root, root, [&json!({"command": command})]);
    found.paths().map(|path| path.strip_prefix(root).unwrap().display().to_string()).collect()
}

#[test]
fn files_that_a_command_names_are_found_in_any_spelling() {
    let (_keep, root) = project();
    let absolute = format!("node {}/tool.js", root.display());
    let cases = [
        ("tool.js", &["tool.js"][..]),
        ("node ./tool.js --x", &["tool.js"]),
        (&absolute, &["tool.js"]),
        ("node $CLAUDE_PROJECT_DIR/tool.js", &["tool.js"]),
        ("node \"${CLAUDE_PROJECT_DIR}\"/tool.js|tee log", &["tool.js"]),
        ("bash -c 'cd src && node ../tool.js'", &["tool.js"]),
        ("cd pkg; python3 mod.py", &["mod.py", "pkg/mod.py"]),
        ("python -m pkg.mod", &["pkg/mod.py"]),
        ("env X=tool.js run --file=pkg/mod.py", &["pkg/mod.py", "tool.js"]),
        ("'with space/c.sh'", &["space/c.sh", "with space/c.sh"]),
        ("with\\ space/c.sh", &["space/c.sh", "with space/c.sh"]),
        ("python3 -u src/data.txt", &["src/data.txt"]),
        ("X=1 src/data.txt x", &["src/data.txt"]),
        ("cat src/data.txt >> tool.js; x | tee pkg/mod.py; y -o tool.js --output=pkg/mod.py", &[]),
        ("echo '{\"path\": \"tool.js\"}'", &["tool.js"]),
        ("./missing.sh; other", &["missing.sh"]),
        ("echo hello /etc/passwd ../x ~/.bashrc", &[]),
    ];
    for (command, expected) in cases {
        assert_eq!(names(&root, command), expected, "{command}");
    }
}

#[test]
fn files_of_the_checkout_above_the_working_folder_are_found() {
    let (_keep, root) = project();
    let found = |command: &str| -> Vec<String> {
        let command = json!({ "command": command });
        let found = NamedFiles::find(&root.join("src"), &root, [&command]);
        found.paths().map(|path| path.strip_prefix(&root).unwrap().display().to_string()).collect()
    };
    for command in [
        "node \"$(git rev-parse --show-toplevel)/tool.js\"",
        "node `git rev-parse --show-toplevel`/tool.js",
        "node ../tool.js",
    ] {
        assert_eq!(found(command), ["tool.js"], "{command}");
    }
    // It could also be one that is created in the working folder.
    let both = ["src/tool.js", "tool.js"];
    assert_eq!(found("cd \"$(git rev-parse --show-toplevel)\" && node tool.js"), both);
    assert_eq!(found("$(git rev-parse --show-toplevel)/later.sh"), ["later.sh"]);
    assert!(found("sh ../../other.sh; node /tool.js").is_empty());
}

#[test]
fn scripts_that_a_script_runs_belong_to_it_and_its_data_does_not() {
    let (_keep, root) = project();
    assert_eq!(names(&root, "sh scripts/a.sh"), ["scripts/a.sh", "scripts/b", "scripts/lib.sh"]);
}

#[test]
fn every_change_of_a_named_file_is_noticed() {
    let (_keep, root) = project();
    let command = json!("sh scripts/a.sh && ./later.sh");
    let named = NamedFiles::find(&root, &root, [&command]);
    let check =
        || named.check_unchanged(&command).map_err(|path| path.file_name().unwrap().to_owned());
    assert_eq!(check(), Ok(()));
    assert_eq!(check(), Ok(()), "by its stamp");
    // Same size, same time of modification.
    let lib = root.join("scripts/lib.sh");
    let time = lib.metadata().unwrap().modified().unwrap();
    std::fs::write(&lib, "x=2\n").unwrap();
    File::options().write(true).open(&lib).unwrap().set_modified(time).unwrap();
    assert_eq!(check(), Err("lib.sh".into()));
    std::fs::write(&lib, "x=1\n").unwrap();
    assert_eq!(check(), Ok(()), "the content is what counts");
    std::fs::write(root.join("later.sh"), "").unwrap();
    assert_eq!(check(), Err("later.sh".into()));
    std::fs::remove_file(root.join("later.sh")).unwrap();
    std::fs::rename(root.join("scripts/b"), root.join("scripts/old")).unwrap();
    std::os::unix::fs::symlink("old", root.join("scripts/b")).unwrap();
    assert_eq!(check(), Err("b".into()), "a link to another file");
}
