//! Follows the lists of servers without a handshake: they say that a list has changed only to a client
//! that listens.

use std::time::Duration;

use rmcp::model::SubscriptionFilter;
use rmcp::service::{Peer, RoleClient};
use robota_core::backoff::Backoff;
use serde_json::Value;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::handler::Handler;

/// How often a subscription that ends is opened again.
const MAX_REOPENED: u32 = 5;
/// The waits before a subscription is opened again.
const REOPEN: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(32));
/// A subscription that lasted this long did not fail: servers and proxies end old ones.
const LASTING: Duration = Duration::from_secs(60);

/// Listens for changes of the lists until the guard is dropped. None if the server announces no changes.
pub(super) fn start(peer: &Peer<RoleClient>, handler: &Handler, info: &Value) -> Option<DropGuard> {
    let announces = |list: &str| {
        let flag = info.pointer(&format!("/capabilities/{list}/listChanged"));
        (flag == Some(&Value::Bool(true))).then_some(true)
    };
    let mut filter = SubscriptionFilter::new();
    filter.tools_list_changed = announces("tools");
    filter.prompts_list_changed = announces("prompts");
    filter.tools_list_changed.or(filter.prompts_list_changed)?;
    let stop = CancellationToken::new();
    let (stopped, peer, handler) = (stop.clone(), peer.clone(), handler.clone());
    tokio::spawn(async move {
        stopped.run_until_cancelled(follow(&peer, &handler, &filter)).await;
    });
    Some(stop.drop_guard())
}

async fn follow(peer: &Peer<RoleClient>, handler: &Handler, filter: &SubscriptionFilter) {
    let mut failed = 0;
    let mut reopened = false;
    while failed <= MAX_REOPENED && !peer.is_transport_closed() {
        let opened = Instant::now();
        if let Ok(mut subscription) = peer.listen(filter.clone()).await {
            if reopened {
                // Nothing was heard since the last subscription ended.
                handler.announce_change();
            }
            while let Ok(Some(_)) = subscription.next().await {
                handler.announce_change();
            }
        }
        reopened = true;
        failed = if opened.elapsed() >= LASTING { 0 } else { failed + 1 };
        // Also after one that lasted: a server that ends all subscriptions at once, because it restarts,
        // is not flooded.
        tokio::time::sleep(REOPEN.after(failed + 1)).await;
    }
}
