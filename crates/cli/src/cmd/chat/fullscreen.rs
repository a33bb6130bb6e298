//! A chat in a terminal: output above, input below.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use anyhow::Context;
use rustix::process::{Signal as Number, kill_current_process_group};
use tokio::signal::unix::{Signal as Stream, SignalKind, signal};
use tokio::sync::mpsc::{self, Receiver};
use tokio::time::{Instant, Interval, interval};

use super::ask::{Choices, Chosen};
use super::client::StreamUpdate;
use super::commands::{MODES, Next};
use super::conversation::TerminalChat;
use super::editor::{Edited, Editor, Rows};
use super::interrupts::StopSignals;
use super::keys::Key;
use super::menu::Menu;
use super::pane::Pane;
use super::sanitize::{fitted, plain_line};
use super::style::{Marks, Style};
use super::terminal::{Terminal, keys, size};
use super::tools::duration;
use super::{ALL, QUEUE};
use crate::exit::{Outcome, Signal};
use crate::print::print;

/// Frames of the spinner.
const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const TURNS_EVERY: Duration = Duration::from_millis(120);
/// Time for a process to stop.
const STOPPING: Duration = Duration::from_millis(100);
/// Maximum number of running calls that are shown.
const SHOWN_CALLS: usize = 4;
/// Maximum number of messages in the rewind menu.
const SHOWN_MESSAGES: usize = 9;

/// A chat in a terminal.
#[derive(Debug)]
pub(crate) struct Full<'a> {
    talk: TerminalChat<'a>,
    terminal: Terminal,
    style: Style,
    size: (usize, usize),
    pane: Pane,
    editor: Editor,
    menu: Option<Open>,
    /// Messages that are sent when the agent is done.
    waiting: VecDeque<String>,
    busy_since: Option<Instant>,
    turns: usize,
    /// Whether another Ctrl-C ends the program.
    is_ending: bool,
}

/// A menu, and its purpose.
#[derive(Debug)]
struct Open {
    about: About,
    menu: Menu,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum About {
    Ask(String, Choices),
    /// A list of slash commands.
    Commands(Vec<String>),
}

/// Input from the terminal and the system.
#[derive(Debug)]
struct TerminalInput {
    keys: Receiver<Key>,
    resized: Stream,
    woken: Stream,
    clock: Interval,
}

impl TerminalInput {
    fn open() -> anyhow::Result<Self> {
        let listen = |kind| signal(kind).context("cannot listen for signals");
        Ok(Self {
            keys: keys(),
            resized: listen(SignalKind::window_change())?,
            woken: listen(SignalKind::from_raw(Number::CONT.as_raw()))?,
            clock: interval(TURNS_EVERY),
        })
    }
}

impl<'a> Full<'a> {
    /// Opens a chat and sets up the terminal.
    pub(crate) fn open(talk: TerminalChat<'a>, style: Style) -> io::Result<Self> {
        Ok(Self {
            talk,
            terminal: Terminal::open()?,
            style,
            size: size(),
            pane: Pane::default(),
            editor: Editor::default(),
            menu: None,
            waiting: VecDeque::new(),
            busy_since: None,
            turns: 0,
            is_ending: false,
        })
    }

    /// Runs until the person quits.
    pub(crate) async fn run(mut self, stops: &mut StopSignals) -> anyhow::Result<Outcome> {
        let mut input = TerminalInput::open()?;
        let ended = self.run_all(&mut input, stops).await;
        let erase = self.pane.erase();
        let rest = self.talk.screen.fresh();
        let resume = format!("ratchet chat --resume {}", self.talk.client.id());
        let resume = self.style.paint(&format!("goes on with: {resume}"), Marks::DIM);
        print(&format!("{erase}{rest}\n{resume}\n"))?;
        ended
    }

    async fn run_all(
        &mut self,
        input: &mut TerminalInput,
        stops: &mut StopSignals,
    ) -> anyhow::Result<Outcome> {
        loop {
            // Includes raw lines, because otherwise the end of the earlier events could not be
            // detected.
            let events = self.talk.client.events(0, ALL);
            let (sender, mut updates) = mpsc::channel(QUEUE);
            let next = tokio::select! {
                lost = events.pass_on(sender) => return Err(lost),
                next = self.follow(&mut updates, input, stops) => next?,
            };
            match next {
                Ok(outcome) => return Ok(outcome),
                Err(Next::Switch(client, chat)) => self.talk.switch(client, &chat),
                Err(Next::Stay | Next::Quit) => return Ok(Outcome::Done),
            }
        }
    }

    /// Follows one chat until it ends here. Returns how it ended, or what follows.
    async fn follow(
        &mut self,
        updates: &mut Receiver<StreamUpdate>,
        input: &mut TerminalInput,
        stops: &mut StopSignals,
    ) -> anyhow::Result<Result<Outcome, Next<'a>>> {
        self.write("")?;
        loop {
            let next = tokio::select! {
                Some(first) = updates.recv() => {
                    self.handle_update(&first, updates).await?;
                    Next::Stay
                }
                key = input.keys.recv() => match key {
                    Some(key) => self.press(&key).await?,
                    None => return Ok(Ok(Outcome::Stopped(Signal::Terminate))),
                },
                _ = input.clock.tick(), if self.talk.is_busy => {
                    self.turns = (self.turns + 1) % SPINNER.len();
                    Next::Stay
                }
                _ = input.resized.recv() => {
                    self.resize();
                    Next::Stay
                }
                _ = input.woken.recv() => {
                    self.terminal.enter()?;
                    self.resize();
                    Next::Stay
                }
                signal = stops.next() => match signal {
                    Signal::Interrupt => self.press(&Key::Ctrl('c')).await?,
                    Signal::Terminate => return Ok(Ok(Outcome::Stopped(signal))),
                },
            };
            match next {
                Next::Stay if self.talk.is_closed => return Ok(Ok(Outcome::Done)),
                Next::Stay => self.write("")?,
                next => return Ok(Err(next)),
            }
        }
    }

    /// Handles all updates that are available.
    async fn handle_update(
        &mut self,
        first: &StreamUpdate,
        updates: &mut Receiver<StreamUpdate>,
    ) -> anyhow::Result<()> {
        let chat = self.talk.messages.len();
        let mut shown = self.talk.handle_update(first);
        while let Ok(more) = updates.try_recv() {
            shown.push_str(&self.talk.handle_update(&more));
        }
        for (_, words) in self.talk.messages.iter().skip(chat) {
            self.editor.remember(words);
        }
        self.write(&shown)?;
        if self.talk.is_at_rest()
            && let Some(next) = self.waiting.pop_front()
        {
            self.say(&next).await?;
        }
        Ok(())
    }

    async fn press(&mut self, key: &Key) -> anyhow::Result<Next<'a>> {
        let was_ending = std::mem::take(&mut self.is_ending);
        match key {
            Key::Ctrl('c') if was_ending => return Ok(Next::Quit),
            Key::Ctrl('c') => self.give_up().await?,
            Key::Ctrl('d') if self.editor.is_empty() && self.menu.is_none() => {
                return Ok(Next::Quit);
            }
            Key::Ctrl('z') => self.sleep().await?,
            Key::Ctrl('l') => {
                self.pane = Pane::default();
                print("\u{1b}[H\u{1b}[2J")?;
            }
            Key::Escape => self.stop().await?,
            key => return self.write_or_choose(key).await,
        }
        Ok(Next::Stay)
    }

    /// Ctrl-C: cancels the current action, and quits when it is pressed again.
    async fn give_up(&mut self) -> anyhow::Result<()> {
        self.is_ending = true;
        if !self.editor.is_empty() && self.menu.is_none() {
            self.editor.set("");
            self.is_ending = false;
            return Ok(());
        }
        self.stop().await
    }

    /// Interrupts the turn; queued messages can be edited then.
    async fn stop(&mut self) -> anyhow::Result<()> {
        if matches!(&self.menu, Some(Open { about: About::Commands(_), .. })) {
            self.menu = None;
            return Ok(());
        }
        if !self.waiting.is_empty() {
            let waiting: Vec<String> = self.waiting.drain(..).chain([self.editor.text()]).collect();
            self.editor.set(waiting.join("\n").trim_end());
        }
        let shown = self.talk.interrupt().await;
        self.write(&shown)
    }

    async fn write_or_choose(&mut self, key: &Key) -> anyhow::Result<Next<'a>> {
        let Some(open) = &mut self.menu else {
            return match self.editor.take(key) {
                Edited::Text => Ok(Next::Stay),
                Edited::Entered(text) => self.entered(&text).await,
            };
        };
        let Some(chosen) = open.menu.take(key) else { return Ok(Next::Stay) };
        match &open.about {
            About::Ask(..) => {
                let shown = self.talk.answer_choice(&chosen).await;
                self.write(&shown)?;
                Ok(Next::Stay)
            }
            About::Commands(commands) => {
                let Chosen::Options(indexes) = chosen else { return Ok(Next::Stay) };
                let command = indexes.first().and_then(|index| commands.get(*index)).cloned();
                self.menu = None;
                match command {
                    Some(command) => self.command(&command).await,
                    None => Ok(Next::Stay),
                }
            }
        }
    }

    async fn entered(&mut self, text: &str) -> anyhow::Result<Next<'a>> {
        match text.trim() {
            "" => Ok(Next::Stay),
            "/mode" => {
                let options = MODES.map(|(mode, about)| (mode.to_owned(), about.to_owned()));
                let commands = MODES.map(|(mode, _)| format!("/mode {mode}"));
                self.offer(options.to_vec(), commands.to_vec());
                Ok(Next::Stay)
            }
            "/rewind" if !self.talk.messages.is_empty() => {
                let last = self.talk.messages.iter().rev().take(SHOWN_MESSAGES);
                let options = last.clone().map(|(_, words)| {
                    (format!("before “{}”", fitted(&plain_line(words), 50)), String::new())
                });
                let commands = last.map(|(id, _)| format!("/rewind {id}")).collect();
                self.offer(options.collect(), commands);
                Ok(Next::Stay)
            }
            command if command.starts_with('/') => self.command(command).await,
            text if self.talk.is_at_rest() => {
                self.say(text).await?;
                Ok(Next::Stay)
            }
            text => {
                self.waiting.push_back(text.to_owned());
                Ok(Next::Stay)
            }
        }
    }

    async fn command(&mut self, command: &str) -> anyhow::Result<Next<'a>> {
        self.editor.remember(command);
        let (shown, next) = self.talk.command(command).await;
        self.write(&shown)?;
        Ok(next)
    }

    async fn say(&mut self, text: &str) -> anyhow::Result<()> {
        if let Err(why) = self.talk.say(text).await {
            // The text is kept.
            self.editor.set(text);
            let shown = self.talk.refused(&why);
            self.write(&shown)?;
        }
        Ok(())
    }

    fn offer(&mut self, options: Vec<(String, String)>, commands: Vec<String>) {
        let choices = Choices { options, takes_several: false, words: "" };
        self.menu = Some(Open { about: About::Commands(commands), menu: Menu::new(choices) });
    }

    /// Ctrl-Z: suspends the program.
    async fn sleep(&mut self) -> anyhow::Result<()> {
        let erase = self.pane.erase();
        let rest = self.talk.screen.fresh();
        print(&format!("{erase}{rest}"))?;
        self.terminal.leave()?;
        kill_current_process_group(Number::TSTP).map_err(io::Error::from)?;
        // Timers do not advance while the process is stopped.
        tokio::time::sleep(STOPPING).await;
        self.terminal.enter()?;
        Ok(())
    }

    fn resize(&mut self) {
        self.size = size();
        self.pane.resized(self.size.0);
        self.talk.screen.set_width(self.size.0);
    }

    /// Adds to the conversation and redraws the area below.
    fn write(&mut self, text: &str) -> anyhow::Result<()> {
        self.follow_ask();
        if !self.talk.is_busy {
            self.busy_since = None;
        } else if self.busy_since.is_none() {
            self.busy_since = Some(Instant::now());
        }
        let rows = self.rows();
        let frame = self.pane.frame(text, self.talk.screen.column(), rows, self.size.1);
        if !frame.is_empty() {
            print(&frame)?;
        }
        Ok(())
    }

    /// Sets the menu to the current prompt.
    fn follow_ask(&mut self) {
        let asked = self.talk.ask().map(|ask| About::Ask(ask.id.clone(), ask.choices()));
        let open = self.menu.as_ref().map(|open| &open.about);
        match (asked, open) {
            (Some(asked), open) if open == Some(&asked) => {}
            (Some(About::Ask(id, choices)), _) => {
                let menu = Menu::new(choices.clone());
                self.menu = Some(Open { about: About::Ask(id, choices), menu });
            }
            (None, Some(About::Ask(..))) => self.menu = None,
            _ => {}
        }
    }

    /// Rows of the area below the conversation.
    fn rows(&self) -> Rows {
        let width = self.size.0.saturating_sub(1).max(10);
        let dim = |text: &str| self.style.paint(&fitted(text, width), Marks::DIM);
        // A blank line between output and input.
        let mut rows = vec![String::new()];
        if self.talk.is_busy && self.talk.ask().is_none() {
            rows.extend(self.work(width));
        }
        rows.extend(self.waiting.iter().map(|text| dim(&format!("  then: {}", plain_line(text)))));
        let names = self.talk.attachments.iter().filter_map(|one| one["name"].as_str());
        let names = plain_line(&names.collect::<Vec<_>>().join(", "));
        if !names.is_empty() {
            rows.push(dim(&format!("  with the next message: {names}")));
        }
        let (below, cursor) = match &self.menu {
            Some(open) => open.menu.rows(width, self.style),
            None => self.editor.rows(width, ("› ", "  ")),
        };
        let cursor = (rows.len() + cursor.0, cursor.1);
        rows.extend(below);
        let hint = match (&self.menu, self.is_ending) {
            (_, true) => "Ctrl-C again ends this",
            (Some(_), _) => "↑↓ and Enter, or a number · Esc leaves it",
            (None, _) => "",
        };
        if !hint.is_empty() {
            rows.push(dim(hint));
        }
        (rows, cursor)
    }

    fn work(&self, width: usize) -> Vec<String> {
        let millis = self.busy_since.map(|since| since.elapsed().as_millis()).unwrap_or_default();
        let time = duration(i64::try_from(millis / 1_000 * 1_000).unwrap_or(i64::MAX));
        let time = time.replace(".0", "");
        let sign = SPINNER.get(self.turns).copied().unwrap_or_default();
        let doing = &self.talk.doing;
        let line = fitted(&format!("{sign} {doing} · {time} · Esc interrupts"), width);
        let mut rows = vec![self.style.paint(&line, Marks::YELLOW)];
        let calls: Vec<_> = self.talk.screen.tools.under_way().collect();
        let shown = calls.iter().skip(calls.len().saturating_sub(SHOWN_CALLS)).map(|call| {
            let line = format!("  {}{}", "  ".repeat(call.depth.min(8)), call.title());
            self.style.paint(&fitted(&line, width), Marks::DIM)
        });
        rows.extend(shown);
        rows
    }
}
