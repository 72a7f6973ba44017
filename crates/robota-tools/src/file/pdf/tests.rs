use std::io::Write as _;

use super::*;

/// Returns the number of pages if a file with this content is shown.
fn shown(content: &str) -> Option<u64> {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(content.as_bytes()).unwrap();
    file.rewind().unwrap();
    assert!(is_pdf(&mut file).unwrap());
    read_pdf(&mut file).unwrap().map(|pdf| pdf.pages)
}

#[test]
fn files_whose_pages_can_be_counted_are_shown() {
    let page = "3 0 obj <</Type /Page /Parent 2 0 R>> endobj\n";
    let tree = "2 0 obj <</Type/Pages/Count 2>> endobj\n";
    let file = |body: &str| format!("%PDF-1.7\n{body}%%EOF\n");
    let two = format!("{tree}{page}4 0 obj <</Type/Page>> endobj\n");
    assert_eq!(shown(&file(&two)), Some(2));
    assert_eq!(
        shown(&file("1 0 obj <</Linearized 1/L 9/N 7/T 5>>\n5 0 obj <</Type/ObjStm>>\n")),
        Some(7)
    );
    for hidden in [
        file(tree),
        file(&page.repeat(21)),
        file(&format!("{page}<</Type /ObjStm>>")),
        file(&format!("{page}trailer <</Encrypt 9 0 R>>")),
        format!("%PDF-1.7\n{page}"),
        file(&format!("{page}{}", " ".repeat(5 * 1024 * 1024))),
    ] {
        assert_eq!(shown(&hidden), None, "{}", hidden.get(..200).unwrap_or(&hidden));
    }
}
