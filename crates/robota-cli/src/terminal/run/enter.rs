//! Runs what the user entered in the composer: a prompt, a slash command or a shell command.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use robota_config::{KeyPath, Layer, SettingsWriter, TrustStore};
use robota_core::clock::SystemClock;
use robota_core::hook::ModelSwitchSource;
use robota_core::ids::{CallId, RandomIds};
use robota_core::provider::Provider;
use robota_core::tool::Progress;
use robota_sdk::{ClientHooks, CommandResult, Entered, InteractiveEvent, ShellRun};
use robota_session::SessionError;
use serde_json::Value;

use super::{WorkContext, images, model};
use crate::args::PrintArgs;
use crate::terminal::composer::Draft;
use crate::terminal::event::Event;

/// Takes what the user entered: a command is executed, anything else is sent.
pub(super) async fn enter(context: &WorkContext, args: &PrintArgs, draft: Draft, now: bool) {
    let text = draft.text.trim_end().to_owned();
    let entered = match draft.images.is_empty() {
        true => context.session.enter(&text).await,
        false => match with_images(context, draft).await {
            Ok(prompt) => {
                let submitted = context.session.submit(prompt).await;
                submitted.map(|submission| Entered::Submitted(Box::new(submission)))
            }
            Err(why) => {
                context.mailbox.send(Event::Rejected { typed: text, why });
                return;
            }
        },
    };
    match entered {
        Ok(Entered::Command(result)) => {
            if let Some(model) = result.data.get("modelId").and_then(|model| model.as_str()) {
                change_model(context, args, model).await;
                return;
            }
            let applied = apply(context, &result).await;
            let result = match applied {
                Ok(()) => result,
                // The command itself succeeded; only the client's part of it did not.
                Err(error) => CommandResult::failed(format!("{}\n{error:#}", result.message)),
            };
            context.mailbox.send(Event::CommandDone { typed: text, result });
        }
        Ok(Entered::Submitted(submission)) if now => {
            let queue = context.session.queue();
            // To the front first: the first prompt of the queue is the one that starts.
            let moved = queue.move_to(submission.input(), 0).await;
            let started = queue.start_next().await;
            for error in [moved.err(), started.err()].into_iter().flatten() {
                context.report(&error.to_string());
            }
        }
        Ok(Entered::Submitted(_)) => {}
        Err(error) => {
            context.mailbox.send(Event::Rejected { typed: text, why: error.to_string() });
        }
    }
}

/// Makes a prompt of a text with images, if the model reads them.
async fn with_images(context: &WorkContext, draft: Draft) -> Result<robota_sdk::Prompt, String> {
    let info = context.session.session().info().await.map_err(|error| error.to_string())?;
    if let Some(why) = images::refused_by(&info.model) {
        return Err(why);
    }
    let blobs = context.session.session().journal().blobs();
    images::prompt(draft, &*blobs, context.setup.places.home.as_deref()).await
}

/// Runs a command of the user through the permissions, and puts it into the conversation.
pub(super) async fn shell(context: &WorkContext, command: String) {
    let typed = format!("!{command}");
    let call = CallId::mint(&RandomIds);
    let (mailbox, of) = (context.mailbox.clone(), call.clone());
    let progress = Progress::new(move |text| {
        let output = InteractiveEvent::ToolOutput { call: of.clone(), text };
        mailbox.send(Event::Session(output));
    });
    let run = ShellRun { progress, ..ShellRun::default() };
    // Before the command is announced: from then on a key may stop it.
    context.shell.started(&run.cancel);
    context.mailbox.send(Event::ShellStarted { call: call.clone(), command: command.clone() });
    let ran = context.session.run_shell(&command, run).await;
    context.mailbox.send(Event::ShellEnded(call));
    match ran {
        Ok(outcome) => {
            let code = outcome.metadata.get("exit_code").and_then(Value::as_i64);
            let mut text = outcome.text();
            if let Some(code) = code.filter(|code| *code != 0) {
                text.push_str(&format!("\nexit code {code}"));
            }
            let ok = outcome.ok && code.unwrap_or(0) == 0;
            let result = if ok { CommandResult::ok(text) } else { CommandResult::failed(text) };
            context.mailbox.send(Event::CommandDone { typed, result });
        }
        Err(error) => context.mailbox.send(Event::Rejected { typed, why: error.to_string() }),
    }
}

/// Changes the model of the session, from the next turn on.
async fn change_model(context: &WorkContext, args: &PrintArgs, model: &str) {
    let scripted = args.provider.as_deref().is_some_and(|name| name.starts_with("scripted:"));
    if scripted {
        if let Err(error) = context.setup.settings.available_models.check(None, model) {
            return context.report(&error.to_string());
        }
        if let Err(error) = switch_model(context, model, None).await {
            return context.report(&error.to_string());
        }
        context.mailbox.send(Event::ModelChanged(model.to_owned()));
        context.status.touch();
        return;
    }
    match model::choose(args, &context.setup, Some(model), &context.mailbox).await {
        Ok(chosen) => {
            // The session was opened without these keys.
            if let Err(error) = context.setup.late_secrets.add(chosen.secrets.iter().cloned()) {
                return context.report(&error.to_string());
            }
            let name = chosen.model.clone();
            if let Err(error) = switch_model(context, &name, Some(chosen.provider)).await {
                return context.report(&error.to_string());
            }
            context.mailbox.send(Event::ModelChanged(name));
            context.status.touch();
        }
        Err(error) => context.report(&format!("{error:#}")),
    }
}

async fn switch_model(
    context: &WorkContext,
    model: &str,
    provider: Option<Arc<dyn Provider>>,
) -> Result<(), SessionError> {
    let config = context.session.session().config();
    config.switch_model(ModelSwitchSource::Command, model, provider).await
}

/// Applies the data of a command that only the client can apply.
async fn apply(context: &WorkContext, result: &CommandResult) -> anyhow::Result<()> {
    let text = |key: &str| result.data.get(key).and_then(Value::as_str);
    let places = &context.setup.places;
    if let Some(name) = text("name") {
        context.session.set_name(name).await?;
    }
    if let Some(language) = text("language") {
        ClientHooks::of(&context.session).before_config_change(places, Layer::UserRobota).await?;
        let mut trust = TrustStore::load(places);
        let mut writer = SettingsWriter { places, trust: &mut trust, clock: &SystemClock };
        let key = KeyPath::parse("language").context("the key is not valid")?;
        writer.set(Layer::UserRobota, &key, Some(&Value::from(language)))?;
    }
    if let (Some(file), Some(exported)) = (text("file"), text("text")) {
        write_new(&places.cwd.join(file), exported).map_err(anyhow::Error::msg)?;
    }
    if result.data.get("resetRequested").is_some()
        && let Some(file) = places.file(Layer::UserRobota).filter(|file| file.exists())
    {
        ClientHooks::of(&context.session).before_config_change(places, Layer::UserRobota).await?;
        let failed = || format!("cannot delete {}", file.display());
        std::fs::remove_file(&file).with_context(failed)?;
    }
    Ok(())
}

/// Writes a text to a file that does not exist yet.
///
/// # Errors
/// If the file exists or cannot be written; the text says so.
pub(crate) fn write_new(file: &Path, text: &str) -> Result<(), String> {
    use std::io::Write as _;
    let failed = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            format!("{} exists already: choose another name", file.display())
        }
        _ => format!("{}: {error}", file.display()),
    };
    // Created and not overwritten, also if another program takes the name at this moment.
    let mut created =
        std::fs::File::options().write(true).create_new(true).open(file).map_err(failed)?;
    created.write_all(text.as_bytes()).map_err(failed)
}
