//! The image in the clipboard. Terminals paste text only, so a program of the system reads it.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use robota_exec::{CommandSpec, Environment, Exit, Limits, Supervisor};
use tokio_util::sync::CancellationToken;

use super::images::LIMIT;

/// How long a program may take: one that asks another program for the image can hang.
const TIME: Duration = Duration::from_secs(5);
/// How the PNG format begins.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

/// A program that writes the image of the clipboard to its output.
struct Reader {
    program: &'static str,
    arguments: &'static [&'static str],
    /// The variable of the display without which it cannot work.
    display: Option<&'static str>,
}

// Wayland first: desktops with it set DISPLAY too, for programs that know X11 only.
const READERS: &[Reader] = &[
    Reader {
        program: "wl-paste",
        arguments: &["--no-newline", "--type", "image/png"],
        display: Some("WAYLAND_DISPLAY"),
    },
    Reader {
        program: "xclip",
        arguments: &["-selection", "clipboard", "-t", "image/png", "-o"],
        display: Some("DISPLAY"),
    },
    Reader { program: "pngpaste", arguments: &["-"], display: None },
];

/// Reads the image of the clipboard, as PNG.
///
/// # Errors
/// If no program can read it, or there is none; the text says which.
pub(super) async fn image(environment: &Environment, cwd: &Path) -> Result<Vec<u8>, String> {
    let usable = |reader: &&Reader| {
        reader.display.is_none_or(|name| environment.get(name).is_some_and(|it| !it.is_empty()))
            && environment.find_program(OsStr::new(reader.program)).is_some()
    };
    let Some(reader) = READERS.iter().find(usable) else {
        return Err(
            "no program reads images of the clipboard: install wl-paste, xclip or pngpaste, or \
                    paste the path of a file"
                .to_owned(),
        );
    };
    let size = usize::try_from(LIMIT).unwrap_or(usize::MAX);
    let spec = CommandSpec::new(reader.program, cwd)
        .args(reader.arguments.iter().copied())
        .env(environment.clone())
        // No tail: an image with a gap is of no use.
        .limits(Limits { head: size, tail: 0 })
        .timeout(TIME);
    let ran = Supervisor::new().run(spec, &CancellationToken::new()).await;
    let ran = ran.map_err(|error| format!("{}: {error}", reader.program))?;
    match ran.exit {
        Exit::TimedOut => Err(format!("{} did not answer", reader.program)),
        // Before the exit code: a program whose output was cut may have ended by a broken pipe.
        _ if !ran.stdout.is_complete() => Err("the image is too large".to_owned()),
        Exit::Code(0) if ran.stdout.head.starts_with(PNG) => Ok(ran.stdout.head),
        _ => Err("the clipboard has no image".to_owned()),
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
