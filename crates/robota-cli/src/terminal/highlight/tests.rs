use super::{Highlighter, highlight, language_of_path};
use crate::terminal::text::{Line, Role};

fn role_of(line: &Line, text: &str) -> Role {
    let span = line.0.iter().find(|span| span.text.contains(text));
    span.unwrap_or_else(|| panic!("{text} in {line:?}")).style.role
}

#[test]
fn code_has_keywords_strings_comments_and_names() {
    let lines = highlight("rust", "// note\nfn main() { let a = \"text\"; }\n");
    assert_eq!(lines.len(), 2);
    assert_eq!(role_of(&lines[0], "note"), Role::Comment);
    assert_eq!(role_of(&lines[1], "fn"), Role::Keyword);
    assert_eq!(role_of(&lines[1], "main"), Role::Name);
    assert_eq!(role_of(&lines[1], "text"), Role::Literal);
    assert_eq!(lines[1].plain(), "fn main() { let a = \"text\"; }");
}

#[test]
fn names_that_models_use_are_known() {
    for language in [
        "rust",
        "rs",
        "python",
        "py",
        "js",
        "javascript",
        "ts",
        "typescript",
        "tsx",
        "json",
        "jsonc",
        "yaml",
        "yml",
        "toml",
        "bash",
        "sh",
        "shell",
        "console",
        "go",
        "java",
        "c",
        "cpp",
        "c++",
        "csharp",
        "ruby",
        "php",
        "html",
        "css",
        "sql",
        "diff",
        "dockerfile",
        "makefile",
        "xml",
        "kotlin",
        "swift",
        "markdown",
    ] {
        assert!(Highlighter::new(language).is_some(), "{language}");
    }
    for language in ["", "text", "no-such-language"] {
        assert!(Highlighter::new(language).is_none(), "{language}");
    }
}

#[test]
fn a_comment_over_several_lines_stays_one() {
    let mut highlighter = Highlighter::new("c").unwrap();
    highlighter.line("/* begin");
    assert_eq!(role_of(&highlighter.line("int middle;"), "middle"), Role::Comment);
    highlighter.line("end */");
    assert_eq!(role_of(&highlighter.line("int after;"), "int"), Role::Keyword);
}

#[test]
fn long_lines_and_long_code_stay_plain() {
    let mut highlighter = Highlighter::new("js").unwrap();
    let long = "var a=1;".repeat(1000);
    assert_eq!(highlighter.line(&long).0.len(), 1);
    assert!(highlighter.line("var b = 'x';").0.len() > 1);
    highlighter.left = 5;
    assert_eq!(highlighter.line("var b = 'x';").0.len(), 1);
}

#[test]
fn files_have_a_language() {
    for (path, language) in
        [("src/a.rs", Some("rs")), ("Dockerfile", Some("dockerfile")), ("LICENSE", None)]
    {
        assert_eq!(language_of_path(path), language);
    }
}
