//! Fakes, builders and conformance suites.
