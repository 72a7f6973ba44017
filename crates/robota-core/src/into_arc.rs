//! What builders accept where they keep a shared trait object.

use std::sync::Arc;

use crate::approve::{Approver, RuleSink};
use crate::checkpoint::CrashCleanup;
use crate::clock::Clock;
use crate::compact::Compactor;
use crate::gate::Gate;
use crate::hook::Hooks;
use crate::ids::Ids;
use crate::journal::JournalStore;
use crate::plugin::Plugin;
use crate::provider::Provider;
use crate::tool::{Tool, ToolFactory, ToolSource};

/// Converts a value or an [`Arc`] of it to an `Arc`: builders take either, so that a caller writes
/// `Arc::new` only where the value is really shared.
///
/// ```
/// use std::sync::Arc;
///
/// use robota_core::gate::{AllowAll, Gate};
/// use robota_core::into_arc::IntoArc;
///
/// fn keep(gate: impl IntoArc<dyn Gate>) -> Arc<dyn Gate> {
///     gate.into_arc()
/// }
///
/// keep(AllowAll);
/// keep(keep(Arc::new(AllowAll)));
/// ```
pub trait IntoArc<T: ?Sized> {
    /// Converts the value; an `Arc` is passed on as it is.
    fn into_arc(self) -> Arc<T>;
}

/// Implements [`IntoArc`] for the values of a trait, for `Arc`s of them, and for `Arc<dyn Trait>`.
// For traits of this crate only: elsewhere the compiler refuses the first implementation, and the
// trait is implemented for `Arc<T>` instead.
macro_rules! into_arc {
    ($($trait:path),+ $(,)?) => {$(
        impl<T: $trait + 'static> $crate::into_arc::IntoArc<dyn $trait> for T {
            fn into_arc(self) -> std::sync::Arc<dyn $trait> {
                std::sync::Arc::new(self)
            }
        }

        impl<T: $trait + 'static> $crate::into_arc::IntoArc<dyn $trait> for std::sync::Arc<T> {
            fn into_arc(self) -> std::sync::Arc<dyn $trait> {
                self
            }
        }

        impl $crate::into_arc::IntoArc<dyn $trait> for std::sync::Arc<dyn $trait> {
            fn into_arc(self) -> std::sync::Arc<dyn $trait> {
                self
            }
        }
    )+};
}

into_arc!(
    Approver,
    Clock,
    Compactor,
    CrashCleanup,
    Gate,
    Hooks,
    Ids,
    JournalStore,
    Plugin,
    Provider,
    RuleSink,
    Tool,
    ToolFactory,
    ToolSource,
);
