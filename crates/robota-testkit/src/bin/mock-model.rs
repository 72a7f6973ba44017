//! `mock-model SCENARIO [ADDRESS]` serves a scenario file and prints its address, until it is
//! stopped.

use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;

use robota_testkit::mock::{MockServer, Scenario};

const USAGE: &str = "usage: mock-model SCENARIO.yaml [ADDRESS:PORT]";

#[expect(clippy::disallowed_methods, reason = "a program reads its arguments")]
#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a program prints")]
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let run = |path: &str, address: &str| -> Result<(), Box<dyn std::error::Error>> {
        let address: SocketAddr = address.parse()?;
        let scenario = Scenario::load(Path::new(path))?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let mock = MockServer::start_at(address, scenario).await?;
            // The only line of the output: a script reads the port from it.
            println!("{}", mock.origin());
            std::future::pending().await
        })
    };
    let result = match &*arguments {
        // Only this machine can connect, unless an address is given.
        [path] => run(path, "127.0.0.1:0"),
        [path, address] => run(path, address),
        _ => Err(USAGE.into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("mock-model: {error}");
            ExitCode::from(2)
        }
    }
}
