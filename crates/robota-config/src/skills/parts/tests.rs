use super::SkillPart::{Command, File, Text};
use super::*;

fn expand(template: &str, arguments: &str) -> Vec<SkillPart> {
    parts(template, &mut Arguments::new(arguments, &[], Vec::new()))
}

fn text(text: &str) -> SkillPart {
    Text(text.to_owned())
}

fn command(command: &str) -> SkillPart {
    Command { command: command.to_owned() }
}

fn file(path: &str, text: &str) -> SkillPart {
    File { path: path.to_owned(), text: text.to_owned() }
}

#[test]
fn commands_and_files_are_parts() {
    assert_eq!(
        expand("Diff: !`git diff $0`\nSee @docs/$0.md.", "x"),
        [
            text("Diff: "),
            command("git diff x"),
            text("\nSee "),
            file("docs/x.md", "@docs/x.md"),
            text(".")
        ]
    );
    assert_eq!(expand("!`a`\n!`b`", ""), [command("a"), text("\n"), command("b")]);
    assert_eq!(
        expand("Run:\n```!\ngit log $0\ngit status\n```\nend", "-1"),
        [text("Run:\n"), command("git log -1\ngit status"), text("\nend")]
    );
    assert_eq!(
        expand("```\n!`shown in code`\n```", ""),
        [text("```\n"), command("shown in code"), text("\n```")]
    );
}

#[test]
fn what_only_resembles_a_command_is_text() {
    for template in
        ["x!`a`", "!``", "! `a`", "!`open", "Stop!", "```!\n```", "``` !\na\n```", "```!\nopen"]
    {
        assert_eq!(expand(template, ""), [text(template)], "{template}");
    }
}

#[test]
fn arguments_add_no_command_and_no_file() {
    assert_eq!(expand("Do $ARGUMENTS", "!`rm` @/etc/passwd"), [text("Do !`rm` @/etc/passwd")]);
    assert_eq!(expand("Do", "!`rm`"), [text("Do\n\nARGUMENTS: !`rm`")]);
    assert_eq!(expand("!`echo $0`", "'`x`'"), [command("echo `x`")]);
}

#[test]
fn shell_syntax_in_commands_stays() {
    assert_eq!(expand("!`echo ${2:-x} $HOME`", ""), [command("echo ${2:-x} $HOME")]);
}

#[test]
fn the_number_of_commands_is_limited() {
    assert_eq!(commands(&"!`a` ".repeat(1_000)).len(), MAX_COMMANDS);
}

proptest::proptest! {
    #[test]
    fn every_template_is_taken(template in "[!`@ a$0\n.ü]{0,60}") {
        let _ = expand(&template, "a b");
    }
}
