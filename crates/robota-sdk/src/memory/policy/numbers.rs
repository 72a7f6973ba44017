//! Finds numbers of cards, accounts and persons. Numbers with check digits count only if these are
//! right, so that versions, dates and ticket numbers pass.

use std::sync::LazyLock;

use regex::Regex;

/// Returns whether the text contains the number of a card or a bank account.
pub(super) fn payment(text: &str) -> bool {
    groups(text).any(|digits| is_card(&digits)) || ibans(text)
}

/// Returns whether the text contains a number that identifies a person.
pub(super) fn personal(text: &str) -> bool {
    // An expression that does not compile refuses every text, because nothing may be stored
    // unchecked.
    let formed = FORMED.as_ref().is_none_or(|regex| regex.is_match(text));
    let named = NAMED.as_ref().is_none_or(|regex| regex.is_match(text));
    formed || named || social_security(text) || has_check_digits(text)
}

/// Numbers whose form alone identifies them: Korean resident registration, Brazilian CPF, Indian
/// Aadhaar, British national insurance, Italian fiscal code, Swedish and Finnish personal numbers.
static FORMED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let forms = [
        r"\b[0-9]{2}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])-?[1-8][0-9]{6}\b",
        r"\b[0-9]{3}\.[0-9]{3}\.[0-9]{3}-[0-9]{2}\b",
        r"\b[2-9][0-9]{3}[ -][0-9]{4}[ -][0-9]{4}\b",
        r"\b[A-CEGHJ-PR-TW-Z]{2} ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[A-D]\b",
        r"\b[A-Z]{6}[0-9]{2}[A-EHLMPR-T][0-9]{2}[A-Z][0-9]{3}[A-Z]\b",
        r"\b(19|20)?[0-9]{2}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])[-+A][0-9]{3}[0-9A-Y]\b",
    ];
    Regex::new(&forms.join("|")).ok()
});

/// A number of at least five digits after the name of such a number.
static NAMED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let names = concat!(
        r"(?i)(\bssn\b|social security|passport|national id|\bid card|driver'?s? licen[cs]e|",
        r"resident registration|tax id|\bnino\b|aadhaar|personnummer|codice fiscale|\bdni\b|",
        r"\bcpf\b|주민등록|여권|운전면허)"
    );
    Regex::new(&format!(r"{names}.{{0,60}}?([A-Za-z]{{0,3}}[0-9][- .]?){{5,}}")).ok()
});

/// Finds a US social security number: 123-45-6789, with areas that are in use.
fn social_security(text: &str) -> bool {
    static FORM: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"\b([0-9]{3})[- ]([0-9]{2})[- ]([0-9]{4})\b").ok());
    let Some(form) = FORM.as_ref() else { return true };
    form.captures_iter(text).any(|found| {
        let used = !matches!(&found[1], "000" | "666") && !found[1].starts_with('9');
        used && &found[2] != "00" && &found[3] != "0000"
    })
}

/// Finds a Chinese resident identity number or a Spanish DNI with the right check character.
fn has_check_digits(text: &str) -> bool {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    words.map(str::to_ascii_uppercase).any(|word| is_chinese_id(&word) || is_dni(&word))
}

fn is_chinese_id(word: &str) -> bool {
    const WEIGHTS: [u32; 17] = [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2];
    if word.len() != 18 {
        return false;
    }
    let (body, check) = word.split_at(17);
    let Some(digits) = body.chars().map(|c| c.to_digit(10)).collect::<Option<Vec<_>>>() else {
        return false;
    };
    let sum: u32 = digits.iter().zip(WEIGHTS).map(|(digit, weight)| digit * weight).sum();
    "10X98765432".chars().nth((sum % 11) as usize) == check.chars().next()
}

fn is_dni(word: &str) -> bool {
    let Some((number, letter)) = word.split_at_checked(8).filter(|(_, letter)| letter.len() == 1)
    else {
        return false;
    };
    let expected = number
        .parse::<usize>()
        .ok()
        .and_then(|number| "TRWAGMYFPDXBNJZSQVHLCKE".chars().nth(number % 23));
    number.bytes().all(|byte| byte.is_ascii_digit()) && expected == letter.chars().next()
}

/// Returns the digits of each number in the text. Single spaces, dashes and dots do not end it.
fn groups(text: &str) -> impl Iterator<Item = Vec<u32>> {
    let mut all = vec![Vec::new()];
    let mut gap = 0;
    for c in text.chars() {
        match (c.to_digit(10), c) {
            (Some(digit), _) => {
                if let Some(last) = all.last_mut() {
                    last.push(digit);
                }
                gap = 0;
            }
            (None, ' ' | '-' | '.') if gap == 0 => gap = 1,
            _ => {
                gap = 0;
                all.push(Vec::new());
            }
        }
    }
    all.into_iter().filter(|digits| !digits.is_empty())
}

/// Returns whether some 13 to 19 digits in a row are the number of a card.
fn is_card(digits: &[u32]) -> bool {
    // Every part of a long row of digits: a card number may follow other digits without a gap.
    (13..=19).any(|length| digits.windows(length).any(|part| has_issuer(part) && luhn(part)))
}

/// Returns whether the first digits are those of a card issuer, for a number of that length.
fn has_issuer(digits: &[u32]) -> bool {
    let start = digits.iter().take(4).fold(0, |number, digit| number * 10 + digit);
    match digits.len() {
        13 => start / 1000 == 4,
        14 => matches!(start / 10, 300..=305 | 309) || matches!(start / 100, 36 | 38 | 39),
        15 => matches!(start / 100, 34 | 37),
        16 => {
            matches!(start / 1000, 4 | 6)
                || matches!(start / 100, 51..=55 | 35)
                || (2221..=2720).contains(&start)
        }
        _ => matches!(start / 1000, 4..=6),
    }
}

fn luhn(digits: &[u32]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(at, digit)| match (at % 2, digit * 2) {
            (0, _) => *digit,
            (_, double) => double / 10 + double % 10,
        })
        .sum();
    // A row of equal digits, such as 16 zeros, passes the check but is a placeholder.
    sum.is_multiple_of(10) && digits.iter().any(|digit| digit != &digits[0])
}

/// Returns whether the text contains an IBAN with the right check digits.
fn ibans(text: &str) -> bool {
    static FORM: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"(?i)\b[A-Z]{2}[0-9]{2}( ?[A-Z0-9]{4}){2,7}( ?[A-Z0-9]{1,4})?").ok()
    });
    let Some(form) = FORM.as_ref() else { return true };
    form.find_iter(text).any(|found| {
        let mut compact: String = found.as_str().chars().filter(|c| !c.is_whitespace()).collect();
        // A word behind the number may have been taken for its end.
        while compact.len() >= 15 {
            if has_iban_check(&compact) {
                return true;
            }
            compact.pop();
        }
        false
    })
}

fn has_iban_check(iban: &str) -> bool {
    let (head, tail) = iban.split_at(4);
    let mut rest = 0;
    for c in tail.chars().chain(head.chars()) {
        let Some(value) = c.to_digit(36) else { return false };
        rest = if value < 10 { (rest * 10 + value) % 97 } else { (rest * 100 + value) % 97 };
    }
    rest == 1
}
