//! Entering a sandbox, in a child that is about to become the program.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
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
    /// The same filter, asking where the first refuses, and whom it asks.
    asking: Option<(seccompiler::BpfProgram, OwnedFd)>,
}

impl Prepared {
    pub(crate) fn new(
        ruleset: Option<OwnedFd>,
        filter: &[Instruction],
        notify: Option<OwnedFd>,
    ) -> Self {
        let filter: seccompiler::BpfProgram = filter
            .iter()
            .map(|[a, b, jt, jf, k @ ..]| seccompiler::sock_filter {
                code: u16::from_ne_bytes([*a, *b]),
                jt: *jt,
                jf: *jf,
                k: u32::from_ne_bytes(*k),
            })
            .collect();
        let asking = notify.map(|notify| (asking(&filter), notify));
        Self { ruleset, filter, asking }
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
        if self.filter.is_empty() {
            return Ok(());
        }
        // Before Linux 5.0 nobody can be asked.
        let asked = self.asking.as_ref().map(|(filter, whom)| enter_asking(filter, whom));
        if !matches!(asked, Some(Ok(()))) {
            seccompiler::apply_filter(&self.filter)
                .map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
        }
        Ok(())
    }
}

/// The same filter, asking where it refuses for good.
fn asking(filter: &[seccompiler::sock_filter]) -> seccompiler::BpfProgram {
    const RETURN: u16 = 0x06;
    const REFUSE: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM.unsigned_abs();
    let ask = |step: &seccompiler::sock_filter| match (step.code, step.k) {
        (RETURN, REFUSE) => {
            seccompiler::sock_filter { k: libc::SECCOMP_RET_USER_NOTIF, ..step.clone() }
        }
        _ => step.clone(),
    };
    filter.iter().map(ask).collect()
}

/// Enters a filter that asks, and hands over where its questions come.
fn enter_asking(filter: &[seccompiler::sock_filter], whom: &OwnedFd) -> io::Result<()> {
    let len = u16::try_from(filter.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    // The two structures are the same one of the kernel, under two names.
    let program = libc::sock_fprog { len, filter: filter.as_ptr().cast_mut().cast() };
    // SAFETY: the kernel reads `len` instructions from a slice that has as many, and copies them.
    #[expect(unsafe_code, reason = "no library offers the bare call")]
    let listener = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            libc::SECCOMP_FILTER_FLAG_NEW_LISTENER,
            &raw const program,
        )
    };
    let Ok(listener @ 0..) = i32::try_from(listener) else {
        return Err(io::Error::last_os_error());
    };
    // SAFETY: the kernel has just made it for us; the program that comes does not inherit it.
    #[expect(unsafe_code, reason = "a bare call gives a bare number")]
    let listener = unsafe { BorrowedFd::borrow_raw(listener) };
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut extra = SendAncillaryBuffer::new(&mut space);
    let listeners = [listener];
    extra.push(SendAncillaryMessage::ScmRights(&listeners));
    // Should nobody get it, its calls are refused all the same: with nobody to ask they fail.
    let _ = sendmsg(whom.as_fd(), &[IoSlice::new(&[0])], &mut extra, SendFlags::NOSIGNAL);
    Ok(())
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
