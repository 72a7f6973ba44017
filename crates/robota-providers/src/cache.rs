//! A response cache in front of a provider (CORE-29): a repeated request is answered from the cache
//! without a model call.

use std::sync::{Arc, Mutex, PoisonError};

use futures::StreamExt as _;
use indexmap::IndexMap;
use sha2::{Digest as _, Sha256};

use robota_core::call::CallContext;
use robota_core::error::ErrorKind;
use robota_core::provider::{Delta, DeltaStream, ModelRequest, Provider, ProviderError};

/// Stores the answers of a [`CachedProvider`].
#[async_trait::async_trait]
pub trait CacheStorage: Send + Sync {
    /// Returns the stored answer to the request with this hash, or `None`.
    async fn get(&self, key: &str) -> Option<Vec<Delta>>;

    /// Stores the answer to the request with this hash.
    async fn put(&self, key: &str, answer: Vec<Delta>);
}

/// Stores answers in memory. When it is full, it drops the oldest answer.
#[derive(Debug)]
pub struct MemoryCache {
    capacity: usize,
    answers: Mutex<IndexMap<String, Vec<Delta>>>,
}

impl MemoryCache {
    /// Creates a cache for at most `capacity` answers (at least one).
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self { capacity: capacity.max(1), answers: Mutex::default() }
    }
}

#[async_trait::async_trait]
impl CacheStorage for MemoryCache {
    async fn get(&self, key: &str) -> Option<Vec<Delta>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    async fn put(&self, key: &str, answer: Vec<Delta>) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.insert(key.to_owned(), answer);
        while answers.len() > self.capacity {
            answers.shift_remove_index(0);
        }
    }
}

/// A provider that checks a [`CacheStorage`] before it calls the model. It stores complete answers
/// only.
pub struct CachedProvider<P, S> {
    inner: P,
    storage: Arc<S>,
}

impl<P: Provider, S: CacheStorage> CachedProvider<P, S> {
    /// Wraps `inner` with a cache.
    pub fn new(inner: P, storage: S) -> Self {
        Self { inner, storage: Arc::new(storage) }
    }
}

/// Hashes the request and the provider's name: the same request to another provider is another key.
fn key(provider: &str, request: &ModelRequest) -> Result<String, ProviderError> {
    let mut bytes = serde_json::to_vec(request).map_err(|error| {
        ProviderError::new(ErrorKind::Validation, format!("cannot encode the request: {error}"))
    })?;
    // Without a separator, because the JSON before it cannot be continued by a name.
    bytes.extend_from_slice(provider.as_bytes());
    Ok(robota_core::hash::hex(&Sha256::digest(&bytes)))
}

#[async_trait::async_trait]
impl<P: Provider, S: CacheStorage + 'static> Provider for CachedProvider<P, S> {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn inner(&self) -> Option<&dyn Provider> {
        Some(&self.inner)
    }

    async fn stream(
        &self,
        request: ModelRequest,
        context: CallContext,
    ) -> Result<DeltaStream, ProviderError> {
        let key = key(self.inner.name(), &request)?;
        if let Some(answer) = self.storage.get(&key).await {
            return Ok(futures::stream::iter(answer.into_iter().map(Ok)).boxed());
        }
        let inner = self.inner.stream(request, context).await?;
        let storage = self.storage.clone();
        let deltas = Vec::new();
        Ok(futures::stream::unfold((inner, deltas), move |(mut inner, mut deltas)| {
            let (storage, key) = (storage.clone(), key.clone());
            async move {
                let item = inner.next().await?;
                if let Ok(delta) = &item {
                    deltas.push(delta.clone());
                    // Only with the end: an answer that broke off would be repeated broken from
                    // then on.
                    if matches!(delta, Delta::End(_)) {
                        storage.put(&key, std::mem::take(&mut deltas)).await;
                    }
                }
                Some((item, (inner, deltas)))
            }
        })
        .boxed())
    }
}

#[cfg(test)]
mod tests;
