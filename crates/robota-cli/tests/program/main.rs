//! Tests of the `robota` binary, run as users and scripts run it. They are one test binary, so that
//! it is linked once.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::disallowed_methods)]
#![allow(clippy::print_stdout)]

#[cfg(unix)]
mod acp;
#[cfg(target_os = "linux")]
mod added_folders;
#[cfg(target_os = "linux")]
mod agent_folders;
#[cfg(unix)]
mod agent_kills;
#[cfg(target_os = "linux")]
mod agent_process;
#[cfg(unix)]
mod agent_sdks;
#[cfg(unix)]
mod agent_sharing;
mod agents;
#[cfg(unix)]
mod approvals;
#[cfg(unix)]
mod attachments;
mod available_models;
#[cfg(unix)]
mod background_tasks;
#[cfg(unix)]
mod command_requests;
#[cfg(unix)]
mod control;
#[cfg(unix)]
mod control_mcp;
#[cfg(unix)]
mod control_settings;
mod doctor;
mod environment;
mod errors;
mod foreign;
mod headless;
mod home;
#[cfg(unix)]
mod hook_batches;
#[cfg(unix)]
mod hook_changes;
#[cfg(unix)]
mod hook_events;
#[cfg(unix)]
mod hook_lines;
#[cfg(unix)]
mod hook_mcp_tools;
#[cfg(unix)]
mod hook_models;
mod host;
#[cfg(unix)]
mod host_cases;
#[cfg(unix)]
mod installed;
#[cfg(target_os = "linux")]
mod killed;
#[cfg(unix)]
mod line_fields;
#[cfg(target_os = "linux")]
mod managed_places;
mod mcp;
mod mcp_instructions;
mod mcp_reference_servers;
#[cfg(unix)]
mod mcp_server;
mod permissions;
#[cfg(target_os = "linux")]
mod pictures;
#[cfg(unix)]
mod plugins;
mod print;
#[cfg(unix)]
mod protocol;
mod providers;
#[cfg(target_os = "linux")]
mod pty;
#[cfg(unix)]
mod questions;
mod rewind_files;
mod schedule;
mod schema;
#[cfg(target_os = "linux")]
mod screen_reader;
mod secrets;
mod sessions;
mod settings;
#[cfg(unix)]
mod setup;
mod slash;
mod sql_stores;
mod stored;
#[cfg(feature = "otel")]
mod telemetry;
#[cfg(target_os = "linux")]
mod terminal;
#[cfg(target_os = "linux")]
mod terminal_colours;
#[cfg(target_os = "linux")]
mod terminal_ends;
#[cfg(target_os = "linux")]
mod terminal_first_run;
#[cfg(target_os = "linux")]
mod terminal_pages;
#[cfg(target_os = "linux")]
mod terminal_screens;
#[cfg(target_os = "linux")]
mod tmux;
#[cfg(unix)]
mod tool_results;
#[cfg(target_os = "linux")]
mod tools;
