use std::collections::VecDeque;

use robota_core::error::ErrorKind;
use robota_core::hook::{
    EventDecision, EventReport, HookData, HookEvent, HookInput, HookPoint, HookReply, Hooks,
    NoHooks,
};
use robota_core::provider::StopReason;

use super::*;

/// Answers each call with the next list of deltas.
struct Fixed(Mutex<VecDeque<Vec<Result<Delta, ProviderError>>>>);

impl Fixed {
    fn new(answer: Vec<Result<Delta, ProviderError>>) -> Arc<Self> {
        Arc::new(Self(Mutex::new([answer].into())))
    }
}

#[async_trait::async_trait]
impl Provider for Fixed {
    fn name(&self) -> &str {
        "fixed"
    }

    async fn stream(&self, _: ModelRequest, _: CallContext) -> Result<DeltaStream, ProviderError> {
        let answer = self.0.lock().unwrap().pop_front().expect("one call");
        Ok(futures::stream::iter(answer).boxed())
    }
}

fn overloaded() -> Result<Delta, ProviderError> {
    Err(ProviderError::new(ErrorKind::Provider, "busy").with_reason(FailureReason::Overloaded))
}

fn text(text: &str) -> Result<Delta, ProviderError> {
    Ok(Delta::Text(text.to_owned()))
}

async fn answer(first: Vec<Result<Delta, ProviderError>>) -> (String, Option<String>) {
    let second = vec![text("second"), Ok(Delta::End(StopReason::EndTurn))];
    answer_of(first, vec![second]).await
}

/// Returns the answer of the first model or of those after it, called `other-0`, `other-1`…, and the
/// model that answered, if it was not the first.
async fn answer_of(
    first: Vec<Result<Delta, ProviderError>>,
    others: Vec<Vec<Result<Delta, ProviderError>>>,
) -> (String, Option<String>) {
    let mut models: Vec<(Arc<dyn Provider>, String)> = Vec::new();
    for (at, answer) in others.into_iter().enumerate() {
        models.push((Fixed::new(answer), format!("other-{at}")));
    }
    let second = Fallback::chain(models).unwrap();
    let provider = second.wrap(Fixed::new(first));
    let request = ModelRequest::new("model", Arc::default());
    let stream = provider.stream(request, CallContext::detached()).await.unwrap();
    let items: Vec<_> = stream.collect().await;
    let text = items
        .iter()
        .map(|item| match item {
            Ok(Delta::Text(text)) => text.clone(),
            Ok(_) => String::new(),
            Err(error) => format!("({error})"),
        })
        .collect();
    (text, second.served.get())
}

#[tokio::test]
async fn an_overload_inside_the_stream_uses_the_second_model_while_nothing_was_shown() {
    let other = Some("other-0".to_owned());
    assert_eq!(answer(vec![overloaded()]).await, ("second".to_owned(), other.clone()));
    let silent = vec![Ok(Delta::Activity), Ok(Delta::Usage(Default::default())), overloaded()];
    assert_eq!(answer(silent).await, ("second".to_owned(), other));
    let shown = vec![text("first"), overloaded()];
    assert_eq!(answer(shown).await, ("first(busy)".to_owned(), None));
    let failed = ProviderError::new(ErrorKind::Provider, "broken");
    assert_eq!(answer(vec![Err(failed)]).await, ("(broken)".to_owned(), None));
}

#[tokio::test]
async fn each_model_uses_the_next_one_while_it_is_overloaded() {
    let third = || vec![text("third"), Ok(Delta::End(StopReason::EndTurn))];
    let busy = answer_of(vec![overloaded()], vec![vec![overloaded()], third()]).await;
    assert_eq!(busy, ("third".to_owned(), Some("other-1".to_owned())));
    let second = vec![text("second"), Ok(Delta::End(StopReason::EndTurn))];
    let free = answer_of(vec![overloaded()], vec![second, third()]).await;
    assert_eq!(free, ("second".to_owned(), Some("other-0".to_owned())));
    let all = answer_of(vec![overloaded()], vec![vec![overloaded()], vec![overloaded()]]).await;
    assert_eq!(all.0, "(busy)");
}

/// Blocks the use of one model, and records what it is asked about.
struct NotModel(&'static str, Mutex<Vec<HookData>>);

#[async_trait::async_trait]
impl Hooks for NotModel {
    fn has_point(&self, _: HookPoint) -> bool {
        false
    }

    async fn run(&self, input: HookInput) -> HookReply {
        NoHooks.run(input).await
    }

    fn has_event(&self, event: HookEvent) -> bool {
        event.is_model_switch()
    }

    async fn run_event(&self, data: HookData) -> EventReport {
        let blocked =
            matches!(&data, HookData::PreModelSwitch { new_model, .. } if new_model == self.0);
        self.1.lock().unwrap().push(data);
        let decision = match blocked {
            true => EventDecision::Block { reason: "too small".to_owned() },
            false => EventDecision::Continue { context: None },
        };
        EventReport { decision, ..EventReport::default() }
    }
}

#[tokio::test]
async fn core_22_hooks_decide_about_a_fallback_and_a_block_keeps_the_first_error() {
    let ended = || Ok(Delta::End(StopReason::EndTurn));
    for (blocked, expected, served, events) in [
        ("none", Ok("third"), Some("other-1"), 4),
        // The second model is overloaded too, and the third one may not be used.
        ("other-1", Err("busy"), Some("other-0"), 3),
        ("other-0", Err("busy"), None, 1),
    ] {
        let hooks = Arc::new(NotModel(blocked, Mutex::default()));
        let others = [vec![overloaded()], vec![text("third"), ended()]];
        let models = others.into_iter().enumerate();
        let models = models
            .map(|(at, answer)| (Fixed::new(answer) as Arc<dyn Provider>, format!("other-{at}")));
        let second = Fallback::chain(models.collect()).unwrap();
        let provider = second.wrap(Fixed::new(vec![overloaded()]));
        let context = CallContext { hooks: hooks.clone(), ..CallContext::detached() };
        let request = ModelRequest::new("model", Arc::default());
        let mut stream = provider.stream(request, context).await.unwrap();
        let first = stream.next().await.unwrap();
        match (first, expected) {
            (Ok(Delta::Text(text)), Ok(expected)) => assert_eq!(text, expected),
            (Err(error), Err(expected)) => assert_eq!(error.to_string(), expected),
            (first, _) => panic!("{blocked}: {first:?}"),
        }
        assert_eq!(second.served.get().as_deref(), served, "{blocked}");
        let seen = hooks.1.lock().unwrap();
        assert_eq!(seen.len(), events, "{seen:?}");
        let HookData::PreModelSwitch { old_model, new_model, source } = &seen[0] else { panic!() };
        assert_eq!((&**old_model, &**new_model), ("model", "other-0"));
        assert_eq!(*source, ModelSwitchSource::Fallback);
    }
}
