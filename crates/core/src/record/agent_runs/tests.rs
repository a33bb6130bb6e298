use proptest::prelude::*;

use super::*;
use crate::environment::Environment;
use crate::id::SessionId;
use crate::payload::Json;
use crate::record::trace::TraceSummary;
use crate::record::usage::Usage;

fn step(trace: &str, (id, parent): (&str, Option<&str>), kind: ObservationKind) -> Observation {
    Observation {
        id: ObservationId::parse(id).unwrap(),
        trace: TraceId::parse(trace).unwrap(),
        kind,
        name: Some(id.to_owned()),
        parent: parent.map(|parent| ObservationId::parse(parent).unwrap()),
        app_root: false,
        start: Timestamp::from_millis(10),
        end: Some(Timestamp::from_millis(20)),
        completion_start: None,
        level: Level::Default,
        status_message: None,
        version: None,
        environment: Environment::default(),
        agent: None,
        model: None,
        model_parameters: None,
        usage: Usage::default(),
        cost: None,
        counted: false,
        pricing_tier: None,
        prompt: None,
        created_at: Timestamp::default(),
        updated_at: Timestamp::default(),
        content: None,
    }
}

fn trace(id: &str, agent: &str, (from, to): (i64, i64)) -> Trace {
    let summary = TraceSummary {
        start: Some(Timestamp::from_millis(from)),
        end: Some(Timestamp::from_millis(to)),
        ..TraceSummary::default()
    };
    Trace {
        id: TraceId::parse(id).unwrap(),
        timestamp: Timestamp::from_millis(from),
        name: Some(agent.to_owned()),
        user: None,
        session: Some(SessionId::parse("s").unwrap()),
        release: None,
        version: None,
        environment: Environment::default(),
        agent: Some(agent.to_owned()),
        tags: Vec::new(),
        public: false,
        bookmarked: false,
        summary,
        created_at: Timestamp::default(),
        updated_at: Timestamp::default(),
        content: None,
    }
}

fn with<'a>(trace: &'a Trace, steps: &'a [Observation]) -> TraceSteps<'a> {
    TraceSteps { trace, steps: steps.iter().collect(), references: Vec::new() }
}

/// Agents with their callers.
fn calls(runs: &[AgentRun]) -> Vec<(&str, Option<(&str, CallEvidence)>)> {
    let caller =
        |run: &AgentRun| run.caller.map(|(by, evidence)| (runs[by].agent.as_str(), evidence));
    let by: Vec<_> = runs.iter().map(caller).collect();
    runs.iter().map(|run| run.agent.as_str()).zip(by).collect()
}

#[test]
fn agents_within_an_agent_are_called_by_it_and_wrappers_are_the_agent_itself() {
    use ObservationKind::{Agent, Span, Tool};
    let desk = trace("t", "desk", (0, 100));
    let steps = [
        step("t", ("invoke_agent desk", None), Agent),
        step("t", ("loop", Some("invoke_agent desk")), Span),
        step("t", ("billing", Some("loop")), Agent),
        step("t", ("refund", Some("billing")), Tool),
        Observation { level: Level::Error, ..step("t", ("search", Some("loop")), Tool) },
    ];
    let runs = agent_runs(&[with(&desk, &steps)]);
    let nested = Some(("desk", CallEvidence::Nested));
    assert_eq!(calls(&runs), [("desk", None), ("billing", nested)]);
    assert_eq!(runs[0].observation, Some(steps[0].id.clone()));
    assert_eq!(runs[0].tools, BTreeMap::from([("search".to_owned(), (1, 1))]));
    assert_eq!(runs[1].tools, BTreeMap::from([("refund".to_owned(), (1, 0))]));
}

#[test]
fn another_service_in_the_same_trace_or_in_one_of_its_own_is_correlated_by_traceparent() {
    let (id, other) = ("0af7651916cd43dd8448eb211c80319c", "1af7651916cd43dd8448eb211c80319c");
    let (desk, billing) = (trace(id, "desk", (0, 100)), trace(other, "billing", (500, 600)));
    let steps = [
        step(id, ("b7ad6b7169203331", None), ObservationKind::Tool),
        Observation {
            app_root: true,
            agent: Some("stock".to_owned()),
            ..step(id, ("stock-root", Some("b7ad6b7169203331")), ObservationKind::Span)
        },
    ];
    let metadata = |key: &str, json: &str| Content {
        metadata: vec![(key.to_owned(), Json::parse(json).unwrap())],
        ..Content::default()
    };
    let by = |evidence| Some(("desk", evidence));
    let header = format!("\"00-{id}-b7ad6b7169203331-01\"");
    let link =
        format!(r#"[{{"traceId": "{id}", "spanId": "b7ad6b7169203331", "attributes": {{}}}}]"#);
    for content in [metadata("traceparent", &header), metadata("links", &link)] {
        let called = TraceSteps { references: references(&content), ..with(&billing, &[]) };
        let runs = agent_runs(&[with(&desk, &steps), called]);
        let expected = [
            ("desk", None),
            ("stock", by(CallEvidence::Traceparent)),
            ("billing", by(CallEvidence::Traceparent)),
        ];
        assert_eq!(calls(&runs), expected);
    }
    for bad in [r#""00-short-b7ad6b7169203331-01""#, "7", r#""""#] {
        assert_eq!(references(&metadata("traceparent", bad)), [], "{bad}");
    }
}

#[test]
fn without_a_traceparent_the_run_that_was_at_work_meanwhile_is_the_likely_caller() {
    let (desk, billing) = (trace("a", "desk", (0, 100)), trace("b", "billing", (20, 60)));
    let later = trace("c", "billing", (200, 260));
    let runs = agent_runs(&[with(&desk, &[]), with(&billing, &[]), with(&later, &[])]);
    let likely = Some(("desk", CallEvidence::Session));
    assert_eq!(calls(&runs), [("desk", None), ("billing", likely), ("billing", None)]);
    let order: Vec<_> = in_call_order(&runs);
    assert_eq!(order, [(0, 0), (1, 1), (2, 0)]);
}

#[test]
fn traces_that_name_each_other_form_no_loop() {
    let (one, two) = (trace("a", "desk", (0, 10)), trace("b", "billing", (0, 10)));
    let to = |trace: &str| vec![SpanReference { trace: trace.to_owned(), span: "x".to_owned() }];
    let traces = [
        TraceSteps { references: to("b"), ..with(&one, &[]) },
        TraceSteps { references: to("a"), ..with(&two, &[]) },
    ];
    let runs = agent_runs(&traces);
    let called = runs.iter().filter(|run| run.caller.is_some()).count();
    assert_eq!((called, in_call_order(&runs).len()), (1, 2));
}

proptest! {
    #[test]
    fn every_run_is_shown_once_below_its_caller(
        shape in proptest::collection::vec(
            (0..4_usize, proptest::option::of(0..20_usize), any::<bool>(), 0..3_usize), 0..20),
        windows in proptest::collection::vec((0..50_i64, 0..50_i64), 3),
    ) {
        let names = ["a", "b", "c", "d"];
        let traces: Vec<Trace> = windows
            .iter()
            .enumerate()
            .map(|(at, (from, lasts))| trace(&format!("t{at}"), names[at], (*from, from + lasts)))
            .collect();
        // Parents may be in other traces, missing, or form loops.
        let steps: Vec<Observation> = shape
            .iter()
            .enumerate()
            .map(|(at, (name, parent, is_root, of))| Observation {
                agent: Some(names[*name].to_owned()),
                app_root: *is_root,
                ..step(
                    &format!("t{of}"),
                    (&format!("s{at}"), parent.map(|parent| format!("s{parent}")).as_deref()),
                    ObservationKind::Agent,
                )
            })
            .collect();
        let all: Vec<TraceSteps<'_>> = traces
            .iter()
            .map(|trace| TraceSteps {
                trace,
                steps: steps.iter().filter(|step| step.trace == trace.id).collect(),
                references: Vec::new(),
            })
            .collect();
        let runs = agent_runs(&all);
        let order = in_call_order(&runs);
        prop_assert_eq!(order.len(), runs.len());
        for (place, (at, depth)) in order.iter().enumerate() {
            let caller = runs[*at].caller.map(|(by, _)| by);
            let above = order[..place].iter().rev().find(|(_, other)| *other < *depth);
            prop_assert_eq!(above.map(|(at, _)| *at), caller);
        }
    }
}
