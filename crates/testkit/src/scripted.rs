//! A model that says what it was told to say, at the addresses where real clients look for one.
//!
//! It speaks Anthropic's Messages format and OpenAI's chat completions, whole and streamed, as
//! their documentation describes them. A script is a list of replies; a request gets the first one
//! that is not spent and whose `on` occurs in what was said since the model last spoke.

/// Requests and answers over HTTP.
mod http;
/// Anthropic's format.
mod anthropic;
/// OpenAI's format.
mod openai;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

use serde_json::{Value, json};

use http::{Asked, Said};

/// One reply of a script.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// What must have been said since the model last spoke; anything when empty.
    pub on: String,
    /// What the model thinks aloud before it answers; nothing when empty.
    pub thinking: String,
    /// What it answers; nothing when empty.
    pub text: String,
    /// The tools it calls.
    pub calls: Vec<Call>,
    /// What it says it used.
    pub tokens: Tokens,
    /// How it fails instead, if it does: a status of HTTP.
    pub failure: Option<u16>,
}

/// A tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Which call.
    pub id: String,
    /// Which tool.
    pub name: String,
    /// With what.
    pub input: Value,
}

/// Tokens, each kind apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    /// Fresh ones in.
    pub input: u64,
    /// Read from a cache.
    pub cache_read: u64,
    /// Written to a cache.
    pub cache_write: u64,
    /// Ones out.
    pub output: u64,
}

impl Reply {
    /// Reads a reply as scripts write it down; what is left out is empty.
    pub fn from_json(value: &Value) -> Self {
        let text = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
        let calls = value["calls"].as_array().into_iter().flatten();
        let count = |name: &str| value["tokens"][name].as_u64().unwrap_or_default();
        Self {
            on: text("on"),
            thinking: text("thinking"),
            text: text("text"),
            calls: calls.map(Call::from_json).collect(),
            tokens: Tokens {
                input: count("input"),
                cache_read: count("cacheRead"),
                cache_write: count("cacheWrite"),
                output: count("output"),
            },
            failure: value["failure"].as_u64().and_then(|status| u16::try_from(status).ok()),
        }
    }
}

impl Call {
    fn from_json(value: &Value) -> Self {
        let text = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
        Self { id: text("id"), name: text("name"), input: value["input"].clone() }
    }
}

/// A running model. It serves until the process ends.
#[derive(Clone, Debug)]
pub struct ScriptedModel {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    replies: Vec<Option<Reply>>,
    requests: Vec<Value>,
    answered: u64,
}

impl ScriptedModel {
    /// Starts a model on a free port of this machine, with nothing to say yet.
    ///
    /// # Errors
    /// Fails if no port is free.
    pub fn start() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let model = Self { address: listener.local_addr()?, state: Arc::default() };
        let serving = model.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let model = serving.clone();
                thread::spawn(move || http::serve(&stream, |asked| model.answer(asked)));
            }
        });
        Ok(model)
    }

    /// Where it is: `http://127.0.0.1:…`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Gives it a new script and forgets what it was asked.
    pub fn script(&self, replies: impl IntoIterator<Item = Reply>) {
        let mut state = self.state();
        state.replies = replies.into_iter().map(Some).collect();
        state.requests.clear();
    }

    /// The bodies of the requests it got since the script began.
    pub fn requests(&self) -> Vec<Value> {
        self.state().requests.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn answer(&self, asked: &Asked) -> Said {
        match asked.path.as_str() {
            "/script" => {
                let replies = asked.body["replies"].as_array().into_iter().flatten();
                self.script(replies.map(Reply::from_json).collect::<Vec<_>>());
                Said::json(200, &json!({}))
            }
            "/requests" => Said::json(200, &json!(self.requests())),
            "/v1/messages/count_tokens" => Said::json(200, &json!({"input_tokens": 100})),
            "/v1/messages" => self.reply(asked, anthropic::said),
            "/v1/chat/completions" => self.reply(asked, openai::said),
            path => Said::json(404, &json!({"error": {"message": format!("no {path} here")}})),
        }
    }

    fn reply(&self, asked: &Asked, say: fn(&Value, &Reply, &str) -> Said) -> Said {
        let last = since_the_answer(&asked.body);
        let mut state = self.state();
        state.requests.push(asked.body.clone());
        let fits = |reply: &&mut Option<Reply>| {
            reply.as_ref().is_some_and(|reply| last.contains(&reply.on))
        };
        let Some(reply) = state.replies.iter_mut().find(fits).and_then(Option::take) else {
            let message = format!("the script has no reply to {last}");
            return Said::json(400, &json!({"type": "error", "error": {"message": message}}));
        };
        state.answered += 1;
        // Unique on this machine, so that two scripts never speak of the same answer.
        let id = format!("{}x{}", std::process::id(), state.answered);
        drop(state);
        match reply.failure {
            Some(status) => {
                let error = json!({"type": "overloaded_error", "message": "scripted to fail"});
                Said::json(status, &json!({"type": "error", "error": error}))
            }
            None => say(&asked.body, &reply, &id),
        }
    }
}

/// What was said since the model last spoke.
fn since_the_answer(body: &Value) -> String {
    let messages = body["messages"].as_array().into_iter().flatten().rev();
    let news = messages.take_while(|message| message["role"] != "assistant");
    news.map(Value::to_string).collect()
}

#[cfg(test)]
mod tests;
