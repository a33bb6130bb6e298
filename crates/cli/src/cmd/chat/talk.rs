use std::collections::VecDeque;
use std::io::{self, IsTerminal as _};

use ratchet_core::major::event::EventKind;
use serde_json::{Value, json};

use super::ask::{Ask, Typed};
use super::heard::Heard;
use super::link::{Known, Link};
use super::screen::{Screen, Style, Tint};
use super::{ALL, keyboard};
use crate::exit::Outcome;
use crate::print::print;

const HELP: &str =
    "/mode MODE    what the agent may do without asking: default, acceptEdits, plan, dontAsk
/model NAME   which model answers
/rewind [ID]  put files back as they were before a message; the last one if none is named
/cost         what the session cost so far
/fork         go on in a copy of this session
/quit         end; the session stays, and can be resumed
/stop         interrupt the agent; Ctrl-C does so too, and Esc with Enter
Ctrl-C ends this when the agent is at rest. What is typed while it works waits until it is done.
";

/// Lines that wait while the agent works.
const MOST_WAITING: usize = 64;

/// A conversation with a person, or with whatever writes to stdin.
#[derive(Debug)]
pub(crate) struct Talk<'a> {
    /// The session.
    pub(crate) link: &'a Link<'a>,
    /// How the screen looks.
    pub(crate) style: Style,
    /// Whether events are printed as they are.
    pub(crate) is_json: bool,
    /// Files that go with the next message.
    pub(crate) attachments: Vec<Value>,
}

/// How far a conversation is.
struct Course {
    screen: Screen,
    is_busy: bool,
    /// What waits for an answer, oldest first.
    asks: Vec<Ask>,
    /// Events up to here happened before.
    caught_up: u64,
    /// The place of the last event that was heard.
    heard: u64,
    /// The last message of a person, by its id.
    last_message: Option<String>,
    /// What was typed while the agent worked.
    waiting: VecDeque<String>,
    is_over: bool,
}

impl Course {
    fn new(style: Style, caught_up: u64) -> Self {
        Self {
            screen: Screen::new(style),
            is_busy: false,
            asks: Vec::new(),
            caught_up,
            heard: 0,
            last_message: None,
            waiting: VecDeque::new(),
            is_over: false,
        }
    }

    /// Whether a line can be made use of now.
    fn is_free(&self) -> bool {
        let has_heard_all = self.heard >= self.caught_up;
        has_heard_all && (!self.is_busy || !self.asks.is_empty())
    }
}

impl Talk<'_> {
    /// Talks until the person ends it, or stdin does.
    pub(crate) async fn run(mut self, known: &Known) -> anyhow::Result<Outcome> {
        let is_person = io::stdin().is_terminal() && !self.is_json;
        eprint!("{}", known.greeting());
        if is_person {
            eprintln!("/help tells what can be typed");
        }
        let mut course = Course::new(self.style, known.last_event);
        // With the agent's own lines, or it could not be told when all that happened was heard.
        let mut events = self.link.events(0, ALL);
        let mut lines = keyboard::lines();
        let mut has_ended = false;
        if known.last_event == 0 && is_person {
            print("> ")?;
        }
        loop {
            if course.is_free()
                && let Some(line) = course.waiting.pop_front()
            {
                self.typed(&line, &mut course).await?;
                if course.is_over {
                    return Ok(Outcome::Done);
                }
                continue;
            }
            let takes_lines = !has_ended && course.waiting.len() < MOST_WAITING;
            tokio::select! {
                event = events.next() => {
                    let event = event?;
                    self.hear(&event, &mut course)?;
                    let is_at_rest = course.is_free() && course.asks.is_empty();
                    if is_person && is_at_rest && is_turning_point(&event) {
                        print(&format!("{}> ", course.screen.fresh()))?;
                    }
                }
                line = lines.recv(), if takes_lines => match line {
                    Some(line) if is_stop(&line) => self.interrupt(&course).await,
                    Some(line) => course.waiting.push_back(line),
                    None => has_ended = true,
                },
                _ = tokio::signal::ctrl_c() => {
                    if !course.is_busy {
                        return Ok(Outcome::Done);
                    }
                    self.interrupt(&course).await;
                }
            }
            let is_left_alone = has_ended && course.waiting.is_empty();
            if is_left_alone {
                self.deny_the_rest(&mut course).await?;
            }
            let is_done = is_left_alone && course.is_free() && course.asks.is_empty();
            if course.is_over || is_done {
                return Ok(Outcome::Done);
            }
        }
    }

    /// Answers what nobody will type an answer to any more.
    async fn deny_the_rest(&self, course: &mut Course) -> anyhow::Result<()> {
        while course.is_free() && !course.asks.is_empty() {
            let nobody = course.asks.first().map(Ask::nobody).unwrap_or_default();
            self.answer(&nobody, course).await?;
        }
        Ok(())
    }

    /// Stops the turn. That it has just ended by itself is told, and is fine.
    async fn interrupt(&self, course: &Course) {
        if course.is_busy
            && let Err(refused) = self.link.post("interrupt", &json!({})).await
        {
            eprintln!("{refused}");
        }
    }

    fn hear(&self, event: &Heard, course: &mut Course) -> anyhow::Result<()> {
        course.heard = event.seq;
        match event.kind {
            Some(EventKind::State) => {
                course.is_busy = matches!(event.text("state"), "starting" | "running" | "waiting");
            }
            Some(EventKind::Message) => {
                course.last_message = Some(event.text("id").to_owned()).filter(|id| !id.is_empty());
            }
            Some(EventKind::Answered) => course.asks.retain(|ask| ask.id != event.text("id")),
            _ => {}
        }
        if self.is_json {
            print(&format!("{}\n", event.line))?;
        } else {
            let shown = course.screen.show(event);
            if !shown.is_empty() {
                print(&shown)?;
            }
        }
        let is_first = course.asks.is_empty();
        course.asks.extend(Ask::read(event));
        let is_news = event.seq > course.caught_up && is_first;
        let has_caught_up = event.seq == course.caught_up;
        if !course.asks.is_empty() && (is_news || has_caught_up) {
            self.show_menu(course)?;
        }
        Ok(())
    }

    fn show_menu(&self, course: &mut Course) -> anyhow::Result<()> {
        let Some(ask) = course.asks.first().filter(|_| !self.is_json) else { return Ok(()) };
        let menu = ask.menu();
        let line = course.screen.line(menu.trim_end(), Tint::Bold);
        print(&format!("{line}? "))?;
        Ok(())
    }

    async fn typed(&mut self, line: &str, course: &mut Course) -> anyhow::Result<()> {
        if let Some(ask) = course.asks.first_mut() {
            match ask.take(line) {
                Typed::Answer(answer) => self.answer(&answer, course).await?,
                Typed::More => self.show_menu(course)?,
                Typed::Again(wanted) => print(&format!("{wanted}\n? "))?,
            }
            return Ok(());
        }
        match line.trim() {
            "" => Ok(()),
            command if command.starts_with('/') => self.command(command, course).await,
            text => {
                let attachments = std::mem::take(&mut self.attachments);
                let message = json!({"text": text, "attachments": attachments});
                match self.link.post("messages", &message).await {
                    Ok(_) => course.is_busy = true,
                    Err(refused) => eprintln!("{refused}"),
                }
                Ok(())
            }
        }
    }

    /// Sends an answer. That someone else was quicker is told, and is fine.
    async fn answer(&self, answer: &Value, course: &mut Course) -> anyhow::Result<()> {
        if let Err(refused) = self.link.post("answers", answer).await {
            eprintln!("{refused}");
        }
        if !course.asks.is_empty() {
            course.asks.remove(0);
        }
        self.show_menu(course)
    }

    async fn command(&self, command: &str, course: &mut Course) -> anyhow::Result<()> {
        let (word, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
        let rest = rest.trim();
        let done = match word {
            "/help" => Ok(HELP.to_owned()),
            "/quit" | "/exit" => {
                course.is_over = true;
                Ok(String::new())
            }
            "/cost" => self
                .link
                .known()
                .await
                .map(|known| format!("${:.4}, turns: {}\n", known.cost, known.turns)),
            "/mode" if !rest.is_empty() => self.set(&json!({"mode": rest})).await,
            "/model" if !rest.is_empty() => self.set(&json!({"model": rest})).await,
            "/rewind" => self.rewind(rest, course).await,
            "/fork" => self.link.post("fork", &json!({})).await.map(|made| {
                let id = made["id"].as_str().unwrap_or_default();
                format!("the copy is session {id}: ratchet chat --resume {id}\n")
            }),
            _ => Ok(format!("no such command\n{HELP}")),
        };
        let prompt = if io::stdin().is_terminal() && !self.is_json { "> " } else { "" };
        match done {
            Ok(text) => eprint!("{text}{prompt}"),
            Err(refused) => eprint!("{refused}\n{prompt}"),
        }
        Ok(())
    }

    async fn set(&self, setting: &Value) -> anyhow::Result<String> {
        self.link.post("mode", setting).await.map(|_| "done\n".to_owned())
    }

    async fn rewind(&self, named: &str, course: &Course) -> anyhow::Result<String> {
        let message = match (named, &course.last_message) {
            ("", Some(last)) => last.as_str(),
            ("", None) => return Ok("there is no message to go back to\n".to_owned()),
            (named, _) => named,
        };
        let done = self.link.post("rewind", &json!({"message": message})).await?;
        Ok(format!("{}\n", super::screen::plain_line(&done.to_string())))
    }
}

/// Whether a line asks to interrupt the agent.
fn is_stop(line: &str) -> bool {
    line.contains('\u{1b}') || line.trim() == "/stop"
}

/// Whether the agent may have come to rest with this event.
fn is_turning_point(event: &Heard) -> bool {
    matches!(event.kind, Some(EventKind::State))
}
