use serde_json::{Value, json};

use super::http::{Asked, ScriptedResponse};
use super::{MESSAGES, State};

/// The submitted batches.
#[derive(Debug, Default)]
pub(super) struct Batches {
    /// How often each is polled before it is done.
    pub(super) looks: u32,
    /// Number of requests that still fail.
    pub(super) failures: u32,
    /// Oldest first.
    all: Vec<Batch>,
}

impl Batches {
    /// Marks all of them as done.
    pub(super) fn finish(&mut self) {
        self.all.iter_mut().for_each(|batch| batch.looks = 0);
    }
}

#[derive(Debug)]
struct Batch {
    id: String,
    looks: u32,
    /// Results of the requests, a line each.
    results: Vec<Value>,
}

/// The response to a request below `/v1/messages/batches`.
pub(super) fn answer(state: &mut State, asked: &Asked, rest: &str, url: &str) -> ScriptedResponse {
    if let Some(left) = state.batches.failures.checked_sub(1) {
        state.batches.failures = left;
        return ScriptedResponse::failure(529, "");
    }
    let parts: Vec<&str> = rest.split('/').filter(|part| !part.is_empty()).collect();
    match (asked.method.as_str(), parts.as_slice()) {
        ("POST", []) => hand_in(state, asked, url),
        ("GET", []) => list(state, asked, url),
        (_, [id]) => match state.batches.all.iter_mut().find(|batch| batch.id == *id) {
            Some(batch) => {
                batch.looks = batch.looks.saturating_sub(1);
                ScriptedResponse::json(200, &batch.view(url))
            }
            None => ScriptedResponse::failure(404, "no such batch"),
        },
        ("GET", [id, "results"]) => {
            match state.batches.all.iter().find(|batch| batch.id == *id && batch.is_done()) {
                Some(batch) => ScriptedResponse::lines(&batch.results),
                None => ScriptedResponse::failure(404, "no such batch"),
            }
        }
        _ => ScriptedResponse::failure(404, "no such batch"),
    }
}

fn hand_in(state: &mut State, asked: &Asked, url: &str) -> ScriptedResponse {
    let mut results = Vec::new();
    for request in asked.body["requests"].as_array().into_iter().flatten() {
        let mut params = request["params"].clone();
        params["stream"] = json!(false);
        let single = Asked {
            body: params,
            path: "/v1/messages".to_owned(),
            is_question: true,
            ..asked.clone()
        };
        state.asked.push(single.clone());
        let (status, body) = state.reply(&single, MESSAGES).into_json();
        let result = match status {
            200 => json!({"type": "succeeded", "message": body}),
            _ => json!({"type": "errored", "error": body}),
        };
        results.push(json!({"custom_id": request["custom_id"], "result": result}));
    }
    // Results may arrive in any order, so they do.
    results.reverse();
    let id = format!("msgbatch_{}x{}", std::process::id(), state.batches.all.len());
    let batch = Batch { id, looks: state.batches.looks.saturating_add(1), results };
    let view = batch.view(url);
    state.batches.all.push(batch);
    ScriptedResponse::json(200, &view)
}

fn list(state: &State, asked: &Asked, url: &str) -> ScriptedResponse {
    let limit = asked.query("limit").and_then(|limit| limit.parse().ok()).unwrap_or(20);
    let newest_first: Vec<&Batch> = state.batches.all.iter().rev().collect();
    let after = asked.query("after_id");
    let at = after.and_then(|id| newest_first.iter().position(|batch| batch.id == id));
    let rest = &newest_first[at.map_or(0, |at| at + 1)..];
    let page: Vec<Value> = rest.iter().take(limit).map(|batch| batch.view(url)).collect();
    let id = |batch: Option<&Value>| batch.map(|batch| batch["id"].clone());
    let (first_id, last_id) = (id(page.first()), id(page.last()));
    let has_more = rest.len() > limit;
    ScriptedResponse::json(
        200,
        &json!({"data": page, "first_id": first_id, "last_id": last_id, "has_more": has_more}),
    )
}

impl Batch {
    fn is_done(&self) -> bool {
        self.looks == 0
    }

    fn view(&self, url: &str) -> Value {
        let done = self.is_done();
        let of_kind =
            |kind: &str| self.results.iter().filter(|line| line["result"]["type"] == kind).count();
        let counts = json!({
            "processing": if done { 0 } else { self.results.len() },
            "succeeded": if done { of_kind("succeeded") } else { 0 },
            "errored": if done { of_kind("errored") } else { 0 },
            "canceled": 0,
            "expired": 0,
        });
        let results = format!("{url}/v1/messages/batches/{}/results", self.id);
        json!({
            "id": self.id,
            "type": "message_batch",
            "processing_status": if done { "ended" } else { "in_progress" },
            "request_counts": counts,
            "created_at": "2026-11-15T00:00:00Z",
            "expires_at": "2026-11-16T00:00:00Z",
            "ended_at": done.then_some("2026-11-15T00:10:00Z"),
            "archived_at": null,
            "cancel_initiated_at": null,
            "results_url": done.then_some(results),
        })
    }
}
