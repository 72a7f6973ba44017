use super::*;

fn code(text: &str) -> String {
    let masked = mask(text, Keep::Code);
    assert_eq!(masked.len(), text.len(), "offsets must not move in {text:?}");
    masked
}

#[test]
fn comments_vanish_and_lines_stay() {
    assert_eq!(code("a // b\nc"), "a     \nc");
    assert_eq!(code("a /* b /* c */\n d */ e"), "a             \n      e");
    assert_eq!(code("a /* never closed"), "a                ");
}

#[test]
fn strings_keep_their_quotes_only() {
    assert_eq!(code(r#"f("a // b", 1)"#), r#"f("      ", 1)"#);
    assert_eq!(code(r#"f("a\"b", 1)"#), r#"f("    ", 1)"#);
    assert_eq!(code(r###"f(r#"a"b"#, 1)"###), r###"f(  "   " , 1)"###);
    assert_eq!(code(r#"f(b"\\")"#), r#"f(b"  ")"#);
    assert_eq!(code("f(\"über\")"), "f(\"     \")");
}

#[test]
fn characters_are_not_lifetimes() {
    assert_eq!(code("f('{', '\\'', 'ä', '😀')"), "f(   ,     ,     ,       )");
    assert_eq!(code("f('\"', b'\"') + g"), "f(   , b   ) + g");
    assert_eq!(code("fn f<'a>(x: &'a str) {}"), "fn f<'a>(x: &'a str) {}");
}

#[test]
fn a_word_that_ends_in_r_starts_no_raw_string() {
    assert_eq!(code(r#"bar"x" y"#), r#"bar" " y"#);
    assert_eq!(code("r#type"), "r#type");
}

#[test]
fn strings_can_be_kept() {
    assert_eq!(mask("\"a // b\" // c", Keep::Strings), "\"a // b\"     ");
}
