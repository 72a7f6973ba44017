use super::{Colours, Environment, Theme};
use crate::terminal::text::{Ground, Role, Style};

fn escape(colours: Colours, style: Style) -> String {
    let mut out = Vec::new();
    Theme::new(colours, true).write(style, &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn the_environment_selects_the_colours() {
    let term = |term| Environment { term: Some(term), ..Environment::default() };
    let cases = [
        (term("dumb"), Colours::Dumb),
        (Environment::default(), Colours::Dumb),
        (term("xterm"), Colours::Sixteen),
        (term("xterm-256color"), Colours::Dark),
        (Environment { colorfgbg: Some("0;15"), ..term("xterm-256color") }, Colours::Light),
        (Environment { colorfgbg: Some("15;default;0"), ..term("tmux-256color") }, Colours::Dark),
        (Environment { no_color: Some("1"), ..term("xterm-256color") }, Colours::None),
        (Environment { no_color: Some(""), ..term("xterm-256color") }, Colours::Dark),
        (Environment { colorterm: Some("truecolor"), ..term("xterm") }, Colours::Dark),
        (Environment { setting: Some("light"), ..term("xterm-256color") }, Colours::Light),
        (Environment { setting: Some("ansi"), ..term("xterm-256color") }, Colours::Sixteen),
    ];
    for (environment, expected) in cases {
        assert_eq!(Theme::detect(&environment).colours, expected, "{environment:?}");
    }
}

#[test]
fn without_colours_no_colour_is_written_but_changed_words_are_marked() {
    let word = Style::from(Role::Keyword).on(Ground::AddedWord);
    assert_eq!(escape(Colours::None, word), "\x1b[0;4m");
    assert_eq!(escape(Colours::None, Style::from(Role::Ansi(9))), "\x1b[0m");
    assert_eq!(escape(Colours::Dumb, word), "");
}

#[test]
fn each_theme_has_its_sequences() {
    let style = Style::from(Role::Bad).bold();
    assert_eq!(escape(Colours::Dark, style), "\x1b[0;1;38;5;203m");
    assert_eq!(escape(Colours::Light, style), "\x1b[0;1;38;5;160m");
    assert_eq!(escape(Colours::Sixteen, style), "\x1b[0;1;31m");
    let added = Style::from(Role::Keyword).on(Ground::Added);
    assert_eq!(escape(Colours::Dark, added), "\x1b[0;38;5;176;48;5;22m");
    assert_eq!(escape(Colours::Sixteen, added), "\x1b[0;32m");
    assert_eq!(escape(Colours::Dark, Style::from(Role::Ansi(12))), "\x1b[0;94m");
}
