//! Copies text through the terminal, which also works over ssh (OSC 52).

use base64::Engine as _;

/// The longest text that terminals accept, before it is encoded.
const LONGEST: usize = 74_994;

/// Returns the sequence that puts a text on the clipboard, or none if it is too long for terminals.
/// Inside of tmux it is wrapped, so that tmux passes it on where that is allowed.
pub(crate) fn copy(text: &str, tmux: bool) -> Option<Vec<u8>> {
    if text.len() > LONGEST {
        return None;
    }
    let encoded = base64::engine::general_purpose::STANDARD.encode(text);
    let sequence = format!("\x1b]52;c;{encoded}\x07");
    Some(if tmux {
        // tmux itself understands the sequence with `set-clipboard on`; the wrapped one reaches
        // the terminal around it with `allow-passthrough on`.
        let wrapped = sequence.replace('\x1b', "\x1b\x1b");
        format!("{sequence}\x1bPtmux;{wrapped}\x1b\\").into_bytes()
    } else {
        sequence.into_bytes()
    })
}

#[cfg(test)]
mod tests;
