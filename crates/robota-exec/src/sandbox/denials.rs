//! Records the system calls that the seccomp filter denies. The kernel notifies the supervisor of
//! each call; the supervisor records it and answers EPERM. Denials are therefore observed, not
//! guessed from the output of a program.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};

use robota_core::sandbox::SandboxDenial;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};

/// The maximum number of different denials that are recorded.
const MAX_DENIALS: usize = 64;

/// The denials of one program so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Denials(Arc<Mutex<Vec<SandboxDenial>>>);

impl Denials {
    /// Starts a thread that answers the notifications of the program that sent its listener over
    /// this socket. Does nothing if the program sent none.
    pub(crate) fn listen(from: Option<&UnixStream>) -> Self {
        let denials = Self::default();
        if let Some(listener) = from.and_then(receive_listener) {
            let recorder = denials.clone();
            // Without this thread the calls fail too, with another error.
            let _ = std::thread::Builder::new()
                .name("robota-denials".to_owned())
                .spawn(move || recorder.serve(&listener));
        }
        denials
    }

    pub(crate) fn take(&self) -> Vec<SandboxDenial> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Answers notifications until no process with the filter is left.
    fn serve(&self, listener: &OwnedFd) {
        loop {
            let mut watched = [PollFd::from_borrowed_fd(listener.as_fd(), PollFlags::IN)];
            match poll(&mut watched, None) {
                Err(rustix::io::Errno::INTR) => continue,
                Err(_) => return,
                Ok(_) if watched[0].revents().contains(PollFlags::IN) => {}
                Ok(_) => return,
            }
            let Ok(notification) = receive_notification(listener) else { continue };
            self.record(denial(&notification));
            deny(listener, notification.id);
        }
    }

    fn record(&self, denial: SandboxDenial) {
        let mut list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if list.len() < MAX_DENIALS && !list.contains(&denial) {
            list.push(denial);
        }
    }
}

fn denial(notification: &libc::seccomp_notif) -> SandboxDenial {
    let action = match libc::c_long::from(notification.data.nr) {
        libc::SYS_socket => match i32::try_from(notification.data.args[0]) {
            Ok(libc::AF_INET | libc::AF_INET6) => "network",
            Ok(libc::AF_UNIX) => "local socket",
            _ => "socket",
        },
        libc::SYS_ptrace
        | libc::SYS_process_vm_readv
        | libc::SYS_process_vm_writev
        | libc::SYS_process_madvise
        | libc::SYS_pidfd_getfd
        | libc::SYS_kcmp => "trace",
        libc::SYS_clone | libc::SYS_unshare | libc::SYS_setns => "namespace",
        libc::SYS_mount
        | libc::SYS_umount2
        | libc::SYS_pivot_root
        | libc::SYS_chroot
        | libc::SYS_open_tree
        | libc::SYS_move_mount
        | libc::SYS_fsopen
        | libc::SYS_fsmount
        | libc::SYS_mount_setattr => "mount",
        libc::SYS_io_uring_setup | libc::SYS_io_uring_enter | libc::SYS_io_uring_register => {
            "io_uring"
        }
        libc::SYS_ioctl => "device command",
        libc::SYS_socketpair => "local socket",
        libc::SYS_fchmod
        | libc::SYS_fchmodat
        | libc::SYS_fchown
        | libc::SYS_fchownat
        | libc::SYS_utimensat
        | libc::SYS_setxattr
        | libc::SYS_lsetxattr
        | libc::SYS_fsetxattr
        | libc::SYS_removexattr
        | libc::SYS_lremovexattr
        | libc::SYS_fremovexattr => "change of file attributes",
        #[cfg(target_arch = "x86_64")]
        libc::SYS_chmod
        | libc::SYS_chown
        | libc::SYS_lchown
        | libc::SYS_utime
        | libc::SYS_utimes
        | libc::SYS_futimesat => "change of file attributes",
        _ => "system call",
    };
    let name = std::fs::read_to_string(format!("/proc/{}/comm", notification.pid));
    let subject = name.map(|name| name.trim_end().to_owned()).unwrap_or_default();
    SandboxDenial { action: action.to_owned(), subject }
}

/// Receives the next notification; fails if its process died meanwhile.
fn receive_notification(listener: &OwnedFd) -> io::Result<libc::seccomp_notif> {
    let data = libc::seccomp_data { nr: 0, arch: 0, instruction_pointer: 0, args: [0; 6] };
    let mut notification = libc::seccomp_notif { id: 0, pid: 0, flags: 0, data };
    let fd = listener.as_raw_fd();
    // SAFETY: the descriptor is open, and the kernel writes no more than this structure.
    #[expect(unsafe_code, reason = "no library offers this system call alone")]
    let done = unsafe { libc::ioctl(fd, libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut notification) };
    if done == 0 { Ok(notification) } else { Err(io::Error::last_os_error()) }
}

fn deny(listener: &OwnedFd, id: u64) {
    let mut answer = libc::seccomp_notif_resp { id, val: 0, error: -libc::EPERM, flags: 0 };
    let fd = listener.as_raw_fd();
    // Fails if the process has died in the meantime; then there is nothing to answer.
    // SAFETY: the descriptor is open, and the kernel only reads this structure.
    #[expect(unsafe_code, reason = "no library offers this system call alone")]
    let _ = unsafe { libc::ioctl(fd, libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut answer) };
}

/// Receives the listener descriptor. The child sends it before exec, so it has already arrived or
/// never will.
fn receive_listener(from: &UnixStream) -> Option<OwnedFd> {
    let mut byte = [0];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut extra = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
    recvmsg(from.as_fd(), &mut [io::IoSliceMut::new(&mut byte)], &mut extra, flags).ok()?;
    let mut messages = extra.drain();
    messages.find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut sent) => sent.next(),
        _ => None,
    })
}
