//! Arguments that have an effect only with `-p`.

use crate::Usage;
use crate::args::{HOST_TIMEOUT, PrintArgs};

/// Refuses arguments that the terminal interface would ignore: a user who gives one relies on it.
///
/// # Errors
/// If there is one; the text says where it works.
pub(super) fn check(args: &PrintArgs) -> Result<(), Usage> {
    let given = [
        (args.permission_prompt_tool.is_some(), "--permission-prompt-tool"),
        (args.host_timeout != HOST_TIMEOUT, "--host-timeout"),
        (args.session.resume_session_at.is_some(), "--resume-session-at"),
        (args.disable_slash_commands, "--disable-slash-commands"),
    ];
    match given.into_iter().find(|(given, _)| *given) {
        Some((_, "--permission-prompt-tool")) => Err(Usage(
            "--permission-prompt-tool works only with -p: here you answer; --permission-prompts none \
             denies without a question"
                .to_owned(),
        )),
        Some((_, "--resume-session-at")) => Err(Usage(
            "--resume-session-at works only with -p; here /rewind goes back to an earlier message"
                .to_owned(),
        )),
        Some((_, name)) => Err(Usage(format!("{name} works only with -p"))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::args::Cli;

    #[test]
    fn arguments_without_an_effect_are_refused() {
        let check = |args: &[&str]| {
            check(&Cli::try_parse_from([&["robota"], args].concat()).unwrap().print)
        };
        for args in [
            &["--permission-prompt-tool", "mcp__a__b"][..],
            &["--host-timeout", "5"],
            &["--resume", "x", "--resume-session-at", "y"],
            &["--disable-slash-commands"],
        ] {
            let Usage(error) = check(args).unwrap_err();
            let flag = args.iter().rfind(|arg| arg.starts_with("--")).unwrap();
            assert!(error.contains(flag) && error.contains("only with -p"), "{error}");
        }
        check(&["--agent", "x", "--permission-prompts", "none", "--model", "y"]).unwrap();
    }
}
