use std::collections::VecDeque;
use std::io::{self, BufRead as _, IsTerminal as _};
use std::thread;

use tokio::sync::mpsc::{self, Receiver};

use super::ask::Choices;
use super::client::StreamUpdate;
use super::commands::Next;
use super::conversation::TerminalChat;
use super::interrupts::StopSignals;
use super::{ALL, QUEUE};
use crate::exit::{Outcome, Signal};
use crate::print::print;

/// Maximum number of lines that wait while the agent works.
const MOST_WAITING: usize = 64;

/// A chat by lines: with a pipe, or in a terminal without cursor control.
#[derive(Debug)]
pub(crate) struct Lines<'a> {
    talk: TerminalChat<'a>,
    output: Output,
    /// Whether a person reads the output.
    is_person: bool,
    typed: TypedLines,
    /// Whether the last output was a prompt.
    is_prompted: bool,
    /// The prompt whose choices were shown last.
    hinted: Option<(String, Choices)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    Words,
    /// Every event as a line of JSON.
    Events,
}

impl<'a> Lines<'a> {
    /// Creates a line-based chat.
    pub(crate) fn new(talk: TerminalChat<'a>, output: Output) -> Self {
        let is_person = io::stdin().is_terminal() && output == Output::Words;
        let typed = TypedLines::default();
        Self { talk, output, is_person, typed, is_prompted: false, hinted: None }
    }

    /// Runs until the person quits or standard input ends.
    pub(crate) async fn run(mut self, stops: &mut StopSignals) -> anyhow::Result<Outcome> {
        let mut lines = lines();
        loop {
            // Includes raw lines, because otherwise the end of the earlier events could not be
            // detected.
            let events = self.talk.client.events(0, ALL);
            let (sender, mut updates) = mpsc::channel(QUEUE);
            let next = tokio::select! {
                lost = events.pass_on(sender) => return Err(lost),
                next = self.follow(&mut updates, &mut lines, stops) => next?,
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
        lines: &mut Receiver<String>,
        stops: &mut StopSignals,
    ) -> anyhow::Result<Result<Outcome, Next<'a>>> {
        loop {
            self.prompt()?;
            if (self.talk.is_at_rest() || self.talk.ask().is_some())
                && let Some(line) = self.typed.waiting.pop_front()
            {
                match self.take(&line).await? {
                    Next::Stay => continue,
                    next => return Ok(Err(next)),
                }
            }
            tokio::select! {
                Some(update) = updates.recv() => self.handle_update(&update)?,
                line = lines.recv(), if self.typed.takes_more() => match line {
                    Some(line) if is_stop(&line) => {
                        let shown = self.talk.interrupt().await;
                        self.write(&shown)?;
                    }
                    Some(line) => self.typed.waiting.push_back(line),
                    None => self.typed.has_ended = true,
                },
                signal = stops.next() => {
                    if signal == Signal::Terminate {
                        return Ok(Ok(Outcome::Stopped(signal)));
                    }
                    if !self.talk.is_busy {
                        return Ok(Ok(Outcome::Done));
                    }
                    let shown = self.talk.interrupt().await;
                    self.write(&shown)?;
                }
            }
            let is_left_alone = self.typed.has_ended && self.typed.waiting.is_empty();
            if is_left_alone {
                let shown = self.talk.deny_the_rest().await;
                self.write(&shown)?;
            }
            if self.talk.is_closed || (is_left_alone && self.talk.is_at_rest()) {
                let end = self.talk.screen.fresh();
                self.write(&end)?;
                return Ok(Ok(Outcome::Done));
            }
        }
    }

    async fn take(&mut self, line: &str) -> anyhow::Result<Next<'a>> {
        self.is_prompted = false;
        if self.talk.ask().is_some() {
            let shown = self.talk.answer_line(line).await;
            self.write(&shown)?;
            return Ok(Next::Stay);
        }
        match line.trim() {
            "" => {}
            command if command.starts_with('/') => {
                let (shown, next) = self.talk.command(command).await;
                self.write(&shown)?;
                return Ok(next);
            }
            text => {
                if let Err(why) = self.talk.say(text).await {
                    let shown = self.talk.refused(&why);
                    self.write(&shown)?;
                }
            }
        }
        Ok(Next::Stay)
    }

    fn handle_update(&mut self, update: &StreamUpdate) -> anyhow::Result<()> {
        let shown = self.talk.handle_update(update);
        match (self.output, update) {
            (Output::Events, StreamUpdate::Event(event)) => print(&format!("{}\n", event.line))?,
            _ => self.write(&shown)?,
        }
        Ok(())
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        let begin = if std::mem::take(&mut self.is_prompted) { "\n" } else { "" };
        match self.output {
            Output::Words => print(&format!("{begin}{text}")),
            Output::Events => {
                eprint!("{text}");
                Ok(())
            }
        }
    }

    /// Shows the choices and the input prompt.
    fn prompt(&mut self) -> io::Result<()> {
        if self.output == Output::Events {
            return Ok(());
        }
        let asked = self.talk.ask().map(|ask| ((ask.id.clone(), ask.choices()), ask.hint()));
        let sign = if asked.is_some() { "? " } else { "> " };
        if let Some((asked, hint)) = asked
            && self.hinted.as_ref() != Some(&asked)
        {
            self.write(&hint)?;
            self.hinted = Some(asked);
        }
        let is_turn = self.talk.is_at_rest() || self.talk.ask().is_some();
        if self.is_person && is_turn && !self.is_prompted {
            let end = self.talk.screen.fresh();
            print(&format!("{end}{sign}"))?;
            self.is_prompted = true;
        }
        Ok(())
    }
}

/// Lines typed while the agent works.
#[derive(Debug, Default)]
struct TypedLines {
    waiting: VecDeque<String>,
    has_ended: bool,
}

impl TypedLines {
    fn takes_more(&self) -> bool {
        !self.has_ended && self.waiting.len() < MOST_WAITING
    }
}

/// Whether a line is the command to interrupt.
fn is_stop(line: &str) -> bool {
    line.contains('\u{1b}') || line.trim() == "/stop"
}

/// Lines of standard input.
///
/// Read on a thread of its own, which ends with the process: a read of standard input cannot be
/// cancelled.
pub(super) fn lines() -> Receiver<String> {
    let (sender, receiver) = mpsc::channel(QUEUE);
    thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            let Ok(line) = line else { return };
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    receiver
}
