//! What may run: permission rules, path rules and shell analysis. Pure: facts about files come
//! through the `Paths` port of [`robota_core`].
//!
//! Nothing is here yet.
