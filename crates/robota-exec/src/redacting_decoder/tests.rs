use proptest::prelude::*;
use robota_core::env_ref::Secret;

use super::*;

const SECRETS: [&str; 3] =
    ["sk-geheim-äöü-123", "sk-geheim-äöü-123-and-longer", "token-planted-42"];

fn decode(pieces: &[&[u8]]) -> String {
    let mut decoder = RedactingDecoder::new(&Redactor::new(SECRETS.map(Secret::new)).unwrap());
    let mut text: String = pieces.iter().map(|piece| decoder.push(piece)).collect();
    text.push_str(&decoder.finish());
    text
}

#[test]
fn sess_13_a_secret_is_redacted_wherever_the_stream_is_split() {
    let text = format!("a {} b {}{} c", SECRETS[0], SECRETS[1], SECRETS[2]);
    for first in 0..=text.len() {
        for second in first..=text.len() {
            let bytes = text.as_bytes();
            let decoded = decode(&[&bytes[..first], &bytes[first..second], &bytes[second..]]);
            assert_eq!(decoded, "a [REDACTED] b [REDACTED][REDACTED] c", "{first} {second}");
        }
    }
    let one_by_one: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
    assert_eq!(decode(&one_by_one), "a [REDACTED] b [REDACTED][REDACTED] c");
}

#[test]
fn a_prefix_of_a_secret_is_output_if_the_rest_differs() {
    assert_eq!(decode(&[b"sk-geheim", b"nis"]), "sk-geheimnis");
    assert_eq!(decode(&[b"ends with sk-"]), "ends with sk-");
}

proptest! {
    #[test]
    fn any_bytes_decode_to_the_same_text_however_they_are_split(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        cuts in proptest::collection::vec(0_usize..200, 0..8),
    ) {
        let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
        cuts.sort_unstable();
        let mut pieces = Vec::new();
        let mut from = 0;
        for cut in cuts {
            pieces.push(&bytes[from..cut]);
            from = cut;
        }
        pieces.push(&bytes[from..]);
        prop_assert_eq!(decode(&pieces), String::from_utf8_lossy(&bytes).into_owned());
    }
}
