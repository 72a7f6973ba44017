//! Builds the seccomp filter for operations that Landlock does not check.

use std::collections::BTreeMap;

use robota_core::sandbox::SandboxError;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

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
const TIOCSTI: u64 = 0x5412;
const TIOCLINUX: u64 = 0x541c;
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
const CHANGING_REQUESTS: [u64; 2] = [0x4008_6602, 0x401c_5820];

/// The types of socket pairs that cannot send to an address.
const CONNECTED_TYPES: [libc::c_int; 2] = [libc::SOCK_STREAM, libc::SOCK_SEQPACKET];
/// The part of a socket's type that is not a flag.
const TYPE_MASK: u64 = 0xf;

/// Compiles the filter. `network`: whether sockets are allowed; `attributes`: whether attributes of
/// files may be changed.
pub(super) fn build(network: bool, attributes: bool) -> Result<Vec<BpfInstruction>, SandboxError> {
    compile(network, attributes).map_err(|error| SandboxError::Failed {
        action: "filter system calls for",
        path: "/".into(),
        message: error.to_string(),
    })
}

fn compile(
    network: bool,
    attributes: bool,
) -> Result<Vec<BpfInstruction>, Box<dyn std::error::Error>> {
    let arch: TargetArch = std::env::consts::ARCH.try_into()?;
    let mut denied: BTreeMap<i64, Vec<SeccompRule>> =
        DENIED.iter().map(|call| (*call, Vec::new())).collect();
    let argument =
        |index, op, value| SeccompCondition::new(index, SeccompCmpArgLen::Dword, op, value);
    if !attributes {
        denied.extend(CHANGES.iter().map(|call| (*call, Vec::new())));
    }
    let requests = [TIOCSTI, TIOCLINUX].into_iter();
    for request in requests.chain(CHANGING_REQUESTS.into_iter().filter(|_| !attributes)) {
        let rule = SeccompRule::new(vec![argument(1, SeccompCmpOp::Eq, request)?])?;
        denied.entry(libc::SYS_ioctl).or_default().push(rule);
    }
    for flag in NAMESPACES {
        let flag = u64::from(flag.unsigned_abs());
        let rule = SeccompRule::new(vec![argument(0, SeccompCmpOp::MaskedEq(flag), flag)?])?;
        denied.entry(libc::SYS_clone).or_default().push(rule);
    }
    if !network {
        // No sockets at all: a process outside the sandbox may listen on a Unix socket. Connected
        // pairs stay allowed, because both ends are in the sandbox. A pair of any other type can
        // send to the address of an outside socket.
        denied.insert(libc::SYS_socket, Vec::new());
        let pairs = denied.entry(libc::SYS_socketpair).or_default();
        let local = u64::from(libc::AF_UNIX.unsigned_abs());
        pairs.push(SeccompRule::new(vec![argument(0, SeccompCmpOp::Ne, local)?])?);
        let connected = CONNECTED_TYPES.map(|kind| u64::from(kind.unsigned_abs()));
        for kind in (0..=TYPE_MASK).filter(|kind| !connected.contains(kind)) {
            let condition = argument(1, SeccompCmpOp::MaskedEq(TYPE_MASK), kind)?;
            pairs.push(SeccompRule::new(vec![condition])?);
        }
    }
    let eperm = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let denying: BpfProgram =
        SeccompFilter::new(denied, SeccompAction::Allow, eperm, arch)?.try_into()?;

    let mut filter = crate::enter_sandbox::filter_to_bytes(&hidden_calls());
    filter.extend(crate::enter_sandbox::filter_to_bytes(&denying));
    Ok(filter)
}

/// Returns ENOSYS for calls that the list above cannot cover: on x86-64 every call has a second
/// number (x32), and the flags of `clone3` are behind a pointer that a filter cannot follow. Libraries
/// then use the older calls.
fn hidden_calls() -> BpfProgram {
    const LOAD_NUMBER: u16 = 0x20;
    const JUMP_IF_AT_LEAST: u16 = 0x35;
    const JUMP_IF_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    const ERRNO: u32 = 0x0005_0000;
    let step = |code, jt, jf, k| seccompiler::sock_filter { code, jt, jf, k };
    let clone3 = u32::try_from(libc::SYS_clone3).unwrap_or(u32::MAX);
    vec![
        step(LOAD_NUMBER, 0, 0, 0),
        step(JUMP_IF_AT_LEAST, 1, 0, 0x4000_0000),
        step(JUMP_IF_EQUAL, 0, 1, clone3),
        step(RETURN, 0, 0, ERRNO | libc::ENOSYS.unsigned_abs()),
    ]
}
