//! Finds output styles: Markdown files that change how the agent answers.
//!
//! ```
//! use robota_config::output_styles::OutputStyles;
//! use robota_config::{ContextReader, Places};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let (home, project) = (tempfile::tempdir()?, tempfile::tempdir()?);
//! # let (home, project) = (home.path(), project.path());
//! std::fs::create_dir_all(home.join(".claude/output-styles"))?;
//! std::fs::write(home.join(".claude/output-styles/brief.md"), "---\nname: Brief\n---\nOne line.\n")?;
//!
//! let styles = OutputStyles::load(&ContextReader::new(&Places::new(home, project)));
//! assert_eq!(styles.get("Brief").map(|style| style.text.as_str()), Some("One line.\n"));
//! # Ok(()) }
//! ```

use indexmap::IndexMap;
use serde::Serialize;

use crate::frontmatter::{Fields, Markdown};
use crate::layer::{Layer, Origin};
use crate::plugins::{InstalledPlugin, style_folders};
use crate::reader::{Boundary, ContextReader, Depth, warning};
use crate::report::Report;

/// The most bytes of one file, and the most files.
const MAX_FILE_BYTES: u64 = 64 * 1024;
const MAX_FILES: usize = 100;

/// A text that replaces the program's instructions to the model, from a file of the user or the
/// project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OutputStyle {
    /// Its name: that of the header, otherwise that of the file.
    pub name: String,
    /// What it does, for menus; none if the header does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether the instructions for a coding agent stay in the prompt.
    pub keep_coding_instructions: bool,
    /// Whether the plugin that it belongs to turns it on.
    pub force_for_plugin: bool,
    /// The text that replaces the program's instructions.
    pub text: String,
    /// The layer and file that it comes from.
    pub origin: Origin,
}

/// Finds the output styles of a working folder by name.
#[derive(Debug, Clone, Default)]
pub struct OutputStyles {
    /// Files that were not read, and why.
    pub report: Report,
    styles: IndexMap<String, OutputStyle>,
    /// Names of styles of the administrator that cannot be read. Others must not take their place.
    blocked: Vec<String>,
    /// The names of styles that their plugins turn on.
    forced: Vec<String>,
}

impl OutputStyles {
    /// Reads all styles. The first of a name applies: those of the administrator, then `.robota` and `.claude` of the working folder
    /// and the folders above it up to the checkout, then those of the user.
    #[must_use]
    pub fn load(reader: &ContextReader) -> Self {
        let mut styles = Self::default();
        let folders = &reader.folders;
        for path in folders.managed("output-styles") {
            styles.add_folder(reader, &path, Layer::Managed, &Boundary::User);
        }
        for folder in folders.checkout() {
            for (name, layer) in
                [(".robota", Layer::ProjectRobota), (".claude", Layer::ProjectClaude)]
            {
                let config = folder.join(name);
                if folders.places.reads(layer) && !folders.is_users(&config) {
                    let boundary = folders.boundary(folder);
                    styles.add_folder(reader, &config.join("output-styles"), layer, &boundary);
                }
            }
        }
        for layer in [Layer::UserRobota, Layer::UserClaude] {
            if let Some(path) = folders.user(layer, "output-styles") {
                styles.add_folder(reader, &path, layer, &Boundary::User);
            }
        }
        styles
    }

    /// Adds the styles of plugins that the user enabled. Their names have the name of the plugin in
    /// front: `plugin:name`.
    #[must_use]
    pub fn with_plugins<'a>(
        mut self,
        reader: &ContextReader,
        plugins: impl IntoIterator<Item = &'a InstalledPlugin>,
    ) -> Self {
        for plugin in plugins {
            let root = plugin.root.canonicalize().unwrap_or_else(|_| plugin.root.clone());
            let mut own = Self::default();
            for folder in style_folders(plugin) {
                // A link of a plugin must not lead out of the files that its hash covers.
                let boundary = Boundary::Within(root.clone());
                own.add_folder(reader, &folder, Layer::UserRobota, &boundary);
            }
            self.report.problems.append(&mut own.report.problems);
            for (name, mut style) in own.styles {
                style.name = format!("{}:{name}", plugin.manifest.name);
                self.forced.extend(style.force_for_plugin.then(|| style.name.clone()));
                self.styles.insert(style.name.clone(), style);
            }
        }
        self
    }

    /// Returns the style that a plugin turns on; the first one if there are several.
    #[must_use]
    pub fn forced(&self) -> Option<&OutputStyle> {
        self.get(self.forced.first()?)
    }

    /// Returns a style by name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&OutputStyle> {
        self.styles.get(name)
    }

    /// Returns all styles, highest priority first.
    pub fn iter(&self) -> impl Iterator<Item = &OutputStyle> {
        self.styles.values()
    }

    fn add_folder(
        &mut self,
        reader: &ContextReader,
        folder: &std::path::Path,
        layer: Layer,
        boundary: &Boundary,
    ) {
        let problems = &mut self.report.problems;
        let files = reader.markdown(folder, boundary, Depth::Folder, layer, problems);
        for file in files.into_iter().take(MAX_FILES) {
            let stem = file.names.last().cloned().unwrap_or_default();
            let text = match reader.read(&file.path, boundary, MAX_FILE_BYTES) {
                Ok(Some(text)) if text.cut => {
                    let message =
                        format!("not read: it has {} bytes, at most {MAX_FILE_BYTES}", text.size);
                    problems.push(warning(layer, &file.path, message));
                    self.blocked.extend((layer == Layer::Managed).then_some(stem));
                    continue;
                }
                Ok(Some(text)) if text.text.trim().is_empty() => continue,
                Ok(Some(text)) => text.text,
                Ok(None) => continue,
                Err(reason) => {
                    problems.push(warning(layer, &file.path, format!("not read: {reason}")));
                    self.blocked.extend((layer == Layer::Managed).then_some(stem));
                    continue;
                }
            };
            let Markdown { header, body, notes } = Markdown::parse(&text);
            let mut fields = Fields::new(&header, layer, Some(&file.path));
            fields.note(&notes);
            let style = OutputStyle {
                name: fields.text("name").unwrap_or(stem),
                description: fields.text("description"),
                keep_coding_instructions: fields.flag("keep-coding-instructions").unwrap_or(false),
                force_for_plugin: fields.flag("force-for-plugin").unwrap_or(false),
                text: body,
                origin: Origin { layer, file: Some(file.path.clone()), line: None },
            };
            problems.append(&mut fields.problems);
            // The first of a name wins; folders come in the order of priority.
            if !self.blocked.contains(&style.name) {
                self.styles.entry(style.name.clone()).or_insert(style);
            }
        }
    }
}

#[cfg(test)]
mod tests;
