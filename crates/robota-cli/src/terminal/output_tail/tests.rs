use super::*;

fn shown(tail: &OutputTail, limit: usize) -> (usize, Vec<String>) {
    let (hidden, lines) = tail.last(limit);
    (hidden, lines.iter().map(Line::plain).collect())
}

#[test]
fn the_last_lines_are_shown_and_the_rest_is_counted() {
    let mut tail = OutputTail::default();
    for number in 1..=10 {
        tail.push(&format!("line {number}\n"));
    }
    tail.push("half");
    let (hidden, lines) = shown(&tail, 4);
    assert_eq!(hidden, 7);
    assert_eq!(lines, ["line 8", "line 9", "line 10", "half"]);
}

#[test]
fn lines_that_are_not_kept_are_still_counted() {
    let mut tail = OutputTail::default();
    for number in 0..KEPT + 5 {
        tail.push(&format!("{number}\n"));
    }
    assert_eq!(tail.count(), KEPT + 5);
    let (hidden, lines) = shown(&tail, 2);
    assert_eq!(hidden, KEPT + 3);
    assert_eq!(lines.len(), 2);
}

#[test]
fn a_line_is_what_a_terminal_would_show() {
    let tail =
        OutputTail::whole("10%\r50%\r100%\r\n\u{1b}[31mred\u{1b}[0m \u{1b}]8;;x\u{1b}\\link\n");
    assert_eq!(shown(&tail, 9), (0, vec!["100%".to_owned(), "red link".to_owned()]));
}

#[test]
fn a_piece_may_end_within_a_line() {
    let mut tail = OutputTail::default();
    tail.push("one tw");
    tail.push("o\nthree");
    assert_eq!(shown(&tail, 5), (0, vec!["one two".to_owned(), "three".to_owned()]));
}

#[test]
fn a_line_that_does_not_end_is_kept_in_part() {
    let mut tail = OutputTail::default();
    for _ in 0..1_000 {
        tail.push(&"é".repeat(1_000));
    }
    tail.push("the end");
    assert!(tail.open.len() <= 2 * LONGEST, "{}", tail.open.len());
    assert!(tail.last(4).1[0].plain().ends_with("the end"));
}
