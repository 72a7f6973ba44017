use robota_core::ids::{CountingIds, RandomIds};
use robota_core::message::Message;
use robota_core::provider::{AskLimits, RetryPolicy, ask};
use robota_core::scripted::{Script, ScriptedProvider};

use super::*;

#[tokio::test]
async fn core_29_a_cached_answer_needs_no_call() {
    let model = ScriptedProvider::new(Script::new().text("fresh").text("fresh again"));
    let cached = Arc::new(CachedProvider::new(model.clone(), MemoryCache::new(8)));
    let ask = async |text: &str| {
        let messages = Arc::new(vec![Arc::new(Message::user(&CountingIds::default(), text))]);
        let request = ModelRequest::new("m", messages);
        whole(&*cached, request).await.unwrap().text()
    };
    assert_eq!(ask("a").await, "fresh");
    assert_eq!(ask("a").await, "fresh", "remembered");
    assert_eq!(ask("b").await, "fresh again");
    assert_eq!(model.requests().len(), 2);
}

/// Stores answers in a list, and counts the lookups.
#[derive(Default)]
struct ListStorage {
    answers: Mutex<Vec<(String, Vec<Delta>)>>,
    lookups: std::sync::atomic::AtomicUsize,
}

#[async_trait::async_trait]
impl CacheStorage for ListStorage {
    async fn get(&self, key: &str) -> Option<Vec<Delta>> {
        self.lookups.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let answers = self.answers.lock().unwrap();
        answers.iter().find(|(stored, _)| stored == key).map(|(_, answer)| answer.clone())
    }

    async fn put(&self, key: &str, answer: Vec<Delta>) {
        self.answers.lock().unwrap().push((key.to_owned(), answer));
    }
}

#[tokio::test]
async fn core_29_the_storage_of_the_cache_can_be_replaced() {
    let model = ScriptedProvider::new(Script::new().text("fresh"));
    let cached = CachedProvider::new(model.clone(), ListStorage::default());
    let request = || {
        let message = Message::user(&CountingIds::default(), "a");
        ModelRequest::new("m", Arc::new(vec![Arc::new(message)]))
    };
    for _ in 0..2 {
        assert_eq!(whole(&cached, request()).await.unwrap().text(), "fresh");
    }
    assert_eq!(model.requests().len(), 1);
    assert_eq!(cached.storage.lookups.load(std::sync::atomic::Ordering::SeqCst), 2);
}

#[tokio::test]
async fn core_29_failed_answers_are_not_cached() {
    let model = ScriptedProvider::new(
        Script::from_yaml("- steps: [{text: Half}, drop]\n- Whole.").unwrap(),
    );
    let cached = CachedProvider::new(model, MemoryCache::new(8));
    let request = || {
        let message = Message::user(&CountingIds::default(), "a");
        ModelRequest::new("m", Arc::new(vec![Arc::new(message)]))
    };
    assert!(whole(&cached, request()).await.is_err());
    let message = whole(&cached, request()).await.unwrap();
    assert_eq!(message.text(), "Whole.");
}

async fn whole(provider: &dyn Provider, request: ModelRequest) -> Result<Message, ProviderError> {
    let limits = AskLimits { retry: RetryPolicy::never(), ..AskLimits::default() };
    let context = CallContext::detached();
    Ok(ask(provider, request, &context, limits, &RandomIds).await?.0)
}
