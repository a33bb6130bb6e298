//! A model that gives the same verdict on every session, at once, and counts what it is sent.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::routing::post;
use axum::{Json, Router};
use ratchet_core::judge::rubric::{self, Rubric, Scale};
use ratchet_core::record::tokens::Tokens;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// The judge arguments of a run.
pub(super) const ARGS: [&str; 2] = ["--judge", "anthropic:claude-sonnet-5"];

/// What a model was sent.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Sent {
    /// Number of requests.
    pub(crate) questions: u64,
    pub(crate) tokens: u64,
    /// Tokens not sent before, according to the cache markers of the requests.
    pub(crate) tokens_with_cache: u64,
}

#[derive(Debug)]
pub(super) struct InstantJudge {
    pub(super) url: String,
    received: Arc<Mutex<Vec<Bytes>>>,
    _serving: JoinSet<()>,
}

impl InstantJudge {
    /// Starts it on a free port.
    ///
    /// # Errors
    /// Fails if there is none.
    pub(super) async fn start() -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        let received: Arc<Mutex<Vec<Bytes>>> = Arc::default();
        let app = Router::new()
            .route("/v1/messages", post(answer))
            .layer(DefaultBodyLimit::disable())
            .with_state(Arc::clone(&received));
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            // It serves until the benchmark ends; clients report failures.
            drop(axum::serve(listener, app).await);
        });
        Ok(Self { url, received, _serving: serving })
    }

    /// Resets the counts.
    pub(super) fn forget(&self) {
        received(&self.received).clear();
    }

    /// The counts since the reset.
    pub(super) fn sent(&self) -> Sent {
        let mut sent = Sent::default();
        let mut kept = HashSet::new();
        for body in received(&self.received).iter() {
            let question: Value = serde_json::from_slice(body).unwrap_or_default();
            add(&mut sent, &mut kept, &question);
        }
        sent
    }
}

fn received(received: &Mutex<Vec<Bytes>>) -> MutexGuard<'_, Vec<Bytes>> {
    received.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts a request. Marked prefixes are cached, and not counted the next time.
fn add(sent: &mut Sent, kept: &mut HashSet<String>, question: &Value) {
    let system = question["system"].as_array().into_iter().flatten();
    let turns = question["messages"].as_array().into_iter().flatten();
    let said = turns.flat_map(|turn| turn["content"].as_array().into_iter().flatten());
    let (mut before, mut all, mut known) = (String::new(), 0, 0);
    for part in system.chain(said) {
        let text = part["text"].as_str().unwrap_or_default();
        before.push_str(text);
        all += Tokens::approximate(text).count;
        if part["cache_control"].is_object() && !kept.insert(before.clone()) {
            known = all;
        }
    }
    sent.questions += 1;
    sent.tokens += all;
    sent.tokens_with_cache += all - known;
}

/// Responds in the format of Anthropic's Messages.
async fn answer(State(all): State<Arc<Mutex<Vec<Bytes>>>>, body: Bytes) -> Json<Value> {
    let tool = tool(&body);
    received(&all).push(body);
    let verdict = rubric::shipped().find(|rubric| rubric.name == rubric::DEFAULT).map(verdict);
    let verdict = verdict.unwrap_or_default();
    let content = match tool {
        Some(name) => json!({"type": "tool_use", "id": "call_1", "name": name, "input": verdict}),
        None => json!({"type": "text", "text": verdict.to_string()}),
    };
    Json(json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "bench",
        "content": [content], "stop_reason": "end_turn", "stop_sequence": null,
        "usage": {"input_tokens": 1, "output_tokens": 1}}))
}

/// The tool for the verdict, if the request names one.
fn tool(body: &Bytes) -> Option<String> {
    let question: Value = serde_json::from_slice(body).ok()?;
    Some(question["tool_choice"]["name"].as_str()?.to_owned())
}

/// A dummy verdict.
fn verdict(rubric: &Rubric) -> Value {
    let dimensions = rubric.dimensions.iter().map(|dimension| {
        let score = match &dimension.scale {
            Scale::Numeric => json!(0.5),
            Scale::Ordered(grades) => json!(grades.first().map(|grade| &grade.label)),
        };
        let about = json!({"score": score, "rationale": "Because.", "evidence": [],
            "confidence": 0.5});
        (dimension.name.clone(), about)
    });
    Value::Object(dimensions.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_marked_is_counted_once() {
        let part = |text: &str| json!({"type": "text", "text": text});
        let mut marked = part("the same words every time");
        marked["cache_control"] = json!({"type": "ephemeral"});
        let question =
            |end: &str| json!({"system": [marked.clone()], "messages": [{"content": [part(end)]}]});
        let (mut sent, mut kept) = (Sent::default(), HashSet::new());
        add(&mut sent, &mut kept, &question("one"));
        assert_eq!(sent.tokens, sent.tokens_with_cache);
        add(&mut sent, &mut kept, &question("two"));
        assert_eq!((sent.questions, sent.tokens - sent.tokens_with_cache), (2, 5));
    }
}
