//! Every operation that changes something, and its audit entry.

use ratchet_store::catalog::{Actor, AuditEntry, AuditQuery, Role};

use super::calls::{self, Call, Chosen, Ids, KnownIds};
use super::walk::{
    OURS, make_dead_letters, make_media, make_people, make_strangers, start_agents, text,
};
use crate::harness::{TestServer, basic, project, public_key};

/// Operations without an audit entry. Telemetry, comments and the like have their own time and
/// often their own author, and there is too much of them.
const NOT_AUDITED: &[&str] = &[
    // They change nothing.
    "POST /api/v1/projects/{project}/gates/plan",
    "POST /api/v1/projects/{project}/gates/answers",
    "PATCH /api/public/annotation-queues/{queue}/items/{item}",
    "PATCH /api/public/generations",
    "PATCH /api/public/media/{id}",
    "PATCH /api/public/spans",
    "POST /api/public/annotation-queues/{queue}/items",
    "POST /api/public/comments",
    "POST /api/public/dataset-items",
    "POST /api/public/dataset-run-items",
    "POST /api/public/events",
    "POST /api/public/feedback",
    "POST /api/public/generations",
    "POST /api/public/ingestion",
    // Tools are audited as the operations they call.
    "POST /api/public/mcp",
    "POST /api/public/media",
    "POST /api/public/otel/v1/logs",
    "POST /api/public/otel/v1/metrics",
    "POST /api/public/otel/v1/traces",
    "POST /api/public/scores",
    "POST /api/public/spans",
    "POST /api/public/traces",
    "POST /api/v1/backup",
    "POST /api/v1/compact",
    "POST /api/v1/confirm-clock",
    "POST /api/v1/notifications/receivers/{receiver}/tests",
    // Verdicts are scores, with evaluator and judge.
    "POST /api/v1/projects/{project}/evaluators/{name}/backfill",
    "POST /api/v1/projects/{project}/evaluators/{name}/test",
    // Trials are traces of their run, whose start and end are audited.
    "POST /api/v1/projects/{project}/experiments/{run}/claim",
    "POST /api/v1/projects/{project}/experiments/{run}/finish",
    "POST /api/v1/projects/{project}/experiments/{run}/renew",
    "POST /api/v1/projects/{project}/experiments/{run}/scores",
    "POST /api/v1/projects/{project}/redaction/test",
    // A message to a target is a trace.
    "POST /api/v1/projects/{project}/targets/{target}/turns",
    "POST /v1/logs",
    "POST /v1/metrics",
    "POST /v1/traces",
    "PUT /api/v1/media/{project}/{media}",
    // A message is an event of its chat, with its author.
    "POST /api/v1/chats/{chat}/messages",
    "POST /api/v1/sessions/{chat}/messages",
    // The work of a runner is records of telemetry; the run itself is audited.
    "POST /api/v1/projects/{project}/experiments/{run}/claim",
    "POST /api/v1/projects/{project}/experiments/{run}/renew",
    "POST /api/v1/projects/{project}/experiments/{run}/finish",
];

/// Memberships are deleted with their project.
const NOT_TO_DELETE: [&str; 1] = ["DELETE /api/public/projects/{project}/memberships"];

/// Whether a call creates what another one deletes: it may be deleted already, because two delete
/// the same trace, and a user's id is that of the last one created.
fn makes_again(call: &Call, deletes: &Call) -> bool {
    let records = ["POST /api/public/ingestion", "POST /api/public/scores"];
    let path = |call: &Call| call.operation.split(' ').nth(1).map(str::to_owned);
    let is_like = path(call) == path(deletes) && ["POST", "PUT"].contains(&call.method());
    is_like || records.contains(&call.operation.as_str())
}

/// The newest entry of all.
async fn newest(server: &TestServer) -> Option<AuditEntry> {
    let catalog = &server.app.store.catalog;
    let projects = catalog.projects().await.unwrap().into_iter().map(|project| Some(project.id));
    let mut newest: Option<AuditEntry> = None;
    for project in projects.chain([None]) {
        let found = catalog.audit(AuditQuery::newest(project, 1)).await.unwrap().rows;
        let found = found.into_iter().chain(newest.take());
        newest = found.max_by_key(|entry| entry.number);
    }
    newest
}

#[tokio::test]
async fn every_change_leaves_an_entry_of_whoever_made_it() {
    let server = TestServer::start().await;
    make_strangers(&server).await;
    make_people(&server).await;
    make_media(&server, project()).await;
    make_dead_letters(&server).await;
    let _agents = start_agents(&server).await;
    let (mut kept, mut gone) = (KnownIds::at_home(project().as_str()), Vec::new());
    let calls = calls::all();
    let (last, first): (Vec<&Call>, Vec<&Call>) =
        calls.iter().partition(|call| call.method() == "DELETE");
    for call in first.into_iter().chain(last) {
        let operation = &call.operation;
        let ids = Ids::new(&kept, OURS, Chosen::Seeded);
        if call.method() == "DELETE" {
            for again in calls.iter().filter(|other| makes_again(other, call)) {
                again.make(&server, &basic(Role::Owner), &ids).await;
            }
        }
        call.wait(&server, &basic(Role::Owner), &ids).await;
        let before = newest(&server).await.map_or(0, |entry| entry.number);
        let reply = call.make(&server, &basic(Role::Owner), &ids).await;
        if call.method() == "DELETE" && [404, 409].contains(&reply.status.as_u16()) {
            gone.push(operation.clone());
            continue;
        }
        assert!(reply.status.is_success(), "{operation}: {}", text(&reply));
        call.keep(&reply, &mut kept);
        let entry = newest(&server).await.filter(|entry| entry.number > before);
        if call.method() == "GET" || NOT_AUDITED.contains(&operation.as_str()) {
            assert_eq!(entry, None, "{operation}");
            continue;
        }
        let entry = entry.unwrap_or_else(|| panic!("{operation} leaves no entry"));
        assert!(
            matches!(&entry.actor, Actor::Key { public_key: key, .. } if *key == public_key(Role::Owner)),
            "{operation}: {entry:?}"
        );
        assert_eq!(entry.at, server.app.clock.now(), "{operation}");
    }
    assert_eq!(gone, NOT_TO_DELETE);
    server.stop().await;
}

#[tokio::test]
async fn what_is_refused_leaves_no_entry() {
    let server = TestServer::start().await;
    let before = newest(&server).await.map(|entry| entry.number);
    for (path, body) in [
        ("/api/public/v2/prompts", r#"{"name": "", "prompt": "x"}"#),
        ("/api/public/score-configs", r#"{"name": "s", "dataType": "none"}"#),
        ("/api/public/models", r#"{"modelName": "m", "matchPattern": "("}"#),
    ] {
        let reply = server.post(path).json(body.to_owned()).send().await;
        reply.check(400, "");
    }
    server.delete("/api/public/models/none").send().await.check(404, "");
    server.delete("/api/public/scores/none").send().await.check(404, "");
    server.delete("/api/public/traces/none").send().await.check(200, "");
    let after = newest(&server).await.map(|entry| entry.number);
    assert_eq!(after, before);
    server.stop().await;
}
