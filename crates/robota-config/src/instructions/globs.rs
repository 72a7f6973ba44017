//! Globs over paths, as rules and settings write them.

use std::path::Path;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// The most globs of one list, and the most characters of one glob.
const MAX_GLOBS: usize = 100;
const MAX_LENGTH: usize = 500;

/// A list of globs. A glob without `/` matches at any depth, and a glob that matches a folder matches
/// what is in it.
#[derive(Debug, Clone)]
pub(crate) struct Globs(GlobSet);

impl Globs {
    /// Compiles globs, and returns those that are not valid.
    pub(crate) fn new(globs: &[String]) -> (Self, Vec<String>) {
        let mut set = GlobSetBuilder::new();
        let mut invalid = Vec::new();
        for (at, glob) in globs.iter().enumerate() {
            // A leading slash means the folder of the rule, to which paths are relative anyway.
            let text = glob.trim_start_matches("./").trim_start_matches('/').trim_end_matches('/');
            let anywhere = if text.contains('/') { "" } else { "**/" };
            let text = format!("{anywhere}{text}");
            let short = text.len() <= MAX_LENGTH && at < MAX_GLOBS;
            let built =
                // `*` does not cross a folder, as in `.gitignore`.
                GlobBuilder::new(&text).literal_separator(true).backslash_escape(true).build();
            match built {
                Ok(built) if short => {
                    set.add(built);
                }
                Ok(_) | Err(_) => invalid.push(glob.clone()),
            }
        }
        match set.build() {
            Ok(set) => (Self(set), invalid),
            // All or none: which of them the set refused is not known.
            Err(_) => (Self(GlobSet::empty()), globs.to_vec()),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether a glob matches a relative path or a folder above it.
    pub(crate) fn match_path(&self, path: &Path) -> bool {
        path.ancestors().any(|path| !path.as_os_str().is_empty() && self.0.is_match(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(glob: &str, path: &str) -> bool {
        Globs::new(&[glob.to_owned()]).0.match_path(Path::new(path))
    }

    #[test]
    fn globs_match_like_those_of_ignore_files() {
        for (glob, path) in [
            ("src/**/*.ts", "src/a/b.ts"),
            ("src/**/*.{ts,tsx}", "src/b.tsx"),
            ("*.rs", "deep/in/x.rs"),
            ("src/api", "src/api/x.rs"),
            ("src/api/", "src/api/x.rs"),
            ("/src/*.rs", "src/x.rs"),
            ("./src/*.rs", "src/x.rs"),
            ("**/test/**", "a/test/b.rs"),
        ] {
            assert!(matches(glob, path), "{glob} {path}");
        }
        for (glob, path) in [("src/*.ts", "src/a/b.ts"), ("src/**", "lib/src/x"), ("*.rs", "x.rst")]
        {
            assert!(!matches(glob, path), "{glob} {path}");
        }
    }

    #[test]
    fn invalid_and_huge_globs_are_returned() {
        let globs = ["[".to_owned(), "a".repeat(1_000), "ok".to_owned(), "{a,{b".to_owned()];
        let (set, invalid) = Globs::new(&globs);
        assert!(set.match_path(Path::new("x/ok")));
        assert_eq!(invalid.len(), 3);
        let many = vec!["{a,b}".repeat(80); 1_000];
        assert_eq!(Globs::new(&many).1.len(), 1_000 - MAX_GLOBS);
    }
}
