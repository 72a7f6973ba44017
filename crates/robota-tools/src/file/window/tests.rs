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
fn lines_are_numbered_and_the_last_newline_is_no_line() {
    assert_eq!(text(b"one\ntwo\n", 1, 9), "     1\tone\n     2\ttwo\n");
    assert_eq!(text(b"one\n\ntwo", 1, 9), "     1\tone\n     2\t\n     3\ttwo\n");
    assert_eq!(text(b"\n", 1, 9), "     1\t\n");
    let window = read(b"a\nb", 1, 9).unwrap();
    assert_eq!((window.lines, window.total), (2, Some(2)));
}

#[test]
fn a_window_says_what_follows() {
    let content = b"a\nb\nc\nd\ne\n";
    assert_eq!(
        text(content, 2, 2),
        "     2\tb\n     3\tc\n[lines 2-3 of 5; go on with offset 4]\n"
    );
    assert_eq!(text(content, 4, 2), "     4\td\n     5\te\n");
    assert_eq!(text(content, 5, u64::MAX), "     5\te\n");
    assert_eq!(text(content, 0, 1), "     1\ta\n[lines 1-1 of 5; go on with offset 2]\n");
    assert_eq!(text(content, 2, 0), "[no lines were asked for]\n");
}

#[test]
fn past_the_end_is_an_error_that_says_how_long_the_file_is() {
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
fn line_endings_and_marks_are_not_text() {
    assert_eq!(
        text(b"\xef\xbb\xbfone\r\ntwo\rthree\r\n", 1, 9),
        "     1\tone\n     2\ttwo\rthree\n"
    );
}

#[test]
fn long_lines_are_cut_by_characters() {
    let fits = "ä".repeat(LONGEST_LINE);
    assert_eq!(text(fits.as_bytes(), 1, 1), format!("     1\t{fits}\n"));
    let long = "😀".repeat(LONGEST_LINE) + "x";
    let shown = text(long.as_bytes(), 1, 1);
    assert_eq!(
        shown,
        format!("     1\t{} [... line cut, it has 8001 bytes]\n", "😀".repeat(LONGEST_LINE))
    );
    let huge = "x".repeat(1_000_000) + "\nnext\n";
    let shown = text(huge.as_bytes(), 1, 2);
    assert!(shown.contains("it has 1000000 bytes]\n     2\tnext\n"), "{}", shown.len());
    assert!(shown.len() < 2_200);
}

#[test]
fn what_is_not_utf8_is_shown_with_a_note() {
    let shown = text(b"caf\xe9\n\xc3\xb6k\n", 1, 9);
    assert!(shown.starts_with("     1\tcaf\u{fffd}\n     2\t\u{f6}k\n[not UTF-8"), "{shown}");
    // A multi-byte character that our own cut splits is no such thing.
    let long = "x".to_owned() + &"€".repeat(MOST_KEPT);
    assert!(!text(long.as_bytes(), 1, 1).contains("not UTF-8"));
}

#[test]
fn binary_is_refused_by_its_start() {
    assert!(matches!(read(b"ELF\0\x01", 1, 9), Err(FileError::Binary { .. })));
    let mut late = vec![b'x'; super::super::BINARY_PROBE];
    late.push(0);
    assert!(read(&late, 1, 9).is_ok());
}

#[test]
fn many_lines_are_bounded_in_bytes() {
    let line = "x".repeat(1_999) + "\n";
    let window = read(line.repeat(1_000).as_bytes(), 1, u64::MAX).unwrap();
    assert!(window.text.len() < MOST_SHOWN + 200);
    assert_eq!(window.total, Some(1_000));
    let next = window.lines + 1;
    assert!(window.text.ends_with(&format!(
        "[lines 1-{} of 1000 (as many as are shown at once); go on with offset {next}]\n",
        window.lines
    )));
}

#[test]
fn the_cuts_of_the_reader_do_not_show() {
    // Lines, line endings and characters across the borders of chunks.
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

/// A file that never ends: what is not asked for is not read.
#[test]
fn a_huge_file_is_read_as_far_as_needed() {
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
    assert!(window.text.ends_with("[lines 10-11 of many; go on with offset 12]\n"));
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
