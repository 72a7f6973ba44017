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

/// Compiles the filter. `network`: whether sockets are allowed.
pub(super) fn build(network: bool) -> Result<Vec<BpfInstruction>, SandboxError> {
    compile(network).map_err(|error| SandboxError::Failed {
        action: "filter system calls for",
        path: "/".into(),
        message: error.to_string(),
    })
}

fn compile(network: bool) -> Result<Vec<BpfInstruction>, Box<dyn std::error::Error>> {
    let arch: TargetArch = std::env::consts::ARCH.try_into()?;
    let mut denied: BTreeMap<i64, Vec<SeccompRule>> =
        DENIED.iter().map(|call| (*call, Vec::new())).collect();
    let argument =
        |index, op, value| SeccompCondition::new(index, SeccompCmpArgLen::Dword, op, value);
    for request in [TIOCSTI, TIOCLINUX] {
        let rule = SeccompRule::new(vec![argument(1, SeccompCmpOp::Eq, request)?])?;
        denied.entry(libc::SYS_ioctl).or_default().push(rule);
    }
    for flag in NAMESPACES {
        let flag = u64::from(flag.unsigned_abs());
        let rule = SeccompRule::new(vec![argument(0, SeccompCmpOp::MaskedEq(flag), flag)?])?;
        denied.entry(libc::SYS_clone).or_default().push(rule);
    }
    if !network {
        // No sockets at all: a process outside the sandbox may listen on a Unix socket. `socketpair`
        // stays allowed, because both of its ends are in the sandbox.
        denied.insert(libc::SYS_socket, Vec::new());
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
