//! The reaper as a program of its own, for those who embed the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    match robota_exec::reaper::serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
