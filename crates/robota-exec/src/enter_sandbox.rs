//! Enters a sandbox. Runs in the child process between fork and exec.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

use crate::launch::BpfInstruction;

/// The capabilities that root keeps in the sandbox: those for files, users and its own processes.
const KEPT_CAPABILITIES: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::NET_BIND_SERVICE);

/// Everything that [`enter`](Self::enter) needs, prepared before the fork: between fork and exec no
/// memory may be allocated.
pub(crate) struct PreparedSandbox {
    ruleset: Option<OwnedFd>,
    filter: seccompiler::BpfProgram,
    /// The filter with notifications instead of refusals, and the socket over which the child sends
    /// the notification descriptor to the supervisor.
    notifying: Option<(seccompiler::BpfProgram, OwnedFd)>,
    /// Whether the program needs its capabilities to build the sandbox; it drops them itself.
    keep_capabilities: bool,
}

impl PreparedSandbox {
    pub(crate) fn new(
        ruleset: Option<OwnedFd>,
        filter: &[BpfInstruction],
        notify: Option<OwnedFd>,
        keep_capabilities: bool,
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
        let notifying = notify.map(|notify| (with_notifications(&filter), notify));
        Self { ruleset, filter, notifying, keep_capabilities }
    }

    /// Restricts the calling process. This cannot be undone.
    pub(crate) fn enter(&self) -> io::Result<()> {
        if let Some(ruleset) = &self.ruleset {
            rustix::thread::set_no_new_privs(true)?;
            // Root would otherwise keep capabilities that let it inspect other processes or bypass
            // the restrictions.
            if !self.keep_capabilities {
                let current = capabilities(None)?;
                set_capabilities(
                    None,
                    CapabilitySets {
                        effective: current.effective & KEPT_CAPABILITIES,
                        permitted: current.permitted & KEPT_CAPABILITIES,
                        inheritable: CapabilitySet::empty(),
                    },
                )?;
            }
            let fd = ruleset.as_raw_fd();
            // SAFETY: the call takes two integers; the descriptor is open because `self` owns it.
            #[expect(unsafe_code, reason = "no library offers this system call alone")]
            let failed = unsafe { libc::syscall(libc::SYS_landlock_restrict_self, fd, 0) };
            if failed != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        if self.filter.is_empty() {
            return Ok(());
        }
        // Linux has seccomp notifications only since 5.0; before, the plain filter is used.
        let entered =
            self.notifying.as_ref().map(|(filter, socket)| enter_notifying(filter, socket));
        if !matches!(entered, Some(Ok(()))) {
            seccompiler::apply_filter(&self.filter)
                .map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
        }
        Ok(())
    }
}

/// Returns the same filter with a notification wherever it returns EPERM.
fn with_notifications(filter: &[seccompiler::sock_filter]) -> seccompiler::BpfProgram {
    const RETURN: u16 = 0x06;
    const RETURN_EPERM: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM.unsigned_abs();
    let replace = |step: &seccompiler::sock_filter| match (step.code, step.k) {
        (RETURN, RETURN_EPERM) => {
            seccompiler::sock_filter { k: libc::SECCOMP_RET_USER_NOTIF, ..step.clone() }
        }
        _ => step.clone(),
    };
    filter.iter().map(replace).collect()
}

/// Installs a filter with notifications and sends its listener descriptor over `socket`.
fn enter_notifying(filter: &[seccompiler::sock_filter], socket: &OwnedFd) -> io::Result<()> {
    let len = u16::try_from(filter.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    // `seccompiler::sock_filter` and `libc::sock_filter` have the same layout.
    let program = libc::sock_fprog { len, filter: filter.as_ptr().cast_mut().cast() };
    // SAFETY: the kernel reads and copies `len` instructions; the slice has exactly as many.
    #[expect(unsafe_code, reason = "no library offers this system call alone")]
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
    // SAFETY: the kernel has just created this descriptor; it is close-on-exec, so the program does
    // not inherit it.
    #[expect(unsafe_code, reason = "the system call returns a plain integer")]
    let listener = unsafe { BorrowedFd::borrow_raw(listener) };
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut extra = SendAncillaryBuffer::new(&mut space);
    let listeners = [listener];
    extra.push(SendAncillaryMessage::ScmRights(&listeners));
    // If it does not arrive, the filtered calls still fail: without a listener they return ENOSYS.
    let _ = sendmsg(socket.as_fd(), &[IoSlice::new(&[0])], &mut extra, SendFlags::NOSIGNAL);
    Ok(())
}

/// Encodes the instructions of a filter as bytes.
pub(crate) fn filter_to_bytes(filter: &seccompiler::BpfProgram) -> Vec<BpfInstruction> {
    filter
        .iter()
        .map(|step| {
            let [a, b] = step.code.to_ne_bytes();
            let [k0, k1, k2, k3] = step.k.to_ne_bytes();
            [a, b, step.jt, step.jf, k0, k1, k2, k3]
        })
        .collect()
}

/// Writes a filter to an anonymous file, from which bubblewrap reads it.
pub(crate) fn filter_file(filter: &[BpfInstruction]) -> io::Result<std::fs::File> {
    use std::io::{Seek as _, Write as _};
    let flags = rustix::fs::MemfdFlags::CLOEXEC;
    let mut file = std::fs::File::from(rustix::fs::memfd_create("robota-filter", flags)?);
    file.write_all(filter.as_flattened())?;
    file.rewind()?;
    Ok(file)
}
