//! The thread that reads keys and draws.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crossterm::event as input;
use tokio::sync::mpsc::UnboundedSender;

use super::pace::Pace;
use super::{Mailbox, guard, terminal_size, wait};
use crate::terminal::effect::Effect;
use crate::terminal::event::Event;
use crate::terminal::popup::{Limits, Walk};
use crate::terminal::screen::Screen;
use crate::terminal::screens::FileEdited;
use crate::terminal::state::State;
use crate::terminal::{update, view};

/// How long the system takes at most to stop this process after it sent itself the signal.
#[cfg(unix)]
const STOPPING: Duration = Duration::from_millis(100);

/// Owns the state and the screen, on the thread that reads keys and draws.
pub(super) struct Ui {
    state: State,
    screen: Screen,
    mailbox: Mailbox,
    effects: UnboundedSender<Effect>,
    started: Instant,
    out: std::io::Stdout,
    folder: PathBuf,
    early_lines: bool,
    /// The listing of files that runs.
    walk: Option<Walk>,
    /// The time at which the size of the terminal is sure again. Nothing is drawn until then.
    unsure_until: Option<Duration>,
}

impl Ui {
    #[expect(clippy::disallowed_methods, reason = "the terminal is standard output")]
    pub(super) fn new(
        state: State,
        screen: Screen,
        mailbox: Mailbox,
        effects: UnboundedSender<Effect>,
        started: Instant,
        folder: PathBuf,
    ) -> Self {
        let out = std::io::stdout();
        Self {
            state,
            screen,
            mailbox,
            effects,
            started,
            out,
            folder,
            early_lines: false,
            walk: None,
            unsure_until: None,
        }
    }

    /// Runs until the session has ended.
    pub(super) fn run(mut self) -> std::io::Result<()> {
        // What was typed before this program reads single keys ends its lines with line feeds.
        self.early_lines = wait::has_input();
        guard::enter(&mut self.out)?;
        let result = self.serve();
        if self.unsure_until.is_some() {
            self.take_size();
        }
        // The modes are restored also if the screen cannot be cleared: the shell needs them.
        let cleared = self.screen.clear_live(&mut self.out);
        guard::set_full(false);
        guard::leave(&mut self.out);
        let lines = result?;
        cleared?;
        for line in lines {
            writeln!(self.out, "{line}")?;
        }
        self.out.flush()
    }

    fn serve(&mut self) -> std::io::Result<Vec<String>> {
        self.draw()?;
        let mut pace = Pace::new(self.started.elapsed());
        let mut open = true;
        loop {
            let deadline = self.state.next_change();
            let until = self.until(pace.next_frame(), deadline);
            let ready = wait::wait(&self.mailbox, open, until);
            // No error: the session is shut down as after `/exit`.
            if ready.closed && open {
                open = false;
                self.send(Effect::Quit);
            }
            self.state.now = self.started.elapsed();
            // Keys before events: an answer to a question must not be taken for one to a later
            // question.
            if ready.input && open && self.read_input()? {
                pace.typed();
            }
            for event in self.mailbox.drain() {
                if let Event::Ended(lines) = event {
                    return Ok(lines);
                }
                pace.changed();
                self.apply(event)?;
            }
            if deadline.is_some_and(|at| at <= self.state.now) {
                pace.changed();
                self.apply(Event::Clock)?;
            }
            if self.unsure_until.is_some_and(|at| at <= self.state.now) {
                self.unsure_until = None;
                self.take_size();
                pace.typed();
            }
            let draws = open && self.unsure_until.is_none() && pace.is_due(self.state.now);
            // A terminal that cannot be written to is closed; the session ends in good order.
            if draws && self.draw().is_err() {
                open = false;
                self.send(Effect::Quit);
            }
            // Nothing is drawn on a closed terminal. A frame that stayed due would end each wait at
            // once.
            if draws || !open {
                pace.drawn(self.state.now);
            }
        }
    }

    /// Returns how long it is until the next frame or the next change.
    fn until(&self, frame: Option<Duration>, change: Option<Duration>) -> Option<Duration> {
        let frame = self.unsure_until.or(frame);
        let next = [frame, change].into_iter().flatten().min()?;
        Some(next.saturating_sub(self.started.elapsed()))
    }

    /// Reads all keys that were typed. Returns whether there was one.
    fn read_input(&mut self) -> std::io::Result<bool> {
        let mut typed = self.read_reported()?;
        // Keys that arrive together with a change of the size are reported once, and forgotten when
        // the size is read first. They would wait for the next key.
        if wait::has_input() {
            wait::report_again();
            typed |= self.read_reported()?;
        }
        self.early_lines &= !typed;
        Ok(typed)
    }

    fn read_reported(&mut self) -> std::io::Result<bool> {
        let mut typed = false;
        while input::poll(Duration::ZERO)? {
            let event = match input::read()? {
                input::Event::Key(key) if self.early_lines && is_line_feed(&key) => {
                    Event::Key(input::KeyCode::Enter.into())
                }
                input::Event::Key(key) => Event::Key(key),
                input::Event::Paste(text) => Event::Paste(text),
                input::Event::Resize(..) => {
                    self.resize();
                    continue;
                }
                input::Event::FocusGained => Event::Focus(true),
                input::Event::FocusLost => Event::Focus(false),
                _ => continue,
            };
            typed = true;
            self.apply(event)?;
        }
        Ok(typed)
    }

    /// Handles a new size of the terminal. Waits while the size may still change.
    fn resize(&mut self) {
        match self.screen.unsure_after_resize() {
            Some(time) => self.unsure_until = Some(self.started.elapsed() + time),
            None => self.take_size(),
        }
    }

    fn take_size(&mut self) {
        let size = terminal_size();
        self.screen.resize(size.columns, size.rows);
        update::update(&mut self.state, Event::Resize(size));
    }

    /// Takes an event, and performs the effects that belong to this thread.
    fn apply(&mut self, event: Event) -> std::io::Result<()> {
        let event = match event {
            Event::Resize(_) => {
                self.resize();
                return Ok(());
            }
            // The steps of the first set-up use the terminal themselves: they run here, between two frames.
            Event::Away(act) => return self.away(|_| act()),
            event => event,
        };
        for effect in update::update(&mut self.state, event) {
            match effect {
                Effect::Suspend => self.suspend()?,
                Effect::ListFiles => self.list_files(),
                Effect::Editor(text) => self.edit(&text)?,
                Effect::EditFile(file) => self.edit_file(&file)?,
                Effect::Reflow => self.screen.reset(&mut self.out)?,
                Effect::Write(bytes) => {
                    self.out.write_all(&bytes)?;
                    self.out.flush()?;
                }
                Effect::WatchFocus => guard::watch_focus(&mut self.out)?,
                effect => self.send(effect),
            }
        }
        Ok(())
    }

    /// Gives an effect to the session's side. If it has ended, so does this thread soon.
    fn send(&self, effect: Effect) {
        let _ = self.effects.send(effect);
    }

    fn draw(&mut self) -> std::io::Result<()> {
        let size = self.state.size;
        let frame = view::view(&mut self.state, size);
        if let Some((lines, cursor)) = frame.page {
            self.screen.enter_full(&mut self.out)?;
            guard::set_full(true);
            return self.screen.draw_full(&lines, cursor, &mut self.out);
        }
        if self.screen.is_full() {
            self.screen.leave_full(&mut self.out)?;
            guard::set_full(false);
        }
        self.screen.commit(frame.finished);
        self.screen.draw(&frame.live, frame.cursor, &mut self.out)
    }

    /// Gives the terminal to something else, and takes it back.
    fn away<T>(&mut self, act: impl FnOnce(&mut Self) -> T) -> std::io::Result<T> {
        self.screen.clear_live(&mut self.out)?;
        guard::set_full(false);
        guard::leave(&mut self.out);
        // The program has the terminal alone meanwhile: this thread neither reads keys nor draws.
        let result = act(self);
        guard::enter(&mut self.out)?;
        self.screen.restart();
        self.take_size();
        self.unsure_until = None;
        self.state.now = self.started.elapsed();
        self.draw()?;
        Ok(result)
    }

    /// Stops this process, and those that the shell started with it, until the user continues them.
    fn suspend(&mut self) -> std::io::Result<()> {
        self.away(|_| {
            #[cfg(unix)]
            {
                use rustix::process::{Signal, kill_current_process_group};
                let stopped = kill_current_process_group(Signal::TSTP);
                // Another thread takes the signal, so this one runs on for a moment. It must not use
                // the terminal again before it is stopped.
                let end = Instant::now() + STOPPING;
                while stopped.is_ok()
                    && let Some(left) = end.checked_duration_since(Instant::now())
                {
                    std::thread::park_timeout(left);
                }
            }
        })
    }

    /// Lists the files of the folder, on a thread of its own.
    fn list_files(&mut self) {
        let mailbox = self.mailbox.clone();
        let send = move |batch| {
            mailbox.send(Event::Files(batch));
            true
        };
        self.walk = Walk::start(self.folder.clone(), Limits::default(), send).ok();
    }

    /// Opens a file in the user's editor.
    fn edit_file(&mut self, file: &Path) -> std::io::Result<()> {
        if let Err(why) = self.away(|ui| super::editor::edit_file(file, &ui.folder))? {
            self.state.hint(why);
        }
        self.apply(Event::Answered(Box::new(FileEdited)))
    }

    /// Opens a text in the user's editor.
    fn edit(&mut self, text: &str) -> std::io::Result<()> {
        let edited = self.away(|ui| super::editor::edit(text, &ui.folder))?;
        match edited {
            Ok(text) => self.apply(Event::Edited(text)),
            Err(why) => {
                self.state.hint(why);
                self.draw()
            }
        }
    }
}

fn is_line_feed(key: &input::KeyEvent) -> bool {
    key.code == input::KeyCode::Char('j') && key.modifiers == input::KeyModifiers::CONTROL
}
