//! A scripted model server, with the endpoints that real clients use.
//!
//! It implements Anthropic's Messages with Batches, OpenAI's chat completions and responses, and
//! Bedrock's Converse, whole and streamed, as their documentation describes them. A script is a
//! list of replies; a request gets the first unused one whose `on` occurs in the messages since the
//! model's last answer. Embeddings are always the same.
//!
//! ```
//! use ratchet_testkit::scripted::{Reply, ScriptedModel};
//!
//! let model = ScriptedModel::start().unwrap();
//! model.say(Reply::text("Lisbon.").on("Where to?"));
//! model.say_always(Reply::text("I do not know."));
//! assert!(model.requests().is_empty());
//! ```

mod reply;
/// Requests and responses over HTTP.
mod http;
mod anthropic;
mod batches;
mod openai;
mod responses;
mod converse;
/// The frames of Bedrock's streams.
mod frame;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;

use serde_json::{Value, json};

pub use http::Asked;
pub use reply::{Call, Failure, Reply, Tokens};

use batches::Batches;
use http::ScriptedResponse;

/// A running model. It serves until the process ends.
#[derive(Clone, Debug)]
pub struct ScriptedModel {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    /// Notified when it resumes.
    speaks: Arc<Condvar>,
}

#[derive(Debug, Default)]
struct State {
    replies: Vec<Line>,
    asked: Vec<Asked>,
    answered: u64,
    batches: Batches,
    /// Number of requests it still answers before it pauses; unlimited when `None`.
    left: Option<u32>,
    /// What it counts of any request; by the length of texts when `None`.
    counts: Option<u64>,
}

/// A line of the script.
#[derive(Debug)]
enum Line {
    Once(Reply),
    Always(Reply),
    Spent,
}

/// The functions of one wire format.
#[derive(Clone, Copy)]
struct Format {
    /// The tool for structured output, if the request names one.
    tool: fn(&Value) -> Option<&str>,
    say: fn(&Asked, &Reply, &str) -> ScriptedResponse,
}

const MESSAGES: Format = Format { tool: anthropic::tool, say: anthropic::said };
const COMPLETIONS: Format = Format { tool: openai::tool, say: openai::said };
const RESPONSES: Format = Format { tool: responses::tool, say: responses::said };
const CONVERSE: Format = Format { tool: converse::tool, say: converse::said };

impl ScriptedModel {
    /// Starts a model on a free port of this machine, with an empty script.
    ///
    /// # Errors
    /// Fails if no port is free.
    pub fn start() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let model =
            Self { address: listener.local_addr()?, state: Arc::default(), speaks: Arc::default() };
        let serving = model.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let model = serving.clone();
                thread::spawn(move || http::serve(&stream, |asked| model.answer(asked)));
            }
        });
        Ok(model)
    }

    /// Its URL: `http://127.0.0.1:…`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Adds a reply.
    pub fn say(&self, reply: Reply) {
        self.state().replies.push(Line::Once(reply));
    }

    /// Adds a reply that is used whenever no earlier one matches.
    pub fn say_always(&self, reply: Reply) {
        self.state().replies.push(Line::Always(reply));
    }

    /// Replaces the script and clears the recorded requests.
    pub fn script(&self, replies: impl IntoIterator<Item = Reply>) {
        let mut state = self.state();
        state.replies = replies.into_iter().map(Line::Once).collect();
        state.asked.clear();
    }

    /// Answers so many more requests, and lets all others wait until it resumes. Batch submissions
    /// wait likewise, though the batch is accepted.
    pub fn hold_after(&self, answers: u32) {
        self.state().left = Some(answers);
    }

    /// Resumes answering.
    pub fn go_on(&self) {
        self.state().left = None;
        self.speaks.notify_all();
    }

    /// Counts so many tokens in any request. By default it counts two for nine bytes of text.
    pub fn count_tokens_as(&self, tokens: u64) {
        self.state().counts = Some(tokens);
    }

    /// Marks submitted batches as done.
    pub fn finish_batches(&self) {
        self.state().batches.finish();
    }

    /// Lets the next batch requests fail as overloaded.
    pub fn fail_batches(&self, requests: u32) {
        self.state().batches.failures = requests;
    }

    /// How often a batch is polled before it is done; never by default.
    pub fn batches_take(&self, looks: u32) {
        self.state().batches.looks = looks;
    }

    /// The bodies of the model requests since the start of the script, including those in batches.
    pub fn requests(&self) -> Vec<Value> {
        let state = self.state();
        state
            .asked
            .iter()
            .filter(|asked| asked.is_question)
            .map(|asked| asked.body.clone())
            .collect()
    }

    /// All requests since the start of the script, including token counts and batch polls.
    pub fn heard(&self) -> Vec<Asked> {
        self.state().asked.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn answer(&self, asked: &Asked) -> ScriptedResponse {
        let path = asked.path.as_str();
        match path {
            "/script" => {
                let replies = asked.body["replies"].as_array().into_iter().flatten();
                self.script(replies.map(Reply::from_json).collect::<Vec<_>>());
                return ScriptedResponse::json(200, &json!({}));
            }
            "/requests" => return ScriptedResponse::json(200, &json!(self.requests())),
            _ => {}
        }
        let format = match path {
            "/v1/messages" => Some(MESSAGES),
            "/v1/chat/completions" => Some(COMPLETIONS),
            "/v1/responses" => Some(RESPONSES),
            _ if path.ends_with("/converse") || path.ends_with("/converse-stream") => {
                Some(CONVERSE)
            }
            _ => None,
        };
        let mut state = self.state();
        state.asked.push(Asked { is_question: format.is_some(), ..asked.clone() });
        if let Some(format) = format {
            return self.turn(state).reply(asked, format);
        }
        if path == "/v1/messages/count_tokens" {
            let counted = state.counts.unwrap_or_else(|| text_bytes(&asked.body) * 2 / 9);
            return ScriptedResponse::json(200, &json!({"input_tokens": counted}));
        }
        if path == "/v1/embeddings" {
            return openai::embedding(asked);
        }
        if let Some(rest) = path.strip_prefix("/v1/messages/batches") {
            let said = batches::answer(&mut state, asked, rest, &self.url());
            if asked.method == "POST" {
                drop(self.turn(state));
            }
            return said;
        }
        ScriptedResponse::json(404, &json!({"error": {"message": format!("no {path} here")}}))
    }

    /// Waits until it may answer.
    fn turn<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        let mut state = self.speaks.wait_while(state, |state| state.left == Some(0)).unwrap();
        state.left = state.left.map(|left| left - 1);
        state
    }
}

impl State {
    /// The next response to a request in some format.
    fn reply(&mut self, asked: &Asked, format: Format) -> ScriptedResponse {
        let last = since_the_answer(&asked.body);
        let Some(reply) = self.replies.iter_mut().find_map(|line| line.take(&last)) else {
            let message = format!("the script has no reply to {last}");
            return ScriptedResponse::json(
                400,
                &json!({"type": "error", "error": {"message": message}}),
            );
        };
        self.answered += 1;
        // Unique on this machine, so that no two scripts use the same id.
        let id = format!("{}x{}", std::process::id(), self.answered);
        let reply = reply.handed_in((format.tool)(&asked.body));
        match reply.failure {
            Some(Failure::Status(status)) => ScriptedResponse::failure(status, &reply.text),
            Some(Failure::Later(status, seconds)) => ScriptedResponse::failure(status, &reply.text)
                .with("retry-after", seconds.to_string()),
            Some(Failure::Silence) => ScriptedResponse::silence(),
            Some(Failure::Endless) => ScriptedResponse::endless(),
            Some(Failure::Malformed) => (format.say)(asked, &reply, &id).malformed(),
            Some(Failure::Cut) => (format.say)(asked, &reply, &id).cut(),
            Some(Failure::Stall) => (format.say)(asked, &reply, &id).stalled(),
            Some(Failure::Refusal) | None => (format.say)(asked, &reply, &id),
        }
    }
}

impl Line {
    /// The reply that matches this, if any.
    fn take(&mut self, last: &str) -> Option<Reply> {
        match self {
            Self::Once(reply) | Self::Always(reply) if !last.contains(&reply.on) => None,
            Self::Always(reply) => Some(reply.clone()),
            Self::Once(_) => match std::mem::replace(self, Self::Spent) {
                Self::Once(reply) => Some(reply),
                Self::Always(_) | Self::Spent => None,
            },
            Self::Spent => None,
        }
    }
}

/// The length of all texts in a document.
fn text_bytes(document: &Value) -> u64 {
    match document {
        Value::String(text) => text.len() as u64,
        Value::Array(items) => items.iter().map(text_bytes).sum(),
        Value::Object(fields) => fields.values().map(text_bytes).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// The messages since the model's last answer.
fn since_the_answer(body: &Value) -> String {
    if let Some(text) = body["input"].as_str() {
        return text.to_owned();
    }
    let messages = body["messages"].as_array().or(body["input"].as_array());
    let of_the_model =
        |message: &Value| message["role"] == "assistant" || message["type"] == "function_call";
    let news = messages.into_iter().flatten().rev().take_while(|message| !of_the_model(message));
    news.map(Value::to_string).collect()
}

#[cfg(test)]
mod tests;
