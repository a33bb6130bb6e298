use ratchet_testkit::process::{PROJECT, Ratchet};
use serde_json::{Value, json};

use super::words;
use crate::pages::furnish::{
    ab_test, agent, chat, connection, dashboard, evaluation_rule, evaluator, promotion, proposal,
    public_link, settle, target, target_chat, webhook,
};
use crate::pages::list::{Places, encode};
use crate::pages::stage::TARGET;
use crate::pages::weekly::{self, Said};
use crate::pages::writer::Writer;

/// Names are shorter than texts.
const NAME_CHARS: usize = 190;

/// Names of views are shorter still.
const VIEW_CHARS: usize = 80;

/// What a change of a prompt may say.
const MESSAGE_CHARS: usize = 500;

/// Length of a line without breaks.
const LONG_LINE: usize = 1 << 20;

/// Ids are the client's to choose.
const TRACE: &str = r#"../"><script>__ran("id")</script>?a=b&c#d"#;
/// Clients choose score names.
const SCORES: [&str; 2] =
    ["<img src=x onerror='__ran(\"score\")'>/../\u{202e}a", "=1+1\" onfocus=\"__ran('score too')"];

/// The score of a gate.
const GATED: &str = "<svg onload='__ran(\"gate\")'>";

/// Writes hostile text into every place that takes text.
pub(crate) fn seed(server: &Ratchet) -> Places {
    let hand = Hand(Writer { server });
    for (nth, words) in words::all().enumerate() {
        hand.trace(nth, words);
        hand.things(nth, words);
        hand.view(words);
    }
    hand.conversation();
    hand.judge();
    let (all, last) = (words::together(), words::all().count());
    let queue = hand.things(last, &all);
    hand.0.post("/api/public/v2/prompts", &prompt(last, &all, &words::together_backwards()));
    hand.settings();
    let sessions: Vec<String> = words::all().map(id_of).chain([all_of_a_name()]).collect();
    let week = weekly::report(&hand.0, &Said { sessions: &sessions, words: &all });
    let [before, after] = ["<b>before", "<i>after"].map(|run| hand.run(last, run, &all));
    let place = |name, id: &str| (name, id.to_owned());
    let gate = hand.gate(&named("d", last, &all), [&before, &after]);
    let (promoted, prompt_name) = (named("a", last, &all), named("p", last, &all));
    let on = (named("d", last, &all), gate.clone());
    let on = ((promoted.as_str(), prompt_name.as_str()), (on.0.as_str(), on.1.as_str()));
    let promotion = promotion(&hand.0, on, &name_of(&all));
    put_into_production(&hand.0, &prompt_name);
    let ab_test = ab_test(&hand.0, (&promoted, &prompt_name), 2);
    let judged = evaluator(&hand.0, &all);
    let proposal =
        proposal(&hand.0, (&promoted, &prompt_name), (&[TRACE.to_owned()], &name_of(&all)));
    let mut places = Places::from([
        place("project", PROJECT),
        place("trace", TRACE),
        place("session", &all_of_a_name()),
        place("user", &all_of_a_name()),
        place("score", SCORES[0]),
        place("other-score", SCORES[1]),
        place("prompt", &named("p", last, &all)),
        place("dataset", &named("d", last, &all)),
        place("item", &format!("item-{last}")),
        place("words", words::RUNNING[0]),
        place("queue", &queue),
        place("evaluation-rule", &evaluation_rule(&hand.0, (&judged, &name_of(&all)))),
        place("evaluator", &judged),
        place("week", &week),
        place("receiver", &webhook(&hand.0, "last")),
        place("chat", &chat(&hand.0, &all_of_a_name(), &[(&all, "idle")])),
        place("chat-target", TARGET),
        place("target-chat", &target_chat(&hand.0, &all)),
        place("agent", &agent(&hand.0)),
        place("public-trace", &public_link(&hand.0, ("traces", TRACE))),
        place("public-session", &public_link(&hand.0, ("sessions", &all_of_a_name()))),
        place("before", &before),
        place("after", &after),
        place("gate", &gate),
        place("promotion", &promotion),
        place("promoted-agent", &promoted),
        place("ab-test", &ab_test),
        place("proposal", &proposal),
        place("target", &target(&hand.0, (&named("t", last, &all), &name_of(&all)))),
        place("dashboard", &dashboard(&hand.0, (&all_of_a_name(), &all))),
    ]);
    settle(&hand.0, &mut places);
    places
}

/// Gives the first version of a prompt the label `production`.
fn put_into_production(writer: &Writer<'_>, prompt: &str) {
    let page = format!("/project/{PROJECT}/prompts/{}", encode(prompt));
    let production = [("version", "1"), ("label", "production"), ("confirmed", "yes")];
    writer.submit(&page, &format!("{page}/label"), &production);
}

/// The beginning of all texts, as long as names are.
fn all_of_a_name() -> String {
    words::together().chars().take(NAME_CHARS).collect()
}

/// As much of a text as an id may hold: all but what would end a line of a header.
fn id_of(words: &str) -> String {
    words.chars().filter(|character| *character != '\r').take(NAME_CHARS).collect()
}

/// The name of a thing that must have a name of its own.
fn named(kind: &str, nth: usize, words: &str) -> String {
    format!("{kind}{nth} {}", name_of(words))
}

fn prompt(nth: usize, words: &str, text: &str) -> Value {
    json!({
        "name": named("p", nth, words), "prompt": text, "type": "text",
        "commitMessage": words.chars().take(MESSAGE_CHARS).collect::<String>(),
        "tags": [name_of(words)], "config": { words: words },
    })
}

/// As much of a text as a name may hold where names are checked.
fn name_of(words: &str) -> String {
    let kept = words.chars().filter(|character| !character.is_control() && *character != '|');
    let kept: String = kept.take(NAME_CHARS).collect();
    kept.replace("//", "/ /").trim_end_matches('/').to_owned()
}

struct Hand<'a>(Writer<'a>);

impl Hand<'_> {
    /// A trace, its observations and its scores, each made of one text.
    fn trace(&self, nth: usize, words: &str) {
        let (trace, observation) = (format!("hostile-{nth}"), format!("hostile-{nth}-call"));
        let name: String = words.chars().take(NAME_CHARS).collect();
        let payload = json!({ words: words, "list": [words, { "deep": words }] });
        self.0.record(&[
            (
                "trace-create",
                json!({
                    "id": trace, "name": name, "userId": name,
                    "sessionId": id_of(words),
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
        for (kind, object) in [("TRACE", trace), ("OBSERVATION", observation)] {
            let comment = json!({
                "projectId": PROJECT, "objectType": kind, "objectId": object, "content": words,
            });
            self.0.post("/api/public/comments", &comment);
        }
    }

    /// Prompts, datasets, queues and what scores may be, each made of one text. Returns the queue.
    fn things(&self, nth: usize, words: &str) -> String {
        let (dataset, item) = (named("d", nth, words), format!("item-{nth}"));
        self.0.post("/api/public/v2/prompts", &prompt(nth, words, words));
        let about = json!({ "name": dataset, "description": words, "metadata": { words: words } });
        self.0.post("/api/public/v2/datasets", &about);
        self.0.post(
            "/api/public/dataset-items",
            &json!({
                "datasetName": dataset, "id": item, "input": words, "sourceTraceId": TRACE,
                "expectedOutput": { words: words }, "metadata": words,
            }),
        );
        self.run(nth, &name_of(words), words);
        let label: String = name_of(words).chars().take(50).collect();
        self.0.post(
            "/api/public/score-configs",
            &json!({
                "name": format!("config {nth}"), "description": words, "dataType": "CATEGORICAL",
                "categories": [{ "label": label, "value": 1 }],
            }),
        );
        self.queue(&named("q", nth, words), words)
    }

    /// A queue with something of every kind in it. Returns its id.
    fn queue(&self, name: &str, words: &str) -> String {
        let about = json!({ "name": name, "description": words, "scoreConfigIds": [] });
        let queue = self.0.post("/api/public/annotation-queues", &about)["id"].take();
        let queue = queue.as_str().unwrap().to_owned();
        for (kind, object) in [("TRACE", TRACE), ("SESSION", words), ("OBSERVATION", words)] {
            let item = json!({ "objectId": id_of(object), "objectType": kind });
            self.0.post(&format!("/api/public/annotation-queues/{queue}/items"), &item);
        }
        queue
    }

    /// A run over the only item of a dataset. Returns its id.
    fn run(&self, nth: usize, name: &str, words: &str) -> String {
        let made = self.0.post(
            "/api/public/dataset-run-items",
            &json!({
                "runName": name, "runDescription": words, "datasetItemId": format!("item-{nth}"),
                "traceId": if name.starts_with("<b>") { TRACE } else { "hostile-0" },
            }),
        );
        made["datasetRunId"].as_str().unwrap().to_owned()
    }

    /// A decision on a run that fell. Returns its id.
    fn gate(&self, dataset: &str, [before, after]: [&str; 2]) -> String {
        let score = |trace: &str, value: u8| {
            let body = json!({
                "id": format!("gate {trace}"), "traceId": trace, "name": GATED, "value": value,
            });
            ("score-create", body)
        };
        self.0.record(&[score(TRACE, 1), score("hostile-0", 0)]);
        let order = json!({
            "dataset": dataset, "run": after, "baseline": before, "score": GATED,
            "minAccuracy": 0.5,
        });
        let made = self.0.post(&format!("/api/v1/projects/{PROJECT}/gates"), &order);
        made["id"].as_str().unwrap().to_owned()
    }

    /// A saved view of each list.
    fn view(&self, words: &str) {
        let name: String = words.chars().take(VIEW_CHARS).collect();
        for list in ["traces", "observations"] {
            let page = format!("/project/{PROJECT}/{list}");
            let action = format!("/project/{PROJECT}/list/{list}/save-view");
            self.0.submit(&page, &action, &[("name", &name), ("back", words)]);
        }
    }

    /// Scores with hostile names on many traces, so that they can be compared.
    fn judge(&self) {
        for (nth, words) in words::all().enumerate() {
            let value: String = words.chars().take(NAME_CHARS).collect();
            let score = |name: &str| {
                let body = json!({
                    "id": format!("{name} of {nth}"), "traceId": format!("hostile-{nth}"),
                    "name": name, "value": value, "dataType": "CATEGORICAL", "comment": words,
                });
                ("score-create", body)
            };
            self.0.record(&SCORES.map(score));
        }
    }

    fn settings(&self) {
        for (nth, words) in words::RUNNING.into_iter().enumerate() {
            webhook(&self.0, &name_of(words).chars().take(90).collect::<String>());
            let name = format!("m{nth} {}", name_of(words));
            let model = json!({ "modelName": name, "matchPattern": "never", "inputPrice": 0.1 });
            self.0.post("/api/public/models", &model);
            connection(&self.0, (&name, words));
        }
    }

    /// One trace whose id is hostile too, with everything in it at once and a line without end.
    fn conversation(&self) {
        let all = words::together();
        let name = all_of_a_name();
        let line = "m".repeat(LONG_LINE);
        let messages: Vec<Value> = words::all()
            .zip(["system", "user", "assistant", "tool"].into_iter().cycle())
            .map(|(words, role)| json!({ "role": role, "content": words }))
            .collect();
        self.0.record(&[
            (
                "trace-create",
                json!({
                    "id": TRACE, "name": name, "input": all, "output": line,
                    "metadata": { "line": line }, "userId": name, "sessionId": name,
                }),
            ),
            (
                "span-create",
                json!({
                    "id": format!("{TRACE} root"), "traceId": TRACE, "name": name,
                    "input": line, "output": all,
                }),
            ),
            (
                "generation-create",
                json!({
                    "id": format!("{TRACE} call"), "traceId": TRACE, "name": name,
                    "parentObservationId": format!("{TRACE} root"),
                    "input": messages, "output": { "role": "assistant", "content": all },
                }),
            ),
        ]);
    }
}
