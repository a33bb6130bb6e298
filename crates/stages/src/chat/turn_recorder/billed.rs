use std::collections::BTreeMap;

use ratchet_core::chat::reader::{TurnEnd, price_of};
use ratchet_core::id::{ObservationId, TraceId};
use ratchet_core::money::Money;
use ratchet_core::payload::Json;
use ratchet_core::record::field::{Field, Stamp, WriteKind};
use ratchet_core::record::merge::{Earliest, Latest};
use ratchet_core::record::observation::{Level, ObservationKind, ObservationPatch};
use ratchet_core::record::price::PriceTable;
use ratchet_core::record::trace::TracePatch;
use ratchet_core::record::usage::{Cost, Usage};
use ratchet_core::time::Timestamp;

use super::{TurnRecorder, metadata};

/// What a call is called that broke off and was tried again.
const RETRIED: &str = "claude_code.retried_request";
/// What the step is called that has a cost which only the agent knows.
const REPORTED: &str = "claude_code.reported_cost";
/// The key that says that more may have been billed.
const AT_LEAST: &str = "at_least";
/// The key that says who reckoned a cost, and its value.
const SOURCE: (&str, &str) = ("cost_source", "agent");
/// The key that says what the agent reckoned with.
const BASIS: &str = "cost_basis";

impl TurnRecorder {
    /// What the calls of a turn used of each model, as far as is known.
    pub(in super::super) fn used_in(&self, turn: &TraceId) -> BTreeMap<String, Usage> {
        self.spent.in_turn(turn)
    }

    /// What a turn cost, and whether that is all: said of the trace.
    pub(in super::super) fn billed(
        &mut self,
        turn: &TraceId,
        cost: Option<Money>,
        is_at_least: bool,
        at: Timestamp,
    ) {
        let cost = cost.map(|cost| ("agent_cost", Json::from_value(&cost.dollars().into())));
        let bound = is_at_least.then(|| (AT_LEAST, Json::from_value(&true.into())));
        let trace = TracePatch {
            metadata: metadata(Stamp::stated(at, WriteKind::Update), cost.into_iter().chain(bound)),
            ..TracePatch::new(turn.clone())
        };
        self.patches.traces.push(trace);
    }

    /// Calls that broke off and were tried again are billed, too: the agent counts them and keeps
    /// no line of them.
    pub(super) fn retried(&mut self) {
        let lost = self.unkept.take_lost();
        let Some(turn) = self.last.clone().filter(|_| !lost.is_empty()) else { return };
        for call in lost {
            let at = self.unkept.last_moment();
            let id = format!("retried-{}", call.message);
            self.call((&turn, &id, RETRIED), (call.model, call.usage), at);
            let Ok(id) = ObservationId::parse(&id) else { continue };
            let stamp = Stamp::stated(at, WriteKind::Update);
            let step = ObservationPatch {
                level: Field::said(Level::Warning, stamp),
                status_message: Field::said("broke off and was tried again".to_owned(), stamp),
                metadata: metadata(stamp, [(AT_LEAST, Json::from_value(&true.into()))]),
                ..ObservationPatch::new(id, Some(turn.clone()))
            };
            self.patches.observations.push(step);
        }
    }

    /// What the agent reckons that models cost whose price nobody here knows, labelled as its own.
    pub(super) fn reported(
        &mut self,
        turn: &TraceId,
        end: &TurnEnd,
        at: Timestamp,
        prices: &PriceTable,
    ) {
        for (model, own) in &end.costs {
            let is_priced =
                end.used.get(model).is_some_and(|used| price_of(prices, model, used).is_some());
            let id = ObservationId::parse(&format!("reported-{turn}-{model}"));
            let (Ok(id), false) = (id, is_priced || own.cost == Money::ZERO) else { continue };
            let stamp = Stamp::stated(at, WriteKind::Create);
            let cost = Cost::new([("total".to_owned(), own.cost)].into());
            let text = |text: &str| Json::from_value(&text.into());
            let basis = own.basis.iter().map(|basis| (BASIS, text(basis)));
            let said = basis.chain([(SOURCE.0, text(SOURCE.1))]);
            let step = ObservationPatch {
                kind: Field::said(ObservationKind::Event, stamp),
                name: Field::said(REPORTED.to_owned(), stamp),
                parent: Field::said(turn.cast(), stamp),
                start: Earliest(Some(at)),
                model: Field::said(model.clone(), stamp),
                cost: Field::said(cost, stamp),
                metadata: metadata(stamp, said),
                ..ObservationPatch::new(id, Some(turn.clone()))
            };
            self.patches.observations.push(step);
        }
    }

    /// A call of a model that the agent keeps no line of.
    pub(super) fn call(
        &mut self,
        (turn, id, name): (&TraceId, &str, &str),
        (model, usage): (String, Usage),
        at: Timestamp,
    ) {
        let Ok(id) = ObservationId::parse(id) else { return };
        let stamp = Stamp::stated(at, WriteKind::Create);
        let step = ObservationPatch {
            kind: Field::said(ObservationKind::Generation, stamp),
            name: Field::said(name.to_owned(), stamp),
            parent: Field::said(turn.cast(), stamp),
            start: Earliest(Some(at)),
            end: Latest(Some(at)),
            model: Field::said(model, stamp),
            usage: Field::said(usage, stamp),
            ..ObservationPatch::new(id, Some(turn.clone()))
        };
        self.patches.observations.push(step);
    }
}
