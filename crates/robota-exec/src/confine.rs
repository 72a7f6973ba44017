//! Entering a sandbox, in a child that is about to become the program.

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};

use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

use crate::launch::Instruction;

/// What root keeps: being root about files.
const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::NET_BIND_SERVICE);

/// Everything ready, so that entering allocates nothing.
pub(crate) struct Prepared {
    ruleset: Option<OwnedFd>,
    filter: seccompiler::BpfProgram,
}

impl Prepared {
    pub(crate) fn new(ruleset: Option<OwnedFd>, filter: &[Instruction]) -> Self {
        let filter = filter
            .iter()
            .map(|[a, b, jt, jf, k @ ..]| seccompiler::sock_filter {
                code: u16::from_ne_bytes([*a, *b]),
                jt: *jt,
                jf: *jf,
                k: u32::from_ne_bytes(*k),
            })
            .collect();
        Self { ruleset, filter }
    }

    /// From here on, for good.
    pub(crate) fn enter(&self) -> io::Result<()> {
        if let Some(ruleset) = &self.ruleset {
            rustix::thread::set_no_new_privs(true)?;
            // For root: what would look into other processes, or around the fence.
            let now = capabilities(None)?;
            set_capabilities(
                None,
                CapabilitySets {
                    effective: now.effective & KEPT,
                    permitted: now.permitted & KEPT,
                    inheritable: CapabilitySet::empty(),
                },
            )?;
            let fd = ruleset.as_raw_fd();
            // SAFETY: the call takes two plain numbers; the descriptor is open, for we own it.
            #[expect(unsafe_code, reason = "no library offers the bare call")]
            let refused = unsafe { libc::syscall(libc::SYS_landlock_restrict_self, fd, 0) };
            if refused != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        if !self.filter.is_empty() {
            seccompiler::apply_filter(&self.filter)
                .map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
        }
        Ok(())
    }
}

/// The instructions of a filter as bytes.
pub(crate) fn bytes(filter: &seccompiler::BpfProgram) -> Vec<Instruction> {
    filter
        .iter()
        .map(|step| {
            let [a, b] = step.code.to_ne_bytes();
            let [k0, k1, k2, k3] = step.k.to_ne_bytes();
            [a, b, step.jt, step.jf, k0, k1, k2, k3]
        })
        .collect()
}
