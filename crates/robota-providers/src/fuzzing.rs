//! What the fuzzer calls.
