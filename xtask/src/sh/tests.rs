use super::*;
use crate::tree::root;

#[test]
fn a_failing_command_is_an_error_that_names_it() {
    let error = read(&root(), &["bash", "-c", "echo broken >&2; exit 3"]).unwrap_err();
    assert!(error.to_string().contains("bash -c"), "{error}");
    assert!(error.to_string().ends_with("broken"), "{error}");
    assert!(run(&root(), &["bash", "-c", "exit 3"]).is_err());
    assert!(!succeeds(&root(), &["bash", "-c", "exit 3"]));
}

#[test]
fn a_missing_program_is_an_error_and_no_panic() {
    assert!(run(&root(), &["no-such-program-at-all"]).is_err());
    assert!(!succeeds(&root(), &["no-such-program-at-all"]));
    assert!(run(&root(), &[]).is_err());
}

#[test]
fn output_is_returned() {
    assert_eq!(read(&root(), &["bash", "-c", "echo hello"]).unwrap(), "hello\n");
}

#[test]
fn programs_are_found_on_the_path_only() {
    assert!(which("bash").is_some());
    assert_eq!(find_in(OsStr::new(""), "bash"), None);
    let manifest_dir = root();
    assert_eq!(
        find_in(manifest_dir.as_os_str(), "Cargo.toml"),
        Some(manifest_dir.join("Cargo.toml"))
    );
}
