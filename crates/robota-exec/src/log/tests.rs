use super::*;

fn text(chunk: &LogChunk) -> (&str, u64, u64) {
    (std::str::from_utf8(&chunk.bytes).unwrap(), chunk.skipped, chunk.next)
}

#[test]
fn new_bytes_are_read_once_and_overwritten_bytes_are_counted() {
    let log = Log::new(8);
    assert_eq!(text(&log.read(0, 100)), ("", 0, 0));
    log.push(b"abc");
    assert_eq!(text(&log.read(0, 2)), ("ab", 0, 2));
    assert_eq!(text(&log.read(2, 100)), ("c", 0, 3));
    log.push(b"defghij");
    assert_eq!(text(&log.read(0, 100)), ("cdefghij", 2, 10));
    log.push(b"0123456789ABCDEF");
    assert_eq!(text(&log.read(10, 100)), ("89ABCDEF", 8, 26));
    assert_eq!(text(&log.read(99, 100)), ("", 0, 26), "the offset is past the end");
}
