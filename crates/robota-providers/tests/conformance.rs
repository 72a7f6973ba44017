//! Runs the provider suite on every wire against the mock model server.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::provider;
use robota_testkit::provider_suite::table;

robota_testkit::provider_suite!(provider);

/// The limitations of each wire are recorded in a snapshot instead of being skipped silently.
#[test]
fn wire_limitations_are_recorded() {
    insta::assert_snapshot!(table());
}
