use super::*;

#[test]
fn the_branch_is_read_from_the_files_of_the_repository() {
    let folder = tempfile::tempdir().unwrap();
    let (inside, git) = (folder.path().join("src/deep"), folder.path().join(".git"));
    std::fs::create_dir_all(&inside).unwrap();
    assert_eq!(of(&inside), None);
    std::fs::create_dir(&git).unwrap();
    std::fs::write(git.join("HEAD"), "ref: refs/heads/feature/x\n").unwrap();
    assert_eq!(of(&inside).as_deref(), Some("feature/x"));
    std::fs::write(git.join("HEAD"), "0123456789abcdef\n").unwrap();
    assert_eq!(of(&inside).as_deref(), Some("0123456"));
}

#[test]
fn a_worktree_names_the_folder_of_its_repository() {
    let folder = tempfile::tempdir().unwrap();
    let (real, tree) = (folder.path().join("real"), folder.path().join("tree"));
    std::fs::create_dir_all(&real).unwrap();
    std::fs::create_dir_all(&tree).unwrap();
    std::fs::write(real.join("HEAD"), "ref: refs/heads/side\n").unwrap();
    std::fs::write(tree.join(".git"), "gitdir: ../real\n").unwrap();
    assert_eq!(of(&tree).as_deref(), Some("side"));
}

#[test]
fn a_pipe_in_place_of_the_head_does_not_block() {
    let folder = tempfile::tempdir().unwrap();
    let git = folder.path().join(".git");
    std::fs::create_dir(&git).unwrap();
    let fifo = git.join("HEAD");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    assert_eq!(of(folder.path()), None);
}
