//! Parts of a Markdown text: comments, and the section for compaction.

use std::borrow::Cow;

use crate::mentions::Fences;

/// Removes HTML comments that begin a line, outside fenced code. A comment that does not end stays.
pub(super) fn without_comments(text: &str) -> Cow<'_, str> {
    if !text.contains("<!--") {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut fences = Fences::default();
    let mut at = 0;
    // Comments after this do not end; without it, each of them would be searched to the end.
    let last_end = text.rfind("-->").unwrap_or(0);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let end = rest.find('\n').map_or(rest.len(), |end| end + 1);
        let line = &rest[..end];
        at += end;
        if fences.covers(line) {
            out.push_str(line);
            continue;
        }
        let begins = at < last_end + end;
        let comment = rest.trim_start_matches(' ').strip_prefix("<!--").filter(|_| begins);
        match comment.and_then(|comment| Some((comment, comment.find("-->")?))) {
            Some((comment, close)) => {
                let after = &comment[close + "-->".len()..];
                let (rest_of_line, _) = after.split_once('\n').unwrap_or((after, ""));
                at = text.len() - after.len();
                if rest_of_line.trim().is_empty() {
                    at += (rest_of_line.len() + 1).min(after.len());
                }
            }
            None => out.push_str(line),
        }
    }
    Cow::Owned(out)
}

/// Returns the content of the section "Compact Instructions": up to the next heading that is not
/// below it.
pub(super) fn compact(text: &str) -> Option<String> {
    let mut fences = Fences::default();
    let mut level = None;
    let mut lines = Vec::new();
    for line in text.lines() {
        let heading = if fences.covers(line) { None } else { heading(line) };
        match (heading, level) {
            (Some((depth, title)), None) if title.eq_ignore_ascii_case("compact instructions") => {
                level = Some(depth);
            }
            (Some((depth, _)), Some(own)) if depth <= own => break,
            (_, Some(_)) => lines.push(line),
            (_, None) => {}
        }
    }
    let section = lines.join("\n").trim().to_owned();
    (!section.is_empty()).then_some(section)
}

fn heading(line: &str) -> Option<(usize, &str)> {
    let depth = line.chars().take_while(|c| *c == '#').count();
    let title = line.get(depth..)?.strip_prefix([' ', '\t'])?;
    (1..=6).contains(&depth).then(|| (depth, title.trim().trim_end_matches(['#', ':']).trim()))
}

/// Returns the beginning of a text that has at most `limit` bytes.
pub(super) fn beginning(text: &str, limit: usize) -> &str {
    let mut end = limit.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_that_begin_a_line_are_removed() {
        for (text, expected) in [
            ("a\n<!-- b -->\nc\n", "a\nc\n"),
            ("<!--\nmany\nlines\n-->\nc", "c"),
            ("  <!-- a --> rest\n", " rest\n"),
            ("inline <!-- stays --> x", "inline <!-- stays --> x"),
            ("```\n<!-- code -->\n```\n", "```\n<!-- code -->\n```\n"),
            ("<!-- never ends\ntext", "<!-- never ends\ntext"),
            ("<!-- a --><!-- b -->\nc", "c"),
        ] {
            assert_eq!(without_comments(text), expected, "{text:?}");
        }
    }

    #[test]
    fn sdk_12_the_section_for_compaction_ends_at_the_next_heading() {
        let text = "# A\nx\n## Compact Instructions\nKeep **this**.\n### Below\nand this\n```\n# code\n```\n## Next\nno";
        assert_eq!(
            compact(text).as_deref(),
            Some("Keep **this**.\n### Below\nand this\n```\n# code\n```")
        );
        assert_eq!(compact("# compact instructions:\n\nK\n# B").as_deref(), Some("K"));
        assert_eq!(compact("# Compact Instructions\n\n# B"), None);
        assert_eq!(compact("Compact Instructions\nno heading"), None);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_taken(text in "[<!>`# \n a-bü-]{0,60}") {
            let _ = (without_comments(&text), compact(&text));
            for limit in 0..=text.len() {
                proptest::prop_assert!(beginning(&text, limit).len() <= limit);
            }
        }
    }
}
