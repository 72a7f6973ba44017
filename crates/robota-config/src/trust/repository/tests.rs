use super::*;

const CONFIG: &str = r#"[core]
	repositoryformatversion = 0
	fsmonitor = "id > PWNED; false"
	# pager = no
[Core] Pager = less \
  -R
[diff "x.y"]
	textconv = ./show
[alias] st = status
	run = !sh -c ./x
[filter "lfs"] process = git-lfs
[remote "origin"]
	url = https://example.org/x
[includeIf "gitdir:~/x"]
	path = ../other
[protocol "ext"] allow = always
"#;

fn reported(folder: &Path) -> Vec<(String, String)> {
    programs(folder).into_iter().map(|found| (found.key, found.value)).collect()
}

fn expected() -> Vec<(String, String)> {
    [
        ("core.fsmonitor", "id > PWNED; false"),
        ("core.pager", "less   -R"),
        ("diff.x.y.textconv", "./show"),
        ("alias.run", "!sh -c ./x"),
        ("filter.lfs.process", "git-lfs"),
        ("includeif.gitdir:~/x.path", "../other"),
        ("protocol.ext.allow", "always"),
    ]
    .map(|(key, value)| (key.to_owned(), value.to_owned()))
    .to_vec()
}

#[test]
fn programs_of_a_repository_are_reported_wherever_its_configuration_is() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    let write = |path: &str, text: &str| {
        std::fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        std::fs::write(root.join(path), text).unwrap();
    };
    write("plain/.git/config", CONFIG);
    write("plain/sub/file", "");
    assert_eq!(reported(&root.join("plain")), expected());
    assert_eq!(reported(&root.join("plain/sub")), expected(), "a folder of the repository");

    write("tree/.git", "gitdir: ../plain/.git\n");
    assert_eq!(reported(&root.join("tree")), expected(), "a worktree");

    write("bare/config", CONFIG);
    write("bare/HEAD", "ref: refs/heads/main");
    std::fs::create_dir_all(root.join("bare/objects")).unwrap();
    std::fs::create_dir_all(root.join("bare/refs")).unwrap();
    assert_eq!(reported(&root.join("bare")), expected(), "a bare repository");

    write("clean/.git/config", "[core]\n\tbare = false\n\tfsmonitor = true\n[user]\n\tname = x\n");
    write("clean/.git/hooks/pre-commit.sample", "");
    assert_eq!(reported(&root.join("clean")), []);
    write("clean/.git/hooks/pre-commit", "");
    let hook = root.join("clean/.git/hooks/pre-commit");
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(reported(&root.join("clean")), [("hook".to_owned(), "pre-commit".to_owned())]);
}
