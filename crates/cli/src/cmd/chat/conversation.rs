use std::collections::HashSet;

use ratchet_core::chat::event::EventKind;
use serde_json::{Value, json};

use super::ask::{Ask, Choices, Chosen, Typed};
use super::client::{ChatClient, ChatInfo, StreamUpdate};
use super::events::ReceivedEvent;
use super::sanitize::{plain, plain_line};
use super::screen::{Screen, words_of};
use super::style::Marks;

/// Number of messages that are remembered, for `/rewind` and the history.
const KEPT_MESSAGES: usize = 500;
/// Activity of an agent when nothing else is known.
const WORKING: &str = "working";

/// State of a chat in this client. Returns text to print; the caller writes it to a terminal or a
/// pipe.
#[derive(Debug)]
pub(crate) struct TerminalChat<'a> {
    pub(crate) client: ChatClient<'a>,
    pub(crate) screen: Screen,
    /// Whether the terminal echoes input.
    pub(crate) echo: Echo,
    /// Attachments of the next message.
    pub(crate) attachments: Vec<Value>,
    pub(crate) is_busy: bool,
    /// Current activity, while the agent works.
    pub(crate) doing: String,
    /// Whether the chat is closed for good.
    pub(crate) is_closed: bool,
    /// Messages of people, by id.
    pub(crate) messages: Vec<(String, String)>,
    /// The message of a proposed rewind.
    pub(crate) rewinding: Option<String>,
    /// Open prompts, oldest first.
    asks: Vec<Ask>,
    /// The prompt that was shown last.
    shown: Option<(String, Choices)>,
    /// Ids of messages that were sent from here.
    ours: HashSet<String>,
    /// Sequence number of the last event before this client started.
    caught_up: u64,
    /// Sequence number of the last event that was received.
    last_seen: u64,
}

/// Whether the terminal has echoed what is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Echo {
    Typed,
    /// Shown like other messages.
    Shown,
}

impl<'a> TerminalChat<'a> {
    /// Creates a conversation without events.
    pub(crate) fn new(client: ChatClient<'a>, screen: Screen, echo: Echo, chat: &ChatInfo) -> Self {
        Self {
            client,
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
            caught_up: chat.last_event,
            last_seen: 0,
        }
    }

    /// Continues with another chat.
    pub(crate) fn switch(&mut self, client: ChatClient<'a>, chat: &ChatInfo) {
        self.client = client;
        (self.is_busy, self.last_seen, self.caught_up) = (false, 0, chat.last_event);
        self.asks.clear();
        self.messages.clear();
    }

    /// Whether all earlier events were received.
    pub(crate) fn has_caught_up(&self) -> bool {
        self.last_seen >= self.caught_up
    }

    /// The current prompt.
    pub(crate) fn ask(&self) -> Option<&Ask> {
        self.asks.first().filter(|_| self.has_caught_up())
    }

    /// Whether a message can be sent.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.has_caught_up() && !self.is_busy && self.asks.is_empty()
    }

    /// Handles an update and returns text to print.
    pub(crate) fn handle_update(&mut self, update: &StreamUpdate) -> String {
        match update {
            StreamUpdate::Event(event) => self.hear_event(event),
            StreamUpdate::Lost(why) => {
                let why = plain_line(why);
                self.screen.note(&format!("· {why}\n· trying again"), Marks::YELLOW)
            }
            StreamUpdate::Back => {
                self.screen.note("· connected again; nothing was missed", Marks::DIM)
            }
        }
    }

    fn hear_event(&mut self, event: &ReceivedEvent) -> String {
        self.last_seen = event.seq;
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

    fn said(&mut self, event: &ReceivedEvent) -> String {
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

    /// Text of the current prompt, if it was not shown yet.
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

    /// Sends a message to the agent.
    pub(crate) async fn say(&mut self, text: &str) -> anyhow::Result<()> {
        let message = json!({"text": text, "attachments": self.attachments});
        let sent = self.client.post("messages", &message).await?;
        self.ours.insert(sent["message"].as_str().unwrap_or_default().to_owned());
        self.attachments.clear();
        self.is_busy = true;
        Ok(())
    }

    /// Answers the current prompt with a typed line.
    pub(crate) async fn answer_line(&mut self, line: &str) -> String {
        let Some(ask) = self.asks.first_mut() else { return String::new() };
        let typed = ask.take(line);
        self.answer(typed).await
    }

    /// Answers the current prompt with a choice.
    pub(crate) async fn answer_choice(&mut self, chosen: &Chosen) -> String {
        let Some(ask) = self.asks.first_mut() else { return String::new() };
        let typed = ask.choose(chosen);
        self.answer(typed).await
    }

    /// Declines all open prompts.
    pub(crate) async fn deny_the_rest(&mut self) -> String {
        let mut shown = String::new();
        while let Some(ask) = self.ask() {
            let nobody = Typed::Answer(ask.unanswered());
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
                let refused = self.client.post("answers", &answer).await.err();
                self.asks.retain(|ask| ask.id != id);
                let mut shown = String::new();
                match refused {
                    None => self.screen.answers.is_ours(&id),
                    // That another client answered first is shown, and no error.
                    Some(why) => shown = self.refused(&why),
                }
                shown + &self.announce()
            }
        }
    }

    /// Interrupts the turn. That it has just ended is shown, and no error.
    pub(crate) async fn interrupt(&mut self) -> String {
        if !self.is_busy {
            return String::new();
        }
        match self.client.post("interrupt", &json!({})).await {
            Ok(_) => self.screen.note("· interrupted", Marks::YELLOW),
            Err(why) => self.refused(&why),
        }
    }

    /// Text of an error.
    pub(crate) fn refused(&mut self, why: &anyhow::Error) -> String {
        self.screen.note(&format!("! {}", plain_line(&format!("{why:#}"))), Marks::RED)
    }
}
