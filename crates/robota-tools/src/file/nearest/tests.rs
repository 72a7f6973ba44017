use super::*;

const SOURCE: &str = "fn main() {\n    let total = sum(&items);\n\n    println!(\"{total}\");\n}\n\nfn sum(items: &[u32]) -> u32 {\n    items.iter().sum()\n}\n";

fn find(wanted: &str) -> Option<NearestMatch> {
    nearest(SOURCE.as_bytes(), wanted)
}

#[test]
fn a_misspelt_line_is_found() {
    let found = find("let totl = sum(&item);").unwrap();
    assert_eq!(found.line, 2);
    assert_eq!(found.lines, ["    let total = sum(&items);"]);
    assert!(!found.only_white_space);
}

#[test]
fn white_space_is_named_as_the_only_difference() {
    let found = find("fn sum(items: &[u32]) -> u32 {\n\titems.iter().sum()\n}").unwrap();
    assert_eq!((found.line, found.only_white_space), (7, true));
    assert_eq!(
        found.to_string(),
        "The closest lines differ in white space only:\n     \
         7\tfn sum(items: &[u32]) -> u32 {\n     8\t    items.iter().sum()\n     9\t}"
    );
}

#[test]
fn context_lines_decide_between_equal_lines() {
    let source = "if a {\n    stop();\n}\nif b {\n    stop();\n}\n";
    let found = nearest(source.as_bytes(), "if b  {\n    stop( );\n}").unwrap();
    assert_eq!(found.line, 4);
}

#[test]
fn line_numbers_copied_from_read_are_noticed() {
    let found =
        find("     7\tfn sum(items: &[u32]) -> u32 {\n     8\t    items.iter().sum()").unwrap();
    assert_eq!((found.line, found.numbered), (7, true));
    assert!(found.to_string().contains("leave them out"));
}

#[test]
fn without_a_similar_line_there_is_no_match() {
    assert_eq!(find("SELECT * FROM users WHERE id = 7"), None);
    assert_eq!(nearest(b"", "anything"), None);
    assert_eq!(nearest(b"short\n", &"long line\n".repeat(100)), None);
}

#[test]
fn long_matches_are_shortened() {
    let source: String =
        (0..30).map(|n| format!("line number {n} {}\n", "x".repeat(500))).collect();
    let wanted = source.replace("number 3 ", "numbr 3 ");
    let shown = nearest(source.as_bytes(), &wanted).unwrap().to_string();
    assert!(shown.ends_with("[and 18 more]"), "{shown}");
    assert!(shown.len() < 12 * 220);
}
