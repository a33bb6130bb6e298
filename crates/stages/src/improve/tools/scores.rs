use ratchet_core::improve::observed::ObservedTrace;
use ratchet_core::stats::interval::share;
use serde_json::{Value, json};

use super::{AgentArguments, FeedbackTools, ToolAnswer};

/// What says whether an answer is good, by whom.
type Verdict = fn(&ObservedTrace) -> Option<bool>;
const VERDICTS: [(&str, &str, Verdict); 3] = [
    ("correctness", "people", |trace| trace.signals.correct),
    ("thumbs_feedback", "users", |trace| trace.signals.thumb),
    ("quality", "judge", ObservedTrace::judged_good),
];

pub(super) fn answer(tools: &FeedbackTools, asked: &AgentArguments) -> ToolAnswer {
    let (name, agent) = tools.agent(asked.agent.as_deref())?;
    let scores = VERDICTS.map(|(score, by, verdict)| {
        let weeks: Vec<Value> = (0..4).map(|week| of_week(&agent.traces, week, verdict)).collect();
        json!({"score": score, "by": by, "weeks": weeks})
    });
    let metrics = tools.week.report.metrics.iter().filter(|(of, _)| of == name);
    let metrics = metrics.flat_map(|(_, weekly)| &weekly.metrics).map(|metric| {
        let (value, interval) = (metric.weighted.value, &metric.weighted.interval);
        json!({
            "metric": metric.name.title(), "value": value, "interval": interval,
            "target": metric.target,
        })
    });
    Ok(json!({
        "agent": name,
        "traces_of_the_week": agent.traffic,
        "scores": scores,
        "metrics": metrics.collect::<Vec<_>>(),
    }))
}

fn of_week(traces: &[ObservedTrace], week: usize, verdict: Verdict) -> Value {
    let said = traces.iter().filter(|trace| trace.weeks_ago == week).filter_map(verdict);
    let (good, all) =
        said.fold((0_u64, 0_u64), |(good, all), is_good| (good + u64::from(is_good), all + 1));
    let estimate = share(good, all);
    let interval = estimate.as_ref().and_then(|one| one.interval.as_ref());
    json!({
        "weeks_ago": week,
        "n": all,
        "good": good,
        "share": estimate.as_ref().map(|one| one.value),
        "interval": interval.map(|bounds| [bounds.lower, bounds.upper]),
    })
}
