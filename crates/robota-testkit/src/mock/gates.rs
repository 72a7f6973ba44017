//! Named points at which a reply waits for the test.

use std::collections::BTreeSet;

use tokio::sync::watch;

/// Both sets only grow, so a waiter cannot miss a change.
#[derive(Debug, Default)]
pub(super) struct Gates {
    open: watch::Sender<BTreeSet<String>>,
    reached: watch::Sender<BTreeSet<String>>,
}

impl Gates {
    pub(super) fn release(&self, gate: &str) {
        self.open.send_if_modified(|gates| gates.insert(gate.to_owned()));
    }

    /// Reports that a reply has reached the gate, and waits until the gate is open.
    pub(super) async fn pass(&self, gate: &str) {
        self.reached.send_if_modified(|gates| gates.insert(gate.to_owned()));
        until(&self.open, gate).await;
    }

    pub(super) async fn reached(&self, gate: &str) {
        until(&self.reached, gate).await;
    }
}

async fn until(gates: &watch::Sender<BTreeSet<String>>, gate: &str) {
    // Fails only if the sender was dropped, and this borrows it.
    let _ = gates.subscribe().wait_for(|gates| gates.contains(gate)).await;
}
