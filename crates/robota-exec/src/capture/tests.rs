use super::*;

fn capture(limits: Limits, chunks: &[&[u8]]) -> Captured {
    let mut stream = HeadTail::new(limits, None);
    for chunk in chunks {
        stream.push(chunk);
    }
    stream.finish()
}

#[test]
fn the_kept_ends_do_not_depend_on_the_chunk_size() {
    let stream: Vec<u8> = (0..=255).cycle().take(10_000).collect();
    let limits = Limits { head: 100, tail: 70 };
    let whole = capture(limits, &[&stream]);
    for size in [1, 3, 69, 70, 71, 99, 100, 101, 4096] {
        let chunks: Vec<_> = stream.chunks(size).collect();
        assert_eq!(capture(limits, &chunks), whole, "chunks of {size}");
    }
    assert_eq!(whole.head, stream[..100]);
    assert_eq!(whole.tail, stream[9_930..]);
    assert_eq!(whole.dropped_bytes, 10_000 - 170);
    assert_eq!(whole.total_bytes(), 10_000);
}

#[test]
fn nothing_is_dropped_up_to_the_limits_exactly() {
    let stream = [b'x'; 30];
    for len in 0..=30 {
        let kept = capture(Limits { head: 10, tail: 20 }, &[&stream[..len]]);
        assert!(kept.is_complete(), "{len} bytes fit");
        assert_eq!(kept.text().len(), len);
    }
    let kept = capture(Limits { head: 10, tail: 20 }, &[&stream, b"y"]);
    assert_eq!(kept.dropped_bytes, 1);
}

#[test]
fn with_limits_of_zero_the_bytes_are_still_counted() {
    let kept = capture(Limits { head: 0, tail: 0 }, &[b"abc", b"de"]);
    assert_eq!(kept.dropped_bytes, 5);
    assert_eq!(kept.text(), "[... 5 of 5 bytes cut ...]\n");
}

#[test]
fn a_character_split_between_head_and_tail_stays_whole() {
    let kept = capture(Limits { head: 1, tail: 100 }, &["äb".as_bytes()]);
    assert_eq!(kept.text(), "äb");
}

#[test]
fn a_cut_splits_no_character_and_reports_the_dropped_bytes() {
    // 1 + 2 bytes at the start, 3 at the end; both limits are inside a character.
    let kept = capture(Limits { head: 2, tail: 4 }, &["aä----€z".as_bytes()]);
    assert_eq!(kept.text(), "a\n[... 6 of 11 bytes cut ...]\n€z");
    let kept = capture(Limits { head: 2, tail: 3 }, &["aä----€z".as_bytes()]);
    assert_eq!(kept.text(), "a\n[... 9 of 11 bytes cut ...]\nz");
}

#[test]
fn bytes_that_are_not_utf_8_become_replacement_characters() {
    let kept = capture(Limits::default(), &[b"a\xff\xfeb\x80"]);
    assert_eq!(kept.text(), "a\u{fffd}\u{fffd}b\u{fffd}");
    let junk = [0x80; 10];
    let kept = capture(Limits { head: 5, tail: 4 }, &[&junk]);
    assert_eq!(kept.text().matches('\u{fffd}').count(), 9);
}

#[test]
fn a_stream_over_the_limits_is_spilled_up_to_max_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let limits = Limits { head: 4, tail: 4 };
    let spill = |max_bytes| Some(Spill { dir: dir.path().join("new"), max_bytes });
    let mut kept = HeadTail::new(limits, spill(100));
    for part in [&b"abc"[..], b"defgh"] {
        kept.push(part);
    }
    assert!(!dir.path().join("new").exists(), "the whole stream is in memory");
    let whole = |spilled: &Spilled| {
        let mut bytes = vec![0; 100];
        let read = spilled.read_at(0, &mut bytes).unwrap();
        bytes.truncate(read);
        bytes
    };
    kept.push(b"ijk");
    kept.push(b"l");
    let captured = kept.finish();
    assert_eq!((&captured.head[..], &captured.tail[..]), (&b"abcd"[..], &b"ijkl"[..]));
    let spilled = captured.spilled.unwrap();
    assert_eq!((whole(&spilled), spilled.bytes), (b"abcdefghijkl".to_vec(), 12));
    let mut some = [0; 4];
    assert_eq!((spilled.read_at(10, &mut some).unwrap(), &some[..2]), (2, &b"kl"[..]));
    assert_eq!(spilled.read_at(12, &mut some).unwrap(), 0);
    let names = dir.path().join("new").read_dir().unwrap().count();
    assert_eq!(names, 0, "the file has no name, so it cannot be left behind");

    let mut kept = HeadTail::new(limits, spill(10));
    kept.push(b"0123456789ABCDEF");
    kept.push(b"more");
    let spilled = kept.finish().spilled.unwrap();
    assert_eq!((whole(&spilled), spilled.bytes), (b"0123456789".to_vec(), 10));
}

/// Clones of a spilled stream share one open file.
#[test]
fn concurrent_readers_of_a_spilled_stream_do_not_disturb_each_other() {
    let dir = tempfile::tempdir().unwrap();
    let stream: Vec<u8> = (0..=250).cycle().take(200_000).collect();
    let mut capture = HeadTail::new(Limits { head: 1, tail: 1 }, Some(Spill::new(dir.path())));
    capture.push(&stream);
    let spilled = capture.finish().spilled.unwrap();
    std::thread::scope(|scope| {
        for reader in 0..4 {
            let (spilled, stream) = (spilled.clone(), &stream);
            scope.spawn(move || {
                let mut buffer = [0; 100];
                for round in 0..2_000_usize {
                    let from = (reader * 49_999 + round * 97) % (stream.len() - buffer.len());
                    assert_eq!(spilled.read_at(from as u64, &mut buffer).unwrap(), buffer.len());
                    assert_eq!(buffer, stream[from..from + buffer.len()], "at {from}");
                }
            });
        }
    });
}
