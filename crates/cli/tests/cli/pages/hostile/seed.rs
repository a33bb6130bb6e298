use ratchet_server::clock::Clock;
use ratchet_testkit::http;
use ratchet_testkit::process::{PROJECT, Ratchet};
use serde_json::{Value, json};

use super::words;
use crate::pages::list::Places;

/// Names are shorter than texts.
const NAME_CHARS: usize = 190;

/// How long a line may be: nobody promised line breaks.
const LONG_LINE: usize = 1 << 20;

/// Writes hostile text into every place that takes text.
pub(crate) fn seed(server: &Ratchet) -> Places {
    let writer = Writer { server };
    for (nth, words) in words::all().enumerate() {
        writer.trace(nth, words);
        writer.things(nth, words);
    }
    writer.conversation();
    Places::from([("project", PROJECT.to_owned()), ("trace", HOSTILE_TRACE.to_owned())])
}

/// Ids are the client's to choose.
pub(crate) const HOSTILE_TRACE: &str = r#"../"><script>__ran("id")</script>?a=b&c#d"#;

/// As much of a text as a name may hold where names are checked.
fn name_of(words: &str) -> String {
    let kept = words.chars().filter(|character| !character.is_control() && *character != '|');
    let kept: String = kept.take(NAME_CHARS).collect();
    kept.replace("//", "/ /").trim_end_matches('/').to_owned()
}

struct Writer<'a> {
    server: &'a Ratchet,
}

impl Writer<'_> {
    /// Sends something that must be taken: what is refused would test nothing.
    #[track_caller]
    fn post(&self, path: &str, body: &Value) -> Value {
        let answer = self.server.send(http::post(path).host("localhost").json(body.to_string()));
        assert!((200..300).contains(&answer.status), "{path}: {} to {body}", answer.text());
        let answer = if answer.body.is_empty() { Value::Null } else { answer.json() };
        let refused = answer["errors"].as_array().is_some_and(|errors| !errors.is_empty());
        assert!(!refused, "{path}: {answer} to {body}");
        answer
    }

    #[track_caller]
    fn record(&self, events: &[(&str, Value)]) {
        let now = Clock::System.now().to_string();
        let event = |(nth, (kind, body)): (usize, &(&str, Value))| {
            let id = body["id"].as_str().unwrap_or_default();
            json!({ "id": format!("{kind} {nth} {id}"), "type": kind, "timestamp": now, "body": body })
        };
        let batch: Vec<Value> = events.iter().enumerate().map(event).collect();
        self.post("/api/public/ingestion", &json!({ "batch": batch }));
    }

    /// A trace, its observations and its scores, each made of one text.
    fn trace(&self, nth: usize, words: &str) {
        let (trace, observation) = (format!("hostile-{nth}"), format!("hostile-{nth}-call"));
        let name: String = words.chars().take(NAME_CHARS).collect();
        let payload = json!({ words: words, "list": [words, { "deep": words }] });
        self.record(&[
            (
                "trace-create",
                json!({
                    "id": trace, "name": name, "userId": name, "sessionId": name,
                    "version": name, "release": name, "tags": [name, "plain"],
                    "metadata": payload, "input": words, "output": payload,
                }),
            ),
            (
                "generation-create",
                json!({
                    "id": observation, "traceId": trace, "name": name, "model": name,
                    "level": "ERROR", "statusMessage": words, "version": name,
                    "modelParameters": { words: words }, "metadata": payload,
                    "input": [{ "role": "user", "content": words }],
                    "output": { "role": "assistant", "content": words, "tool_calls": [
                        { "id": name, "type": "function",
                          "function": { "name": name, "arguments": words } },
                    ] },
                }),
            ),
            (
                "score-create",
                json!({
                    "id": format!("{trace}-score"), "traceId": trace, "name": name,
                    "value": name, "dataType": "CATEGORICAL", "comment": words,
                }),
            ),
        ]);
        self.post(
            "/api/public/comments",
            &json!({
                "projectId": PROJECT, "objectType": "TRACE", "objectId": trace, "content": words,
            }),
        );
    }

    /// Prompts, datasets, queues and what scores may be, each made of one text.
    fn things(&self, nth: usize, words: &str) {
        let name = name_of(words);
        let (prompt, dataset) = (format!("p{nth} {name}"), format!("d{nth} {name}"));
        self.post(
            "/api/public/v2/prompts",
            &json!({
                "name": prompt, "prompt": words, "type": "text", "commitMessage": words,
                "tags": [name], "config": { words: words },
            }),
        );
        self.post(
            "/api/public/v2/datasets",
            &json!({
                "name": dataset, "description": words, "metadata": { words: words },
            }),
        );
        self.post(
            "/api/public/dataset-items",
            &json!({
                "datasetName": dataset, "id": format!("item-{nth}"), "input": words,
                "expectedOutput": { words: words }, "metadata": words,
            }),
        );
        self.post(
            "/api/public/dataset-run-items",
            &json!({
                "runName": name, "runDescription": words, "datasetItemId": format!("item-{nth}"),
                "traceId": format!("hostile-{nth}"),
            }),
        );
        let label: String = name.chars().take(50).collect();
        self.post(
            "/api/public/score-configs",
            &json!({
                "name": format!("config {nth}"), "description": words, "dataType": "CATEGORICAL",
                "categories": [{ "label": label, "value": 1 }],
            }),
        );
        self.post(
            "/api/public/annotation-queues",
            &json!({
                "name": format!("q{nth} {name}"), "description": words, "scoreConfigIds": [],
            }),
        );
    }

    /// One trace whose id is hostile too, with everything in it at once and a line without end.
    fn conversation(&self) {
        let all = words::together();
        let name: String = all.chars().take(NAME_CHARS).collect();
        let line = "m".repeat(LONG_LINE);
        let messages: Vec<Value> = words::all()
            .zip(["system", "user", "assistant", "tool"].into_iter().cycle())
            .map(|(words, role)| json!({ "role": role, "content": words }))
            .collect();
        self.record(&[
            (
                "trace-create",
                json!({
                    "id": HOSTILE_TRACE, "name": name, "input": all, "output": line,
                    "metadata": { "line": line },
                }),
            ),
            (
                "span-create",
                json!({
                    "id": format!("{HOSTILE_TRACE} root"), "traceId": HOSTILE_TRACE, "name": name,
                    "input": line, "output": all,
                }),
            ),
            (
                "generation-create",
                json!({
                    "id": format!("{HOSTILE_TRACE} call"), "traceId": HOSTILE_TRACE, "name": name,
                    "parentObservationId": format!("{HOSTILE_TRACE} root"),
                    "input": messages, "output": { "role": "assistant", "content": all },
                }),
            ),
        ]);
    }
}
