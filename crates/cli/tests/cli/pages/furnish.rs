use std::collections::BTreeMap;

use ratchet_testkit::process::PROJECT;
use serde_json::{Value, json};

use super::list::{Places, encode};
use super::stage::TARGET;
use super::trusted;
use super::weekly::{self, Said};
use super::writer::Writer;
use crate::agents::until_state;

/// Cases of the dataset; each run tries all of them.
const CASES: usize = 4;
/// A prompt with something to compare.
const PROMPT: &str = "support/greeting";
const DATASET: &str = "refunds";

/// Adds what people and evaluators make of recorded traffic, so that every page has something to
/// show: scores, prompts, a dataset with runs, a queue.
pub(super) fn furnish(writer: &Writer<'_>) -> Places {
    let newest = writer.get("/api/public/traces?limit=40")["data"].take();
    let traces = newest.as_array().unwrap();
    let shown = traces.iter().find(|trace| trace["sessionId"].is_string());
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let shown = shown.unwrap();
    let mut places = Places::from([
        ("project", PROJECT.to_owned()),
        ("trace", text(&shown["id"])),
        ("session", text(&shown["sessionId"])),
        ("user", text(&shown["userId"])),
        ("score", "quality".to_owned()),
        ("other-score", "helpful".to_owned()),
        ("prompt", PROMPT.to_owned()),
        ("dataset", DATASET.to_owned()),
        ("item", "case-0".to_owned()),
        ("words", "refund".to_owned()),
    ]);
    let ids: Vec<String> = traces.iter().map(|trace| text(&trace["id"])).collect();
    judge(writer, &ids);
    trusted::label(writer, traces);
    let sessions = trusted::sessions(traces);
    let words = "The same tool call failed again, and nothing was changed in between.";
    places.insert("week", weekly::report(writer, &Said { sessions: &sessions, words }));
    prompts(writer, &ids[0]);
    places.extend(dataset(writer, &ids));
    places.insert("gate", gate(writer));
    places.insert("target", target(writer, ("support-agent", "the one in production")));
    let promoted = (("support-agent", PROMPT), (DATASET, places["gate"].as_str()));
    let promoted = promotion(writer, promoted, "gpt-5");
    places.insert("promotion", promoted);
    places.insert("promoted-agent", "support-agent".to_owned());
    places.insert("ab-test", ab_test(writer, ("support-agent", PROMPT), 2));
    places.insert("proposal", proposal(writer, ("support-agent", PROMPT), (&ids, words)));
    places.insert("queue", queue(writer, &ids));
    let judged = evaluator(writer, "whether answers fit");
    places.insert("evaluation-rule", evaluation_rule(writer, (&judged, "every tenth")));
    places.insert("evaluator", judged);
    places.insert("dashboard", dashboard(writer, ("costs", "what each model costs")));
    connection(writer, ("local models", "qwen3-32b"));
    places.insert("receiver", webhook(writer, "on-call rota"));
    let said = [("deltas 40", "idle"), ("question", "waiting")];
    places.insert("chat", chat(writer, "Refunds of last week", &said));
    comment(writer, &places["trace"]);
    places.insert("chat-target", TARGET.to_owned());
    places.insert("target-chat", target_chat(writer, "Where is my *parcel*?"));
    places.insert("agent", agent(writer));
    places.insert("public-trace", public_link(writer, ("traces", &places["trace"])));
    places.insert("public-session", public_link(writer, ("sessions", &places["session"])));
    settle(writer, &mut places);
    places
}

/// Creates the public link of a trace or a session. Returns its token.
pub(super) fn public_link(writer: &Writer<'_>, (kind, id): (&str, &str)) -> String {
    let page = format!("/project/{PROJECT}/{kind}/{}", encode(id));
    let published = writer.submit(&page, &format!("{page}/publish"), &[("set", "yes")]);
    let shown = writer.page(&published);
    let (_, rest) = shown.split_once("href=\"/public/").unwrap();
    rest.split('"').next().unwrap().to_owned()
}

/// What is changed on a page of its own: a chart, a price, a connection, a score config.
pub(super) fn settle(writer: &Writer<'_>, places: &mut Places) {
    let price = json!({ "modelName": "house", "matchPattern": "(?i)^house$", "inputPrice": 0.1 });
    let model = writer.post("/api/public/models", &price)["id"].as_str().unwrap().to_owned();
    let configs = writer.get("/api/public/score-configs");
    let config = configs["data"][0]["id"].as_str().unwrap().to_owned();
    let dashboard = format!("/project/{PROJECT}/dashboards/{}?edit=1", places["dashboard"]);
    let widget = first_id(writer, &dashboard, "/widgets/");
    let connections = format!("/project/{PROJECT}/settings/connections");
    let connection = first_id(writer, &connections, "/settings/connections/");
    let all = [("model", model), ("score-config", config), ("widget", widget)];
    places.extend(all);
    places.insert("connection", connection);
}

/// The id behind the first link of a page that leads to such a path.
fn first_id(writer: &Writer<'_>, page: &str, path: &str) -> String {
    let shown = writer.page(page);
    let (_, after) = shown.split_once(path).unwrap_or_else(|| panic!("{path} in {shown}"));
    after.split(['?', '"', '/']).next().unwrap().to_owned()
}

/// An evaluator with the offline judge, without a rule: nothing is judged.
pub(super) fn evaluator(writer: &Writer<'_>, about: &str) -> String {
    let body = json!({
        "name": "answer-quality", "description": about, "prompt": "Is {{output}} right for {{input}}?", "judge": "offline",
        "variableMapping": [{ "variable": "input", "source": "input" },
                            { "variable": "output", "source": "output" }],
        "outputDefinition": { "dataType": "NUMERIC", "minValue": 0.0, "maxValue": 1.0 },
    });
    writer.post("/api/public/v2/evaluators", &body)["id"].as_str().unwrap().to_owned()
}

/// A rule that is switched off, with conditions that pages have words for and one that they have not.
pub(super) fn evaluation_rule(writer: &Writer<'_>, (evaluator, name): (&str, &str)) -> String {
    let body = json!({
        "name": name, "enabled": false, "sampling": 0.1, "target": "trace",
        "evaluatorAssignments": [{ "evaluatorId": evaluator, "variableMapping": null }],
        "filter": [
            { "type": "string", "column": "name", "operator": "starts with", "value": name },
            { "type": "stringObject", "column": "metadata", "key": name, "operator": "=", "value": name },
        ],
    });
    let made = writer.post("/api/public/v2/evaluation-rules", &body);
    made["id"].as_str().unwrap().to_owned()
}

/// Scores of every form, by every kind of judge.
fn judge(writer: &Writer<'_>, traces: &[String]) {
    let labels = ["kind", "curt", "cold"];
    let config = json!({
        "name": "tone", "dataType": "CATEGORICAL", "categories": labels
            .iter().enumerate().map(|(value, label)| json!({ "label": label, "value": value }))
            .collect::<Vec<_>>(),
    });
    let config = writer.post("/api/public/score-configs", &config)["id"].take();
    let mut events = Vec::new();
    for (nth, trace) in traces.iter().enumerate() {
        let mut score = |name: &str, more: Value| {
            let id = format!("{name} of {trace}");
            let mut body = json!({ "id": id, "traceId": trace, "name": name });
            body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            events.push(("score-create", body));
        };
        let quality = f64::from(u8::try_from(nth * 37 % 100).unwrap()) / 100.0;
        score("quality", json!({ "value": quality, "dataType": "NUMERIC", "source": "EVAL" }));
        score(
            "helpful",
            json!({ "value": 1.0 - quality * quality, "dataType": "NUMERIC", "comment": "by rule" }),
        );
        score(
            "tone",
            json!({
                "value": labels[nth % 3], "dataType": "CATEGORICAL", "source": "ANNOTATION",
                "configId": config,
            }),
        );
        score("resolved", json!({ "value": nth % 2, "dataType": "BOOLEAN" }));
    }
    writer.record(&events);
}

/// A prompt that changed and one that did not, and a model call that says which it used.
fn prompts(writer: &Writer<'_>, trace: &str) {
    let create = |name: &str, prompt: Value, labels: &[&str], message: &str| {
        let kind = if prompt.is_string() { "text" } else { "chat" };
        let made = json!({
            "name": name, "prompt": prompt, "type": kind, "labels": labels, "tags": ["support"],
            "config": { "temperature": 0.2, "model": "gpt-5" }, "commitMessage": message,
        });
        writer.post("/api/public/v2/prompts", &made);
    };
    let before = "You help customers of a shop.\nBe brief.\nAsk for the order number.";
    let after =
        "You help customers of a small shop.\nBe brief and kind.\nAsk for the order number.";
    create(PROMPT, before.into(), &["production"], "first words");
    create(PROMPT, after.into(), &["staging"], "kinder");
    let chat = json!([
        { "role": "system", "content": "Sort what people write." },
        { "role": "user", "content": "{{message}}" },
    ]);
    create("triage", chat, &["production"], "first words");
    for version in [1, 2] {
        let id = format!("a call with version {version}");
        let call = json!({
            "id": id, "traceId": trace, "name": "answer", "model": "gpt-5",
            "promptName": PROMPT, "promptVersion": version, "input": "hello", "output": "welcome",
        });
        writer.record(&[("generation-create", call)]);
    }
}

/// A dataset and two runs over it.
fn dataset(writer: &Writer<'_>, traces: &[String]) -> BTreeMap<&'static str, String> {
    let about = "cases that agents got wrong before";
    writer.post("/api/public/v2/datasets", &json!({ "name": DATASET, "description": about }));
    for (case, trace) in traces.iter().take(CASES).enumerate() {
        let item = json!({
            "datasetName": DATASET, "id": format!("case-{case}"), "sourceTraceId": trace,
            "input": { "question": format!("Where is order {case}?"), "channel": "chat" },
            "expectedOutput": { "answer": "On its way.", "refund": false },
        });
        writer.post("/api/public/dataset-items", &item);
    }
    let run = |name: &str, first: usize| {
        let mut id = String::new();
        for case in 0..CASES {
            let item = json!({
                "runName": name, "runDescription": format!("the agent as of {name}"),
                "datasetItemId": format!("case-{case}"), "traceId": traces[first + case],
            });
            let made = writer.post("/api/public/dataset-run-items", &item);
            made["datasetRunId"].as_str().unwrap().clone_into(&mut id);
        }
        id
    };
    BTreeMap::from([("before", run("baseline", 0)), ("after", run("kinder", CASES))])
}

/// A decision on a run. Returns its id.
fn gate(writer: &Writer<'_>) -> String {
    let order = json!({
        "dataset": DATASET, "run": "kinder", "baseline": "baseline", "score": "resolved",
        "minAccuracy": 0.7,
    });
    let made = writer.post(&format!("/api/v1/projects/{PROJECT}/gates"), &order);
    made["id"].as_str().unwrap().to_owned()
}

/// A stored target with a secret. Returns its name.
pub(super) fn target(writer: &Writer<'_>, (name, about): (&str, &str)) -> String {
    let definition = format!(
        "# {about}\nkind = \"http\"\nurl = \"https://agent.example/ask\"\n\
         [headers]\nauthorization = {{ env = \"TOKEN\" }}\n[environments.beta]\n"
    );
    let page = format!("/project/{PROJECT}/targets");
    let fields =
        [("name", name), ("definition", definition.as_str()), ("secrets", "TOKEN=Bearer x")];
    writer.submit(&page, &page, &fields);
    name.to_owned()
}

/// A promotion with some of its evidence. Returns its id.
pub(super) fn promotion(
    writer: &Writer<'_>,
    ((agent, prompt), (dataset, gate)): ((&str, &str), (&str, &str)),
    words: &str,
) -> String {
    let home = format!("/api/v1/projects/{PROJECT}");
    writer.put(&format!("{home}/agents/{}", encode(agent)), &json!({ "owner": words }));
    let content = json!({ "prompts": { prompt: 1 }, "model": words, "tools": "c0ffee" });
    let new = json!({ "agent": agent, "content": content, "dataset": dataset });
    let made = writer.post(&format!("{home}/promotions"), &new);
    let id = made["id"].as_str().unwrap().to_owned();
    let evidence = json!({ "tests": 12, "failed": 0, "source": words, "gate": gate });
    writer.post(&format!("{home}/promotions/{id}/evidence"), &evidence);
    let serving = json!({ "version": made["version"], "environment": "beta" });
    writer.post(&format!("{home}/agents/{}/serving", encode(agent)), &serving);
    id
}

/// An A/B test of a version of a prompt against production. Returns its id.
pub(super) fn ab_test(
    writer: &Writer<'_>,
    (agent, prompt): (&str, &str),
    candidate: u32,
) -> String {
    let page = format!("/project/{PROJECT}/prompts/{}", encode(prompt));
    let version = candidate.to_string();
    writer.submit(
        &page,
        &format!("{page}/label"),
        &[("version", version.as_str()), ("label", "next")],
    );
    let new = json!({ "agent": agent, "prompt": prompt, "candidate": "next" });
    let made = writer.post(&format!("/api/v1/projects/{PROJECT}/ab-tests"), &new);
    made["id"].as_str().unwrap().to_owned()
}

/// A week with proposals, one of them in an experiment. Returns its id.
pub(super) fn proposal(
    writer: &Writer<'_>,
    (agent, prompt): (&str, &str),
    (traces, words): (&[String], &str),
) -> String {
    let home = format!("/api/v1/projects/{PROJECT}");
    let proposal = |id: &str, component: &str| {
        json!({
            "id": id, "component": component, "agent": agent, "title": words, "reason": words,
            "change": words, "instruction": words, "prompt": prompt, "diff": null,
            "evidence": traces.iter().take(CASES).collect::<Vec<_>>(), "failures": 12,
            "affected": { "users": 7, "sessions": 9, "since_release": "1.4" },
            "impact": { "value": 0.025, "interval": [0.0, 0.04], "at_most": true }, "effort": "low",
            "priority": 0.025, "trend": "growing", "files": ["prompts/support.md:4"],
        })
    };
    let document = json!({
        "week": "2026-11-01", "agents": [agent], "events": [], "left_out": 0,
        "proposals": [proposal("p-prompt", "prompt"), proposal("p-judge", "judge"), proposal("p-tool", "tool")],
    });
    writer.put(&format!("{home}/feedback/{}/2026-11-01", encode(agent)), &document);
    let act =
        |id: &str, action: &Value| writer.post(&format!("{home}/proposals/{id}/actions"), action);
    act("p-prompt", &json!({ "action": "accept" }));
    act("p-prompt", &json!({ "action": "experiment" }));
    act("p-judge", &json!({ "action": "reject", "kind": "wrong", "reason": words }));
    "p-prompt".to_owned()
}

/// A queue with something waiting and something done.
fn queue(writer: &Writer<'_>, traces: &[String]) -> String {
    let config = json!({ "name": "correct", "dataType": "BOOLEAN", "description": "is it true" });
    let config = writer.post("/api/public/score-configs", &config);
    let about = json!({
        "name": "odd answers", "description": "what evaluators are unsure of",
        "scoreConfigIds": [config["id"]],
    });
    let queue = writer.post("/api/public/annotation-queues", &about);
    let id = queue["id"].as_str().unwrap();
    for (nth, trace) in traces.iter().take(CASES).enumerate() {
        let status = if nth == 0 { "COMPLETED" } else { "PENDING" };
        let item = json!({ "objectId": trace, "objectType": "TRACE", "status": status });
        writer.post(&format!("/api/public/annotation-queues/{id}/items"), &item);
    }
    id.to_owned()
}

/// A chat with a target. Returns its id.
pub(super) fn target_chat(writer: &Writer<'_>, text: &str) -> String {
    let id = "3f1c9a52-0000-4000-8000-00000000c4a7";
    let new = format!("/project/{PROJECT}/chats/with/{TARGET}");
    writer.submit(&new, &format!("{new}/{id}"), &[("text", text)]);
    id.to_owned()
}

/// The first agent that was found in traces. Returns its name.
pub(super) fn agent(writer: &Writer<'_>) -> String {
    let agents = format!("/project/{PROJECT}/agents");
    writer.submit(&agents, &format!("{agents}/discover"), &[]);
    let found = writer.get(&format!("/api/v1/projects/{PROJECT}/agents"));
    found["agents"][0]["name"].as_str().unwrap().to_owned()
}

/// A dashboard with two charts. Returns its id.
pub(super) fn dashboard(writer: &Writer<'_>, (name, about): (&str, &str)) -> String {
    let all = format!("/project/{PROJECT}/dashboards");
    let made =
        writer.submit(&format!("{all}/all"), &all, &[("name", name), ("description", about)]);
    let (path, _) = made.split_once('?').unwrap();
    let widgets = format!("{path}/widgets");
    for chart in ["bars", "lying"] {
        let fields = [
            ("name", name),
            ("description", about),
            ("view", "observations"),
            ("measure", "totalCost"),
            ("agg", "sum"),
            ("by", "providedModelName"),
            ("chart", chart),
        ];
        writer.submit(&widgets, &widgets, &fields);
    }
    path.rsplit('/').next().unwrap().to_owned()
}

/// A connection to a model that is never called.
pub(super) fn connection(writer: &Writer<'_>, (name, model): (&str, &str)) {
    let page = format!("/project/{PROJECT}/settings/connections");
    let fields = [
        ("provider", name),
        ("adapter", "openai"),
        ("secretKey", "sk-nobody-is-asked"),
        ("baseURL", "http://127.0.0.1:9/v1"),
        ("customModels", model),
    ];
    writer.submit(&page, &page, &fields);
}

/// A webhook without a listener, and a pending notification for it.
pub(super) fn webhook(writer: &Writer<'_>, name: &str) -> String {
    let hook = json!({ "name": name, "url": "http://127.0.0.1:9/hook" });
    let made = writer.post("/api/v1/notifications/webhooks", &hook);
    let id = made["id"].as_str().unwrap();
    writer.post(&format!("/api/v1/notifications/receivers/{id}/tests"), &json!({}));
    id.to_owned()
}

pub(super) const WORKSPACE: &str = env!("CARGO_TARGET_TMPDIR");

/// A conversation in which somebody said all this, and the agent got each time to the state named.
pub(super) fn chat(writer: &Writer<'_>, title: &str, said: &[(&str, &str)]) -> String {
    let new = json!({ "workspace": WORKSPACE, "title": title });
    let id = writer.post("/api/v1/chats", &new)["id"].as_str().unwrap().to_owned();
    let chat = format!("/api/v1/chats/{id}");
    for (text, state) in said {
        writer.post(&format!("{chat}/messages"), &json!({ "text": text }));
        until_state(state, || writer.get(&chat));
    }
    id
}

fn comment(writer: &Writer<'_>, trace: &str) {
    let comment = json!({
        "projectId": PROJECT, "objectType": "TRACE", "objectId": trace,
        "content": "This one is worth a **look**.",
    });
    writer.post("/api/public/comments", &comment);
}
