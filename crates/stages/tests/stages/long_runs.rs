use std::collections::{BTreeMap, BTreeSet};

use ratchet_core::experiment::evaluator::ACCURACY;
use ratchet_core::experiment::plan::{AddedRepeats, ExperimentPlan, PlannedTarget};
use ratchet_core::experiment::runner::{ClaimOrder, TrialCall, TrialResult, TrialScore};
use ratchet_core::gate::decision::{GateRule, Look};
use ratchet_core::gate::stored_answer::{AnswerVerdict, StoredAnswers};
use ratchet_core::payload::Json;
use ratchet_stages::experiment::service::ExperimentService;
use ratchet_stages::gate::{GateContext, GateOrder, answers_to_judge};
use ratchet_store::catalog::{FieldUpdate, NewDataset, NewDatasetItem, NewProject};
use ratchet_testkit::build::{START, project};
use ratchet_testkit::folder::DataFolder;

const DATASET: &str = "long";
/// Bytes of a long input or answer. A claim and a list of answers take 4 MB and the last one.
const LONG: usize = 1_500_000;
/// What fits.
const FITS: usize = 3;

async fn shop(items: usize, input: &str) -> (DataFolder, ExperimentService) {
    let (data, id) = (DataFolder::new(), project("shop"));
    let new = NewProject { id: id.clone(), name: "shop".into(), retention_days: None };
    data.catalog().create_project(new, START).await.unwrap();
    let dataset = NewDataset {
        name: DATASET.to_owned(),
        description: None,
        metadata: None,
        input_schema: FieldUpdate::Keep,
        expected_output_schema: FieldUpdate::Keep,
    };
    data.catalog().save_dataset(id.clone(), dataset, START).await.unwrap();
    let item = |nth: usize| NewDatasetItem {
        dataset_name: DATASET.to_owned(),
        id: Some(format!("item-{nth:04}")),
        input: Some(Json::from_value(&input.into())),
        expected_output: Some(Json::from_value(&"right".into())),
        metadata: Some(Json::from_value(&serde_json::json!({ "even": nth.is_multiple_of(2) }))),
        ..NewDatasetItem::default()
    };
    let items = (0..items).map(item).collect();
    data.catalog().save_dataset_items(id.clone(), items, START).await.unwrap();
    let store = data.folder().clone();
    let service = ExperimentService { catalog: store.catalog.clone(), store, project: id };
    (data, service)
}

fn request(run: &str, evaluator: &str) -> ExperimentPlan {
    ExperimentPlan {
        dataset: DATASET.to_owned(),
        run: run.to_owned(),
        target: PlannedTarget {
            name: "agent".to_owned(),
            kind: "command".to_owned(),
            fingerprint: "1".to_owned(),
            ..PlannedTarget::default()
        },
        evaluators: vec![evaluator.to_owned()],
        evaluator_versions: BTreeMap::new(),
        repeats: 1,
        filter: None,
        limit: None,
        max_cost: None,
        cache: false,
        description: None,
    }
}

async fn claim(service: &ExperimentService, run: &str) -> Vec<TrialCall> {
    let claim = ClaimOrder {
        runner: "test".to_owned(),
        limit: 256,
        lease_seconds: 30,
        ended_runners: Vec::new(),
    };
    service.claim(run, claim, START).await.unwrap().trials
}

/// Runs all trials with one answer, which a score of that name is for.
async fn work(service: &ExperimentService, run: &str, (score, answer): (&str, &str)) {
    loop {
        let trials = claim(service, run).await;
        if trials.is_empty() {
            return;
        }
        let verdict = TrialScore { name: score.to_owned(), value: 1.0, ..TrialScore::default() };
        let result = |trial: TrialCall| TrialResult {
            id: trial.id,
            lease: trial.lease,
            call: 1,
            answer: Some(answer.to_owned()),
            fault: None,
            cached: false,
            started_at: START.to_string(),
            ended_at: START.to_string(),
            model: None,
            input_tokens: None,
            output_tokens: None,
            cost: None,
            calls: Vec::new(),
            scores: vec![verdict.clone()],
            not_judged: Vec::new(),
            judge_calls: Vec::new(),
        };
        let results = trials.into_iter().map(result).collect();
        service.finish(run, results, START).await.unwrap();
    }
}

#[tokio::test]
async fn a_claim_hands_out_as_many_long_items_as_fit() {
    let (_data, service) = shop(2 * FITS + 1, &"x".repeat(LONG)).await;
    service.open(request("run", "exact"), START).await.unwrap();
    let mut handed_out = BTreeSet::new();
    for expected in [FITS, FITS, 1, 0] {
        let trials = claim(&service, "run").await;
        assert_eq!(trials.len(), expected);
        assert!(trials.iter().all(|trial| trial.input.as_str().unwrap().len() == LONG));
        handed_out.extend(trials.into_iter().map(|trial| trial.item));
    }
    assert_eq!(handed_out.len(), 2 * FITS + 1, "each of them once");
}

#[tokio::test]
async fn a_run_is_of_the_items_that_pass_its_filter_up_to_its_limit() {
    let (_data, service) = shop(9, "short").await;
    let filter = Some("metadata.even=true".to_owned());
    let few = ExperimentPlan { filter, limit: Some(3), ..request("few", "exact") };
    assert_eq!(service.open(few, START).await.unwrap().trials, 3);
    let items: Vec<_> = claim(&service, "few").await.into_iter().map(|one| one.item).collect();
    assert_eq!(items, ["item-0000", "item-0002", "item-0004"]);
}

#[tokio::test]
async fn a_run_has_at_most_as_many_trials_as_a_gate_reads() {
    let (_data, service) = shop(1_001, "short").await;
    let many = ExperimentPlan { repeats: 100, ..request("many", "exact") };
    let refused = service.open(many, START).await.unwrap_err().to_string();
    assert!(refused.contains("at most 100000 trials"), "{refused}");
    service.open(request("run", "exact"), START).await.unwrap();
    let further = AddedRepeats { repeats: 100, items: Vec::new() };
    let refused = service.extend("run", further, START).await.unwrap_err().to_string();
    assert!(refused.contains("at most 100000 trials"), "{refused}");
    assert_eq!(service.show("run").await.unwrap().trials, 1_001, "nothing was added");
}

async fn to_judge(
    (data, service): &(DataFolder, ExperimentService),
    judged: &[AnswerVerdict],
) -> StoredAnswers {
    let context = GateContext {
        store: data.folder(),
        catalog: data.catalog(),
        project: &service.project,
        server: "",
        now: START,
    };
    let order = GateOrder {
        dataset: DATASET.to_owned(),
        run: "after".to_owned(),
        baseline: Some("before".to_owned()),
        score: Some(ACCURACY.to_owned()),
        rule: GateRule::default(),
        look: Look::Only,
        judged_again: judged.to_vec(),
    };
    answers_to_judge(context, &order).await.unwrap()
}

#[tokio::test]
async fn long_answers_to_judge_come_a_few_at_a_time_and_each_once() {
    let shop = shop(2 * FITS + 1, "short").await;
    let long = "y".repeat(LONG);
    shop.1.open(request("before", "exact"), START).await.unwrap();
    work(&shop.1, "before", ("exact", &long)).await;
    shop.1.open(request("after", ACCURACY_EVALUATOR), START).await.unwrap();
    work(&shop.1, "after", (ACCURACY, "right")).await;
    let (mut verdicts, mut counts) = (Vec::new(), Vec::new());
    loop {
        let open = to_judge(&shop, &verdicts).await;
        counts.push((open.answers.len(), open.more));
        assert!(open.answers.iter().all(|answer| answer.output.len() == LONG));
        verdicts.extend(open.answers.into_iter().map(|answer| AnswerVerdict {
            trace: answer.trace,
            value: 1.0,
            comment: None,
            cost: None,
        }));
        if !open.more {
            break;
        }
    }
    assert_eq!(counts, [(FITS, true), (FITS, true), (1, false)]);
    let traces: BTreeSet<_> = verdicts.iter().map(|verdict| &verdict.trace).collect();
    assert_eq!(traces.len(), 2 * FITS + 1, "each of them once");
}

/// The short form of the evaluator with that score.
const ACCURACY_EVALUATOR: &str = "experiment-accuracy:claude";
