//! The terminal after a panic: a child process panics on a pseudo terminal.

#![expect(clippy::disallowed_methods, reason = "a child process of the test draws on a terminal")]

use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, tcgetattr};

use super::{RestoreAtEnd, enter, install_panic_hook, set_full};

const CHILD: &str = "terminal::run::guard::tests::child_whose_drawing_thread_panics";

#[test]
#[ignore = "the test below starts it"]
fn child_whose_drawing_thread_panics() {
    install_panic_hook();
    let _restore = RestoreAtEnd;
    let draws = std::thread::Builder::new().name("terminal".to_owned()).spawn(|| {
        enter(&mut std::io::stdout()).unwrap();
        std::io::Write::write_all(&mut std::io::stdout(), b"\x1b[?1049h\x1b[?25l").unwrap();
        set_full(true);
        panic!("a defect of the view");
    });
    assert!(draws.unwrap().join().is_err());
}

#[test]
fn a_panic_restores_the_terminal_and_is_reported_on_it() {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let slave = File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
    let stdio = || Stdio::from(OwnedFd::from(slave.try_clone().unwrap()));
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", CHILD, "--nocapture"]);
    command.stdin(stdio()).stdout(stdio()).stderr(stdio());
    let status = command.status().unwrap();
    assert!(status.success(), "{status}");
    let modes = tcgetattr(&slave).unwrap().local_modes;
    assert!(modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG));
    // The child wrote less than the terminal buffers.
    let mut bytes = [0; 16 * 1024];
    let count = File::from(master).read(&mut bytes).unwrap();
    let mut parser = vt100::Parser::default();
    parser.process(&bytes[..count]);
    let screen = parser.screen();
    let shown = screen.contents();
    assert!(shown.contains("a defect of the view"), "{shown}");
    assert!(!screen.alternate_screen() && !screen.hide_cursor() && !screen.bracketed_paste());
}
