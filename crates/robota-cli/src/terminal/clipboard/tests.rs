use super::copy;

#[test]
fn a_text_is_encoded_for_the_terminal() {
    assert_eq!(copy("hi", false).unwrap(), b"\x1b]52;c;aGk=\x07");
    let inside = String::from_utf8(copy("hi", true).unwrap()).unwrap();
    assert!(inside.ends_with("\x1bPtmux;\x1b\x1b]52;c;aGk=\x07\x1b\\"), "{inside:?}");
    assert_eq!(copy(&"x".repeat(100_000), false), None);
}
