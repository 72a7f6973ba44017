//! Builds the seccomp filter for operations that Landlock does not check.

use std::collections::BTreeMap;

use robota_core::sandbox::SandboxError;
use seccompiler::{BpfProgram, sock_filter};

use crate::launch::BpfInstruction;

/// System calls that are always denied: they access other processes, change the system, or do work
/// that neither a filter nor Landlock can check.
const DENIED: &[libc::c_long] = &[
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // io_uring executes operations that the filter does not see.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // Other views of the file system.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_open_by_handle_at,
    // The kernel.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
];

/// Terminal requests that insert input as if the user had typed it.
const TIOCSTI: u32 = 0x5412;
const TIOCLINUX: u32 = 0x541c;
/// All kinds of namespaces that `clone` can create.
const NAMESPACES: [libc::c_int; 7] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

/// System calls that change a file without opening it for writing, which Landlock does not check, or
/// that reach other processes through objects that are not files. Denied if nothing may be changed.
const CHANGES: &[libc::c_long] = &[
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    SYS_FCHMODAT2,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_futimesat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    SYS_SETXATTRAT,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    SYS_REMOVEXATTRAT,
    SYS_FILE_SETATTR,
    libc::SYS_mq_open,
    libc::SYS_msgget,
    libc::SYS_semget,
    libc::SYS_shmget,
];

/// Calls that are newer than the C library's list; their numbers are the same on all processors.
const SYS_FCHMODAT2: libc::c_long = 452;
const SYS_SETXATTRAT: libc::c_long = 463;
const SYS_REMOVEXATTRAT: libc::c_long = 466;
const SYS_FILE_SETATTR: libc::c_long = 469;

/// Requests that change the attributes of a file that is open for reading only.
const CHANGING_REQUESTS: [u32; 2] = [0x4008_6602, 0x401c_5820];

/// The types of socket pairs that cannot send to an address.
const CONNECTED_TYPES: [libc::c_int; 2] = [libc::SOCK_STREAM, libc::SOCK_SEQPACKET];
/// The part of a socket's type that is not a flag.
const TYPE_MASK: u32 = 0xf;

/// The processor architecture whose system call numbers the filter uses; `None` if they are not
/// known.
const ARCHITECTURE: Option<u32> = if cfg!(target_arch = "x86_64") {
    Some(0xC000_003E)
} else if cfg!(target_arch = "aarch64") {
    Some(0xC000_00B7)
} else if cfg!(target_arch = "riscv64") {
    Some(0xC000_00F3)
} else {
    None
};

/// Where `struct seccomp_data` has the number of the call and the processor.
const NUMBER: u32 = 0;
const PROCESSOR: u32 = 4;

/// Returns where `struct seccomp_data` has the lower half of an argument.
const fn argument(index: u32) -> u32 {
    16 + 8 * index
}

const LOAD: u16 = 0x20;
const AND: u16 = 0x54;
const JUMP: u16 = 0x05;
const JUMP_IF_EQUAL: u16 = 0x15;
const JUMP_IF_AT_LEAST: u16 = 0x35;
const JUMP_IF_ANY_BIT: u16 = 0x45;
const RETURN: u16 = 0x06;

const ALLOW: sock_filter = step(RETURN, 0, 0, 0x7fff_0000);
const KILL: sock_filter = step(RETURN, 0, 0, 0x8000_0000);
const DENY: sock_filter = step(RETURN, 0, 0, ERRNO | libc::EPERM.unsigned_abs());
const HIDE: sock_filter = step(RETURN, 0, 0, ERRNO | libc::ENOSYS.unsigned_abs());
const ERRNO: u32 = 0x0005_0000;

const fn step(code: u16, jt: u8, jf: u8, k: u32) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

/// What the filter does with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    Allow,
    Deny,
    /// Answers that the call does not exist. Libraries then use an older one.
    Hide,
    /// `ioctl`: denies requests that insert terminal input or, without attributes, change those of
    /// files.
    Requests,
    /// `clone`: denies flags that create a namespace.
    Namespaces,
    /// `socketpair`: allows connected local pairs only, which cannot reach a socket outside.
    Pairs,
}

impl Action {
    fn steps(self, attributes: bool) -> BpfProgram {
        match self {
            Self::Allow => vec![ALLOW],
            Self::Deny => vec![DENY],
            Self::Hide => vec![HIDE],
            Self::Requests => {
                let changing = CHANGING_REQUESTS.iter().filter(|_| !attributes);
                let mut steps = vec![step(LOAD, 0, 0, argument(1))];
                for request in [TIOCSTI, TIOCLINUX].iter().chain(changing) {
                    steps.extend([step(JUMP_IF_EQUAL, 0, 1, *request), DENY]);
                }
                steps.push(ALLOW);
                steps
            }
            Self::Namespaces => {
                let any = NAMESPACES.iter().fold(0, |any, flag| any | flag.unsigned_abs());
                let load = step(LOAD, 0, 0, argument(0));
                vec![load, step(JUMP_IF_ANY_BIT, 0, 1, any), DENY, ALLOW]
            }
            Self::Pairs => {
                let local = step(JUMP_IF_EQUAL, 1, 0, libc::AF_UNIX.unsigned_abs());
                let mut steps = vec![step(LOAD, 0, 0, argument(0)), local, DENY];
                steps.extend([step(LOAD, 0, 0, argument(1)), step(AND, 0, 0, TYPE_MASK)]);
                for kind in CONNECTED_TYPES {
                    steps.extend([step(JUMP_IF_EQUAL, 0, 1, kind.unsigned_abs()), ALLOW]);
                }
                steps.push(DENY);
                steps
            }
        }
    }
}

/// Compiles the filter. `network`: whether sockets are allowed; `attributes`: whether attributes of
/// files may be changed.
pub(super) fn build(network: bool, attributes: bool) -> Result<Vec<BpfInstruction>, SandboxError> {
    let Some(architecture) = ARCHITECTURE else {
        return Err(SandboxError::Failed {
            action: "filter system calls for",
            path: "/".into(),
            message: format!("no filter exists for the processor {}", std::env::consts::ARCH),
        });
    };
    let mut filter = vec![
        step(LOAD, 0, 0, PROCESSOR),
        step(JUMP_IF_EQUAL, 1, 0, architecture),
        KILL,
        step(LOAD, 0, 0, NUMBER),
    ];
    filter.extend(search(&ranges(network, attributes), attributes));
    Ok(crate::enter_sandbox::filter_to_bytes(&filter))
}

/// Returns ranges of numbers with the same action, by the first number of each. Installing a filter
/// takes time in proportion to the steps for each of all numbers, so that they are searched, not
/// compared one by one.
fn ranges(network: bool, attributes: bool) -> Vec<(u32, Action)> {
    let mut calls: BTreeMap<libc::c_long, Action> =
        DENIED.iter().map(|call| (*call, Action::Deny)).collect();
    if !attributes {
        calls.extend(CHANGES.iter().map(|call| (*call, Action::Deny)));
    }
    calls.insert(libc::SYS_ioctl, Action::Requests);
    calls.insert(libc::SYS_clone, Action::Namespaces);
    // Its flags are behind a pointer that a filter cannot follow.
    calls.insert(libc::SYS_clone3, Action::Hide);
    if !network {
        // No sockets at all: a process outside the sandbox may listen on a Unix socket. Connected
        // pairs stay allowed, because both ends are in the sandbox. A pair of any other type can
        // send to the address of an outside socket.
        calls.insert(libc::SYS_socket, Action::Deny);
        calls.insert(libc::SYS_socketpair, Action::Pairs);
    }
    let mut ranges = vec![(0, Action::Allow)];
    let mut begin = |start: u32, action: Action| {
        if ranges.last().is_some_and(|(at, _)| *at == start) {
            ranges.pop();
        }
        if ranges.last().is_none_or(|(_, last)| *last != action) {
            ranges.push((start, action));
        }
    };
    for (call, action) in calls {
        let number = u32::try_from(call).unwrap_or(u32::MAX);
        begin(number, action);
        begin(number.saturating_add(1), Action::Allow);
    }
    // On x86-64 every call has a second number (x32).
    begin(0x4000_0000, Action::Hide);
    ranges
}

/// Builds a binary search for the range of the number that was loaded.
fn search(ranges: &[(u32, Action)], attributes: bool) -> BpfProgram {
    let (below, from) = ranges.split_at(ranges.len() / 2);
    match (below, from) {
        ([], []) => vec![DENY],
        ([], [(_, action), ..]) => action.steps(attributes),
        (_, [(start, _), ..]) => {
            let below = search(below, attributes);
            let mut steps = match u8::try_from(below.len()) {
                Ok(len) => vec![step(JUMP_IF_AT_LEAST, len, 0, *start)],
                Err(_) => {
                    let len = u32::try_from(below.len()).unwrap_or(u32::MAX);
                    vec![step(JUMP_IF_AT_LEAST, 0, 1, *start), step(JUMP, 0, 0, len)]
                }
            };
            steps.extend(below);
            steps.extend(search(from, attributes));
            steps
        }
        (_, []) => vec![DENY],
    }
}

#[cfg(test)]
mod tests;
