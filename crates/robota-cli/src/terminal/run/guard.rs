//! The modes of the terminal, and their return to what they were: at the end, before another program
//! runs, and after a panic.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::output;

/// Whether the modes are set.
static ENTERED: AtomicBool = AtomicBool::new(false);
/// Whether the alternate screen is shown.
static FULL: AtomicBool = AtomicBool::new(false);

/// Whether the terminal reports its focus.
static FOCUS: AtomicBool = AtomicBool::new(false);

/// Pasted text is marked, and keys such as Ctrl+Enter are distinguished where the terminal can.
// The first column, from which the screen counts.
const ENTER: &[u8] = b"\r\x1b[?2004h\x1b[>1u";
/// The opposite, and what a frame that was cut off may have left behind.
const LEAVE: &[u8] = b"\x1b[?1004l\x1b[?2026l\x1b[0m\x1b[?7h\x1b[<u\x1b[?2004l\x1b[?25h";

/// Lets the terminal report its focus.
const WATCH_FOCUS: &[u8] = b"\x1b[?1004h";

/// Lets the terminal report its focus, now and after another program had the terminal.
///
/// # Errors
/// If the terminal cannot be written to.
pub(super) fn watch_focus(out: &mut dyn Write) -> std::io::Result<()> {
    FOCUS.store(true, Ordering::SeqCst);
    out.write_all(WATCH_FOCUS)?;
    out.flush()
}

/// Sets the modes.
///
/// # Errors
/// If this is no terminal.
pub(super) fn enter(out: &mut dyn Write) -> std::io::Result<()> {
    crossterm::terminal::enable_raw_mode()?;
    // Before the sequences are written: if that fails half-way, the modes are restored
    // nevertheless.
    ENTERED.store(true, Ordering::SeqCst);
    out.write_all(ENTER)?;
    if FOCUS.load(Ordering::SeqCst) {
        out.write_all(WATCH_FOCUS)?;
    }
    out.flush()
}

/// Returns to the modes before. Failures are ignored: the terminal may be gone.
pub(super) fn leave(out: &mut dyn Write) {
    // A panic restores the terminal as well, and the modes are a stack in some terminals: they must
    // be left once.
    if !ENTERED.swap(false, Ordering::SeqCst) {
        return;
    }
    // The alternate screen is left first: terminals have a stack of keyboard modes for each screen,
    // and `ENTER` pushed onto that of the main screen.
    if FULL.swap(false, Ordering::SeqCst) {
        let _ = out.write_all(b"\x1b[?1049l");
    }
    let _ = out.write_all(LEAVE);
    let _ = out.flush();
    let _ = crossterm::terminal::disable_raw_mode();
}

/// Notes whether the alternate screen is shown.
pub(super) fn set_full(full: bool) {
    FULL.store(full, Ordering::SeqCst);
}

/// Returns the terminal to its modes, if this program changed them.
#[expect(clippy::disallowed_methods, reason = "the terminal is standard output")]
pub(crate) fn restore() {
    leave(&mut std::io::stdout().lock());
}

/// Restores the terminal when the program's end is not the planned one.
pub(super) struct RestoreAtEnd;

impl Drop for RestoreAtEnd {
    fn drop(&mut self) {
        restore();
        if std::thread::panicking()
            && let Some(report) = PANIC.lock().unwrap_or_else(PoisonError::into_inner).take()
        {
            output::error(&report);
        }
    }
}

/// What panicked last.
static PANIC: Mutex<Option<String>> = Mutex::new(None);

/// Restores the terminal before a panic of the thread that draws is reported. Other panics are not
/// shown: that of a tool is a tool error.
pub(super) fn install_panic_hook() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if std::thread::current().name() == Some("terminal") {
            restore();
            report(panic);
        } else {
            // Printed by `RestoreAtEnd` if the program ends by it; the live region would overwrite
            // it now.
            let mut last = PANIC.lock().unwrap_or_else(PoisonError::into_inner);
            *last = Some(panic.to_string());
        }
    }));
}

#[cfg(all(test, target_os = "linux"))]
mod tests;
