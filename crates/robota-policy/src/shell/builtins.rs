//! Builtins of the shell that no program table describes.

use super::word::{Word, is_name};

/// Whether `read` with these words takes a line of its input each time and stores it under plain
/// names.
pub(crate) fn reads_lines(args: &[Word]) -> bool {
    let mut at = 0;
    while let Some(text) = args.get(at).map(Word::value) {
        let Some(text) = text else { return false };
        match text.as_str() {
            "-r" | "-ra" | "-a" => {}
            // What ends a line.
            "-d" | "-rd" => {
                if args.get(at + 1).and_then(Word::literal).is_none_or(|end| end.len() > 1) {
                    return false;
                }
                at += 1;
            }
            name => {
                if (!name.is_empty() && !is_name(name))
                    || name.starts_with(|c: char| c.is_ascii_digit())
                    || super::assign::is_dangerous(name)
                {
                    return false;
                }
            }
        }
        at += 1;
    }
    true
}

/// Whether a declaration prints all variables with their values.
pub(crate) fn dumps(words: &[Word]) -> bool {
    let named = |text: &str| !text.starts_with(['-', '+']);
    let args: Vec<String> = words.iter().skip(1).filter_map(Word::value).collect();
    let prints = args.iter().any(|text| !named(text) && text.contains('p'));
    let functions = args.iter().any(|text| !named(text) && text.contains(['f', 'F']));
    prints || (!functions && !args.iter().any(|text| named(text)))
}
