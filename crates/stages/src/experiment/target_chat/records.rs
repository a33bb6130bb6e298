use std::collections::{BTreeMap, BTreeSet};

use ratchet_core::environment::Environment;
use ratchet_core::id::SessionId;
use ratchet_core::money::Money;
use ratchet_core::payload::{Json, Payload};
use ratchet_core::record::field::{Field, Stamp, StampedValue, WriteKind};
use ratchet_core::record::merge::{Earliest, Latest, Metadata};
use ratchet_core::record::observation::{Level, ObservationKind, ObservationPatch};
use ratchet_core::record::trace::{Trace, TracePatch};
use ratchet_core::record::usage::{Cost, Usage};
use ratchet_core::time::Timestamp;
use ratchet_remote::ratchet::{RatchetClient, RatchetError};
use ratchet_store::telemetry::Batch;
use serde_json::{Value, json};

use super::{RecordedTurn, TargetTurn};
use crate::experiment::target::TargetAnswer;
use crate::record::scores::{ScoreWriteError, write_with};
use crate::sink::LocalSink;

/// Tag of every turn.
const TAG: &str = "chat";
/// Metadata: the name of the target.
const TARGET: &str = "ratchet.chat.target";
/// Metadata: why there is no answer.
const FAULT: &str = "ratchet.chat.fault";
/// Metadata: when the call ended.
const ENDED: &str = "ratchet.chat.ended_at";

impl RecordedTurn<'_> {
    fn answer(&self) -> Option<&TargetAnswer> {
        self.end.as_ref().and_then(|(_, answered)| answered.as_ref().ok())
    }

    fn fault(&self) -> Option<&String> {
        self.end.as_ref().and_then(|(_, answered)| answered.as_ref().err())
    }

    fn ended(&self) -> Option<Timestamp> {
        self.end.as_ref().map(|(at, _)| *at)
    }

    fn metadata(&self) -> Vec<(&'static str, Value)> {
        let mut facts = vec![(TARGET, json!(self.target.identity.name))];
        facts.extend(self.fault().map(|fault| (FAULT, json!(fault))));
        facts.extend(self.ended().map(|at| (ENDED, json!(at.to_string()))));
        facts
    }

    fn usage(&self) -> BTreeMap<String, u64> {
        let Some(answer) = self.answer() else { return BTreeMap::new() };
        let sent = [("input", answer.input_tokens), ("output", answer.output_tokens)];
        sent.into_iter().filter_map(|(kind, count)| Some((kind.to_owned(), count?))).collect()
    }

    fn cost(&self) -> Option<f64> {
        self.answer().and_then(|answer| answer.cost)
    }
}

/// Writes a turn as far as it is known.
pub(super) async fn write(
    local: &LocalSink,
    chat: &SessionId,
    turn: &RecordedTurn<'_>,
    now: Timestamp,
) -> Result<(), ScoreWriteError> {
    let mut batch = Batch::new(local.project.clone(), now);
    let stamp = Stamp::stated(now, WriteKind::Update);
    let (trace, root) = patches(chat, turn, stamp);
    batch.traces.push(trace);
    batch.observations.push(root);
    write_with((&local.telemetry, &local.catalog), batch, Vec::new()).await
}

fn patches(
    chat: &SessionId,
    turn: &RecordedTurn<'_>,
    stamp: Stamp,
) -> (TracePatch, ObservationPatch) {
    let (call, target) = (turn.call, &turn.target.identity);
    let payload = |value: &Value| Payload::Json(Json::from_value(value));
    let environment = target.environment.as_deref().map(Environment::normalise);
    let output = turn.answer().map(|answer| payload(&json!(answer.text)));
    let facts = turn.metadata().into_iter().map(|(key, value)| {
        (key.to_owned(), StampedValue { stamp, value: Some(Json::from_value(&value)) })
    });
    let trace = TracePatch {
        timestamp: Earliest(Some(turn.started)),
        name: Field::new(target.name.clone(), stamp),
        user: Field::if_some(turn.person.map(str::to_owned), stamp),
        session: Field::new(chat.clone(), stamp),
        environment: Field::if_some(environment.clone(), stamp),
        version: Field::if_some(target.version.clone(), stamp),
        tags: BTreeSet::from([TAG.to_owned()]),
        metadata: Metadata::new(facts),
        input: Field::new(payload(&json!(turn.text)), stamp),
        output: Field::if_some(output.clone(), stamp),
        ..TracePatch::new(call.trace.clone())
    };
    let model = turn.answer().and_then(|answer| answer.model.clone());
    let kind = if model.is_some() { ObservationKind::Generation } else { ObservationKind::Agent };
    let usage = turn.usage();
    let cost = turn.cost().and_then(Money::from_dollars);
    let cost = cost.map(|total| Cost::new(BTreeMap::from([("total".to_owned(), total)])));
    let root = ObservationPatch {
        kind: Field::new(kind, stamp),
        name: Field::new(target.name.clone(), stamp),
        start: Earliest(Some(turn.started)),
        end: Latest(turn.ended()),
        level: Field::if_some(turn.fault().map(|_| Level::Error), stamp),
        status_message: Field::if_some(turn.fault().cloned(), stamp),
        environment: Field::if_some(environment, stamp),
        model: Field::if_some(model, stamp),
        usage: Field::if_some((!usage.is_empty()).then(|| Usage::new(usage)), stamp),
        cost: Field::if_some(cost, stamp),
        input: Field::new(payload(turn.sent), stamp),
        output: Field::if_some(output, stamp),
        ..ObservationPatch::new(call.root.clone(), Some(call.trace.clone()))
    };
    (trace, root)
}

/// Sends a turn to a server, as far as it is known.
pub(super) async fn send(
    server: &RatchetClient,
    chat: &SessionId,
    turn: &RecordedTurn<'_>,
) -> Result<(), RatchetError> {
    let target = &turn.target.identity;
    let (started, ended) = (turn.started.to_string(), turn.ended().map(|at| at.to_string()));
    let now = ended.clone().unwrap_or_else(|| started.clone());
    let output = turn.answer().map(|answer| answer.text.clone());
    let metadata: serde_json::Map<String, Value> =
        turn.metadata().into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    let (trace, root) = (turn.call.trace.to_string(), turn.call.root.to_string());
    let mut body = json!({
        "id": trace, "timestamp": started, "name": target.name, "sessionId": chat.to_string(),
        "input": turn.text, "tags": [TAG], "metadata": metadata,
    });
    let mut step = json!({
        "id": root, "traceId": trace, "name": target.name, "startTime": started,
        "input": turn.sent,
    });
    let model = turn.answer().and_then(|answer| answer.model.clone());
    set(&mut body, "output", output.clone().map(Value::from));
    set(&mut body, "environment", target.environment.clone().map(Value::from));
    set(&mut body, "version", target.version.clone().map(Value::from));
    set(&mut step, "output", output.map(Value::from));
    set(&mut step, "environment", target.environment.clone().map(Value::from));
    set(&mut step, "endTime", ended.clone().map(Value::from));
    set(&mut step, "level", turn.fault().map(|_| json!("ERROR")));
    set(&mut step, "statusMessage", turn.fault().map(|fault| json!(fault)));
    set(&mut step, "model", model.clone().map(Value::from));
    let usage = turn.usage();
    set(&mut step, "usageDetails", (!usage.is_empty()).then(|| json!(usage)));
    set(&mut step, "costDetails", turn.cost().map(|cost| json!({ "total": cost })));
    let kind = if model.is_some() { "generation-create" } else { "agent-create" };
    let part = if ended.is_some() { "end" } else { "start" };
    let events = json!({ "batch": [
        { "id": format!("{trace}-{part}"), "timestamp": now, "type": "trace-create", "body": body },
        { "id": format!("{root}-{part}"), "timestamp": now, "type": kind, "body": step },
    ] });
    let _received: Value = server.post(&["public", "ingestion"], &events).await?;
    Ok(())
}

fn set(body: &mut Value, key: &str, value: Option<Value>) {
    if let (Some(fields), Some(value)) = (body.as_object_mut(), value) {
        fields.insert(key.to_owned(), value);
    }
}

/// Reads a turn back.
pub(super) fn read(trace: &Trace) -> TargetTurn {
    let content = trace.content.as_ref();
    let text = |json: &str| match serde_json::from_str(json) {
        Ok(Value::String(text)) => text,
        _ => json.to_owned(),
    };
    let fact = |key: &str| {
        let found = content?.metadata.iter().find(|(known, _)| known.as_str() == key);
        found.map(|(_, value)| text(value.as_str()))
    };
    TargetTurn {
        trace: trace.id.clone(),
        text: content
            .and_then(|content| content.input.as_ref())
            .map(|input| text(input.as_str()))
            .unwrap_or_default(),
        answer: content
            .and_then(|content| content.output.as_ref())
            .map(|output| text(output.as_str())),
        fault: fact(FAULT),
        started: trace.timestamp,
        ended: fact(ENDED).and_then(|at| Timestamp::parse(&at).ok()),
        cost: trace.summary.cost,
    }
}
