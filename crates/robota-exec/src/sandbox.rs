//! Keeping programs from what they must not do.

#[cfg(unix)]
use std::os::fd::OwnedFd;

/// What a program is kept from, ready to be entered.
#[derive(Debug)]
pub struct Confinement {
    #[cfg(unix)]
    pub(crate) ruleset: Option<OwnedFd>,
    #[cfg(unix)]
    pub(crate) filter: Vec<crate::launch::Instruction>,
}
