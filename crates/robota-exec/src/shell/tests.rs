use robota_core::error::{Diagnose as _, ErrorKind};

use super::*;

#[test]
fn bash_gets_the_command_as_one_argument_and_no_start_files() {
    let spec = ShellCommand::new("echo 'a b'", "/w")
        .env(Environment::new().with("ENV", "/tmp/evil").with("A", "1"))
        .with_bash(Path::new("/bin/bash"));
    assert_eq!(spec.program, "/bin/bash");
    assert_eq!(spec.args, ["--noprofile", "--norc", "-c", "echo 'a b'"]);
    assert_eq!(spec.env, Environment::new().with("A", "1"));
}

#[test]
fn without_bash_the_error_says_what_to_install() {
    let error = ShellCommand::new("true", "/")
        .env(Environment::new().with("PATH", "/nowhere"))
        .spec_with(&["/nowhere/bash"])
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
    assert!(error.to_string().contains("/nowhere"), "{error}");
    assert!(error.hint().unwrap().contains("apt-get install bash"));
}
