//! A compaction that a client requested. It runs between turns.

use std::sync::Arc;

use robota_core::call::{CallContext, RetryWatch, UsageMeter};
use robota_core::compact::{Compaction, CompactionRequest, Compactor};
use robota_core::driver::Recorder;
use robota_core::error::{ErrorData, ErrorKind};
use robota_core::event::{
    CompactionFailed, CompactionFinished, ContextMeasured, Event, ModelRetry, PrefixChange,
    PrefixChanged,
};
use robota_core::redact::Redactor;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::Reply;
use crate::error::SessionError;

pub(super) struct ManualCompaction {
    task: JoinSet<Result<Compaction, ErrorData>>,
    /// Failed attempts of its model calls that are retried.
    reports: mpsc::UnboundedReceiver<Event>,
    /// What its model calls use.
    meter: UsageMeter,
    waiting: Vec<Event>,
    done: Option<Result<Compaction, ErrorData>>,
    cancel: CancellationToken,
    redactor: Redactor,
    reply: Option<Reply<()>>,
}

impl ManualCompaction {
    /// Starts it in its own task, so that a panic ends only the compaction.
    pub(super) fn start(
        compactor: Option<Arc<dyn Compactor>>,
        request: CompactionRequest,
        mut context: CallContext,
        reply: Reply<()>,
    ) -> Self {
        let (report, reports) = mpsc::unbounded_channel();
        context.retries = RetryWatch::new(move |retry| {
            let _ = report.send(ModelRetry::of(0, retry).into());
        });
        let meter = context.meter.clone();
        let (cancel, redactor) = (context.cancel.clone(), context.redactor.clone());
        let mut task = JoinSet::new();
        task.spawn(async move {
            match compactor {
                Some(compactor) => compactor.compact(request, context).await,
                None => {
                    let text = "compaction is unavailable: no compactor is configured";
                    Err(ErrorData::new(ErrorKind::Configuration, text))
                }
            }
        });
        let (waiting, done, reply) = (Vec::new(), None, Some(reply));
        Self { task, reports, meter, waiting, done, cancel, redactor, reply }
    }

    /// Ends it without a summary.
    pub(super) fn cancel(&mut self) {
        self.cancel.cancel();
        self.task.abort_all();
        let text = "it was interrupted";
        self.done.get_or_insert_with(|| Err(ErrorData::new(ErrorKind::Validation, text)));
    }

    /// Waits until it has something to record. Cancel safe.
    pub(super) async fn ready(&mut self) {
        if self.done.is_some() || !self.waiting.is_empty() {
            return;
        }
        tokio::select! {
            biased;
            Some(event) = self.reports.recv() => self.waiting.push(event),
            joined = self.task.join_next() => {
                let panicked = || Err(ErrorData::new(ErrorKind::Plugin, "the compactor panicked"));
                self.done = Some(match joined {
                    Some(Ok(result)) => result,
                    Some(Err(_)) | None => panicked(),
                });
            }
        }
    }

    /// Records what is available; returns whether the compaction is over.
    pub(super) async fn step(&mut self, recorder: &mut Recorder, window: u64) -> bool {
        let mut events = std::mem::take(&mut self.waiting);
        while let Ok(event) = self.reports.try_recv() {
            events.push(event);
        }
        let Some(result) = self.done.take() else {
            // An error is ignored here: the append that ends the compaction reports it.
            let _ = recorder.append(None, events).await;
            return false;
        };
        let summary = result.as_ref().ok().and_then(|done| done.summary.usage);
        // Tokens that no summary counts were paid for as well.
        let beyond = self.meter.take_beyond(summary.unwrap_or_default());
        events.extend(beyond.into_iter().map(Event::from));
        let outcome = match result {
            Ok(Compaction { summary, keep_from }) => {
                events.push(CompactionFinished { summary: summary.into(), keep_from }.into());
                events.push(PrefixChanged { cause: PrefixChange::Compaction }.into());
                Ok(())
            }
            Err(mut error) => {
                self.redactor.error(&mut error);
                events.push(CompactionFailed { error: error.clone() }.into());
                Err(SessionError::Compaction(error))
            }
        };
        let mut written = recorder.append(None, events).await;
        if written.is_ok() && outcome.is_ok() {
            let estimate = recorder.state().context(window);
            written = recorder.append(None, vec![ContextMeasured { estimate }.into()]).await;
        }
        if let Some(reply) = self.reply.take() {
            let _ = reply.send(written.map_err(SessionError::from).and(outcome));
        }
        true
    }
}
