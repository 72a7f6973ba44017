//! The `robota` program.
fn main() {}
