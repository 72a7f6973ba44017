use std::os::unix::fs::{MetadataExt as _, symlink};

use super::*;

fn world() -> (tempfile::TempDir, ContextReader, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    std::fs::create_dir_all(root.join("home")).unwrap();
    std::fs::create_dir_all(root.join("repo/.git")).unwrap();
    std::fs::create_dir_all(root.join("repo/a/b")).unwrap();
    let reader = ContextReader::new(&Places::new(root.join("home"), root.join("repo/a/b")));
    (dir, reader, root)
}

#[test]
fn the_checkout_is_the_nearest_repository() {
    let (_dir, reader, root) = world();
    assert_eq!(reader.root(), root.join("repo"));
    let folders: Vec<_> = reader.folders.checkout().collect();
    assert_eq!(folders, [root.join("repo/a/b"), root.join("repo/a"), root.join("repo")]);
}

#[test]
fn a_repository_that_another_user_made_around_the_working_folder_is_no_checkout() {
    let (_dir, _, root) = world();
    let (repo, below) = (root.join("repo"), root.join("repo/a/b"));
    let me = repo.metadata().unwrap().uid();
    let others = me.wrapping_add(1);
    assert_eq!(folders::owned_root(&below, None, [others, others, me]), repo);
    assert_eq!(folders::owned_root(&below, None, [others; 3]), below);
    assert_eq!(folders::owned_root(&repo, None, [others; 3]), repo, "the user works there");
}

#[test]
fn a_home_folder_under_version_control_is_no_checkout() {
    let (_dir, _, root) = world();
    std::fs::create_dir_all(root.join("home/.git")).unwrap();
    std::fs::create_dir_all(root.join("home/work/x")).unwrap();
    let reader = ContextReader::new(&Places::new(root.join("home"), root.join("home/work/x")));
    assert_eq!(reader.root(), root.join("home/work/x"));
}

#[test]
fn links_are_followed_inside_the_checkout_only() {
    let (_dir, reader, root) = world();
    std::fs::write(root.join("secret"), "s").unwrap();
    std::fs::write(root.join("repo/real.md"), "text").unwrap();
    let at = root.join("repo/a/b");
    symlink(root.join("secret"), at.join("out.md")).unwrap();
    symlink("../../real.md", at.join("in.md")).unwrap();
    symlink("nowhere", at.join("broken.md")).unwrap();
    let boundary = reader.folders.boundary(&at);
    let read = |name: &str| reader.read(&at.join(name), &boundary, 100);
    assert_eq!(read("in.md").unwrap().unwrap().real, root.join("repo/real.md"));
    assert!(read("out.md").unwrap_err().contains("leaves the checkout"));
    assert_eq!(read("broken.md").unwrap_err(), "it is a broken link");
    assert!(read("missing.md").unwrap().is_none());
    assert!(read("..").unwrap_err().contains("folder"));
    assert_eq!(reader.read(&at.join("out.md"), &Boundary::User, 100).unwrap().unwrap().text, "s");
}

#[test]
fn a_file_is_read_up_to_the_limit() {
    let (_dir, reader, root) = world();
    let file = root.join("repo/f.md");
    std::fs::write(&file, "a€€").unwrap();
    let boundary = reader.folders.boundary(&root.join("repo"));
    let read = reader.read(&file, &boundary, 5).unwrap().unwrap();
    assert_eq!((read.text.as_str(), read.cut, read.size, read.utf8), ("a€", true, 7, true));
    assert!(read.hash().is_none());
    assert!(reader.read(&file, &boundary, 7).unwrap().unwrap().hash().is_some());
    std::fs::write(&file, b"\xff\0x").unwrap();
    let read = reader.read(&file, &boundary, 9).unwrap().unwrap();
    assert_eq!((read.text.as_str(), read.utf8), ("\u{fffd}x", false));
    assert_eq!(reader.counts().files, 3);
}

#[test]
fn a_tree_is_listed_in_byte_order_and_circles_end() {
    let (_dir, reader, root) = world();
    let tree = root.join("repo/t");
    for file in ["b.md", "a/z.md", "a/y/x.md", "B.md", "no.txt", ".hidden.md", "a/.git/h.md"] {
        let file = tree.join(file);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, "").unwrap();
    }
    symlink(&tree, tree.join("a/loop")).unwrap();
    symlink("/", tree.join("out")).unwrap();
    let mut problems = Vec::new();
    let boundary = reader.folders.boundary(&tree);
    let files = reader.markdown(&tree, &boundary, Depth::Tree, Layer::ProjectClaude, &mut problems);
    let names: Vec<_> = files.iter().map(|file| file.names.join(":")).collect();
    assert_eq!(names, ["B", "a:y:x", "a:z", "b"]);
    assert_eq!(problems.len(), 1);
    assert!(problems[0].message.contains("leaves the checkout"));
    let flat =
        reader.markdown(&tree, &boundary, Depth::Folder, Layer::ProjectClaude, &mut problems);
    assert_eq!(flat.len(), 2);
}

#[test]
fn files_above_the_checkout_that_belong_to_other_users_are_not_read() {
    let (_dir, reader, root) = world();
    let file = root.join("CLAUDE.md");
    std::fs::write(&file, "text").unwrap();
    let own = reader.folders.boundary(&root);
    assert_eq!(reader.read(&file, &own, 9).unwrap().unwrap().text, "text");
    let others = Boundary::Above { folder: root, owners: [u32::MAX; 3] };
    assert!(reader.read(&file, &others, 9).unwrap_err().contains("belongs to another user"));
}

/// Resolving links costs a system call for each part of a path, for each of hundreds of files.
#[cfg(target_os = "linux")]
#[test]
fn links_are_resolved_only_where_there_are_some() {
    let (_dir, reader, root) = world();
    let resolved = || reader.counts.resolved.load(Ordering::Relaxed);
    let skills = root.join("repo/.claude/skills");
    std::fs::create_dir_all(skills.join("a")).unwrap();
    std::fs::write(skills.join("a/SKILL.md"), "text").unwrap();
    let boundary = reader.folders.boundary(&root.join("repo"));
    assert_eq!(reader.list(&skills, &boundary).unwrap().unwrap().len(), 1);
    let read = reader.read(&skills.join("a/SKILL.md"), &boundary, 9).unwrap().unwrap();
    assert_eq!((read.real, resolved()), (skills.join("a/SKILL.md"), 0));
    assert!(reader.read(&skills.join("b/SKILL.md"), &boundary, 9).unwrap().is_none());
    assert_eq!(resolved(), 0, "nothing is there");
    symlink("a", skills.join("link")).unwrap();
    let read = reader.read(&skills.join("link/SKILL.md"), &boundary, 9).unwrap().unwrap();
    assert_eq!((read.real, resolved()), (skills.join("a/SKILL.md"), 1));
    // A path with `..` is no canonical path.
    let read = reader.read(&skills.join("a/../a/SKILL.md"), &boundary, 9).unwrap().unwrap();
    assert_eq!((read.real, resolved()), (skills.join("a/SKILL.md"), 2));
}
