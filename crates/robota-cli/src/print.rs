//! A headless run: one prompt in, an answer out.

use std::sync::Arc;

use robota_core::approve::NobodyToAsk;
use robota_core::driver::{Mailbox, Observer};
use robota_core::ids::{RandomIds, SessionId};
use robota_exec::Supervisor;
use robota_session::PolicyGate;

use crate::args::{OutputFormat, PrintArgs};
use crate::compose::{self, Parts, Session};
use crate::provider::{self, Wish};
use crate::setup::{self, Setup};
use crate::{Exit, debug, hooks, output, signals, stdin};

/// Runs it.
pub(crate) async fn run(args: PrintArgs) -> anyhow::Result<Exit> {
    let given = args.print.clone().flatten().or_else(|| args.prompt.clone());
    let Some(prompt) = stdin::prompt(given)? else {
        output::complain(
            "no prompt. Say what to do: robota -p \"PROMPT\", or pipe it in. See --help.",
        );
        return Ok(Exit::Usage);
    };
    let setup = Setup::load(&args.settings, args.permission_mode)?;
    setup.tell_problems();
    let cwd = setup.places.cwd.clone();
    let _trace = match &args.debug {
        Some(file) => Some(debug::start(file.as_deref(), &cwd)?),
        None => None,
    };
    let wish = Wish { provider: args.provider.as_deref(), model: args.model.as_deref() };
    let chosen = provider::choose(wish, &setup).await?;
    let observer: Observer = match args.output_format {
        OutputFormat::Events => Arc::new(|envelope| output::line(&envelope.to_line())),
        OutputFormat::Text | OutputFormat::Json => Arc::new(|_| {}),
    };
    let cancel = signals::cancel_on_interrupt()?;
    let id = SessionId::mint(&RandomIds);
    let model = chosen.model.clone();
    let supervisor = Supervisor::new();
    let environment = compose::environment(&setup.settings.values.env);
    let hooks = Arc::new(hooks::runner(&setup, &id, &supervisor, &environment));
    let mut session = Session::create(Parts {
        id,
        redactor: setup.redactor(&chosen.secrets),
        provider: chosen.provider,
        idle_timeout: chosen.timeout,
        model: model.clone(),
        cwd,
        mode: setup.settings.permissions.mode,
        gate: Arc::new(PolicyGate::new(setup.policy.clone(), setup::paths())),
        hooks: hooks.clone(),
        supervisor,
        environment,
        approver: Arc::new(NobodyToAsk),
        max_rounds: args.max_turns,
        observer,
    })
    .await?;
    let mut mailbox = Mailbox::silent(cancel);
    let prompt = match hooks::session_start(&hooks, &model).await {
        Some(context) => format!("{context}\n\n{prompt}"),
        None => prompt,
    };
    let report = session.turn(&prompt, &mut mailbox).await?;
    hooks::session_end(&hooks, if report.interrupted() { "interrupted" } else { "other" }).await;
    match args.output_format {
        OutputFormat::Text => output::text(&report),
        OutputFormat::Json => output::line(&output::json(&report, &session.id).to_string()),
        OutputFormat::Events => {
            if let Some(error) = &report.error {
                output::complain(&error.message);
            }
        }
    }
    Ok(output::exit(&report))
}
