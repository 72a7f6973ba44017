use proptest::prelude::*;
use robota_core::env_ref::Secret;

use super::*;

const SECRETS: [&str; 3] =
    ["sk-geheim-äöü-123", "sk-geheim-äöü-123-and-longer", "token-planted-42"];

fn clean(pieces: &[&[u8]]) -> String {
    let mut clean = Clean::new(&Redactor::new(SECRETS.map(Secret::new)));
    let mut text: String = pieces.iter().map(|piece| clean.push(piece)).collect();
    text.push_str(&clean.finish());
    text
}

#[test]
fn sess_13_a_secret_that_is_cut_anywhere_does_not_get_through() {
    let text = format!("a {} b {}{} c", SECRETS[0], SECRETS[1], SECRETS[2]);
    for first in 0..=text.len() {
        for second in first..=text.len() {
            let bytes = text.as_bytes();
            let said = clean(&[&bytes[..first], &bytes[first..second], &bytes[second..]]);
            assert_eq!(said, "a [REDACTED] b [REDACTED][REDACTED] c", "{first} {second}");
        }
    }
    let one_by_one: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
    assert_eq!(clean(&one_by_one), "a [REDACTED] b [REDACTED][REDACTED] c");
}

#[test]
fn the_beginning_of_a_secret_is_told_when_it_stays_one() {
    assert_eq!(clean(&[b"sk-geheim", b"nis"]), "sk-geheimnis");
    assert_eq!(clean(&[b"ends with sk-"]), "ends with sk-");
}

proptest! {
    #[test]
    fn any_bytes_become_the_text_they_are_however_they_are_cut(
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
        prop_assert_eq!(clean(&pieces), String::from_utf8_lossy(&bytes).into_owned());
    }
}
