use super::*;

#[test]
fn only_the_variables_that_affect_bash_are_removed() {
    let given: Environment = [
        ("BASH_ENV", "/tmp/evil"),
        ("ENV", "/tmp/evil"),
        ("SHELLOPTS", "xtrace"),
        ("BASHOPTS", "extglob"),
        ("BASH_FUNC_ls%%", "() { rm -rf /; }"),
        ("ENVIRONMENT", "prod"),
        ("BASH", "/bin/bash"),
        ("PATH", "/bin"),
    ]
    .into_iter()
    .collect();
    let environment = given.for_bash();
    let names: Vec<_> = environment.iter().map(|(name, _)| name.to_str().unwrap()).collect();
    assert_eq!(names, ["BASH", "ENVIRONMENT", "PATH"]);
}

#[test]
fn debug_output_has_no_values() {
    let environment = Environment::new().with("API_KEY", "hunter2");
    let shown = format!("{environment:?}");
    assert!(shown.contains("API_KEY") && !shown.contains("hunter2"), "{shown}");
}

#[cfg(unix)]
#[test]
fn a_program_is_found_only_through_absolute_path_entries() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let (plain, good) = (dir.path().join("plain"), dir.path().join("good"));
    for (bin, mode) in [(&plain, 0o644), (&good, 0o755)] {
        std::fs::create_dir(bin).unwrap();
        std::fs::write(bin.join("tool"), "").unwrap();
        std::fs::set_permissions(bin.join("tool"), PermissionsExt::from_mode(mode)).unwrap();
    }
    let path = std::env::join_paths(["relative".as_ref(), plain.as_path(), good.as_path()]);
    let environment = Environment::new().with("PATH", path.unwrap());
    assert_eq!(environment.find_program("tool".as_ref()), Some(good.join("tool")));
    assert_eq!(environment.find_program("other".as_ref()), None);
    assert_eq!(Environment::new().find_program("tool".as_ref()), None);
    assert_eq!(Environment::new().with("PATH", ".:").find_program("src".as_ref()), None);
}

#[test]
fn secrets_are_removed_unless_they_are_named() {
    let given: Environment = [
        ("ANTHROPIC_API_KEY", "1"),
        ("GITHUB_TOKEN", "2"),
        ("aws_secret_access_key", "3"),
        ("PGPASSWORD", "4"),
        ("MODEL_ACCESS", "5"),
        ("PATH", "/bin"),
        ("SSH_AUTH_SOCK", "/run/agent"),
    ]
    .into_iter()
    .collect();
    let names = |pass: &[&str]| -> Vec<String> {
        let pass: Vec<_> = pass.iter().map(|name| (*name).to_owned()).collect();
        let kept = given.clone().without_secrets(&["MODEL_ACCESS".to_owned()], &pass);
        kept.iter().map(|(name, _)| name.to_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&[]), ["PATH", "SSH_AUTH_SOCK"]);
    assert_eq!(names(&["GITHUB_TOKEN", "github"]), ["GITHUB_TOKEN", "PATH", "SSH_AUTH_SOCK"]);
    assert_eq!(names(&["MODEL_ACCESS"]), ["MODEL_ACCESS", "PATH", "SSH_AUTH_SOCK"]);
    assert_eq!(names(&["*"]).len(), 7);
}
