use super::MarkerFilter;

fn filtered(reads: &[&str]) -> String {
    let mut filter = MarkerFilter::new(Some("<end>".to_owned()));
    let pieces = reads.iter().flat_map(|read| filter.output(read.as_bytes()));
    pieces.map(|piece| String::from_utf8_lossy(piece).into_owned()).collect()
}

#[test]
fn the_line_of_the_marker_is_removed_however_it_is_read() {
    assert_eq!(filtered(&["a\n<end>/tmp\n"]), "a\n");
    assert_eq!(filtered(&["a\n<end>", "/tmp\n"]), "a\n");
    assert_eq!(filtered(&["a\n", "<end>/t", "m", "p\nlate\n", "later\n"]), "a\nlate\nlater\n");
    assert_eq!(filtered(&["no marker <end"]), "no marker <end");
}
