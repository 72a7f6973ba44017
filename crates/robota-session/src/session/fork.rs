//! Labels and forks of an open session (KODE-04).

use std::sync::Arc;

use robota_core::event::{Forked, LabelSet};
use robota_core::ids::SessionId;
use robota_core::journal::JournalStore;
use robota_core::state::{ForkOrigin, State};
use tokio::task::JoinSet;

use super::Session;
use crate::actor::panicked;
use crate::error::SessionError;
use crate::fork::{ForkPoint, StoredFork, no_point, resolve};
use crate::id::{Selector, SnapshotId, fork_id, label};
use crate::open::{open_fork, prepare};

/// The maximum number of ancestors that are listed.
const MAX_LINEAGE: usize = 64;

impl Session {
    /// Labels a point to fork from: the last event if the session is idle, otherwise the last safe
    /// point. Without a name, returns the number of the last safe point.
    ///
    /// # Errors
    /// When the label is not valid, there is no safe point yet, or the journal cannot be written.
    pub async fn snapshot(&self, name: Option<&str>) -> Result<SnapshotId, SessionError> {
        let state = self.inspect(State::clone).await?;
        let session = self.id().clone();
        let Some(name) = name else {
            return match state.safe_points.count {
                0 => Err(no_point(&state, &session, &Selector::Latest)),
                count => Ok(SnapshotId { session, place: Selector::SafePoint(count) }),
            };
        };
        let label = label(name)?;
        let at = resolve(&state, &*self.shared.store, &session, &Selector::Latest).await?.at;
        self.append(vec![LabelSet { label: label.clone(), at }.into()]).await?;
        Ok(SnapshotId { session, place: Selector::Label(label) })
    }

    /// Forks the session: creates another session that continues from a point of this one. Without
    /// an id, a new one is created. This session may be busy; it only records a `forked` event.
    ///
    /// Returns as soon as the fork is stored. The fork of an earlier point loads its conversation
    /// then, and its first call waits for that; if it cannot be loaded, that call returns the error.
    ///
    /// # Errors
    /// When there is no such point, or the store fails. If only the `forked` event could not be
    /// written, the fork exists.
    pub async fn fork(
        &self,
        place: &Selector,
        id: Option<SessionId>,
    ) -> Result<Session, SessionError> {
        // A clone shares the messages of the view, so it is cheap.
        let state = self.inspect(State::clone).await?;
        let store = self.shared.store.clone();
        let point = resolve(&state, &*store, self.id(), place).await?;
        let mut setup = self.shared.turn_setup().setup.clone();
        if let Some(gate) = setup.base.gate.for_fork() {
            setup.base.gate = gate;
        }
        let child = id.unwrap_or_else(|| fork_id(self.id(), &*setup.base.ids));
        let clock = setup.base.clock.clone();
        let turn_setup = prepare(setup, &*store, &child)?;
        let (at, cwd) = (point.at, state.cwd.clone());
        let state = ForkState::of(point, &store, self.id(), state);
        // Create the child before recording it, so that the parent never refers to a session that
        // does not exist.
        let fork = StoredFork::create(&*store, self.id(), at, cwd, &child, clock).await?;
        let session = Box::pin(open_fork(store, child.clone(), fork, state, turn_setup)).await?;
        self.append(vec![Forked { child, at }.into()]).await?;
        Ok(session)
    }
}

/// The state that a fork begins with.
pub(crate) enum ForkState {
    /// That of its parent.
    Known(Box<State>),
    /// An earlier one, which is read while the store creates the fork.
    Loading(JoinSet<Result<State, SessionError>>),
}

impl ForkState {
    fn of(point: ForkPoint, store: &Arc<dyn JournalStore>, id: &SessionId, last: State) -> Self {
        if last.cursor == Some(point.at) {
            return Self::Known(Box::new(last));
        }
        let (store, id) = (Arc::clone(store), id.clone());
        let mut task = JoinSet::new();
        task.spawn(async move { point.load(&*store, &id, &last).await });
        Self::Loading(task)
    }

    pub(crate) async fn get(self) -> Result<State, SessionError> {
        match self {
            Self::Known(state) => Ok(*state),
            Self::Loading(mut task) => match task.join_next().await {
                Some(Ok(loaded)) => loaded,
                Some(Err(_)) | None => Err(panicked()),
            },
        }
    }
}

/// Returns the sessions a fork came from, nearest first.
pub(super) async fn lineage(
    store: &dyn JournalStore,
    parent: Option<ForkOrigin>,
) -> Vec<ForkOrigin> {
    let mut lineage: Vec<ForkOrigin> = Vec::new();
    let mut next = parent;
    while let Some(origin) = next.take() {
        let known = lineage.iter().any(|older| older.session == origin.session);
        if known || lineage.len() == MAX_LINEAGE {
            break;
        }
        // A parent that was deleted ends the list of ancestors.
        next = store.head(&origin.session).await.ok().and_then(|head| head.parent);
        lineage.push(origin);
    }
    lineage
}
