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

/// Name of the observation of a call that failed and was retried.
const RETRIED: &str = "claude_code.retried_request";
/// Name of the observation of a cost that only the agent knows.
const REPORTED: &str = "claude_code.reported_cost";
/// Metadata key of a cost that is a lower bound.
const AT_LEAST: &str = "at_least";
/// Metadata key and value of a cost that the agent reported.
const SOURCE: (&str, &str) = ("cost_source", "agent");
/// Metadata key of the agent's basis for a cost.
const BASIS: &str = "cost_basis";

impl TurnRecorder {
    /// Usage of a turn by model, as far as known.
    pub(in super::super) fn used_in(&self, turn: &TraceId) -> BTreeMap<String, Usage> {
        self.spent.in_turn(turn)
    }

    /// Records the cost of a turn on its trace, and whether it is a lower bound.
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

    /// Records calls that failed and were retried. They are billed, too: the agent counts them, but
    /// its transcript lacks them.
    pub(super) fn retried(&mut self) {
        let lost = self.unpersisted.take_lost();
        let Some(turn) = self.last.clone().filter(|_| !lost.is_empty()) else { return };
        for call in lost {
            let at = self.unpersisted.last_moment();
            let id = format!("retried-{}", call.message);
            self.call((&turn, &id, RETRIED), (call.model, call.usage), at);
            let Ok(id) = ObservationId::parse(&id) else { continue };
            let stamp = Stamp::stated(at, WriteKind::Update);
            let step = ObservationPatch {
                level: Field::new(Level::Warning, stamp),
                status_message: Field::new("interrupted and retried".to_owned(), stamp),
                metadata: metadata(stamp, [(AT_LEAST, Json::from_value(&true.into()))]),
                ..ObservationPatch::new(id, Some(turn.clone()))
            };
            self.patches.observations.push(step);
        }
    }

    /// Records costs of models without a known price, as the agent reports them.
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
                kind: Field::new(ObservationKind::Event, stamp),
                name: Field::new(REPORTED.to_owned(), stamp),
                parent: Field::new(turn.cast(), stamp),
                start: Earliest(Some(at)),
                model: Field::new(model.clone(), stamp),
                cost: Field::new(cost, stamp),
                metadata: metadata(stamp, said),
                ..ObservationPatch::new(id, Some(turn.clone()))
            };
            self.patches.observations.push(step);
        }
    }

    /// Records a model call that the transcript lacks.
    pub(super) fn call(
        &mut self,
        (turn, id, name): (&TraceId, &str, &str),
        (model, usage): (String, Usage),
        at: Timestamp,
    ) {
        let Ok(id) = ObservationId::parse(id) else { return };
        let stamp = Stamp::stated(at, WriteKind::Create);
        let step = ObservationPatch {
            kind: Field::new(ObservationKind::Generation, stamp),
            name: Field::new(name.to_owned(), stamp),
            parent: Field::new(turn.cast(), stamp),
            start: Earliest(Some(at)),
            end: Latest(Some(at)),
            model: Field::new(model, stamp),
            usage: Field::new(usage, stamp),
            ..ObservationPatch::new(id, Some(turn.clone()))
        };
        self.patches.observations.push(step);
    }
}
