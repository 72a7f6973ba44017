//! Variables in front of commands: which are known to be harmless, and which decide what runs.

use crate::words::covers;

/// Whether a command that is proven read-only stays so with it: neither the shell nor a program
/// that only reads is configured by a name like this.
pub(crate) fn is_inert(name: &str) -> bool {
    is_harmless(name)
        || (!is_dangerous(name)
            && !name.contains('[')
            && !covers("steering-variables", &name.to_ascii_uppercase()))
}

/// Whether an allow rule ignores it.
pub(crate) fn is_harmless(name: &str) -> bool {
    covers("harmless-variables", name)
}

/// Whether it decides what runs.
pub(crate) fn is_dangerous(name: &str) -> bool {
    !is_harmless(name) && covers("dangerous-variables", name)
}
