use proptest::prelude::*;

use super::*;

#[test]
fn encodings_are_detected() {
    assert_eq!(Encoding::of(b"plain"), Some(Encoding::Utf8));
    assert_eq!(Encoding::of("größe".as_bytes()), Some(Encoding::Utf8));
    assert_eq!(Encoding::of(b"gr\xf6\xdfe"), Some(Encoding::Windows1252));
    assert_eq!(
        Encoding::of("größe \u{20ac} and one bad \u{1F600}".as_bytes()),
        Some(Encoding::Utf8)
    );
    assert_eq!(Encoding::of(b"gr\xc3\xb6\xc3\x9fe and \xff"), Some(Encoding::Utf8));
    assert_eq!(Encoding::of(b"cut here \xe2\x82"), Some(Encoding::Utf8));
    assert_eq!(Encoding::of(b"\xff\xfea\0"), Some(Encoding::Utf16Le));
    assert_eq!(Encoding::of(b"\xfe\xff\0a"), Some(Encoding::Utf16Be));
    assert_eq!(Encoding::of(b"a\0b"), None);
    assert_eq!(Encoding::of(b""), Some(Encoding::Utf8));
}

#[test]
fn content_that_does_not_round_trip_is_not_decoded() {
    assert_eq!(Encoding::Utf16Le.decode(b"\xff\xfe\x00\xd8"), None, "half a character");
    assert_eq!(Encoding::Utf16Le.decode(b"\xff\xfea\0b"), None, "half a unit");
    assert_eq!(Encoding::Windows1252.encode("日".as_bytes()), None);
}

proptest! {
    #[test]
    fn windows_1252_round_trips_every_byte(bytes: Vec<u8>) {
        let text = Encoding::Windows1252.decode(&bytes).unwrap();
        prop_assert_eq!(Encoding::Windows1252.encode(&text).unwrap(), bytes);
    }

    #[test]
    fn utf_16_round_trips_every_text(text: String) {
        for encoding in [Encoding::Utf16Le, Encoding::Utf16Be] {
            let bytes = encoding.encode(text.as_bytes()).unwrap();
            prop_assert_eq!(encoding.decode(&bytes).unwrap(), text.as_bytes());
        }
    }
}
