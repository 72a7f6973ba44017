//! The thread that reads lines and writes lines, for screen readers. The terminal keeps its own line
//! editing: no mode of it is changed.

use std::io::{BufRead as _, Write as _};
use std::time::Instant;

use tokio::sync::mpsc::UnboundedSender;

use super::{Mailbox, wait};
use crate::terminal::effect::Effect;
use crate::terminal::event::Event;
use crate::terminal::plain::Plain;

/// Owns the state, on the thread that reads and writes lines.
pub(super) struct PlainUi {
    pub(super) plain: Plain,
    pub(super) mailbox: Mailbox,
    pub(super) effects: UnboundedSender<Effect>,
    pub(super) started: Instant,
}

impl PlainUi {
    /// Runs until the session has ended.
    #[expect(clippy::disallowed_methods, reason = "the terminal is standard output")]
    pub(super) fn run(mut self) -> std::io::Result<()> {
        let mut out = std::io::stdout();
        let reader = LineReader::start(self.mailbox.clone())?;
        let mut reading = false;
        loop {
            for line in self.plain.speak() {
                writeln!(out, "{line}")?;
            }
            out.flush()?;
            // What needs the terminal for itself comes only while no line is expected.
            if self.plain.wants_line() && !reading {
                reader.request();
                reading = true;
            }
            let until =
                self.plain.next_change().map(|at| at.saturating_sub(self.started.elapsed()));
            wait::wait(&self.mailbox, false, until);
            self.plain.state.now = self.started.elapsed();
            let mut events = self.mailbox.drain();
            // After the others: a line that the user has just entered counts first.
            events.push_back(Event::Clock);
            for event in events {
                let now = self.started.elapsed();
                let effects = match event {
                    Event::Ended(lines) => {
                        for line in self.plain.finish().into_iter().chain(lines) {
                            writeln!(out, "{line}")?;
                        }
                        return out.flush();
                    }
                    Event::Away(act) => {
                        act();
                        Vec::new()
                    }
                    Event::Line(line) => {
                        reading = false;
                        self.plain.line(line.as_deref(), now)
                    }
                    event => self.plain.event(event, now),
                };
                for effect in effects {
                    match effect {
                        Effect::Write(bytes) => out.write_all(&bytes)?,
                        effect => drop(self.effects.send(effect)),
                    }
                }
            }
        }
    }
}

/// Reads a line each time one is requested, on a thread of its own.
struct LineReader(std::sync::mpsc::Sender<()>);

impl LineReader {
    fn start(mailbox: Mailbox) -> std::io::Result<Self> {
        let (request, requests) = std::sync::mpsc::channel();
        std::thread::Builder::new().name("lines".to_owned()).spawn(move || {
            while requests.recv().is_ok() {
                let mut line = String::new();
                let read = std::io::stdin().lock().read_line(&mut line);
                let line = read.is_ok_and(|bytes| bytes > 0).then_some(line);
                mailbox.send(Event::Line(line));
            }
        })?;
        Ok(Self(request))
    }

    fn request(&self) {
        // The thread ends with the program only.
        let _ = self.0.send(());
    }
}
