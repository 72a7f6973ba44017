//! Files that are dropped onto the terminal: it pastes their paths.

use std::path::PathBuf;

use robota_sdk::mentions::path_of_address;

/// The images that models read.
const ENDINGS: [&str; 5] = ["png", "jpg", "jpeg", "gif", "webp"];

/// Returns the paths of a pasted text that consists of nothing but paths of images. Whether the
/// files exist is not known here.
pub(crate) fn dropped_images(pasted: &str) -> Option<Vec<PathBuf>> {
    let text = pasted.trim();
    // Longer texts are no list of dropped files, and need not be parsed.
    if text.is_empty() || text.len() > 8192 {
        return None;
    }
    let paths: Vec<PathBuf> = words(text)?.iter().map(|word| path(word)).collect::<Option<_>>()?;
    Some(paths)
}

/// Returns the type of an image by the name of its file, such as `image/png`.
pub(crate) fn image_type(name: &str) -> Option<&'static str> {
    let (_, ending) = name.rsplit_once('.')?;
    Some(match ending.to_ascii_lowercase().as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        _ => return None,
    })
}

fn path(word: &str) -> Option<PathBuf> {
    let word = match word.starts_with("file://") {
        true => path_of_address(word)?.to_str()?.to_owned(),
        false => word.to_owned(),
    };
    let (name, ending) = word.rsplit_once('.')?;
    let image = ENDINGS.iter().any(|it| ending.eq_ignore_ascii_case(it));
    // A dropped file has an absolute path: a word such as `logo.png` is text.
    let absolute = word.starts_with('/') || word.starts_with("~/") || word.get(1..3) == Some(":\\");
    (image && absolute && !name.contains('\n')).then(|| PathBuf::from(&word))
}

/// Splits a text as a shell does: terminals quote paths in different ways.
fn words(text: &str) -> Option<Vec<String>> {
    // A path with spaces is quoted, so its drive may be behind the quote.
    let windows = text.get(1..3) == Some(":\\") || text.get(2..4) == Some(":\\");
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(sign), letter) if letter == sign => quote = None,
            (None, '\'' | '"') => quote = Some(letter),
            // Unix terminals escape spaces by it; in a Windows path it separates folders.
            (None, '\\') if !windows => word.push(letters.next()?),
            (None, ' ' | '\n') => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            (_, letter) => word.push(letter),
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    // An open quote is an apostrophe of ordinary text.
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests;
