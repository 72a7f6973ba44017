use super::*;

#[test]
fn a_change_is_shown_with_context_lines() {
    let old = b"1\n2\n3\n4\n5\n6\n7\n8\n9\n";
    let new = b"1\n2\n3\n4\nfive\n6\n7\n8\n9\n";
    assert_eq!(
        unified(old, new, "f.txt"),
        "--- f.txt\n+++ f.txt\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"
    );
    assert_eq!(unified(old, old, "f.txt"), "");
}

#[test]
fn a_missing_last_newline_is_shown_and_crlf_is_ignored() {
    let shown = unified(b"a\r\nb", b"a\r\nc\r\n", "f");
    assert!(shown.contains("\n a\n-b\n\\ No newline at end of file\n+c\n"), "{shown}");
    assert!(!shown.contains('\r'));
    assert!(unified(b"caf\xe9\n", b"tea\n", "f").contains("-caf\u{fffd}\n+tea\n"));
}

#[test]
fn a_long_diff_is_cut() {
    let new = "new\n".repeat(1_000);
    let shown = unified(b"", new.as_bytes(), "f");
    assert_eq!(shown.lines().count(), MAX_LINES + 1);
    assert!(shown.ends_with("[... 603 more lines of this diff ...]\n"), "{shown}");
}

#[test]
fn lines_are_counted_also_beyond_the_cut() {
    let new: String = (0..1_000).map(|line| format!("{line}\n")).collect();
    let whole = Difference::new(b"", new.as_bytes(), "f");
    assert_eq!((whole.added, whole.removed), (1_000, 0));
    let changed = Difference::new(b"a\nb\nc\n", b"a\nx\ny\n", "f");
    assert_eq!((changed.added, changed.removed), (2, 2));
}
