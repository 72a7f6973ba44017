//! Named places where a script waits for the test.

use std::collections::BTreeSet;

use tokio::sync::watch;

/// Both sets only grow, so nobody can miss anything.
#[derive(Debug, Default)]
pub(super) struct Gates {
    released: watch::Sender<BTreeSet<String>>,
    reached: watch::Sender<BTreeSet<String>>,
}

impl Gates {
    pub(super) fn release(&self, gate: &str) {
        self.released.send_if_modified(|gates| gates.insert(gate.to_owned()));
    }

    /// Comes to a gate and waits until it is open.
    pub(super) async fn pass(&self, gate: &str) {
        self.reached.send_if_modified(|gates| gates.insert(gate.to_owned()));
        wait(&self.released, gate).await;
    }

    pub(super) async fn reached(&self, gate: &str) {
        wait(&self.reached, gate).await;
    }
}

async fn wait(gates: &watch::Sender<BTreeSet<String>>, gate: &str) {
    // Waiting fails only when the sender is gone, and this borrows it.
    let _ = gates.subscribe().wait_for(|gates| gates.contains(gate)).await;
}
