use std::collections::BTreeMap;

use ratchet_store::catalog::Role;
use serde_json::{Value, json};

use super::{Client, record};
use crate::contract::walk::{NEIGHBOUR, make_strangers};
use crate::harness::{TestServer, basic, make_reviewer};

/// The word in all data of the first project.
const OURS: &str = "ourword";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    Read,
    Record,
    Edit,
}

impl Access {
    fn allows(self, role: Role) -> bool {
        match self {
            Self::Read => !matches!(role, Role::IngestOnly | Role::Reviewer),
            Self::Record => !matches!(role, Role::Viewer | Role::Reviewer),
            Self::Edit => matches!(role, Role::Member | Role::Owner),
        }
    }
}

/// One call of each tool on the data of [`seed`], and what it takes.
fn calls(ids: &BTreeMap<&str, String>) -> Vec<(&'static str, Access, Value)> {
    use Access::{Edit, Read, Record};
    let dataset = &ids["dataset"];
    vec![
        ("list_sessions", Read, json!({"days": 3000})),
        ("get_session", Read, json!({"session_id": "s-1", "trace": 1})),
        ("list_scores", Read, json!({"days": 3000})),
        ("get_report", Read, json!({})),
        ("listPrompts", Read, json!({"name": "greet"})),
        ("getPrompt", Read, json!({"name": "greet"})),
        ("getPromptUnresolved", Read, json!({"name": "greet", "version": 1})),
        ("createTextPrompt", Edit, json!({"name": "greet", "prompt": "Hi"})),
        (
            "createChatPrompt",
            Edit,
            json!({"name": "talk", "prompt": [{"role": "user", "content": "Hi"}]}),
        ),
        (
            "updatePromptLabels",
            Edit,
            json!({"name": "greet", "version": 1, "newLabels": ["production"]}),
        ),
        ("listDatasets", Read, json!({})),
        ("getDataset", Read, json!({"datasetId": dataset})),
        ("upsertDataset", Edit, json!({"name": "cases", "description": "changed"})),
        ("listDatasetItems", Read, json!({"datasetName": "cases"})),
        ("getDatasetItem", Read, json!({"datasetItemId": "i-1"})),
        ("upsertDatasetItem", Edit, json!({"datasetId": dataset, "input": 2})),
        ("listDatasetRuns", Read, json!({"datasetName": "cases"})),
        ("getDatasetRun", Read, json!({"datasetId": dataset, "runName": "r-1"})),
        ("listTraces", Read, json!({"sessionId": "s-1"})),
        ("getTrace", Read, json!({"traceId": "t-1"})),
        ("listObservations", Read, json!({"traceId": "t-1", "fields": ["*"]})),
        ("getObservation", Read, json!({"observationId": "o-1"})),
        ("listScores", Read, json!({"traceId": "t-1"})),
        ("getScore", Read, json!({"scoreId": "sc-1"})),
        ("createScore", Record, json!({"traceId": "t-1", "name": "kind", "value": 0.5})),
        ("listScoreConfigs", Read, json!({})),
        ("getScoreConfig", Read, json!({"configId": ids["config"]})),
        ("deleteScore", Edit, json!({"scoreId": "sc-gone"})),
        ("deleteDatasetItem", Edit, json!({"datasetItemId": "i-gone"})),
    ]
}

/// Fills the first project with one of everything.
async fn seed(server: &TestServer) -> BTreeMap<&'static str, String> {
    let owner = basic(Role::Owner);
    record(server, &owner, OURS).await;
    let client = Client::with_role(server, Role::Owner).await;
    client.call("createTextPrompt", json!({"name": "greet", "prompt": OURS})).await;
    let dataset = client.call("upsertDataset", json!({"name": "cases", "description": OURS})).await;
    let item = json!({"datasetName": "cases", "id": "i-1", "input": OURS});
    client.call("upsertDatasetItem", item).await;
    let post = |path: &str, body: Value| {
        server.post(path).header("authorization", &owner).json(body.to_string()).send()
    };
    let run = json!({
        "runName": "r-1", "datasetItemId": "i-1", "traceId": "t-1", "runDescription": OURS,
    });
    post("/api/public/dataset-run-items", run).await.check(200, "");
    let config = json!({"name": "kind", "dataType": "NUMERIC", "description": OURS});
    let config = post("/api/public/score-configs", config).await.check(200, "").json();
    let week = "/api/v1/reports/2026-03-01";
    let put = server.request("PUT", week).header("authorization", &owner);
    put.json(report().to_string()).send().await.check(200, "");
    make_deletable(&client).await;
    client.close().await;
    let id = |answer: &Value| answer["id"].as_str().unwrap().to_owned();
    BTreeMap::from([("dataset", id(&dataset)), ("config", id(&config))])
}

/// Makes what the deleting calls delete.
async fn make_deletable(owner: &Client) {
    let score = json!({"id": "sc-gone", "traceId": "t-1", "name": "brief", "value": 1});
    owner.call("createScore", score).await;
    let item = json!({"datasetName": "cases", "id": "i-gone", "input": OURS});
    owner.call("upsertDatasetItem", item).await;
}

fn report() -> Value {
    json!({
        "week": "2026-03-01", "last_day": "2026-03-07", "zone": "UTC", "rubric": OURS,
        "synthesis": {
            "sessions": 0, "dimensions": [], "excellent": [], "poor": [], "issues": [],
            "overall": {
                "name": "overall_quality", "n": 0, "marks": null, "history": [],
                "change": {"unknown": "no session"}, "trend": {"too_early": OURS},
            },
        },
        "success": [], "suggestions": [],
    })
}

/// What an owner reads with every tool.
async fn everything(owner: &Client, calls: &[(&str, Access, Value)]) -> Vec<Value> {
    let mut answers = Vec::new();
    for (tool, _, arguments) in calls.iter().filter(|(_, access, _)| *access == Access::Read) {
        answers.push(owner.call(tool, arguments.clone()).await);
    }
    answers
}

#[tokio::test]
async fn every_tool_does_what_the_role_allows() {
    let server = TestServer::start().await;
    let calls = calls(&seed(&server).await);
    let owner = Client::with_role(&server, Role::Owner).await;
    let mut named: Vec<_> = calls.iter().map(|(tool, ..)| (*tool).to_owned()).collect();
    let mut offered = owner.tools().await;
    named.sort();
    offered.sort();
    assert_eq!(named, offered, "describe one call of each tool");
    make_reviewer(&server).await;
    for role in Role::ALL {
        let client = Client::with_role(&server, role).await;
        let offered = client.tools().await;
        let before = everything(&owner, &calls).await;
        for (tool, access, arguments) in calls.iter().filter(|(_, one, _)| !one.allows(role)) {
            assert!(!offered.contains(&(*tool).to_owned()), "{tool} is offered to {role:?}");
            let why = client.refusal(tool, arguments.clone()).await;
            assert!(why.contains("it takes"), "{tool} ({access:?}) as {role:?}: {why}");
        }
        assert_eq!(everything(&owner, &calls).await, before, "a refused call changed something");
        for (tool, _, arguments) in calls.iter().filter(|(_, one, _)| one.allows(role)) {
            assert!(offered.contains(&(*tool).to_owned()), "{tool} is not offered to {role:?}");
            client.call(tool, arguments.clone()).await;
        }
        make_deletable(&owner).await;
        client.close().await;
    }
    server.stop().await;
}

/// Tools that answer another project with its own rows. The dataset is one that an earlier call made
/// there.
const LISTS: [&str; 10] = [
    "list_sessions",
    "list_scores",
    "listPrompts",
    "listDatasets",
    "listTraces",
    "listObservations",
    "listScores",
    "listScoreConfigs",
    "listDatasetItems",
    "listDatasetRuns",
];

#[tokio::test]
async fn no_tool_crosses_projects() {
    let server = TestServer::start().await;
    make_strangers(&server).await;
    let calls = calls(&seed(&server).await);
    let owner = Client::with_role(&server, Role::Owner).await;
    let stranger = Client::with_key(&server, NEIGHBOUR).await;
    let before = everything(&owner, &calls).await;
    for (tool, access, arguments) in &calls {
        let answer = stranger.try_call(tool, arguments).await;
        let text = format!("{answer:?}");
        assert!(!text.contains(OURS), "{tool} tells a stranger: {text}");
        if *access == Access::Read {
            assert_eq!(answer.is_ok(), LISTS.contains(tool), "{tool}: {text}");
        }
    }
    assert_eq!(everything(&owner, &calls).await, before, "a stranger changed something");
    // Its own project is where the calls went.
    let theirs = stranger.call("getPrompt", json!({"name": "greet"})).await;
    assert_eq!(theirs["prompt"], "Hi");
    server.stop().await;
}
