use std::collections::BTreeMap;

use ratchet_core::record::observation::{Level, Observation};
use ratchet_core::record::trace::Trace;
use ratchet_core::time::Timestamp;
use ratchet_store::aggregate::{AggregateDimension, AggregateQuery, Group, Step, Sums};

use super::Model;

const HOUR: i64 = 3_600_000_000_000;

pub(super) fn groups(model: &Model, query: &AggregateQuery) -> Vec<Group> {
    let traces: BTreeMap<_, _> =
        model.traces().into_iter().map(|trace| (trace.id.clone(), trace)).collect();
    let from = query.range.from.map(|from| step_start(from, HOUR));
    let to = query.range.to.map(|to| step_start(to.plus_nanos(HOUR - 1), HOUR));
    let passing = model.observations_passing(&query.conditions).unwrap();
    let within = passing.into_iter().filter(|seen| {
        from.is_none_or(|from| seen.start >= from) && to.is_none_or(|to| seen.start < to)
    });
    let mut groups: BTreeMap<(Option<Timestamp>, Vec<Option<String>>), Sums> = BTreeMap::new();
    for seen in within {
        let at = match query.step {
            Step::Whole => None,
            Step::Hour => Some(step_start(seen.start, HOUR)),
            Step::Day => Some(step_start(seen.start, 24 * HOUR)),
        };
        let of = &traces[&seen.trace];
        // An empty text groups with none.
        let word = |dimension| value(&seen, of, dimension).filter(|word| !word.is_empty());
        let key = query.by.iter().map(|dimension| word(*dimension)).collect();
        add(groups.entry((at, key)).or_default(), &seen);
    }
    groups.into_iter().map(|((at, key), sums)| Group { at, key, sums }).collect()
}

fn step_start(time: Timestamp, step: i64) -> Timestamp {
    Timestamp::from_nanos(time.nanos().div_euclid(step) * step)
}

fn value(seen: &Observation, of: &Trace, dimension: AggregateDimension) -> Option<String> {
    match dimension {
        AggregateDimension::Environment => Some(seen.environment.to_string()),
        AggregateDimension::Kind => Some(seen.kind.as_str().to_owned()),
        AggregateDimension::Name => seen.name.clone(),
        AggregateDimension::Model => seen.model.clone(),
        AggregateDimension::Level => Some(seen.level.as_str().to_owned()),
        AggregateDimension::Version => seen.version.clone(),
        AggregateDimension::Agent => agent(seen, of),
        AggregateDimension::TraceName => of.name.clone(),
        AggregateDimension::User => of.user.clone(),
        AggregateDimension::Prompt => seen.prompt.as_ref().map(|prompt| prompt.name.clone()),
        AggregateDimension::Session => of.session.as_ref().map(ToString::to_string),
        AggregateDimension::Release => of.release.clone(),
        AggregateDimension::Tags => {
            (!of.tags.is_empty()).then(|| serde_json::to_string(&of.tags).unwrap_or_default())
        }
    }
}

/// The agent of an observation: that of its trace.
pub(super) fn agent(seen: &Observation, of: &Trace) -> Option<String> {
    of.agent.clone().filter(|agent| !agent.is_empty()).or_else(|| seen.agent.clone())
}

fn add(sums: &mut Sums, seen: &Observation) {
    let count = |units: u64| i64::try_from(units).unwrap();
    sums.count += 1;
    sums.errors += i64::from(seen.level == Level::Error);
    sums.input_tokens += count(seen.usage.input());
    sums.output_tokens += count(seen.usage.output());
    sums.total_tokens += count(seen.usage.total());
    match &seen.cost {
        Some(cost) => {
            sums.cost = sums.cost + cost.total();
            sums.approximate_cost = sums.approximate_cost + seen.approximate_cost();
            sums.costs_known += 1;
        }
        None => sums.cost_unknown += i64::from(seen.usage.total() > 0),
    }
    if let Some(latency) = seen.latency() {
        sums.latency.add(latency, 1);
        sums.latency_nanos += latency;
    }
}
