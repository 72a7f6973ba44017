//! Named gates at which a script waits for the test.

use std::collections::BTreeSet;

use tokio::sync::watch;

/// Names are only added to both sets, so a waiter cannot miss a change.
#[derive(Debug, Default)]
pub(super) struct Gates {
    released: watch::Sender<BTreeSet<String>>,
    reached: watch::Sender<BTreeSet<String>>,
}

impl Gates {
    pub(super) fn release(&self, gate: &str) {
        self.released.send_if_modified(|gates| gates.insert(gate.to_owned()));
    }

    /// Records that a call reached a gate, and waits until the gate is open.
    pub(super) async fn pass(&self, gate: &str) {
        self.reached.send_if_modified(|gates| gates.insert(gate.to_owned()));
        wait(&self.released, gate).await;
    }

    pub(super) async fn reached(&self, gate: &str) {
        wait(&self.reached, gate).await;
    }
}

async fn wait(gates: &watch::Sender<BTreeSet<String>>, gate: &str) {
    // Waiting fails only if the sender was dropped, and it is borrowed here.
    let _ = gates.subscribe().wait_for(|gates| gates.contains(gate)).await;
}
