//! What [plugins](robota_core::plugin) need of the system (CORE-27): a storage in a file, and the
//! plugin that notifies other programs over HTTP.

mod file;
mod webhook;

pub use file::FileStorage;
pub use webhook::WebhookPlugin;
