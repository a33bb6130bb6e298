use std::sync::Arc;

use ratchet_core::chat::event::EventBody;
use ratchet_core::chat::reader::{add_spending, price_of};
use ratchet_core::chat::state::ChatState;
use ratchet_core::id::TraceId;
use ratchet_core::money::Money;
use ratchet_core::record::price::PriceTable;

use super::super::error::ChatError;
use super::ChatActor;

impl ChatActor {
    /// Prices of models in the chat's project.
    pub(super) fn prices(&self) -> Arc<PriceTable> {
        self.shared.store.prices(&self.handle.project)
    }

    /// Checks the budget.
    ///
    /// # Errors
    /// Returns what was spent, the limit, and how to raise it.
    pub(super) fn check_budget(&self) -> Result<(), ChatError> {
        let limit = self.settings().and_then(|settings| settings.limit());
        let spent = self.chat.status.spent();
        match limit {
            Some(limit) if spent >= limit => Err(ChatError::Budget { limit, spent }),
            _ => Ok(()),
        }
    }

    /// Ends a turn that the agent did not end: counts what is known of its calls. Returns the start
    /// of the event body.
    pub(super) fn end_interrupted_turn(&mut self, turn: &TraceId, why: &str) -> EventBody {
        let body = EventBody::default().text("turn", &turn.to_string());
        let at = self.now();
        self.recorder.turn_interrupted(turn, why, at);
        if let ChatState::Starting { .. } = self.state {
            // There are no prompts yet.
            return body;
        }
        let (used, prices) = (self.recorder.used_in(turn), self.prices());
        let costs = used.iter().map(|(model, usage)| price_of(&prices, model, usage));
        let cost: Money = costs.flatten().sum();
        let cost = (cost > Money::ZERO).then_some(cost);
        self.recorder.billed(turn, cost, true, at);
        let status = &mut self.chat.status;
        status.cost = status.cost + cost.unwrap_or_default();
        status.is_at_least = true;
        self.outbox.is_stale = true;
        add_spending(body, &used, cost, true)
    }

    /// Ends an idle process whose settings are outdated.
    pub(super) fn part_if_outdated(&mut self) {
        let is_outdated = self.running.as_ref().is_some_and(|running| running.is_outdated);
        if is_outdated && self.is_idle() {
            self.park();
        }
    }
}
