//! Evaluators and rules that are made, changed and deleted on pages.

use ratchet_core::catalog::evaluator::document::{
    EvaluationRule, EvaluationTarget, Evaluator, MappingSource,
};
use ratchet_stages::score::evaluators::edit;
use ratchet_testkit::build::project;

use crate::browser::{Answer, Site};

const EVALUATORS: &str = "/project/shop/evaluators";
const NEW: &str = "/project/shop/evaluators/new";
const NEW_RULE: &str = "/project/shop/evaluation-rules/new";

fn form(pairs: &[(&str, &str)]) -> String {
    pairs
        .iter()
        .map(|(name, value)| {
            let encode =
                |text: &str| text.bytes().map(|byte| format!("%{byte:02x}")).collect::<String>();
            format!("{}={}", encode(name), encode(value))
        })
        .collect::<Vec<_>>()
        .join("&")
}

const POLITE: [(&str, &str); 7] = [
    ("name", "polite"),
    ("judge", "offline"),
    ("prompt", "Is {{output}} polite, given {{context}}?"),
    ("source..context", "input"),
    ("path..context", "$.messages[-1].content"),
    ("dataType", "NUMERIC"),
    ("max", "1"),
];

async fn stored(site: &Site) -> (Vec<Evaluator>, Vec<EvaluationRule>) {
    edit::all(site.data.catalog(), project("shop")).await.unwrap()
}

/// Sends the fields of [`POLITE`] with others in their place.
async fn send(site: &Site, page: &str, others: &[(&str, &str)]) -> Answer {
    let kept = POLITE.iter().filter(|(name, _)| !others.iter().any(|(other, _)| other == name));
    let all: Vec<(&str, &str)> = kept.chain(others).copied().collect();
    site.post(page, page, &form(&all)).await
}

/// Makes the evaluator and returns the path of its page.
async fn made(site: &Site) -> String {
    send(site, NEW, &[]).await.check(303, "");
    let (evaluators, _) = stored(site).await;
    format!("{EVALUATORS}/{}", evaluators[0].id)
}

#[tokio::test]
async fn an_evaluator_is_made_and_another_definition_is_a_new_version() {
    let site = Site::open().await;
    site.get(EVALUATORS).await.check(200, "New evaluator");
    let page = made(&site).await;
    let shown = site.get(&page).await;
    shown
        .check(200, "Definition, version 1")
        .check(200, "{{context}}: input $.messages[-1].content");
    shown.check(200, "{{output}}: output").check(200, "New rule");

    let edit = format!("{page}/edit");
    let form = site.get(&edit).await;
    form.check(200, "value=\"polite\"").check(200, "value=\"$.messages[-1].content\"");
    form.check(200, "name=\"version\" value=\"1\"");
    let renamed = [("version", "1"), ("name", "kind"), ("dailyCostCap", "2.5")];
    send(&site, &edit, &renamed).await.leads_to(&format!("{page}?done=saved"));
    let (evaluators, _) = stored(&site).await;
    assert_eq!((evaluators[0].versions.len(), evaluators[0].daily_cost_cap), (1, Some(2.5)));

    let other = [("version", "1"), ("prompt", "Is {{output}} kind, given {{context}}?")];
    send(&site, &edit, &other).await.leads_to(&format!("{page}?done=version"));
    let (evaluators, _) = stored(&site).await;
    let versions = &evaluators[0].versions;
    assert_eq!(versions.iter().map(|one| one.version).collect::<Vec<_>>(), [1, 2]);
    assert!(versions.iter().all(|one| one.rest["id"].is_string()), "{versions:?}");
    let mapping = versions[1].variable_mapping.as_ref().unwrap();
    assert_eq!(mapping[1].source, MappingSource::Input);
    let history = site.get(&format!("{page}/versions")).await;
    history.check(200, "Changes since version 1").check(200, "Version 1");

    // An edit that began before the other one does not overwrite it unseen.
    let late = send(&site, &edit, &[("version", "1"), ("prompt", "{{output}}?")]).await;
    late.check(422, "version 2 was saved meanwhile").check(422, "{{output}}?");
    assert_eq!(stored(&site).await.0[0].versions.len(), 2);
}

#[tokio::test]
async fn a_refused_evaluator_says_why_at_its_fields_and_keeps_the_input() {
    let site = Site::open().await;
    let fault = |answer: Answer, why: &str| answer.check(422, why).check(422, "polite").status;
    fault(send(&site, NEW, &[("judge", "nobody:at:all")]).await, "nobody");
    fault(send(&site, NEW, &[("judge", "")]).await, "name a judge");
    fault(send(&site, NEW, &[("judge", "connection:none:gpt")]).await, "no LLM connection none");
    fault(send(&site, NEW, &[("source..context", "")]).await, "choose what fills it");
    fault(send(&site, NEW, &[("path..context", "messages")]).await, "must be a path");
    fault(send(&site, NEW, &[("max", "much")]).await, "must be a number");
    fault(send(&site, NEW, &[("min", "2")]).await, "minValue must not exceed maxValue");
    fault(send(&site, NEW, &[("dailyCostCap", "-1")]).await, "US dollars");
    fault(send(&site, NEW, &[("dataType", "CATEGORICAL"), ("categories", "a")]).await, "two");
    fault(send(&site, NEW, &[("shape", "messages")]).await, "line 1");
    send(&site, NEW, &[("name", "")]).await.check(422, "must have 1 to");
    assert!(stored(&site).await.0.is_empty());
}

#[tokio::test]
async fn variables_are_read_from_the_prompt_without_saving() {
    let site = Site::open().await;
    let fields = [("do", "variables"), ("prompt", "{{question}} or {{output}}?")];
    let shown = send(&site, NEW, &fields).await;
    shown.check(200, "name=\"source..question\"").check(200, "{{question}} or {{output}}?");
    assert!(stored(&site).await.0.is_empty());
}

#[tokio::test]
async fn a_prompt_of_messages_and_code_are_kept_as_they_are() {
    let site = Site::open().await;
    let messages =
        r#"[{"role":"system","content":"Be strict."},{"role":"user","content":"{{input}}"}]"#;
    let chat = [("shape", "messages"), ("prompt", messages), ("dataType", "BOOLEAN")];
    let judge = [("judge", "anthropic:claude-sonnet-5")];
    send(&site, NEW, &[chat.as_slice(), &judge].concat()).await.check(303, "");
    let (evaluators, _) = stored(&site).await;
    assert_eq!(evaluators[0].latest().unwrap().prompt.as_ref().unwrap().len(), 2);
    let edit = format!("{EVALUATORS}/{}/edit", evaluators[0].id);
    site.get(&edit).await.check(200, "<option value=\"messages\" selected>");

    let code = "/project/shop/evaluators/new?type=code";
    site.get(code).await.check(200, "def evaluate(ctx");
    let fields =
        form(&[("name", "short"), ("language", "python"), ("source", "def evaluate(ctx):\n  1")]);
    site.post(code, code, &fields).await.check(303, "");
    let (evaluators, _) = stored(&site).await;
    let short = evaluators.iter().find(|one| one.name == "short").unwrap();
    let (language, source) = short.latest().unwrap().code().unwrap();
    assert_eq!((language.as_str(), source), ("python", "def evaluate(ctx):\n  1"));
}

#[tokio::test]
async fn a_rule_is_made_changed_and_deleted() {
    let site = Site::open().await;
    let evaluator = made(&site).await;
    let id = evaluator.rsplit('/').next().unwrap().to_owned();
    let with = format!("{NEW_RULE}?evaluator={id}");
    site.get(&with)
        .await
        .check(200, &format!("name=\"evaluator.{id}\" type=\"checkbox\" value=\"yes\" checked"));
    let box_name = format!("evaluator.{id}");
    let source = format!("source.{id}.context");
    let fields = [
        ("name", "every tenth"),
        ("enabled", "yes"),
        (box_name.as_str(), "yes"),
        ("target", "observations"),
        ("filter", "type:generation -env:test score.helpful>0.5"),
        ("sampling", "12.5"),
        ("delay", "60"),
    ];
    site.post(NEW_RULE, NEW_RULE, &form(&fields)).await.leads_to(&format!("{evaluator}?done=rule"));
    let rule = stored(&site).await.1.remove(0);
    assert_eq!((rule.sampling, rule.delay_seconds, rule.filter.len()), (0.125, Some(60), 3));
    assert_eq!(rule.target, EvaluationTarget::Observation);
    assert!(rule.is_running() && rule.evaluator_assignments[0].variable_mapping.is_none());
    site.get(&evaluator).await.check(200, "every tenth").check(200, "running");
    site.get(EVALUATORS).await.check(200, "Rules").check(200, "every tenth");

    let edit = format!("/project/shop/evaluation-rules/{}/edit", rule.id);
    let shown = site.get(&edit).await;
    shown.check(200, " -env:test score.helpful&gt;0.5\"");
    shown.check(200, "value=\"12.5\"");
    let changed = [
        ("name", "every tenth"),
        (box_name.as_str(), "yes"),
        (source.as_str(), "metadata"),
        ("target", "traces"),
        ("sampling", "100"),
    ];
    site.post(&edit, &edit, &form(&changed)).await.leads_to(&format!("{evaluator}?done=rule"));
    let rule = stored(&site).await.1.remove(0);
    let mapping = rule.evaluator_assignments[0].variable_mapping.as_ref().unwrap();
    assert_eq!((mapping.len(), mapping[1].source), (2, MappingSource::Metadata));
    assert!(!rule.is_running() && rule.filter.is_empty() && rule.delay_seconds.is_none());

    // While a rule uses it, an evaluator stays.
    let question = format!("{evaluator}/delete");
    site.get(&question).await.check(200, "Delete evaluator polite?");
    site.post(&question, &question, "sure=yes").await.check(400, "rule every tenth uses it");
    let gone = format!("/project/shop/evaluation-rules/{}/delete", rule.id);
    site.post(&gone, &gone, "sure=yes").await.leads_to(&format!("{EVALUATORS}?done=rule-deleted"));
    site.post(&question, &question, "sure=yes")
        .await
        .leads_to(&format!("{EVALUATORS}?done=deleted"));
    assert!(stored(&site).await.0.is_empty());
}

#[tokio::test]
async fn a_refused_rule_says_why_and_keeps_the_input() {
    let site = Site::open().await;
    let evaluator = made(&site).await;
    let box_name = format!("evaluator.{}", evaluator.rsplit('/').next().unwrap());
    let good = [
        ("name", "mine"),
        ("enabled", "yes"),
        (box_name.as_str(), "yes"),
        ("target", "traces"),
        ("sampling", "50"),
    ];
    for (name, value, why) in [
        ("sampling", "0", "more than 0 and at most 100"),
        ("sampling", "lots", "must be a number"),
        ("delay", "soon", "whole number of seconds"),
        ("filter", "colour:red", "colour"),
        ("filter", "\"free text\"", "is for lists only"),
        ("datasets", "answers", "experiment runs choose datasets"),
        (box_name.as_str(), "", "cannot be switched on"),
        ("name", "", "must have 1 to"),
    ] {
        let others = good.iter().filter(|(known, _)| *known != name);
        let fields: Vec<_> = others.copied().chain([(name, value)]).collect();
        let refused = site.post(NEW_RULE, NEW_RULE, &form(&fields)).await;
        refused.check(422, why);
        assert!(name == "name" || refused.text.contains("value=\"mine\""), "{}", refused.text);
    }
    assert!(stored(&site).await.1.is_empty());
}
