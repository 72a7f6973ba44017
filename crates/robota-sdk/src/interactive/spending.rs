//! What a session cost, and its budget.

use super::InteractiveSession;
use crate::budget::{Budget, BudgetGuard, BudgetUse};
use crate::costs::{self, Costs};
use crate::error::SdkError;

/// What a session cost, and its budget.
///
/// ```
/// # async fn example(session: robota_sdk::InteractiveSession) -> Result<(), robota_sdk::SdkError> {
/// let spending = session.spending();
/// println!("{:?} dollars, {} tokens", spending.costs().await?.cost(), spending.used().tokens);
/// # Ok(()) }
/// ```
#[derive(Clone, Copy)]
pub struct Spending<'a>(pub(super) &'a InteractiveSession);

impl Spending<'_> {
    /// Returns the tokens and the price of all model calls of the session, by model.
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub async fn costs(&self) -> Result<Costs, SdkError> {
        Ok(costs::read(self.0.session()).await?)
    }

    /// Returns what was used of the budget: by this process, and, if the budget limits the session, by
    /// earlier ones.
    #[must_use]
    pub fn used(&self) -> BudgetUse {
        self.guard().map(BudgetGuard::used).unwrap_or_default()
    }

    /// Returns the budget: that of the builder, completed by that of the settings.
    #[must_use]
    pub fn budget(&self) -> Budget {
        self.guard().map(BudgetGuard::budget).unwrap_or_default()
    }

    /// Returns why the budget stopped the last turn or refused the last prompt; none if it did not.
    #[must_use]
    pub fn stop_reason(&self) -> Option<String> {
        self.guard().and_then(BudgetGuard::stopped)
    }

    fn guard(&self) -> Option<&BudgetGuard> {
        self.0.0.budget.as_ref()
    }
}
