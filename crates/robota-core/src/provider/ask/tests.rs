use super::*;
use crate::ids::CountingIds;
use crate::scripted::{Script, ScriptedAnswer, ScriptedProvider};

async fn ask_with(script: Script, budget: u64) -> Result<String, ProviderError> {
    let retry = RetryPolicy { budget: Duration::from_secs(budget), ..RetryPolicy::default() };
    let limits = AskLimits { idle_timeout: Duration::from_secs(60), retry };
    let request = ModelRequest::new("model", crate::provider::View::default());
    let (model, ids) = (ScriptedProvider::new(script), CountingIds::default());
    let answer = ask(&model, request, &CallContext::detached(), limits, &ids).await;
    answer.map(|(message, _)| message.text())
}

/// The time of the first attempt is not part of the budget, which is for waiting and trying again.
#[tokio::test(start_paused = true)]
async fn core_14_the_budget_of_retries_begins_with_the_first_failure() {
    let stalled = || Script::new().answer(ScriptedAnswer::new().stall());
    assert_eq!(ask_with(stalled().text("Done."), 30).await.unwrap(), "Done.");
    // The second attempt uses the budget up.
    let twice = stalled().answer(ScriptedAnswer::new().stall()).text("Done.");
    ask_with(twice, 30).await.unwrap_err();
}
