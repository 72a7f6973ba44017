//! jq.
pub(super) fn is_tame(filter: &str) -> bool {
    const WORDS: &[&str] = &[
        "import",
        "include",
        "env",
        "ENV",
        "input_filename",
        "get_search_list",
        "modulemeta",
        "while",
        "until",
        "repeat",
        "recurse",
        "range",
        "infinite",
        "combinations",
    ];
    let name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !WORDS.iter().any(|word| {
        filter.match_indices(word).any(|(at, _)| {
            let before = filter[..at].chars().next_back();
            let after = filter[at + word.len()..].chars().next();
            !after.is_some_and(name) && !before.is_some_and(|c| name(c) || c == '.')
        })
    })
}
