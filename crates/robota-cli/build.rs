//! Asks the linker for packed relocations where the system can load them: the loader then reads
//! megabytes less of the program's file at every start.

use std::process::Command;

/// The first glibc whose loader reads packed relocations.
const FIRST_GLIBC: (u32, u32) = (2, 36);

/// Set this variable to build a program that also runs where glibc is older.
const OLD_GLIBC: &str = "ROBOTA_OLD_GLIBC";

#[expect(
    clippy::disallowed_methods,
    reason = "cargo tells build scripts by variables what to build"
)]
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={OLD_GLIBC}");
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|found| found == value);
    let native = std::env::var("TARGET").ok() == std::env::var("HOST").ok();
    let glibc = is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu");
    let wanted = std::env::var_os(OLD_GLIBC).is_none();
    if native && glibc && wanted && glibc_version().is_some_and(|version| version >= FIRST_GLIBC) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// Returns the version of glibc on this system.
#[expect(clippy::disallowed_methods, reason = "a tool of the system, at build time")]
fn glibc_version() -> Option<(u32, u32)> {
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (major, minor) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
