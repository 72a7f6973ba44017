//! The arguments of commands that serve sessions to other programs.

use std::path::PathBuf;

use clap::Args;
use robota_core::permission::Mode;

use super::SettingsArgs;
use super::headless::Durability;

/// `robota acp`
#[derive(Debug, Args)]
pub(crate) struct AcpArgs {
    #[command(flatten)]
    pub(crate) serve: ServeArgs,
}

/// Options for the sessions that a command serves.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Model provider: a vendor, a profile from the settings, or scripted:FILE.
    #[arg(long, value_name = "PROVIDER")]
    pub(crate) provider: Option<String>,

    /// Model, or VENDOR/MODEL to select the provider as well.
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,

    /// How hard the model thinks: low, medium, high, xhigh or max.
    #[arg(long, value_name = "LEVEL")]
    pub(crate) effort: Option<String>,

    /// Permission mode: plan, default, acceptEdits or bypassPermissions.
    #[arg(long, value_name = "MODE")]
    pub(crate) permission_mode: Option<Mode>,

    /// Let clients switch to bypassPermissions.
    #[arg(long)]
    pub(crate) allow_dangerously_skip_permissions: bool,

    /// Session store: file[:DIR], sqlite:FILE or postgres://… [default: .robota/sessions].
    #[arg(long, value_name = "STORE")]
    pub(crate) store: Option<String>,

    /// Fsync policy: strict, barrier or relaxed.
    #[arg(long, value_name = "POLICY", value_enum, default_value_t = Durability::Barrier)]
    pub(crate) durability: Durability,

    #[command(flatten)]
    pub(crate) settings: SettingsArgs,

    /// Write a debug log to FILE [default: .robota/logs/debug.log].
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    pub(crate) debug: Option<Option<PathBuf>>,
}
