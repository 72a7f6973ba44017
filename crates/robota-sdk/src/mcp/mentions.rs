//! Mentions of resources in prompts: `@server:uri`.

/// At most this many resources of one prompt are read.
const MAX_MENTIONS: usize = 20;

/// Returns the resources that a text mentions: the server and the address. `is_server` says which names
/// are servers.
pub(crate) fn mentions(text: &str, is_server: impl Fn(&str) -> bool) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for word in text.split_whitespace() {
        let word = word.trim_start_matches(['(', '"', '\'']);
        let Some((server, uri)) = word.strip_prefix('@').and_then(|it| it.split_once(':')) else {
            continue;
        };
        let uri = uri.trim_end_matches([',', ';', ')', '"', '\'']);
        // The end of a sentence is no part of the address.
        let uri = uri.strip_suffix(['.', '?', '!']).unwrap_or(uri);
        let mention = (server.to_owned(), uri.to_owned());
        if !uri.is_empty() && is_server(server) && !found.contains(&mention) {
            found.push(mention);
        }
    }
    found.truncate(MAX_MENTIONS);
    found
}

#[cfg(test)]
mod tests;
