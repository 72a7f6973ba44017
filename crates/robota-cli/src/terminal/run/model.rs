//! The provider and the model of the terminal's session, with the options that concern them.

use robota_sdk::{Budget, Notice};

use crate::args::PrintArgs;
use crate::headless::{self, RunOptions, has_price, no_price};
use crate::provider::{self, ChosenProvider, ProviderRequest, WantedModel};
use crate::setup::Setup;
use crate::terminal::event::Event;
use crate::{Configuration, Usage};

use super::Mailbox;

/// Chooses the provider: of a model that the user chose in the terminal, or of the arguments.
///
/// # Errors
/// If there is no such provider or model, or it has no price and a budget in dollars is set.
pub(super) async fn choose(
    args: &PrintArgs,
    setup: &Setup,
    model: Option<&str>,
    mailbox: &Mailbox,
) -> anyhow::Result<ChosenProvider> {
    // A model that is named with its vendor does not belong to the provider of the arguments.
    let vendor = model.is_some_and(|model| provider::names_vendor(model, setup));
    let request = ProviderRequest {
        provider: args.provider.as_deref().filter(|_| !vendor),
        model: WantedModel::Flag(model.or(args.model.as_deref())),
    };
    let mut chosen = provider::choose(request, setup).await.map_err(Configuration::wrap)?;
    chosen.calls = provider::calls::with_args(chosen.calls, args);
    match headless::fallback(args, setup, &mut chosen).await {
        Ok(None) => {}
        Ok(Some(fallback)) => {
            let mailbox = mailbox.clone();
            fallback.on_blocked(move |text| {
                mailbox.send(Event::Notice(Notice::Note(text.to_owned())));
            });
            chosen.provider = fallback.wrap(chosen.provider);
        }
        // The user chose the second model itself.
        Err(error) if model.is_some() && error.is::<Usage>() => {}
        Err(error) => return Err(error),
    }
    if args.max_budget_usd.is_some() && !has_price(&chosen.model) {
        return Err(Configuration::wrap(anyhow::anyhow!(no_price(&chosen.model))));
    }
    Ok(chosen)
}

/// Returns the budget of the arguments.
pub(super) fn budget(options: &RunOptions) -> Budget {
    let mut budget = options.limits;
    budget.session.usd = budget.session.usd.or(options.budget);
    budget
}
