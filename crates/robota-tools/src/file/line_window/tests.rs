use std::io::Write as _;

use super::*;

fn read(content: &[u8], offset: u64, limit: u64) -> Result<Window, FileError> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(content).unwrap();
    read_window(file.path(), Range { offset, limit })
}

fn text(content: &[u8], offset: u64, limit: u64) -> String {
    read(content, offset, limit).unwrap().text
}

#[test]
fn lines_are_numbered_and_a_last_newline_starts_no_line() {
    assert_eq!(text(b"one\ntwo\n", 1, 9), "     1\tone\n     2\ttwo\n");
    assert_eq!(text(b"one\n\ntwo", 1, 9), "     1\tone\n     2\t\n     3\ttwo\n");
    assert_eq!(text(b"\n", 1, 9), "     1\t\n");
    let window = read(b"a\nb", 1, 9).unwrap();
    assert_eq!((window.lines, window.total), (2, Some(2)));
}

#[test]
fn a_window_reports_where_to_continue() {
    let content = b"a\nb\nc\nd\ne\n";
    assert_eq!(
        text(content, 2, 2),
        "     2\tb\n     3\tc\n[lines 2-3 of 5; continue with offset 4]\n"
    );
    assert_eq!(text(content, 4, 2), "     4\td\n     5\te\n");
    assert_eq!(text(content, 5, u64::MAX), "     5\te\n");
    assert_eq!(text(content, 0, 1), "     1\ta\n[lines 1-1 of 5; continue with offset 2]\n");
    assert_eq!(text(content, 2, 0), "[no lines were requested]\n");
}

#[test]
fn an_offset_past_the_end_reports_the_number_of_lines() {
    let error = read(b"a\nb\n", 3, 5).unwrap_err();
    assert!(error.to_string().ends_with("has 2 lines; offset 3 is past its end"), "{error}");
    assert!(matches!(read(b"", 2, 5), Err(FileError::PastEnd { lines: 0, .. })));
}

#[test]
fn an_empty_file_says_so() {
    let window = read(b"", 1, 9).unwrap();
    assert_eq!((window.text.as_str(), window.total), ("[the file is empty]\n", Some(0)));
    assert_eq!(text(BOM, 1, 9), "[the file is empty]\n");
}

#[test]
fn line_endings_and_byte_order_marks_are_not_shown() {
    assert_eq!(
        text(b"\xef\xbb\xbfone\r\ntwo\rthree\r\n", 1, 9),
        "     1\tone\n     2\ttwo\rthree\n"
    );
}

#[test]
fn long_lines_are_cut_by_characters() {
    let fits = "ä".repeat(MAX_LINE_CHARS);
    assert_eq!(text(fits.as_bytes(), 1, 1), format!("     1\t{fits}\n"));
    let long = "😀".repeat(MAX_LINE_CHARS) + "x";
    let shown = text(long.as_bytes(), 1, 1);
    assert_eq!(
        shown,
        format!("     1\t{} [... line cut, it has 8001 bytes]\n", "😀".repeat(MAX_LINE_CHARS))
    );
    let huge = "x".repeat(1_000_000) + "\nnext\n";
    let shown = text(huge.as_bytes(), 1, 2);
    assert!(shown.contains("it has 1000000 bytes]\n     2\tnext\n"), "{}", shown.len());
    assert!(shown.len() < 2_200);
}

#[test]
fn invalid_utf_8_is_shown_with_a_note() {
    let shown = text(b"caf\xe9\n\xc3\xb6k\n", 1, 9);
    assert!(shown.starts_with("     1\tcaf\u{fffd}\n     2\t\u{f6}k\n[not valid UTF-8"), "{shown}");
    // A character that is split by cutting the line is not invalid.
    let long = "x".to_owned() + &"€".repeat(MAX_KEPT_BYTES);
    assert!(!text(long.as_bytes(), 1, 1).contains("not valid UTF-8"));
}

#[test]
fn a_binary_file_is_detected_by_its_start() {
    assert!(matches!(read(b"ELF\0\x01", 1, 9), Err(FileError::Binary { .. })));
    let mut late = vec![b'x'; super::super::BINARY_PROBE];
    late.push(0);
    assert!(read(&late, 1, 9).is_ok());
}

#[test]
fn the_text_of_many_lines_is_limited_in_bytes() {
    let line = "x".repeat(1_999) + "\n";
    let window = read(line.repeat(1_000).as_bytes(), 1, u64::MAX).unwrap();
    assert!(window.text.len() < MAX_SHOWN_BYTES + 200);
    assert_eq!(window.total, Some(1_000));
    let next = window.lines + 1;
    assert!(window.text.ends_with(&format!(
        "[lines 1-{} of 1000 (the limit of one call); continue with offset {next}]\n",
        window.lines
    )));
}

#[test]
fn chunk_boundaries_do_not_affect_the_text() {
    // Lines, line endings and characters that cross chunk boundaries.
    for shift in [0, 1, 2, 3] {
        let mut content = "y".repeat(shift);
        while content.len() < 3 * CHUNK {
            content.push_str("€uro\r\n");
        }
        let rows: Vec<_> = content.lines().collect();
        let window = read(content.as_bytes(), 1, u64::MAX).unwrap();
        assert_eq!(window.total, Some(rows.len() as u64));
        for (at, (shown, row)) in
            window.text.lines().zip(&rows).take(window.lines as usize).enumerate()
        {
            assert_eq!(shown, format!("{:>6}\t{row}", at + 1));
        }
        let last = read(content.as_bytes(), rows.len() as u64, 1).unwrap().text;
        assert_eq!(last.lines().next().unwrap().split_once('\t').unwrap().1, *rows.last().unwrap());
    }
}

/// The source never ends: nothing after the requested lines may be read.
#[test]
fn a_huge_file_is_read_only_as_far_as_needed() {
    struct Endless(u64);
    impl Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            assert!(self.0 < 5 * CHUNK as u64, "read on after the last line");
            for byte in buffer.iter_mut() {
                *byte = if self.0 % 100 == 99 { b'\n' } else { b'x' };
                self.0 += 1;
            }
            Ok(buffer.len())
        }
    }
    let some = tempfile::NamedTempFile::new().unwrap();
    let metadata = some.as_file().metadata().unwrap();
    let range = Range { offset: 10, limit: 2 };
    let window = read_from(Endless(0), some.path(), &metadata, range, 1_000).unwrap();
    assert_eq!((window.lines, window.total, window.stamp.digest), (2, None, None));
    assert!(window.text.ends_with("[lines 10-11 of many; continue with offset 12]\n"));
}

#[test]
fn only_files_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let error = read_window(dir.path(), Range::default()).unwrap_err();
    assert!(error.to_string().ends_with("is a directory, not a file"), "{error}");
    let error = read_window(&dir.path().join("none"), Range::default()).unwrap_err();
    assert!(matches!(error, FileError::Missing { .. }), "{error}");
    #[cfg(unix)]
    {
        let socket = dir.path().join("socket");
        let _bound = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let error = read_window(&socket, Range::default()).unwrap_err();
        assert!(matches!(error, FileError::NotAFile { .. }), "{error}");
    }
}
