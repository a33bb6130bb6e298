//! Two runs of a dataset beside each other: what became of each item, and the runs' means.

use ratchet_core::catalog::experiment::{ExperimentItem, ExperimentMetadata, TimeSpan};
use ratchet_core::gate::decision::{GateRule, Look};
use ratchet_core::id::TraceId;
use ratchet_core::record::score::ScoreSource;
use ratchet_stages::gate::{self, GateContext, GateOrder};
use ratchet_store::catalog::{FieldUpdate, NewDataset, NewDatasetItem};
use ratchet_store::telemetry::Batch;
use ratchet_testkit::build::{START, at, batch, json, project, score, text, trace};
use ratchet_testkit::recording::RecordBatch;

use crate::browser::Site;

/// What an item says in both runs: the outputs, and the scores of `exact`.
type Tried = (&'static str, [&'static str; 2], [Option<f64>; 2]);

/// One item for each change that there is.
const TRIED: [Tried; 6] = [
    ("broken", ["Rome", "Bern"], [Some(1.0), Some(0.0)]),
    ("mended", ["Oslo", "Lima"], [Some(0.0), Some(1.0)]),
    ("same", ["Kyiv", "Kyiv"], [Some(1.0), Some(1.0)]),
    ("unscored", ["Riga", "Baku"], [None, None]),
    ("corrected", ["Doha", "Male"], [Some(0.0), Some(0.0)]),
    ("half", ["Suva", "Suva"], [Some(1.0), None]),
];

fn tried(dataset: &str, run: &str, item: &str) -> ExperimentItem {
    ExperimentItem {
        experiment: ExperimentMetadata {
            id: run.to_owned(),
            name: Some(format!("{run} run")),
            dataset: Some(dataset.to_owned()),
            ..ExperimentMetadata::default()
        },
        item: item.to_owned(),
        version: Some(START),
        expected_output: Some(json("\"Lima\"")),
        metadata: None,
        trace: TraceId::parse(&format!("{run}-{item}")).unwrap(),
        observation: None,
        ran: Some(TimeSpan { start: at(0), end: at(2_000) }),
        recorded_at: at(0),
    }
}

async fn site() -> Site {
    let site = Site::open().await;
    let (shop, catalog) = (project("shop"), site.data.catalog());
    let new = NewDataset {
        name: "cities".to_owned(),
        description: None,
        metadata: None,
        input_schema: FieldUpdate::Keep,
        expected_output_schema: FieldUpdate::Keep,
    };
    catalog.save_dataset(shop.clone(), new, START).await.unwrap();
    let dataset = catalog.dataset(shop.clone(), "cities".to_owned()).await.unwrap().unwrap();
    let mut recorded = batch(&shop);
    let mut items = Vec::new();
    for (item, outputs, exact) in TRIED {
        let new = NewDatasetItem {
            dataset_name: "cities".to_owned(),
            id: Some(item.to_owned()),
            input: Some(json("\"Which <b>city</b>?\"")),
            expected_output: Some(json("\"Lima\"")),
            ..NewDatasetItem::default()
        };
        catalog.save_dataset_item(shop.clone(), new, START).await.unwrap();
        for (side, run) in ["old", "new"].into_iter().enumerate() {
            let id = format!("{run}-{item}");
            recorded = recorded.with(trace(&id).beginning(0).output(text(outputs[side])));
            if let Some(value) = exact[side] {
                let given = score(&format!("exact-{id}")).on("exact").of_trace(&id).number(value);
                let given = given.from(ScoreSource::Eval).metadata("judge", "\"code:exact\"");
                recorded = recorded.with(given.given(3_000));
            }
            items.push(tried(&dataset.id, run, item));
        }
    }
    let person = score("person").on("correctness").of_trace("new-corrected").number(1.0);
    let recorded = recorded.with(person.from(ScoreSource::Annotation).given(4_000));
    let recorded = Batch { experiment_items: items, ..recorded.build() };
    site.data.telemetry().record(recorded).await.unwrap();
    site
}

#[tokio::test]
async fn every_change_is_counted_and_its_items_are_shown() {
    let site = site().await;
    const COMPARED: &str = "/project/shop/datasets/cities/compare?before=old&after=new&score=exact";
    let page = site.get(COMPARED).await;
    page.check(200, "6 items, compared by");
    for (words, show, item) in [
        ("<b>1</b> regressed", "regressed", "broken"),
        ("<b>1</b> fixed", "fixed", "mended"),
        ("<b>1</b> unchanged", "unchanged", "same"),
        ("<b>1</b> corrected in one run only", "corrected-once", "corrected"),
        ("<b>1</b> changed without a score", "unscored", "unscored"),
        ("<b>1</b> not comparable", "not-comparable", "half"),
    ] {
        page.check(200, words);
        let shown = site.get(&format!("{COMPARED}&show={show}")).await;
        shown.check(200, &format!("data-item=\"{item}\""));
        assert_eq!(shown.text.matches("data-item=").count(), 1, "{show}: {}", shown.text);
    }
    page.check(200, "Which &lt;b&gt;city&lt;/b&gt;?").check(200, "Lima").check(200, "Bern");
    page.check(200, "Same output.").check(200, "Baseline").check(200, "Candidate 1");
    assert!(page.text.contains("class=\"badge code\""), "a rule is code: {}", page.text);
    assert!(!page.text.contains("class=\"badge model\""), "no model judged: {}", page.text);
}

#[tokio::test]
async fn runs_are_listed_with_their_means_and_shown_with_input_expected_and_output() {
    let site = site().await;
    let runs = site.get("/project/shop/datasets/cities/runs").await;
    runs.check(200, "old run").check(200, "new run").check(200, "data-label=\"Mean exact\"");
    // Three of five in the old run, two of four in the new one.
    runs.check(200, "0.6").check(200, "0.5");
    let run = site.get("/project/shop/datasets/cities/runs/new").await;
    for words in ["6 items", "Which &lt;b&gt;city&lt;/b&gt;?", "Lima", "Bern"] {
        run.check(200, words);
    }
}

/// Outputs and items that are too long to be held together.
#[tokio::test]
async fn runs_with_long_outputs_are_shown_by_their_beginnings() {
    let site = site().await;
    let (shop, long) = (project("shop"), "x".repeat(1_500_000));
    let dataset = site.data.catalog().dataset(shop.clone(), "cities".to_owned()).await;
    let dataset = dataset.unwrap().unwrap().id;
    for nth in 0..4 {
        let item = format!("long-{nth}");
        let new = NewDatasetItem {
            dataset_name: "cities".to_owned(),
            id: Some(item.clone()),
            input: Some(json(&format!("\"asked {nth} {long}\""))),
            ..NewDatasetItem::default()
        };
        site.data.catalog().save_dataset_item(shop.clone(), new, START).await.unwrap();
        for run in ["old", "new"] {
            let output = text(&format!("{run} said {nth} {long}"));
            let turn = trace(&format!("{run}-{item}")).beginning(0).output(output);
            let items = vec![tried(&dataset, run, &item)];
            let recorded = batch(&shop).with(turn).build();
            let recorded = Batch { experiment_items: items, ..recorded };
            site.data.telemetry().record(recorded).await.unwrap();
        }
    }
    let run = site.get("/project/shop/datasets/cities/runs/new").await;
    let compared = site.get("/project/shop/datasets/cities/compare?before=old&after=new").await;
    for page in [&run, &compared] {
        for nth in 0..4 {
            page.check(200, &format!("said {nth} x")).check(200, &format!("asked {nth} x"));
        }
        assert!(page.text.len() < 500_000, "{} bytes", page.text.len());
    }
    let items = site.get("/project/shop/datasets/cities").await;
    let file = site.get("/project/shop/datasets/cities/export?format=jsonl").await;
    for nth in 0..4 {
        items.check(200, &format!("asked {nth} x"));
        let asked = format!("asked {nth} {long}");
        assert!(file.text.contains(&asked), "item {nth} is not whole in the file");
    }
}

/// The oldest trials fell, behind more than a page could once read: the page, the API and the gate
/// read the same.
#[tokio::test]
async fn all_trials_of_long_runs_are_compared_as_the_gate_compares_them() {
    const ITEMS: i64 = 2_100;
    const FALLEN: i64 = 40;
    let site = site().await;
    let shop = project("shop");
    let dataset = site.data.catalog().dataset(shop.clone(), "cities".to_owned()).await;
    let dataset = dataset.unwrap().unwrap().id;
    let (mut recorded, mut items) = (batch(&shop), Vec::new());
    for nth in 0..ITEMS {
        let item = format!("item-{nth:04}");
        for run in ["long-old", "long-new"] {
            let id = format!("{run}-{item}");
            let is_right = run == "long-old" || nth >= FALLEN;
            let said = text(if is_right { "Lima" } else { "Bern" });
            let given = score(&format!("exact-{id}")).on("exact").of_trace(&id);
            let given = given.number(f64::from(u8::from(is_right))).from(ScoreSource::Eval);
            recorded = recorded.with(trace(&id).beginning(nth).output(said)).with(given.given(nth));
            let ran = Some(TimeSpan { start: at(nth), end: at(nth + 1) });
            items.push(ExperimentItem { ran, ..tried(&dataset, run, &item) });
        }
    }
    let recorded = Batch { experiment_items: items, ..recorded.build() };
    site.data.telemetry().record(recorded).await.unwrap();
    const COMPARED: &str = "/project/shop/datasets/cities/compare?before=long-old&after=long-new";
    let page = site.get(COMPARED).await;
    page.check(200, "2,100 items, compared by").check(200, "<b>40</b> regressed");
    let shown = site.get(&format!("{COMPARED}&show=regressed")).await;
    shown.check(200, "data-item=\"item-0000\"").check(200, "Bern").check(200, "Lima");
    let context = GateContext {
        store: site.data.folder(),
        catalog: site.data.catalog(),
        project: &shop,
        server: "",
        now: at(10_000),
    };
    let compared = gate::compare_runs(context, ["long-old", "long-new"]).await.unwrap();
    let order = GateOrder {
        dataset: "cities".to_owned(),
        run: "long-new".to_owned(),
        baseline: Some("long-old".to_owned()),
        score: Some("exact".to_owned()),
        rule: GateRule::default(),
        look: Look::Only,
        judged_again: Vec::new(),
    };
    let (_, report) = gate::decide(context, order).await.unwrap();
    assert_eq!(report.flips.len(), 40);
    let difference = compared.scores[0].difference.unwrap();
    let decided = report.difference.unwrap().bounds;
    assert_eq!((difference.value, difference.n), (decided.value, decided.n));
}
