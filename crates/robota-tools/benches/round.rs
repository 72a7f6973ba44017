//! The overhead of a round with a tool: the answer arrives, Bash runs, the next request is sent, with
//! the journal. The baseline is the same command with plain tokio.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use robota_core::agent::Agent;
use robota_core::event::TurnEnd;
use robota_core::gate::AllowEverything;
use robota_core::scripted::{Script, ScriptedProvider};
use robota_core::tool::Tool;
use robota_exec::{Environment, Supervisor};
use robota_tools::{Bash, ToolWorkspace};
use serde_json::json;

const PATH: &str = "/usr/local/bin:/usr/bin:/bin";
const ROUNDS: usize = 10;

#[expect(clippy::disallowed_methods, reason = "the baseline is a plain tokio command")]
async fn plain() {
    for _ in 0..ROUNDS {
        let output = tokio::process::Command::new("bash")
            .args(["--noprofile", "--norc", "-c", "true"])
            .current_dir("/")
            .env_clear()
            .env("PATH", PATH)
            .stdin(Stdio::null())
            .output()
            .await
            .unwrap();
        assert!(output.status.success());
    }
}

fn round(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut group = criterion.benchmark_group("ten rounds of bash -c true");
    group.sample_size(30).measurement_time(Duration::from_secs(5));
    group.bench_function("baseline", |bencher| bencher.iter(|| runtime.block_on(plain())));
    let env = Environment::new().with("PATH", PATH);
    let workspace = ToolWorkspace::new("/", Supervisor::new(), env);
    group.bench_function("rounds", |bencher| {
        bencher.iter(|| {
            let mut script = Script::new();
            for _ in 0..ROUNDS {
                script = script.tool("Bash", json!({"command": "true"}));
            }
            let model = ScriptedProvider::new(script.text("done"));
            let bash: Arc<dyn Tool> = Arc::new(Bash::new(&workspace));
            let builder = Agent::builder(model, "any-model").gate(AllowEverything);
            let mut agent = builder.tools([bash]).max_rounds(0).build().unwrap();
            let report = runtime.block_on(agent.run("go"));
            assert_eq!(report.end, TurnEnd::Complete);
        });
    });
    group.finish();
}

criterion_group!(benches, round);
criterion_main!(benches);
