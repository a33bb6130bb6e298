use std::collections::HashSet;

use ratchet_core::chat::event::EventKind;
use serde_json::{Value, json};

use super::ask::{Ask, Choices, Chosen, Typed};
use super::client::{Known, Link, Told};
use super::events::Heard;
use super::sanitize::{plain, plain_line};
use super::screen::{Screen, words_of};
use super::style::Marks;

/// Messages that are remembered, to go back to or to say again.
const KEPT_MESSAGES: usize = 500;
/// What an agent does of which nothing else is known.
const WORKING: &str = "working";

/// A conversation, and how far it is. It says what is to be written; who it is talked with writes
/// it, to a terminal or into a pipe.
#[derive(Debug)]
pub(crate) struct Talk<'a> {
    pub(crate) link: Link<'a>,
    /// What is shown of it.
    pub(crate) screen: Screen,
    /// What the terminal itself shows.
    pub(crate) echo: Echo,
    /// Files that go with the next message.
    pub(crate) attachments: Vec<Value>,
    pub(crate) is_busy: bool,
    /// What it does, or waits for, while it works.
    pub(crate) doing: String,
    /// Whether the chat is closed for good.
    pub(crate) is_closed: bool,
    /// What people said, by the id of the message.
    pub(crate) messages: Vec<(String, String)>,
    /// The message before which files were as they may be put back.
    pub(crate) rewinding: Option<String>,
    /// What waits for an answer, oldest first.
    asks: Vec<Ask>,
    /// The question whose words were shown last.
    shown: Option<(String, Choices)>,
    /// Messages that were sent from here.
    ours: HashSet<String>,
    /// Events up to here happened before.
    caught_up: u64,
    /// The place of the last event that was heard.
    heard: u64,
}

/// Whether what is typed here is on the screen already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Echo {
    Typed,
    /// It is to be shown as everything else.
    Shown,
}

impl<'a> Talk<'a> {
    /// A conversation of which nothing was heard yet.
    pub(crate) fn new(link: Link<'a>, screen: Screen, echo: Echo, known: &Known) -> Self {
        Self {
            link,
            screen,
            echo,
            attachments: Vec::new(),
            rewinding: None,
            is_busy: false,
            doing: WORKING.to_owned(),
            is_closed: false,
            messages: Vec::new(),
            asks: Vec::new(),
            shown: None,
            ours: HashSet::new(),
            caught_up: known.last_event,
            heard: 0,
        }
    }

    /// Goes on with another chat.
    pub(crate) fn switch(&mut self, link: Link<'a>, known: &Known) {
        self.link = link;
        (self.is_busy, self.heard, self.caught_up) = (false, 0, known.last_event);
        self.asks.clear();
        self.messages.clear();
    }

    /// Whether all that happened before was heard.
    pub(crate) fn has_caught_up(&self) -> bool {
        self.heard >= self.caught_up
    }

    /// What waits for an answer.
    pub(crate) fn ask(&self) -> Option<&Ask> {
        self.asks.first().filter(|_| self.has_caught_up())
    }

    /// Whether a message can be sent.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.has_caught_up() && !self.is_busy && self.asks.is_empty()
    }

    /// Takes what is told, and says what is to be written.
    pub(crate) fn hear(&mut self, told: &Told) -> String {
        match told {
            Told::Event(event) => self.hear_event(event),
            Told::Lost(why) => {
                let why = plain_line(why);
                self.screen.note(&format!("· {why}\n· trying again"), Marks::YELLOW)
            }
            Told::Back => self.screen.note("· connected again; nothing was missed", Marks::DIM),
        }
    }

    fn hear_event(&mut self, event: &Heard) -> String {
        self.heard = event.seq;
        let mut shown = String::new();
        match event.kind {
            Some(EventKind::State) => {
                let state = event.text("state");
                self.is_busy = matches!(state, "starting" | "running" | "waiting");
                self.is_closed = state == "closed";
                let why = Some(event.text("why")).filter(|why| self.is_busy && !why.is_empty());
                self.doing = match (why, state) {
                    (Some(why), _) => plain_line(why),
                    (None, "starting") => "starting".to_owned(),
                    (None, _) => WORKING.to_owned(),
                };
                if why.is_some() {
                    shown = self.screen.note(&format!("· {}", self.doing), Marks::DIM);
                }
            }
            Some(EventKind::Message) => shown = self.said(event),
            Some(EventKind::Answered) => self.asks.retain(|ask| ask.id != event.text("id")),
            _ => {}
        }
        shown.push_str(&self.screen.show(event));
        if self.is_closed {
            shown.push_str(&self.screen.note("· the chat is closed", Marks::DIM));
        }
        self.asks.extend(Ask::read(event));
        shown + &self.announce()
    }

    fn said(&mut self, event: &Heard) -> String {
        let id = event.text("id");
        let words = plain(&words_of(&event.body["content"]));
        if self.messages.len() >= KEPT_MESSAGES {
            self.messages.remove(0);
        }
        self.messages.push((id.to_owned(), words));
        let is_ours = self.ours.remove(id);
        if is_ours && self.echo == Echo::Typed {
            return String::new();
        }
        let by = Some(event.text("by")).filter(|by| !by.is_empty() && !is_ours);
        self.screen.person(event, by)
    }

    /// What is asked now, if that was not shown yet.
    pub(crate) fn announce(&mut self) -> String {
        let Some(ask) = self.ask() else { return String::new() };
        let now = Some((ask.id.clone(), ask.choices()));
        if self.shown == now {
            return String::new();
        }
        let about = ask.about();
        self.shown = now;
        about.iter().map(|(line, marks)| self.screen.note(line, *marks)).collect()
    }

    /// Says something to the agent.
    pub(crate) async fn say(&mut self, text: &str) -> anyhow::Result<()> {
        let message = json!({"text": text, "attachments": self.attachments});
        let sent = self.link.post("messages", &message).await?;
        self.ours.insert(sent["message"].as_str().unwrap_or_default().to_owned());
        self.attachments.clear();
        self.is_busy = true;
        Ok(())
    }

    /// Answers what is asked with a line that was typed.
    pub(crate) async fn answer_line(&mut self, line: &str) -> String {
        let Some(ask) = self.asks.first_mut() else { return String::new() };
        let typed = ask.take(line);
        self.answer(typed).await
    }

    /// Answers what is asked with a choice.
    pub(crate) async fn answer_choice(&mut self, chosen: &Chosen) -> String {
        let Some(ask) = self.asks.first_mut() else { return String::new() };
        let typed = ask.choose(chosen);
        self.answer(typed).await
    }

    /// Answers what nobody will answer any more.
    pub(crate) async fn deny_the_rest(&mut self) -> String {
        let mut shown = String::new();
        while let Some(ask) = self.ask() {
            let nobody = Typed::Answer(ask.nobody());
            shown.push_str(&self.answer(nobody).await);
        }
        shown
    }

    async fn answer(&mut self, typed: Typed) -> String {
        match typed {
            Typed::More => self.announce(),
            Typed::Again(wanted) => self.screen.note(&wanted, Marks::YELLOW),
            Typed::Answer(answer) => {
                let id = answer["id"].as_str().unwrap_or_default().to_owned();
                let refused = self.link.post("answers", &answer).await.err();
                self.asks.retain(|ask| ask.id != id);
                let mut shown = String::new();
                match refused {
                    None => self.screen.answers.is_ours(&id),
                    // That someone else was quicker is told, and is fine.
                    Some(why) => shown = self.refused(&why),
                }
                shown + &self.announce()
            }
        }
    }

    /// Stops the turn. That it has just ended by itself is told, and is fine.
    pub(crate) async fn interrupt(&mut self) -> String {
        if !self.is_busy {
            return String::new();
        }
        match self.link.post("interrupt", &json!({})).await {
            Ok(_) => self.screen.note("· interrupted", Marks::YELLOW),
            Err(why) => self.refused(&why),
        }
    }

    /// Why something was not done.
    pub(crate) fn refused(&mut self, why: &anyhow::Error) -> String {
        self.screen.note(&format!("! {}", plain_line(&format!("{why:#}"))), Marks::RED)
    }
}
