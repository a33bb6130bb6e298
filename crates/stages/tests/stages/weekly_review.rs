use ratchet_core::calendar::{Week, Zone};
use ratchet_core::catalog::account::Email;
use ratchet_core::catalog::agent::AgentSettings;
use ratchet_core::id::TraceId;
use ratchet_core::record::observation::Level;
use ratchet_core::record::score::ScoreSource;
use ratchet_core::review::category::Category;
use ratchet_core::review::draw::Selection;
use ratchet_core::review::metrics::{Basis, Standing};
use ratchet_core::review::phase_rules::RuleState;
use ratchet_core::secret::Secret;
use ratchet_core::time::Timestamp;
use ratchet_stages::review::review_site::ReviewSite;
use ratchet_stages::review::weekly_draw::{self, DrawReport, QueuePage};
use ratchet_stages::review::weekly_metrics::{self, MetricsFilter};
use ratchet_store::catalog::{
    DrawEffect, FieldUpdate, NewDataset, NewDatasetItem, NewProject, NewUser, QueueId, Role,
    StoredDraw,
};
use ratchet_store::project::ProjectId;
use ratchet_store::query::PageNumber;
use ratchet_testkit::build::{BatchBuilder, START, batch, project, score, tool, trace};
use ratchet_testkit::folder::DataFolder;
use ratchet_testkit::recording::RecordBatch as _;

/// Traces of the worked example by category: thumb, judge and how many.
const EXAMPLE: [(Option<f64>, Option<f64>, usize); 6] = [
    (Some(0.0), Some(0.2), 4),
    (Some(0.0), Some(0.9), 3),
    (Some(1.0), Some(0.2), 4),
    (Some(1.0), Some(0.9), 15),
    (None, Some(0.2), 12),
    (None, Some(0.9), 68),
];

pub(crate) struct Shop {
    pub(crate) data: DataFolder,
    pub(crate) id: ProjectId,
    week: Week,
    /// The Monday after the week.
    pub(crate) monday: Timestamp,
}

impl Shop {
    pub(crate) async fn open() -> Self {
        let (data, id) = (DataFolder::new(), project("shop"));
        let new = NewProject { id: id.clone(), name: "shop".into(), retention_days: None };
        data.catalog().create_project(new, START).await.unwrap();
        let week = Week::of(START, &Zone::utc());
        let monday = week.end().plus_nanos(30 * 3_600 * 1_000_000_000);
        Self { data, id, week, monday }
    }

    pub(crate) async fn record(&self, build: impl FnOnce(BatchBuilder) -> BatchBuilder) {
        let built = build(batch(&self.id)).build();
        self.data.telemetry().record(built).await.unwrap();
    }

    /// Goes on to the week after.
    pub(crate) fn next_week(&mut self) {
        self.week = self.week.after();
        self.monday = self.week.end().plus_nanos(30 * 3_600 * 1_000_000_000);
    }

    /// Records a trace of a later week than the first.
    async fn record_example_of_week(&self, agent: &str, week: usize) {
        let at = i64::try_from(week).unwrap() * 7 * 86_400_000 + 1_000;
        let id = format!("{agent}-W6-week-{week}");
        self.record(|batch| {
            let named = trace(&id).beginning(at).agent(agent);
            batch.with(named.in_environment("production"))
        })
        .await;
    }

    /// Records the example, named by category, in an environment that is judged.
    pub(crate) async fn record_example(&self, agent: &str) {
        self.record(|mut batch| {
            for (at, (thumb, quality, count)) in EXAMPLE.into_iter().enumerate() {
                for n in 0..count {
                    let id = format!("{agent}-{}-{n}", Category::ALL[at]);
                    let named = trace(&id).beginning(1_000).agent(agent).release("v1");
                    batch = batch.with(named.in_environment("production"));
                    for (name, value) in [("thumbs_feedback", thumb), ("quality", quality)] {
                        let Some(value) = value else { continue };
                        let on = score(&format!("{id}-{name}")).of_trace(&id).on(name);
                        batch = batch.with(on.number(value).given(2_000));
                    }
                }
            }
            batch
        })
        .await;
    }

    pub(crate) fn site(&self) -> ReviewSite {
        ReviewSite::local(self.data.folder(), &self.id)
    }

    pub(crate) async fn draw(&self) -> Vec<DrawReport> {
        let site = self.site();
        let mut reports = Vec::new();
        for target in weekly_draw::targets(&site, &self.week).await.unwrap() {
            let report = weekly_draw::draw(&site, &self.week, &target, self.monday).await;
            reports.push(report.unwrap());
        }
        reports
    }

    pub(crate) async fn drawn_traces(&self) -> Vec<String> {
        let stored = self.stored().await;
        stored.into_iter().flat_map(|draw| draw.traces).map(|drawn| drawn.trace).collect()
    }

    async fn stored(&self) -> Vec<StoredDraw> {
        let week = self.week.to_string();
        self.data.catalog().draws(self.id.clone(), week).await.unwrap()
    }

    /// People say that traces are correct where judge and users say nothing bad.
    pub(crate) async fn answer(&self, traces: Vec<String>, source: ScoreSource) {
        self.record(|mut batch| {
            for id in traces {
                let correct = !["W1", "W2", "W5"].iter().any(|bad| id.contains(bad));
                let on = score(&format!("{id}-answer")).of_trace(&id).on("correctness");
                let value = f64::from(u8::from(correct));
                batch = batch.with(on.number(value).from(source).given(9_000_000));
            }
            batch
        })
        .await;
    }

    async fn metrics(&self, filter: MetricsFilter) -> ratchet_core::review::weekly::WeeklyMetrics {
        weekly_metrics::metrics(&self.site(), &self.week, &filter).await.unwrap()
    }
}

#[tokio::test]
async fn a_week_is_drawn_once_and_keeps_the_facts_of_its_draw() {
    let shop = Shop::open().await;
    shop.record_example("support").await;
    let first = shop.draw().await;
    assert_eq!(first.len(), 1);
    let report = &first[0];
    assert_eq!((report.queue.as_str(), report.effect), ("weekly-review", DrawEffect::Made));
    assert_eq!((report.drawn, report.traces), (50, 106));
    let before = shop.stored().await;
    // A thumb that comes later moves a trace to another category, but not its draw.
    shop.record(|batch| {
        let late = score("late").of_trace("support-W6-0").on("thumbs_feedback");
        batch.with(late.number(0.0).given(99_000))
    })
    .await;
    assert_eq!(shop.draw().await[0].effect, DrawEffect::Known);
    let after = shop.stored().await;
    assert_eq!(after, before, "a second draw changes nothing");
    let drawn = &after[0].traces;
    assert!(drawn.iter().all(|drawn| drawn.selection == Selection::Drawn));
    let weights: f64 = drawn.iter().map(|drawn| 1.0 / drawn.probability().unwrap()).sum();
    assert!((weights - 106.0).abs() < 1e-9, "the sample stands for the week: {weights}");
    let QueuePage::Here(queue) = report.page.clone() else { panic!("{report:?}") };
    let queue = QueueId { project: shop.id.clone(), queue };
    let page = PageNumber { page: 1, limit: 100 };
    let items = shop.data.catalog().queue_items(queue, None, page).await.unwrap();
    assert_eq!(items.rows.len(), 50);
}

#[tokio::test]
async fn each_agent_has_a_queue_of_its_own_and_judges_are_left_out() {
    let shop = Shop::open().await;
    shop.record_example("support").await;
    shop.record_example("sales").await;
    shop.record(|batch| {
        let judge = trace("judging").beginning(1_000).agent("judge");
        batch.with(judge.in_environment("langfuse-llm-as-a-judge"))
    })
    .await;
    let mut queues: Vec<_> = shop.draw().await.into_iter().map(|report| report.queue).collect();
    queues.sort();
    assert_eq!(queues, ["sales-weekly-review", "support-weekly-review"]);
}

#[tokio::test]
async fn reviews_of_the_sample_are_weighted_back_to_the_week() {
    let shop = Shop::open().await;
    shop.record_example("support").await;
    shop.draw().await;
    let open = shop.metrics(MetricsFilter::default()).await;
    assert!(open.provisional && open.basis == Basis::Drawn);
    assert_eq!(open.metrics[0].weighted.value, None);
    let drawn = shop.stored().await.remove(0).traces;
    shop.answer(drawn.into_iter().map(|drawn| drawn.trace).collect(), ScoreSource::Annotation)
        .await;
    let done = shop.metrics(MetricsFilter::default()).await;
    assert!(!done.provisional);
    let accuracy = &done.metrics[0];
    // Correct are all of W3, W4 and W6.
    let truth = 87.0 / 106.0;
    assert!((accuracy.weighted.value.unwrap() - truth).abs() < 1e-9, "{accuracy:?}");
    assert!(accuracy.raw.value.unwrap() < truth - 0.1, "the raw sample is biased: {accuracy:?}");
    let [lower, upper] = accuracy.weighted.interval.unwrap();
    assert!(lower < truth && truth < upper + 1e-9);
    assert_eq!(done.metrics[3].weighted.value, Some(50.0));
    assert_eq!(done.metrics[3].standing, Standing::Met);
    assert!((done.metrics[2].weighted.value.unwrap() - 19.0 / 26.0).abs() < 1e-9);
    let none = MetricsFilter { release: Some("v2".into()), ..MetricsFilter::default() };
    assert_eq!(shop.metrics(none).await.traces, 0);
    let same = MetricsFilter {
        agent: Some("support".into()),
        environment: Some("production".into()),
        release: Some("v1".into()),
    };
    assert_eq!(shop.metrics(same).await.metrics[0].weighted, accuracy.weighted);
    let months = weekly_metrics::months(&shop.site(), &MetricsFilter::default()).await.unwrap();
    assert_eq!(months.len(), 1);
    assert!((months[0].agent_accuracy.value.unwrap() - truth).abs() < 1e-9);
    assert_eq!((months[0].month.as_str(), months[0].reviewed), ("2026-03", 50));
}

#[tokio::test]
async fn answers_through_the_api_count_without_a_draw_and_say_so() {
    let shop = Shop::open().await;
    shop.record_example("support").await;
    let names = Category::ALL.iter().take(6);
    let chosen = names.flat_map(|category| (0..3).map(move |n| format!("support-{category}-{n}")));
    shop.answer(chosen.collect(), ScoreSource::Api).await;
    let metrics = shop.metrics(MetricsFilter::default()).await;
    assert_eq!(metrics.basis, Basis::Chosen);
    assert_eq!(metrics.metrics[0].raw.n, 18);
    assert!((metrics.metrics[0].weighted.value.unwrap() - 87.0 / 106.0).abs() < 1e-9);
    // A judge's own correctness is no person's.
    shop.answer(vec!["support-W6-9".to_owned()], ScoreSource::Eval).await;
    assert_eq!(shop.metrics(MetricsFilter::default()).await.metrics[0].raw.n, 18);
}

#[tokio::test]
async fn an_agents_environments_select_its_traffic() {
    let shop = Shop::open().await;
    shop.record_example("support").await;
    shop.record(|batch| {
        (0..20).fold(batch, |batch, n| {
            let tried = trace(&format!("tried-{n}")).beginning(1_000).agent("support");
            batch.with(tried.in_environment("staging"))
        })
    })
    .await;
    let of = |environment: Option<&str>| MetricsFilter {
        agent: Some("support".into()),
        environment: environment.map(str::to_owned),
        ..MetricsFilter::default()
    };
    assert_eq!(shop.metrics(of(None)).await.traces, 126);
    let settings =
        AgentSettings { environments: vec!["production".into()], ..AgentSettings::default() };
    let catalog = shop.data.catalog();
    catalog.save_agent(shop.id.clone(), "support".into(), settings, START).await.unwrap();
    assert_eq!(shop.draw().await[0].traces, 106, "the sample is drawn from its environments");
    assert!(shop.drawn_traces().await.iter().all(|trace| !trace.starts_with("tried")));
    assert_eq!(shop.metrics(of(None)).await.traces, 106);
    assert_eq!(shop.metrics(of(Some("staging"))).await.traces, 20, "another one can be named");
}

#[tokio::test]
async fn a_drawn_trace_that_is_deleted_does_not_keep_the_week_provisional() {
    let shop = Shop::open().await;
    shop.record_example("support").await;
    shop.draw().await;
    let mut drawn = shop.drawn_traces().await;
    let last = drawn.pop().unwrap();
    shop.answer(drawn, ScoreSource::Annotation).await;
    assert!(shop.metrics(MetricsFilter::default()).await.provisional);
    let gone = TraceId::parse(&last).unwrap();
    shop.data.telemetry().delete_traces(shop.id.clone(), vec![gone]).await.unwrap();
    let done = shop.metrics(MetricsFilter::default()).await;
    assert_eq!((done.provisional, done.drawn, done.drawn_reviewed), (false, 49, 49));
}

#[tokio::test]
async fn a_pattern_of_failures_is_new_if_no_earlier_review_has_shown_it() {
    let mut shop = Shop::open().await;
    shop.record_example("support").await;
    shop.draw().await;
    shop.answer(shop.drawn_traces().await, ScoreSource::Annotation).await;
    let rule = async |shop: &Shop| {
        let metrics = shop.metrics(MetricsFilter::default()).await;
        metrics.signals.into_iter().find(|rule| rule.name == "new-failure-pattern").unwrap()
    };
    let first = rule(&shop).await;
    assert_eq!(first.state, RuleState::Unknown, "there is no earlier review");
    shop.next_week();
    shop.record(|batch| {
        let at = 7 * 86_400_000 + 1_000;
        ["W1-known", "W1-new"].into_iter().fold(batch, |batch, id| {
            let call = tool(&format!("{id}-call")).of(id).lasting(at + 1, at + 2);
            let call = call.named("find_order").level(Level::Error);
            let batch = batch.with(trace(id).beginning(at).agent("support"));
            if id == "W1-new" { batch.with(call) } else { batch }
        })
    })
    .await;
    shop.answer(vec!["W1-known".to_owned()], ScoreSource::Annotation).await;
    let known = rule(&shop).await;
    assert_eq!((known.state, known.found.len()), (RuleState::Off, 0), "{known:?}");
    shop.answer(vec!["W1-new".to_owned()], ScoreSource::Annotation).await;
    let new = rule(&shop).await;
    assert_eq!((new.state, new.found), (RuleState::On, vec!["find_order failed".to_owned()]));
}

#[tokio::test]
async fn datasets_grow_by_agent_and_in_the_week_of_their_traces() {
    let shop = Shop::open().await;
    for agent in ["support", "travel"] {
        shop.record_example(agent).await;
    }
    let catalog = shop.data.catalog();
    for (agent, count) in [("support", 2), ("travel", 1)] {
        let dataset = format!("{agent}-eval-global");
        let new = NewDataset {
            name: dataset.clone(),
            description: None,
            metadata: None,
            input_schema: FieldUpdate::Keep,
            expected_output_schema: FieldUpdate::Keep,
        };
        catalog.save_dataset(shop.id.clone(), new, shop.monday).await.unwrap();
        for n in 0..count {
            let item = NewDatasetItem {
                dataset_name: dataset.clone(),
                id: Some(format!("{agent}-{n}")),
                status: None,
                input: None,
                expected_output: None,
                metadata: None,
                source_trace: Some(format!("{agent}-W6-{n}")),
                source_observation: None,
            };
            catalog.save_dataset_item(shop.id.clone(), item, shop.monday).await.unwrap();
        }
    }
    for (agent, grown) in [(None, 3.0), (Some("support"), 2.0), (Some("travel"), 1.0)] {
        let filter = MetricsFilter { agent: agent.map(str::to_owned), ..MetricsFilter::default() };
        let metrics = shop.metrics(filter).await.metrics;
        assert_eq!(metrics[4].raw.value, Some(grown), "{agent:?}");
    }
}

#[tokio::test]
async fn an_agents_sample_is_planned_for_its_precision_with_its_spot_checks() {
    let shop = Shop::open().await;
    shop.record_example("support").await;
    let settings = AgentSettings {
        review_capacity: 40,
        half_width: 0.05,
        spot_share: 0.1,
        ..AgentSettings::default()
    };
    let catalog = shop.data.catalog();
    catalog.save_agent(shop.id.clone(), "support".into(), settings, START).await.unwrap();
    assert_eq!(shop.draw().await[0].drawn, 40);
    let draw = shop.stored().await.remove(0);
    let spots = draw.traces.iter().filter(|drawn| drawn.probability().is_none());
    assert_eq!(spots.count(), 4, "spot checks have no probability");
    let quiet = draw.traces.iter().filter(|one| one.category == Category::W6);
    // Ten points would take a fraction of it.
    assert!(quiet.count() > 15, "{:?}", draw.traces);
    let refused = AgentSettings { spot_share: 0.6, ..AgentSettings::default() };
    assert_eq!(refused.checked("support").unwrap_err().field, "spotShare");
}

#[tokio::test]
async fn a_second_agent_and_a_renamed_queue_never_redraw_a_week() {
    let shop = Shop::open().await;
    shop.record_example("support").await;
    assert_eq!(shop.draw().await[0].queue, "weekly-review");
    let before = shop.stored().await;
    // Another agent's traces arrive on Tuesday: queues are named after agents from now on.
    shop.record_example("sales").await;
    let settings = AgentSettings { queue: Some("renamed".into()), ..AgentSettings::default() };
    let catalog = shop.data.catalog();
    catalog.save_agent(shop.id.clone(), "support".into(), settings, START).await.unwrap();
    let mut again = shop.draw().await;
    again.sort_by_key(|report| report.agent.clone());
    let told = |report: &DrawReport| (report.queue.clone(), report.effect, report.drawn);
    assert_eq!(told(&again[0]), ("sales-weekly-review".to_owned(), DrawEffect::Made, 50));
    assert_eq!(told(&again[1]), ("weekly-review".to_owned(), DrawEffect::Known, 50));
    assert!(shop.stored().await.contains(&before[0]), "the first draw stays as it is");
    let filter = MetricsFilter { agent: Some("support".into()), ..MetricsFilter::default() };
    assert_eq!(shop.metrics(filter).await.drawn, 50, "no trace counts twice");
    assert_eq!(shop.metrics(MetricsFilter::default()).await.drawn, 100);
}

#[tokio::test]
async fn agents_that_share_a_queue_are_both_drawn_and_a_merged_agent_keeps_its_draw() {
    let shop = Shop::open().await;
    let catalog = shop.data.catalog();
    let shared = AgentSettings { queue: Some("triage".into()), ..AgentSettings::default() };
    for agent in ["support", "sales"] {
        shop.record_example(agent).await;
        let settings = shared.clone();
        catalog.save_agent(shop.id.clone(), agent.into(), settings, START).await.unwrap();
    }
    let reports = shop.draw().await;
    assert!(reports.iter().all(|report| report.effect == DrawEffect::Made), "{reports:?}");
    assert!(reports.iter().all(|report| report.queue == "triage"));
    assert_eq!(shop.drawn_traces().await.len(), 100);
    // Sales turns out to be an older name of support.
    let merged = AgentSettings { aliases: vec!["sales".into()], ..shared };
    catalog.save_agent(shop.id.clone(), "support".into(), merged, START).await.unwrap();
    let after = shop.draw().await;
    assert_eq!((after.len(), after[0].effect), (1, DrawEffect::Known));
    for name in ["support", "sales"] {
        let filter = MetricsFilter { agent: Some(name.into()), ..MetricsFilter::default() };
        assert_eq!(shop.metrics(filter.clone()).await.drawn, 100, "{name}");
        shop.answer(shop.drawn_traces().await, ScoreSource::Annotation).await;
        let months = weekly_metrics::months(&shop.site(), &filter).await.unwrap();
        assert_eq!(months[0].reviewed, 100, "{name}");
    }
    let none = MetricsFilter { agent: Some("travel".into()), ..MetricsFilter::default() };
    assert_eq!(weekly_metrics::months(&shop.site(), &none).await.unwrap(), []);
}

#[tokio::test]
async fn who_is_on_call_is_assigned_by_the_draw_and_relieved_by_the_next() {
    let mut shop = Shop::open().await;
    let catalog = shop.data.catalog().clone();
    let mut people = Vec::new();
    for name in ["ann", "ben", "cem"] {
        let email = Email::parse(&format!("{name}@shop.example")).unwrap();
        let password = Secret::new("correct horse");
        let project = Some(shop.id.clone());
        let new = NewUser { email, name: None, password, role: Role::Member, project };
        people.push(catalog.create_user(new, START).await.unwrap());
    }
    let on_call = ["ann@shop.example", "ben@shop.example"].map(str::to_owned).to_vec();
    let settings = AgentSettings { on_call: on_call.clone(), ..AgentSettings::default() };
    catalog.save_agent(shop.id.clone(), "support".into(), settings, START).await.unwrap();
    shop.record_example("support").await;
    let first = shop.draw().await.remove(0);
    let turn = on_call.iter().position(|person| first.on_call.as_ref() == Some(person)).unwrap();
    let QueuePage::Here(queue) = first.page else { panic!("a queue of this server") };
    let of = QueueId { project: shop.id.clone(), queue };
    let assigned = async || catalog.assignees(of.clone()).await.unwrap();
    assert_eq!(assigned().await, [people[turn].id.clone()]);
    // Somebody takes them off the queue: drawing again does not put them back.
    catalog.unassign_queue(of.clone(), people[turn].id.clone(), START).await.unwrap();
    shop.draw().await;
    assert_eq!(assigned().await, Vec::<String>::new());
    catalog.assign_queue(of.clone(), people[2].id.clone(), START).await.unwrap();
    for weeks in 1..=2_usize {
        shop.next_week();
        shop.record_example_of_week("support", weeks).await;
        let on_call_now = (turn + weeks) % 2;
        assert_eq!(shop.draw().await[0].on_call.as_ref(), Some(&on_call[on_call_now]));
        let mut expected = vec![people[2].id.clone(), people[on_call_now].id.clone()];
        expected.sort();
        assert_eq!(assigned().await, expected, "who was assigned by hand stays");
    }
}
