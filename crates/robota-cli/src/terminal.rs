//! The terminal interface.
#![allow(dead_code, unused_imports, reason = "the parts are tested alone; views use them")]

mod ansi;
mod clipboard;
mod composer;
mod diff;
mod highlight;
mod markdown;
mod popup;
mod screen;
mod text;
mod theme;

#[cfg(test)]
mod hostile_tests;
