use std::collections::BTreeMap;
use std::fs;

use ratchet_core::improve::code::CodeFile;
use ratchet_core::improve::observed::ObservedTrace;
use ratchet_core::improve::phrases::FailurePhrases;
use ratchet_core::improve::report::FeedbackReport;
use ratchet_core::improve::signals::Signals;
use tempfile::TempDir;

use super::*;
use crate::improve::codebase;

/// Six failed traces and six good ones of three sessions, and another agent's one.
fn tools(code: Option<&TempDir>) -> FeedbackTools {
    let trace = |n: usize| ObservedTrace {
        id: format!("trace-{n}"),
        session: Some(format!("session-{}", n % 3)),
        question: "When does the shop open?".to_owned(),
        answer: if n < 6 { "I don't know." } else { "At nine." }.to_owned(),
        signals: Signals {
            correct: Some(n >= 6),
            comments: if n == 0 { vec!["Unknown hours.".to_owned()] } else { Vec::new() },
            ..Signals::default()
        },
        weight: 1.0,
        ..ObservedTrace::default()
    };
    let of =
        |traces: Vec<ObservedTrace>| AgentTraces { traffic: traces.len(), traces, left_out: 0 };
    let other = ObservedTrace { id: "foreign".to_owned(), ..trace(1) };
    let agents = BTreeMap::from([
        ("bot".to_owned(), of((0..12).map(trace).collect())),
        ("other".to_owned(), of(vec![other])),
    ]);
    let report = FeedbackReport {
        week: "2026-11-01".to_owned(),
        agents: vec!["bot".to_owned(), "other".to_owned()],
        ..FeedbackReport::default()
    };
    let files: Vec<CodeFile> = code.map_or_else(Vec::new, |it| codebase::read(it.path()).unwrap());
    let folder = code.map(|it| Arc::new(CodeFolder::open(it.path()).unwrap()));
    let phrases = FailurePhrases::shipped().clone();
    let week = FeedbackWeek { report, agents, code: files, phrases };
    FeedbackTools::new(Arc::new(week), folder, "scripted")
}

fn said(answer: ToolAnswer) -> String {
    answer.unwrap_err().to_string()
}

/// What the tools own, by type: if one gets a store or a client, this does not compile.
#[test]
fn the_tools_hold_plain_data_and_a_folder_that_is_only_read() {
    let FeedbackTools { week, code, author } = tools(None);
    let _: Option<Arc<CodeFolder>> = code;
    let _: String = author;
    let FeedbackWeek { report, agents, code, phrases } = Arc::unwrap_or_clone(week);
    let _: FeedbackReport = report;
    let _: BTreeMap<String, AgentTraces> = agents;
    let _: Vec<CodeFile> = code;
    let _: FailurePhrases = phrases;
}

#[test]
fn traces_annotations_scores_and_clusters_are_those_of_the_named_agent() {
    let tools = tools(None);
    let call = |tool, arguments| tools.call(tool, arguments);
    let failed = json!({"agent": "bot", "standing": "failed", "limit": 2});
    let found = call(FeedbackTool::QueryTraces, failed).unwrap();
    assert_eq!((&found["count"], found["traces"].as_array().unwrap().len()), (&json!(6), 2));
    let found = call(FeedbackTool::QueryAnnotations, json!({"agent": "bot"})).unwrap();
    assert_eq!(found["annotations"][0]["comments"], json!(["Unknown hours."]));
    let found = call(FeedbackTool::QueryScores, json!({"agent": "bot"})).unwrap();
    let week = &found["scores"][0]["weeks"][0];
    assert_eq!((&week["n"], &week["share"]), (&json!(12), &json!(0.5)));
    assert!(week["interval"][0].as_f64() < Some(0.5) && found["scores"][0]["by"] == "people");
    let found = call(FeedbackTool::ClusterFailures, json!({"agent": "bot"})).unwrap();
    assert_eq!(found["clusters"][0]["component"], "knowledge");
    assert_eq!(found["clusters"][0]["failures_by_weeks_ago"][0], 6);
    assert!(said(call(FeedbackTool::QueryScores, json!({}))).contains("bot, other"));
    let wrong = json!({"agent": "bot", "limit": 0});
    assert!(said(call(FeedbackTool::QueryTraces, wrong)).contains("limit must be from 1 to 100"));
    let unknown = json!({"agent": "bot", "sql": "DROP"});
    assert!(said(call(FeedbackTool::QueryTraces, unknown)).contains("unknown field"));
}

#[test]
fn code_outside_the_folder_over_links_hidden_or_huge_is_refused() {
    let (top, outside) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    fs::write(outside.path().join("secret.md"), "secret").unwrap();
    fs::create_dir(top.path().join("prompts")).unwrap();
    fs::write(top.path().join("prompts/bot.md"), "Be kind.\nBe brief.\n").unwrap();
    fs::write(top.path().join(".env.toml"), "key").unwrap();
    fs::write(top.path().join("huge.md"), "x".repeat(600_000)).unwrap();
    let secret = outside.path().join("secret.md");
    std::os::unix::fs::symlink(&secret, top.path().join("link.md")).unwrap();
    std::os::unix::fs::symlink(outside.path(), top.path().join("folder")).unwrap();
    let tools = tools(Some(&top));
    let read = |path: &str| tools.call(FeedbackTool::ReadCodebase, json!({ "path": path }));
    let lines = read("prompts/bot.md").unwrap();
    assert_eq!(lines["lines"], json!(["1: Be kind.", "2: Be brief."]));
    let listed = tools.call(FeedbackTool::ReadCodebase, json!({})).unwrap();
    assert_eq!(listed["files"], json!([{"path": "prompts/bot.md", "lines": 2}]));
    for path in [
        secret.to_str().unwrap(),
        "../secret.md",
        "prompts/../../secret.md",
        "link.md",
        "folder/secret.md",
        ".env.toml",
        "huge.md",
        "none.md",
        "prompts",
        "",
        "a\0b.md",
    ] {
        let error = said(read(path));
        assert!(!error.is_empty() && !error.contains("secret\n"), "{path}: {error}");
    }
}

#[test]
fn a_proposal_with_traces_of_another_agent_is_refused() {
    let tools = tools(None);
    let draft = |evidence: [&str; 3]| {
        json!({
            "agent": "bot", "component": "knowledge", "title": "Opening hours are not known",
            "reason": "No document has them.", "change": "Add the hours.", "evidence": evidence,
        })
    };
    let propose = |evidence| tools.call(FeedbackTool::GenerateProposal, draft(evidence));
    let done = propose(["trace-0", "trace-1", "trace-2"]).unwrap();
    assert_eq!(done["proposal"]["failures"], 3);
    assert!(
        said(propose(["trace-0", "trace-1", "foreign"])).contains("foreign is no trace of bot")
    );
}

#[test]
fn every_tool_has_a_schema_that_names_its_arguments() {
    for tool in FeedbackTool::ALL {
        assert_eq!(FeedbackTool::named(tool.name()), Some(tool));
        let schema = tool.schema();
        assert_eq!(schema["properties"].as_object().unwrap().len(), tool.parameters().len());
        assert_eq!(schema["additionalProperties"], false);
    }
}
