use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn header(text: &str) -> Header {
    Markdown::parse(&format!("---\n{text}\n---\nbody")).header
}

#[test]
fn yaml_is_read_as_yaml() {
    let header =
        header("name: a\nmetadata:\n  author: x\n  tags: [1, 2]\ndescription: >-\n  one\n  two");
    assert_eq!(header.text("name").as_deref(), Some("a"));
    assert_eq!(header.text("description").as_deref(), Some("one two"));
    assert_eq!(header.value("metadata"), Some(&json!({"author": "x", "tags": [1, 2]})));
    assert_eq!(header.keys().collect::<Vec<_>>(), ["name", "metadata", "description"]);
    assert_eq!(header.line("metadata"), Some(3));
}

#[test]
fn a_header_that_is_not_yaml_is_read_key_by_key() {
    for (line, expected) in [
        ("description: Use this: now", "Use this: now"),
        ("description: @team does it", "@team does it"),
        ("description: {{placeholder}} x", "{{placeholder}} x"),
        ("description: [a] [b]", "[a] [b]"),
        ("description: \"quoted\" and: more", "\"quoted\" and: more"),
        ("description: %x `y` & *z: q", "%x `y` & *z: q"),
        ("description:no space: here", "no space: here"),
    ] {
        let file = Markdown::parse(&format!(
            "---\nname: a\n{line}\nallowed-tools:\n  - Read\n  - Bash(ls *)\nhooks:\n  Stop: []\n---\nbody"
        ));
        assert_eq!(file.header.text("description").as_deref(), Some(expected), "{line}");
        assert_eq!(file.header.text("name").as_deref(), Some("a"), "{line}");
        assert_eq!(file.header.words("allowed-tools"), ["Read", "Bash(ls *)"], "{line}");
        assert_eq!(file.header.value("hooks"), Some(&json!({"Stop": []})), "{line}");
        assert_eq!(file.notes.len(), 1, "{line}");
        assert_eq!(file.body, "body");
    }
}

#[test]
fn a_description_of_several_lines_that_is_not_yaml_is_kept() {
    let header = header("name: a\ndescription: Use it: always.\n  Also: here.\nmodel: opus");
    assert_eq!(header.text("description").as_deref(), Some("Use it: always.\nAlso: here."));
    assert_eq!(header.text("model").as_deref(), Some("opus"));
}

#[test]
fn values_are_shown_as_they_are_written() {
    for (line, expected) in [
        ("argument-hint: [file] ", "[file]"),
        ("argument-hint: [a, b]", "[a, b]"),
        ("argument-hint: 1.10", "1.10"),
        ("argument-hint: yes", "yes"),
        ("argument-hint: {a: b}", "{a: b}"),
        ("argument-hint: '[x]'", "[x]"),
    ] {
        assert_eq!(header(line).text("argument-hint").as_deref(), Some(expected), "{line}");
    }
    assert_eq!(header("argument-hint:").text("argument-hint"), None);
    assert_eq!(header("argument-hint: ''").text("argument-hint"), None);
    assert_eq!(header("argument-hint: ~").text("argument-hint"), None);
}

#[test]
fn flags_have_many_spellings() {
    for (word, expected) in [
        ("true", true),
        ("yes", true),
        ("on", true),
        ("1", true),
        ("True", true),
        ("'YES'", true),
        ("false", false),
        ("no", false),
        ("off", false),
        ("0", false),
        ("Off", false),
    ] {
        assert_eq!(header(&format!("f: {word}")).flag("f"), Ok(Some(expected)), "{word}");
    }
    assert_eq!(header("f:").flag("f"), Ok(None));
    let error = header("a: 1\nf: perhaps").flag("f").unwrap_err();
    assert_eq!(error.line, Some(3));
    assert_eq!(error.to_string(), "`f`: `perhaps` is not a flag; write true or false");
    assert_eq!(header("n: 5").number("n"), Ok(Some(5)));
    assert!(header("n: 0").number("n").is_err());
    assert!(header("n: -5").number("n").is_err());
    assert!(header("n: many").number("n").is_err());
}

#[test]
fn rules_are_split_outside_brackets() {
    let expected = ["Read", "Bash(git add a, b)", "Bash(git commit -m \"x, y\")", "mcp__s__t"];
    for text in [
        "t: Read, Bash(git add a, b), Bash(git commit -m \"x, y\"), mcp__s__t",
        "t: Read Bash(git add a, b) Bash(git commit -m \"x, y\") mcp__s__t",
        "t: [Read, Bash(git add a, b), Bash(git commit -m \"x, y\"), mcp__s__t]",
        "t:\n  - Read\n  - Bash(git add a, b)\n  - 'Bash(git commit -m \"x, y\")'\n  - mcp__s__t",
        "t:\n- Read, Bash(git add a, b)\n- Bash(git commit -m \"x, y\")  mcp__s__t",
        "t: \"Read\", 'Bash(git add a, b)', Bash(git commit -m \"x, y\"), \"mcp__s__t\"",
    ] {
        assert_eq!(header(text).words("t"), expected, "{text}");
    }
    for empty in ["t:", "t: ''", "t: []", "t: null", "t: ', ,'", "u: x", "t: {a: b}"] {
        assert_eq!(header(empty).words("t"), [""; 0], "{empty}");
    }
    // An open bracket takes the rest: the rule matches nothing and allows nothing.
    assert_eq!(header("t: Bash(git add, Read").words("t"), ["Bash(git add, Read"]);
    assert_eq!(
        header("p: 'src/**/*.{ts,tsx}, lib/**'").globs("p"),
        ["src/**/*.{ts,tsx}", "lib/**"]
    );
}

#[test]
fn line_ends_marks_and_nul_bytes_are_accepted() {
    let file = Markdown::parse("\u{feff}---\r\nname: a\0b\r\n---\r\nbody\r\n");
    assert_eq!(file.header.text("name").as_deref(), Some("ab"));
    assert_eq!(file.body, "body\n");
    assert_eq!(
        Markdown::parse("---  \nname: a\n--- \nx").header.text("name").as_deref(),
        Some("a")
    );
    assert_eq!(
        Markdown::parse("---\n---\nx"),
        Markdown { body: "x".into(), ..Markdown::default() }
    );
    assert_eq!(Markdown::parse(""), Markdown::default());
}

#[test]
fn a_header_that_is_not_the_first_line_is_text() {
    for text in [
        "\n---\nname: a\n---\nx",
        "<!-- c -->\n---\nname: a\n---\nx",
        "# comment\n\n---\nname: a\n---\n",
        "<!--\nlong\n-->\n---\nname: a\n---\n",
    ] {
        let file = Markdown::parse(text);
        assert_eq!(file.header, Header::default(), "{text}");
        assert_eq!(file.body, text);
        assert!(file.notes[0].message.contains("first line"), "{text}");
    }
    let open = Markdown::parse("---\nname: a\nno end");
    assert_eq!(open.header, Header::default());
    assert!(open.notes[0].message.contains("no end"));
    // A rule between paragraphs is no header.
    assert_eq!(Markdown::parse("# Title\n\n---\n\ntext\n---\n").notes, []);
}

#[test]
fn hostile_headers_cost_little() {
    let bomb = "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\nname: n";
    assert_eq!(header(bomb).text("name").as_deref(), Some("n"));
    let deep = format!("d: {}\nname: n", "[".repeat(5_000));
    assert_eq!(header(&deep).text("name").as_deref(), Some("n"));
    let long = Markdown::parse(&format!("---\nx: {}\n---\nbody", "y".repeat(MAX_HEADER_BYTES)));
    assert_eq!(long.header, Header::default());
    assert!(long.notes[0].message.contains("ignored"));
    assert_eq!(header("name: a\nname: b: c").text("name").as_deref(), Some("b: c"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]
    #[test]
    fn no_text_makes_parsing_fail(text in "(---\n)?([a-z-]{1,6}: ?)?[ -~\n\t\u{0}-\u{1f}äß🎉&*!|>%@`]{0,120}(\n---\n)?.{0,20}") {
        let file = Markdown::parse(&text);
        for key in file.header.keys() {
            let _ = (file.header.text(key), file.header.flag(key), file.header.number(key));
            let _ = (file.header.words(key), file.header.globs(key));
        }
    }

    #[test]
    fn values_survive_a_header_that_is_not_yaml(value in "[a-zA-Z0-9][a-zA-Z0-9 :@{}\\[\\],.!]{0,40}[a-z]") {
        let header = header(&format!("bad: x: y\nkey: {value}"));
        let text = header.text("key").unwrap();
        prop_assert_eq!(text.split_whitespace().collect::<String>(), value.split_whitespace().collect::<String>());
        prop_assert!(matches!(header.value("key"), Some(Value::String(_) | Value::Object(_) | Value::Number(_) | Value::Bool(_))));
    }
}

proptest::proptest! {
    /// The quick reader of plain headers answers only what the YAML parser answers.
    #[test]
    fn plain_headers_are_read_as_yaml_reads_them(
        lines in proptest::collection::vec(
            ("[a-zN-]{0,4}", "(: ?|:|)", "[aZnNy0 ,.;()/_'#:\"\\-]{0,6}|true|Null|yes|1e3|o'clock|a b"),
            0..4,
        ),
    ) {
        let text: String =
            lines.into_iter().map(|(key, colon, value)| format!("{key}{colon}{value}\n")).collect();
        if let Some(fields) = super::plain::fields(&text) {
            let (expected, notes) = super::header::Header::parse_yaml(&text);
            assert_eq!(super::header::Header::of(fields), expected, "{text}");
            assert!(notes.is_empty(), "{text}: {notes:?}");
        }
    }
}

#[test]
fn usual_headers_are_plain() {
    let text =
        "name: code-review\ndescription: Reviews changes, one file at a time.\nmodel: opus\n";
    assert_eq!(super::plain::fields(text).map(|fields| fields.len()), Some(3));
    for text in
        ["a: b: c\n", "a: [b]\n", "a: yes\n", "a: 1\n", "a:\n  - b\n", "a: b\n  c\n", "a: |\n"]
    {
        assert_eq!(super::plain::fields(text), None, "{text}");
    }
}
