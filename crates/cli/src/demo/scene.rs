//! Telling a story step by step, while its own clock moves on.

use ratchet_core::time::Timestamp;
use serde_json::{Value, json};

use super::agents::{Caching, Model};
use super::seeded_random::Chance;
use super::story::{Completion, Message, Outcome, Step, Tokens, ToolCall, Work};
use super::words;

/// A place in the story: what time it is, and what chance has in store.
#[derive(Debug)]
pub(crate) struct Scene {
    /// What chance has in store.
    pub(crate) chance: Chance,
    pub(crate) now: Timestamp,
}

impl Scene {
    /// Lets about that many milliseconds pass.
    pub(crate) fn pass_ms(&mut self, median: f64) {
        let millis = self.chance.around(median, 1.45);
        self.pass_exactly_ms(millis);
    }

    /// Lets that many milliseconds pass.
    fn pass_exactly_ms(&mut self, millis: f64) {
        #[expect(clippy::cast_possible_truncation, reason = "a story of hours fits")]
        let nanos = (millis * 1e6) as i64;
        self.now = self.now.plus_nanos(nanos);
    }

    /// A step that took about that many milliseconds.
    pub(crate) fn step(&mut self, work: Work, median_ms: f64, outcome: Outcome) -> Step {
        let (id, start) = (self.chance.bytes(), self.now);
        self.pass_ms(median_ms);
        Step { id, start, end: self.now, work, outcome, children: Vec::new() }
    }

    /// A tool call that answers after about that many milliseconds.
    pub(crate) fn tool(&mut self, call: ToolCall, median_ms: f64) -> Step {
        self.step(Work::Tool(call), median_ms, Outcome::Fine)
    }

    /// A tool call that fails with some trouble.
    pub(crate) fn tool_fails(&mut self, mut call: ToolCall, trouble: Trouble) -> Step {
        let (kind, message) = trouble.words(call.name);
        call.result = json!({ "error": message });
        let (id, start) = (self.chance.bytes(), self.now);
        match trouble {
            // The one failure that always takes the same time.
            Trouble::Timeout => self.pass_exactly_ms(10_002.0),
            Trouble::RateLimit => self.pass_ms(60.0),
            Trouble::Unavailable => self.pass_ms(240.0),
            Trouble::BadArguments(_) => self.pass_ms(18.0),
        }
        let outcome = Outcome::Failed { kind, message };
        Step { id, start, end: self.now, work: Work::Tool(call), outcome, children: Vec::new() }
    }

    /// Runs an errand. If it meets trouble, it is tried again.
    pub(crate) fn run(&mut self, errand: Errand) -> Vec<Step> {
        let Errand { call, median_ms, trouble } = errand;
        let mut steps = Vec::new();
        if self.chance.odds(trouble) {
            let what =
                self.chance.pick(Trouble::Timeout, &[Trouble::RateLimit, Trouble::Unavailable]);
            steps.push(self.tool_fails(call.clone(), what));
            self.pass_ms(900.0);
        }
        steps.push(self.tool(call, median_ms));
        steps
    }

    /// A tool call to be made, with an id as providers mint them.
    pub(crate) fn call(&mut self, name: &'static str, arguments: Value, result: Value) -> ToolCall {
        ToolCall { name, id: format!("call_{}", self.chance.hex(20)), arguments, result }
    }
}

/// A tool call on its way.
#[derive(Debug)]
pub(crate) struct Errand {
    pub(crate) call: ToolCall,
    /// How long it takes, at the median.
    pub(crate) median_ms: f64,
    /// How likely it meets trouble on the first try.
    pub(crate) trouble: f64,
}

/// What goes wrong with tools.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Trouble {
    /// No answer in time.
    Timeout,
    RateLimit,
    /// The service behind it is down.
    Unavailable,
    /// The model made arguments up.
    BadArguments(&'static str),
}

impl Trouble {
    fn words(self, tool: &str) -> (&'static str, String) {
        match self {
            Self::Timeout => ("timeout", format!("{tool} did not answer within 10 s")),
            Self::RateLimit => {
                ("rate_limited", format!("{tool}: 429 too many requests, retry after 1 s"))
            }
            Self::Unavailable => ("unavailable", format!("{tool}: 503 service unavailable")),
            Self::BadArguments(what) => ("invalid_arguments", format!("{tool}: {what}")),
        }
    }
}

/// How much of a dialogue each model call records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Memory {
    Whole,
    /// What was said since the last call: long sessions would repeat themselves a hundred times.
    Tail,
}

const PHOTO_TOKENS: u64 = 255;
/// Providers cache prompts from about this many tokens on.
const CACHE_FROM: u64 = 1_024;

/// A dialogue with a model, which grows with every call.
#[derive(Debug)]
pub(crate) struct Dialogue {
    pub(crate) model: &'static Model,
    system: String,
    messages: Vec<Message>,
    memory: Memory,
    sent: usize,
    context: u64,
    cached: u64,
}

impl Dialogue {
    /// A dialogue that begins with a system prompt and tool descriptions of that many tokens.
    pub(crate) fn new(
        model: &'static Model,
        system: &str,
        tool_tokens: u64,
        memory: Memory,
    ) -> Self {
        let context = words::tokens(system) + tool_tokens;
        Self {
            model,
            system: system.to_owned(),
            messages: Vec::new(),
            memory,
            sent: 0,
            context,
            cached: 0,
        }
    }

    pub(crate) fn hear(&mut self, message: Message) {
        self.context += match &message {
            Message::User(text) => words::tokens(text),
            Message::Photo(text) => words::tokens(text) + PHOTO_TOKENS,
            Message::Assistant { text, calls } => {
                words::tokens(text)
                    + calls
                        .iter()
                        .map(|call| words::tokens(&call.arguments.to_string()))
                        .sum::<u64>()
            }
            Message::Tool(call) => words::tokens(&call.result.to_string()),
        } + 4;
        self.messages.push(message);
    }

    /// Adds to the context what is not worth telling: a long file, a big page.
    pub(crate) fn weigh(&mut self, tokens: u64) {
        self.context += tokens;
    }

    /// The model answers, and with that asks for tools if there are any calls.
    pub(crate) fn answer(&mut self, scene: &mut Scene, text: String, calls: Vec<ToolCall>) -> Step {
        let reply = Message::Assistant { text, calls };
        let tokens = self.tokens(scene, &reply);
        let (id, start) = (scene.chance.bytes(), scene.now);
        scene.pass_ms(self.model.first_token_ms);
        let first_token = scene.now;
        #[expect(clippy::cast_precision_loss, reason = "thousands of tokens")]
        let output = (tokens.output + tokens.reasoning) as f64;
        scene.pass_ms(output * 1_000.0 / self.model.speed + 1.0);
        let call = Completion {
            model: self.model,
            system: self.system.clone(),
            messages: self.recorded(),
            reply: reply.clone(),
            tokens,
            first_token,
        };
        self.sent = self.messages.len() + 1;
        self.cached = if self.context > CACHE_FROM { self.context } else { 0 };
        self.hear(reply);
        let work = Work::Model(Box::new(call));
        Step { id, start, end: scene.now, work, outcome: Outcome::Fine, children: Vec::new() }
    }

    fn recorded(&self) -> Vec<Message> {
        match self.memory {
            Memory::Whole => self.messages.clone(),
            Memory::Tail => self.messages.get(self.sent..).unwrap_or_default().to_vec(),
        }
    }

    fn tokens(&self, scene: &mut Scene, reply: &Message) -> Tokens {
        let Message::Assistant { text, calls } = reply else {
            return Tokens::default();
        };
        let called: u64 =
            calls.iter().map(|call| words::tokens(&call.arguments.to_string()) + 12).sum();
        let output = words::tokens(text) + called + 3;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "thousands of tokens, never negative"
        )]
        let reasoning =
            (output as f64 * self.model.reasoning * scene.chance.around(1.0, 1.6)) as u64;
        let can_cache = self.model.caching != Caching::Off && self.context > CACHE_FROM;
        let cached = if can_cache { self.cached } else { 0 };
        let fresh = self.context - cached.min(self.context);
        match self.model.caching {
            Caching::ReadsAndWrites if can_cache => {
                let input = fresh.min(scene.chance.between(3, 12));
                Tokens { input, cached, written: fresh - input, output, reasoning }
            }
            _ => Tokens { input: fresh, cached, written: 0, output, reasoning },
        }
    }
}
