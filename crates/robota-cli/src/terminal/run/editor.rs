//! The user's editor.

use std::io::Write as _;
use std::path::Path;

use robota_config::ProgramEnvironment;

/// Opens a text in the user's editor and returns what was saved. The terminal must be free.
///
/// # Errors
/// If there is no editor, or it failed; the text says why.
pub(super) fn edit(text: &str, folder: &Path) -> Result<String, String> {
    let failed = |error: std::io::Error| format!("the prompt cannot be edited: {error}");
    let mut file = tempfile::Builder::new()
        .prefix("robota-prompt-")
        .suffix(".md")
        .tempfile()
        .map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    file.flush().map_err(failed)?;
    edit_file(file.path(), folder).map_err(|why| format!("{why}; the text is unchanged"))?;
    // Editors replace the file, so it is opened again by its name.
    let edited = std::fs::read_to_string(file.path()).map_err(failed)?;
    // Most editors end a file with a line break that the user has not typed.
    Ok(edited.trim_end_matches(['\r', '\n']).to_owned())
}

/// Opens a file in the user's editor. The terminal must be free.
///
/// # Errors
/// If there is no editor, or it failed; the text says why.
pub(super) fn edit_file(file: &Path, folder: &Path) -> Result<(), String> {
    let environment = ProgramEnvironment::of_process();
    let set = |name| environment.get(name).filter(|value| !value.trim().is_empty());
    let command = set("VISUAL").or_else(|| set("EDITOR")).unwrap_or("vi").to_owned();
    // `code --wait` is a program with an argument.
    let mut words = command.split_whitespace().map(str::to_owned);
    let program = words.next().unwrap_or_default();
    let arguments: Vec<_> = words.chain([file.display().to_string()]).collect();
    match robota_exec::run_in_foreground(&program, &arguments, folder) {
        Ok(true) => Ok(()),
        Ok(false) => Err(format!("{command} failed")),
        Err(error) => Err(format!("{command}: {error}")),
    }
}
