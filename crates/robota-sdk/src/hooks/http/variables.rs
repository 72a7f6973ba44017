//! Variables in the headers of HTTP hooks: `$NAME` and `${NAME}`.

/// Replaces variables by their values.
///
/// # Errors
/// When a variable is not allowed or not set. A header without the expected secret would only fail
/// later, at the server.
pub(super) fn expand(
    text: &str,
    allowed: &dyn Fn(&str) -> bool,
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Result<String, String> {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        expanded.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let Some((name, next)) = name_of(after) else {
            expanded.push('$');
            rest = after;
            continue;
        };
        if !allowed(name) {
            return Err(format!(
                "uses ${name}, which `allowedEnvVars` of the hook (and `httpHookAllowedEnvVars`, \
                 if it is set) must list"
            ));
        }
        let value = lookup(name).ok_or_else(|| format!("uses ${name}, which is not set"))?;
        expanded.push_str(&value);
        rest = next;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

/// Returns the variable name at the start of the text after a `$`, and the text behind it.
fn name_of(text: &str) -> Option<(&str, &str)> {
    let (inner, braced) = match text.strip_prefix('{') {
        Some(inner) => (inner, true),
        None => (text, false),
    };
    let end = inner.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(inner.len());
    let (name, rest) = inner.split_at(end);
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    if braced { rest.strip_prefix('}').map(|rest| (name, rest)) } else { Some((name, rest)) }
}

#[cfg(test)]
mod tests;
