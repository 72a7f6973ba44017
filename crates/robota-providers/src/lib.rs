//! Model providers: four wires, any vendor.
//!
//! This crate will hold the wires `anthropic`, `openai_chat`, `openai_responses` and
//! `gemini` (request, stream decoding, errors: one folder each) and vendor profiles as data
//! files, all behind the `Provider` trait of [`robota_core`].
//!
//! Nothing is here yet: the wires are to come. Until then the scripted
//! provider of [`robota_core`] (feature `scripted`) plays the model.
