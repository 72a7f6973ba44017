use super::Output;
use crate::terminal::text::{Line, Role, Style};

fn lines(text: &str) -> Vec<Line> {
    let mut output = Output::default();
    text.lines().map(|line| output.line(line)).collect()
}

fn plain(text: &str) -> String {
    Output::default().line(text).plain()
}

#[test]
fn colours_are_kept_over_lines() {
    let lines = lines("\x1b[1;31merror\x1b[0m: no\n\x1b[32mgreen\nstill\x1b[39m not\n");
    assert_eq!(lines[0].0[0].text, "error");
    assert_eq!(lines[0].0[0].style, Style::from(Role::Ansi(1)).bold());
    assert_eq!(lines[0].0[1].style, Style::default());
    assert_eq!(lines[2].0[0].style.role, Role::Ansi(2));
    assert_eq!(lines[2].0[1].style.role, Role::Text);
}

#[test]
fn many_colours_become_the_nearest_of_sixteen() {
    let role = |codes: &str| Output::default().line(&format!("\x1b[{codes}mx")).0[0].style.role;
    assert_eq!(role("38;5;9"), Role::Ansi(9));
    assert_eq!(role("38;5;196"), Role::Ansi(9));
    assert_eq!(role("38;2;0;128;0"), Role::Ansi(2));
    assert_eq!(role("38;2;90;90;90"), Role::Ansi(8));
    assert_eq!(role("48;5;196;32"), Role::Ansi(2), "the background is skipped");
    assert_eq!(role("94"), Role::Ansi(12));
}

#[test]
fn nothing_else_reaches_the_terminal() {
    for text in [
        "a\x1b[2Jb",
        "a\x1b[?1049hb",
        "a\x1b]0;title\x07b",
        "a\x1b]8;;http://x\x1b\\b",
        "a\x1b]52;c;aGk=\x07b",
        "a\x1bP+q\x1b\\b",
        "a\x1b(Bb",
        "a\x1bMb",
        "a\x1b[>1mb",
        "a\u{7}b",
        "a\u{9b}b",
    ] {
        assert_eq!(plain(text), "ab", "{text:?}");
    }
    for text in ["a\x1b", "a\x1b[31", "a\x1b]0;never ends"] {
        assert_eq!(plain(text), "a", "{text:?}");
    }
    assert_eq!(plain("a\x1b你"), "a你");
}

#[test]
fn a_progress_bar_shows_its_last_state() {
    assert_eq!(plain("10%\r50%\r100% done"), "100% done");
    assert_eq!(plain("windows line\r"), "windows line");
    assert_eq!(plain("abc\u{8}d"), "abd");
}
