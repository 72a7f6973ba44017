use super::*;
use crate::places::Places;

fn detect(names: &[&str]) -> ProjectFacts {
    let dir = tempfile::tempdir().unwrap();
    for name in names {
        std::fs::write(dir.path().join(name), "").unwrap();
    }
    let reader = ContextReader::new(&Places::new(dir.path().join("none"), dir.path()));
    let facts = ProjectFacts::detect(&reader);
    assert_eq!(reader.counts().folders, 1);
    assert_eq!(reader.counts().files, 0);
    facts
}

#[test]
fn sdk_12_type_and_language_are_detected_by_file_names() {
    for (names, types, languages, tools) in [
        (&["Cargo.toml"][..], &["rust"][..], &["rust"][..], &["cargo"][..]),
        (&["package.json"], &["node"], &["javascript"], &[]),
        (
            &["package.json", "tsconfig.json", "pnpm-lock.yaml"],
            &["node"],
            &["typescript"],
            &["pnpm"],
        ),
        (&["pyproject.toml", "uv.lock"], &["python"], &["python"], &["uv"]),
        (&["go.mod", "Makefile"], &["go"], &["go"], &["go", "make"]),
        (&["App.csproj"], &["dotnet"], &["csharp"], &["dotnet"]),
        (&["README.md"], &[], &[], &[]),
        (&["Cargo.toml", "package.json"], &["rust", "node"], &["rust", "javascript"], &["cargo"]),
    ] {
        let facts = detect(names);
        assert_eq!(
            (&facts.types[..], &facts.languages[..], &facts.tools[..]),
            (types, languages, tools),
            "{names:?}"
        );
        assert!(!facts.git);
    }
}

#[test]
fn sdk_19_the_branch_of_a_worktree_is_found_only_if_git_made_it() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    let write = |name: &str, text: &str| {
        let file = root.join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    };
    let branch = |folder: &str| {
        let reader = ContextReader::new(&Places::new(root.join("none"), root.join(folder)));
        current_branch(&reader)
    };
    let state = root.join("main/.git/worktrees/tree");
    write("main/.git/HEAD", "ref: refs/heads/main\n");
    write("main/.git/worktrees/tree/HEAD", "ref: refs/heads/feature/x\n");
    write("main/.git/worktrees/tree/gitdir", &format!("{}\n", root.join("tree/.git").display()));
    for tree in ["tree", "relative"] {
        write(&format!("main/.git/worktrees/{tree}/commondir"), "../..\n");
    }
    write("tree/.git", &format!("gitdir: {}\n", state.display()));
    write("relative/.git", "gitdir: ../main/.git/worktrees/relative\n");
    write("main/.git/worktrees/relative/HEAD", "ref: refs/heads/other\n");
    write("main/.git/worktrees/relative/gitdir", "../../../../relative/.git\n");
    // A checkout that names the folder of another worktree, and one without a branch.
    write("copied/.git", &format!("gitdir: {}\n", state.display()));
    write("detached/.git/HEAD", "0123456789abcdef\n");
    for (folder, expected) in [
        ("main", Some("main")),
        ("tree", Some("feature/x")),
        ("relative", Some("other")),
        ("copied", None),
        ("detached", None),
    ] {
        assert_eq!(branch(folder).as_deref(), expected, "{folder}");
    }
}
