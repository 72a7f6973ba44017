use super::*;

#[test]
fn lines_are_bounded_and_the_next_one_is_read() {
    let text = format!("short\n{}\nnext\nlast", "x".repeat(100_000));
    let mut input = std::io::BufReader::new(text.as_bytes());
    let mut next = || next_line(&mut input, 10);
    let line = |text: &str| Some(InputLine::Line(text.as_bytes().to_vec()));
    assert_eq!(next(), line("short"));
    assert_eq!(next(), Some(InputLine::TooLong));
    assert_eq!(next(), line("next"));
    assert_eq!(next(), line("last"));
    assert_eq!(next(), None);
}
