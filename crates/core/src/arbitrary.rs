//! Proptest strategies. Value ranges are small on purpose, so that ties and id collisions are
//! frequent.

use std::collections::{BTreeMap, BTreeSet};

use proptest::collection::{btree_map, btree_set, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use crate::environment::Environment;
use crate::id::Id;
use crate::money::Money;
use crate::payload::{Json, Payload};
use crate::record::field::{Authority, Field, Stamp, StampedValue, WriteKind};
use crate::record::merge::{Earliest, Latest, Metadata};
use crate::record::observation::{Level, ObservationKind, ObservationPatch, PromptLink};
use crate::record::score::{ScorePatch, ScoreSource, ScoreTarget, ScoreValue};
use crate::record::span::{AttributeValue, Attributes, Span, SpanEvent, SpanStatus};
use crate::record::trace::TracePatch;
use crate::record::usage::{Cost, Usage};
use crate::time::Timestamp;

fn text() -> impl Strategy<Value = String> {
    select(vec!["a", "b", "c"]).prop_map(str::to_owned)
}

fn id<Of: 'static>() -> impl Strategy<Value = Id<Of>> {
    text().prop_map(|text| Id::parse(&text).unwrap())
}

fn time() -> impl Strategy<Value = Timestamp> {
    (0..4i64).prop_map(Timestamp::from_nanos)
}

fn stamp() -> impl Strategy<Value = Stamp> {
    let authority = select(vec![Authority::Child, Authority::Root, Authority::Stated]);
    let act = select(vec![WriteKind::Create, WriteKind::Update]);
    (authority, time(), act).prop_map(|(authority, at, act)| Stamp { authority, at, act })
}

fn stamped<T: Clone + std::fmt::Debug>(
    value: impl Strategy<Value = T>,
) -> impl Strategy<Value = StampedValue<T>> {
    (stamp(), option::of(value)).prop_map(|(stamp, value)| StampedValue { stamp, value })
}

fn field<T: Clone + std::fmt::Debug>(
    value: impl Strategy<Value = T>,
) -> impl Strategy<Value = Field<T>> {
    option::of(stamped(value)).prop_map(Field::from_stamped)
}

fn json() -> impl Strategy<Value = Json> {
    select(vec!["1", "[]", "{\"a\":1}"]).prop_map(|text| Json::parse(text).unwrap())
}

fn payload() -> impl Strategy<Value = Payload> {
    prop_oneof![json().prop_map(Payload::Json), text().prop_map(|text| Payload::Text(text.into())),]
}

fn metadata() -> impl Strategy<Value = Metadata> {
    btree_map(text(), stamped(json()), 0..3).prop_map(Metadata::new)
}

fn tags() -> impl Strategy<Value = BTreeSet<String>> {
    btree_set(text(), 0..3)
}

fn environment() -> impl Strategy<Value = Environment> {
    text().prop_map(|name| Environment::normalise(&name))
}

fn usage() -> impl Strategy<Value = Usage> {
    btree_map(text(), 0..3u64, 0..3).prop_map(Usage::new)
}

fn cost() -> impl Strategy<Value = Cost> {
    let amounts = btree_map(text(), 0..3i64, 0..3);
    amounts.prop_map(|amounts: BTreeMap<_, _>| {
        Cost::new(amounts.into_iter().map(|(kind, pico)| (kind, Money::from_pico(pico))).collect())
    })
}

fn prompt() -> impl Strategy<Value = PromptLink> {
    (text(), 0..2u32).prop_map(|(name, version)| PromptLink { name, version })
}

pub(crate) fn observation_patch() -> impl Strategy<Value = ObservationPatch> {
    let step = (
        option::of(id()),
        field(select(ObservationKind::ALL.to_vec())),
        field(text()),
        field(id()),
        option::of(time()),
        option::of(time()),
        field(time()),
        field(select(Level::ALL.to_vec())),
        field(text()),
        any::<bool>(),
    );
    let place = (field(text()), field(environment()), field(text()));
    let model = (field(text()), field(json()), field(usage()), field(cost()), field(prompt()));
    let content = (field(payload()), field(payload()), metadata());
    (step, place, model, content).prop_map(|(step, place, model, content)| {
        let (
            trace,
            kind,
            name,
            parent,
            start,
            end,
            completion_start,
            level,
            status_message,
            app_root,
        ) = step;
        let (version, environment, agent) = place;
        let (model, model_parameters, usage, cost, prompt) = model;
        let (input, output, metadata) = content;
        ObservationPatch {
            id: Id::parse("o").unwrap(),
            trace,
            kind,
            name,
            parent,
            app_root,
            start: Earliest(start),
            end: Latest(end),
            completion_start,
            level,
            status_message,
            version,
            environment,
            agent,
            model,
            model_parameters,
            usage,
            cost,
            prompt,
            input,
            output,
            metadata,
        }
    })
}

pub(crate) fn trace_patch() -> impl Strategy<Value = TracePatch> {
    let names = (field(text()), field(text()), field(id()), field(text()), field(text()));
    let marks = (field(environment()), field(text()), tags(), field(any::<bool>()));
    let content = (field(any::<bool>()), metadata(), field(payload()), field(payload()));
    (option::of(time()), names, marks, content, field(id())).prop_map(
        |(timestamp, names, marks, content, root)| {
            let (name, user, session, release, version) = names;
            let (environment, agent, tags, public) = marks;
            let (bookmarked, metadata, input, output) = content;
            TracePatch {
                id: Id::parse("t").unwrap(),
                timestamp: Earliest(timestamp),
                name,
                user,
                session,
                release,
                version,
                environment,
                agent,
                tags,
                public,
                bookmarked,
                metadata,
                input,
                output,
                root,
            }
        },
    )
}

fn score_value() -> impl Strategy<Value = ScoreValue> {
    let number = select(vec![0.0, -0.0, 1.0]);
    prop_oneof![
        number.clone().prop_map(ScoreValue::Numeric),
        any::<bool>().prop_map(ScoreValue::Boolean),
        (text(), option::of(number))
            .prop_map(|(label, number)| ScoreValue::Categorical { label, number }),
        text().prop_map(ScoreValue::Text),
        text().prop_map(ScoreValue::Correction),
    ]
}

fn score_target() -> impl Strategy<Value = ScoreTarget> {
    prop_oneof![
        id().prop_map(ScoreTarget::Trace),
        (id(), id()).prop_map(|(trace, step)| ScoreTarget::Observation(trace, step)),
        id().prop_map(ScoreTarget::Session),
        text().prop_map(ScoreTarget::DatasetRun),
    ]
}

pub(crate) fn score_patch() -> impl Strategy<Value = ScorePatch> {
    let verdict = (
        field(score_target()),
        field(text()),
        field(score_value()),
        field(select(ScoreSource::ALL.to_vec())),
    );
    let about = (field(environment()), field(text()), field(text()), field(text()), field(text()));
    (verdict, option::of(time()), about, metadata()).prop_map(
        |(verdict, timestamp, about, metadata)| {
            let (target, name, value, source) = verdict;
            let (environment, comment, author, config, queue) = about;
            ScorePatch {
                id: Id::parse("s").unwrap(),
                target,
                name,
                value,
                source,
                timestamp: Earliest(timestamp),
                environment,
                comment,
                author,
                config,
                queue,
                metadata,
            }
        },
    )
}

/// Strategy for attribute values, nested a few levels deep.
pub(crate) fn attribute_value() -> impl Strategy<Value = AttributeValue> {
    let leaf = prop_oneof![
        Just(AttributeValue::Empty),
        ".{0,12}".prop_map(AttributeValue::Text),
        select(vec![
            "{}",
            "[1]",
            "{\"a\":",
            "true",
            "-1",
            "\"x\"",
            "a,b",
            "[{\"event.name\":\"e\"}]"
        ])
        .prop_map(|text| AttributeValue::Text(text.to_owned())),
        any::<bool>().prop_map(AttributeValue::Bool),
        any::<i64>().prop_map(AttributeValue::Int),
        any::<f64>().prop_map(AttributeValue::Double),
        vec(any::<u8>(), 0..4).prop_map(AttributeValue::Bytes),
    ];
    leaf.prop_recursive(3, 8, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(AttributeValue::List),
            btree_map(".{0,3}", inner, 0..3)
                .prop_map(|fields| AttributeValue::Map(Attributes(fields.into_iter().collect()))),
        ]
    })
}

/// Attributes with unique names, taken from `names`.
pub(crate) fn attributes(
    names: impl Strategy<Value = String>,
    value: impl Strategy<Value = AttributeValue>,
) -> impl Strategy<Value = Attributes> {
    btree_map(names, value, 0..12).prop_map(|pairs| Attributes(pairs.into_iter().collect()))
}

/// A span with these attributes and events.
pub(crate) fn span(
    attributes: impl Strategy<Value = Attributes>,
    events: impl Strategy<Value = Vec<SpanEvent>>,
) -> impl Strategy<Value = Span> {
    let name = select(vec!["step", "claude_code.llm_request", "llm_node", ""]);
    let status = select(vec![
        SpanStatus::Unset,
        SpanStatus::Ok,
        SpanStatus::Error(None),
        SpanStatus::Error(Some("boom".to_owned())),
    ]);
    let times = (any::<i64>(), any::<i64>());
    (attributes, events, option::of(id()), name, times, status).prop_map(
        |(attributes, events, parent, name, (start, end), status)| Span {
            trace: Id::parse("t").unwrap(),
            id: Id::parse("s").unwrap(),
            parent,
            name: name.to_owned(),
            start: Timestamp::from_nanos(start),
            end: Timestamp::from_nanos(end),
            attributes,
            events,
            links: Vec::new(),
            status,
        },
    )
}
