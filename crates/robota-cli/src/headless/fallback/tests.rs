use std::collections::VecDeque;

use robota_core::error::ErrorKind;
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
