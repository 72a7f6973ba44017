//! Replaces `${NAME}` and `${NAME:-default}` by environment variables.

/// Replaces variables and remembers those that are not set.
pub(super) struct Expander<'a> {
    lookup: &'a dyn Fn(&str) -> Option<String>,
    missing: Vec<String>,
}

impl<'a> Expander<'a> {
    pub(super) fn new(lookup: &'a dyn Fn(&str) -> Option<String>) -> Self {
        Self { lookup, missing: Vec::new() }
    }

    /// Replaces the variables of a text. A variable that is not set and has no default stays as it
    /// is written.
    pub(super) fn text(&mut self, text: &str) -> String {
        let mut expanded = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            expanded.push_str(before);
            let Some((inside, after)) = after.split_once('}') else {
                expanded.push_str("${");
                rest = after;
                continue;
            };
            let (name, default) = match inside.split_once(":-") {
                Some((name, default)) => (name, Some(default)),
                None => (inside, None),
            };
            let value = if is_name(name) { (self.lookup)(name) } else { None };
            match (value, default) {
                (Some(value), _) if !value.is_empty() => expanded.push_str(&value),
                // As in a shell: a default replaces an empty value too.
                (_, Some(default)) if is_name(name) => expanded.push_str(default),
                (Some(_), _) => {}
                (None, _) => {
                    if is_name(name) && !self.missing.iter().any(|missing| missing == name) {
                        self.missing.push(name.to_owned());
                    }
                    expanded.push_str("${");
                    expanded.push_str(inside);
                    expanded.push('}');
                }
            }
            rest = after;
        }
        expanded.push_str(rest);
        expanded
    }

    pub(super) fn into_warnings(self) -> Vec<String> {
        let warning = |name| format!("the variable {name} is not set");
        self.missing.into_iter().map(warning).collect()
    }
}

fn is_name(name: &str) -> bool {
    let mut characters = name.chars();
    characters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && characters.all(|other| other.is_ascii_alphanumeric() || other == '_')
}
