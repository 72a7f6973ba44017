mod split;

use super::{MarkdownStream, render};
use crate::terminal::text::{Line, Role};

fn plain(source: &str, width: usize) -> Vec<String> {
    render(source, width).iter().map(Line::plain).collect()
}

fn text(source: &str, width: usize) -> String {
    plain(source, width).join("\n")
}

#[test]
fn inline_styles() {
    let lines = render("a **b** *c* ~~d~~ `e` ***f***", 80);
    assert_eq!(lines[0].plain(), "a b c d e f");
    let span = |text: &str| lines[0].0.iter().find(|span| span.text == text).unwrap().style;
    assert!(span("b").bold && span("c").italic && span("d").strike);
    assert_eq!(span("e").role, Role::Code);
    assert!(span("f").bold && span("f").italic);
}

#[test]
fn headings_have_no_signs_and_one_blank_line_around() {
    let source = "# Title\ntext\n## Second\n\n\nmore\n";
    assert_eq!(plain(source, 80), ["Title", "", "text", "", "Second", "", "more"]);
    let lines = render(source, 80);
    assert!(lines[0].0[0].style.bold && lines[0].0[0].style.underline);
    assert!(lines[4].0[0].style.bold && !lines[4].0[0].style.underline);
}

#[test]
fn lists_keep_their_numbers_over_other_blocks() {
    let source = "Steps:\n1. one\n1. two\n   - sub\n     text that goes on\n\n   ```sh\n   ls\n   ```\n1. three\n\n- [x] done\n- [ ] open\n";
    assert_eq!(
        plain(source, 80),
        [
            "Steps:",
            "1. one",
            "2. two",
            "   • sub text that goes on",
            "",
            "   ls",
            "3. three",
            "",
            "☑ done",
            "☐ open",
        ]
        .map(|line| line.replace("   • sub", "   ◦ sub"))
    );
    // Code without an indent ends the list; the next item says its number.
    let source = "1. one\n```\ncode\n```\n2. two\n";
    assert_eq!(plain(source, 80), ["1. one", "", "code", "", "2. two"]);
}

#[test]
fn an_item_ends_where_its_paragraph_cannot_continue() {
    // A line without an indent continues a paragraph of the item, not its code or heading.
    let blocks = |source: &str| {
        let mut stream = MarkdownStream::new();
        stream.push(source);
        stream.finish().into_iter().map(|block| block.source).collect::<Vec<_>>()
    };
    assert_eq!(blocks("- item\n  ```\n  ```\ntext"), ["- item\n  ```\n  ```", "text"]);
    assert_eq!(blocks("- # Deep\ntext"), ["- # Deep", "text"]);
    assert_eq!(blocks("- item\ntext"), ["- item\ntext"]);
    // Nothing follows a marker that a blank line follows.
    assert_eq!(blocks("-\n\n  text"), ["-", "  text"]);
    // A marker below a heading, a quote or a table begins a list, below a paragraph it does not.
    assert_eq!(blocks("Title\n-\n-\n  x"), ["Title\n-", "-\n  x"]);
    assert_eq!(blocks("> quote\n2. two"), ["> quote", "2. two"]);
    assert_eq!(blocks("| a |\n|---|\n2. two"), ["| a |\n|---|", "2. two"]);
    assert_eq!(blocks("text\n2. two"), ["text\n2. two"]);
}

#[test]
fn loose_lists_keep_their_blank_lines() {
    assert_eq!(plain("- a\n\n- b\n- c\n", 80), ["• a", "", "• b", "• c"]);
    assert_eq!(plain("- a\n\n  more\n- b\n", 80), ["• a", "", "  more", "• b"]);
}

#[test]
fn long_items_and_quotes_wrap_inside_of_their_margin() {
    assert_eq!(plain("- one two three four", 12), ["• one two", "  three four"]);
    assert_eq!(
        plain("> one two three four\n> - item", 12),
        ["│ one two", "│ three four", "│ ", "│ • item"]
    );
}

#[test]
fn code_is_not_decorated() {
    let lines = render("```rust\nfn main() {\n\n    x\n}\n```", 80);
    let texts: Vec<String> = lines.iter().map(Line::plain).collect();
    assert_eq!(texts, ["fn main() {", "", "    x", "}"]);
    assert_eq!(lines[0].0[0].style.role, Role::Keyword);
    assert_eq!(plain("```\nabcdef\n```", 4), ["abcd", "ef"]);
    assert_eq!(plain("    indented\n\n    code\n\ntext", 40), ["indented", "", "code", "", "text"]);
}

#[test]
fn links_say_where_they_lead() {
    let lines = render("see [docs](https://a.example/b) and https://c.example/d.", 80);
    assert_eq!(lines[0].plain(), "see docs (https://a.example/b) and https://c.example/d.");
    let link = |text: &str| {
        lines[0].0.iter().find(|span| span.text == text).unwrap().link.clone().unwrap()
    };
    assert_eq!(link("docs"), "https://a.example/b");
    assert_eq!(link("https://c.example/d"), "https://c.example/d");
    assert_eq!(text("<https://a.example>", 80), "https://a.example");
    assert_eq!(text("![a picture](p.png)", 80), "a picture (p.png)");
}

#[test]
fn line_breaks_are_spaces_except_between_wide_letters() {
    assert_eq!(text("one\ntwo\n你好\n世界", 80), "one two 你好世界");
}

#[test]
fn types_in_angle_brackets_are_not_lost() {
    assert_eq!(text("use Vec<T> here<br>now", 80), "use Vec<T> here\nnow");
}

#[test]
fn a_table_is_a_grid() {
    let source = "| a | 数量 |\n|:--|---:|\n| one | 1 |\n| 你好 | `2` |\n";
    assert_eq!(
        text(source, 80),
        "┌──────┬──────┐\n│ a    │ 数量 │\n├──────┼──────┤\n│ one  │    1 │\n│ 你好 │    2 │\n└──────┴──────┘"
    );
}

#[test]
fn a_wide_table_wraps_in_its_cells() {
    let source = format!("| k | text |\n|--|--|\n| a | {} |\n| b | x |\n", "word ".repeat(30));
    let lines = render(&source, 60);
    assert!(lines.iter().all(|line| line.width() == 60), "{}", text(&source, 60));
    assert!(lines.len() > 6);
}

#[test]
fn a_table_in_a_narrow_terminal_is_a_list_of_records() {
    let source = "| name | meaning of the name |\n|--|--|\n| a | the first of the letters |\n| b | second |\n";
    assert_eq!(
        plain(source, 30),
        [
            "name: a",
            "meaning of the name: the first",
            "  of the letters",
            "",
            "name: b",
            "meaning of the name: second",
        ]
    );
    assert_eq!(plain("| a | b |\n|--|--|\n| 1 | 2 |\n", 30)[1], "│ a │ b │");
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let source = "# A long heading of many words\n\n> > - quote **with 世界你好 text** in it\n\n1. a\n   - b\n     - c\n       - d and more text\n\n```\nlong code line of many letters\n```\n\n| a | b | c |\n|--|--|--|\n| text text text | text text | texttexttexttext |\n\n---\n\nhttps://example.com/a/very/long/address/that/does/not/fit\n";
    for width in 8..100 {
        for line in render(source, width) {
            assert!(line.width() <= width, "{width}: {:?}", line.plain());
        }
    }
}

#[test]
fn blocks_are_finished_as_soon_as_possible() {
    let mut stream = MarkdownStream::new();
    let mut finished = |text: &str| {
        stream.push(text);
        stream.take_finished().iter().map(|block| block.source.clone()).collect::<Vec<_>>()
    };
    assert_eq!(finished("# Head"), [""; 0]);
    assert_eq!(finished("ing\nA para"), ["# Heading"]);
    assert_eq!(finished("graph\nof two lines\n\n"), ["A paragraph\nof two lines"]);
    assert_eq!(finished("```rust\nfn\n\n"), [""; 0]);
    assert_eq!(finished("```\n"), ["```rust\nfn\n\n```"]);
    assert_eq!(finished("1. a\n2. b\n"), ["1. a"]);
    assert_eq!(finished("\nEnd\n"), ["2. b"]);
    assert_eq!(stream.finish().len(), 1);
    assert_eq!(stream.open(), "");
}

#[test]
fn the_open_block_is_shown_as_it_will_be() {
    let mut stream = MarkdownStream::new();
    stream.push("1. one\n1. two **bo");
    let lines: Vec<String> = stream.open_lines(40).iter().map(Line::plain).collect();
    assert_eq!(lines, ["1. one", "2. two bo"]);
    stream.push("ld**\n");
    assert_eq!(stream.take_finished().len(), 1);
    assert!(stream.open_continues());
    let lines: Vec<String> = stream.open_lines(40).iter().map(Line::plain).collect();
    assert_eq!(lines, ["2. two bold"]);
    stream.push("\n```rust\nfn a() {}\nlet b");
    let lines: Vec<String> = stream.open_lines(40).iter().map(Line::plain).collect();
    assert_eq!(lines, ["fn a() {}", "let b"]);
}

#[test]
fn signs_that_are_not_closed_yet_are_not_shown() {
    for (source, shown) in [
        ("a **bo", "a bo"),
        ("a **", "a "),
        ("a *it", "a it"),
        ("a `co", "a co"),
        ("a `co **x", "a co **x"),
        ("a ***bo", "a bo"),
        ("a ~~str", "a str"),
        ("2 * 3", "2 * 3"),
        ("snake_case", "snake_case"),
        ("a **b** c", "a b c"),
        ("\\*no", "*no"),
        ("**a\n\nb", "**a\n\nb"),
    ] {
        let mut stream = MarkdownStream::new();
        stream.push(source);
        let mut lines: Vec<String> = stream
            .take_finished()
            .iter()
            .flat_map(|it| it.render(40))
            .map(|it| it.plain())
            .collect();
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.extend(stream.open_lines(40).iter().map(Line::plain));
        assert_eq!(lines.join("\n").trim_end(), shown.trim_end(), "{source}");
    }
}
