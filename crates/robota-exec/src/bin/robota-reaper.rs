//! The reaper as a separate program, for programs that embed the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    match robota_exec::reaper::serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
