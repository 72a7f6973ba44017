//! The second, looser look: at the bare text, for commands that are not proven. It knows no
//! grammar, so that it cannot be fooled by one, and it can only raise an alarm.

use std::path::Path;

use super::removal::Critical;
use super::wrappers::base;

/// Whether a critical removal may hide in this text.
pub(crate) fn critical(text: &str, cwd: &Path, home: &Path, dirs: &Critical<'_>) -> bool {
    let bare: String = text
        .chars()
        .filter(|c| *c != '\\')
        .map(|c| if matches!(c, '\'' | '"' | '`' | ',' | '(' | ')' | '[' | ']') { ' ' } else { c })
        .collect();
    bare.split(['\n', ';', '|', '&']).any(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.iter().enumerate().any(|(i, word)| {
            let removes =
                matches!(base(word), "rm" | "rmdir" | "rmtree" | "shutil.rmtree" | "rmSync");
            let after = &words[i + 1..words.len().min(i + 13)];
            let recursive = after.iter().any(|w| w.starts_with('-') && w.contains(['r', 'R']));
            removes
                && (recursive || !matches!(base(word), "rm"))
                && after.iter().any(|w| hits(w, cwd, home, dirs))
        })
    })
}

fn hits(word: &str, cwd: &Path, home: &Path, dirs: &Critical<'_>) -> bool {
    let home = home.to_string_lossy();
    let cwd_text = cwd.to_string_lossy();
    let expanded = word
        .replace("${HOME}", &home)
        .replace("$HOME", &home)
        .replace("${PWD}", &cwd_text)
        .replace("$PWD", &cwd_text);
    let expanded = match expanded.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{home}{rest}"),
        _ => expanded,
    };
    if matches!(expanded.as_str(), "*" | "." | ".." | "./*" | ".*" | "/" | "/*") {
        return true;
    }
    let stem = expanded.trim_end_matches(['*', '.']).trim_end_matches('/');
    (expanded.starts_with('/') && dirs.holds(Path::new(stem)))
        || (stem.starts_with("..") && dirs.holds(&cwd.join(stem)))
}
