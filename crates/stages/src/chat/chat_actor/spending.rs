use std::sync::Arc;

use ratchet_core::chat::event::EventBody;
use ratchet_core::chat::reader::{price_of, tell_spending};
use ratchet_core::chat::state::ChatState;
use ratchet_core::id::TraceId;
use ratchet_core::money::Money;
use ratchet_core::record::price::PriceTable;

use super::super::error::ChatError;
use super::ChatActor;

impl ChatActor {
    /// What models cost in the session's project.
    pub(super) fn prices(&self) -> Arc<PriceTable> {
        self.shared.store.prices(&self.room.project)
    }

    /// Whether the conversation may spend more.
    ///
    /// # Errors
    /// Says what it has spent, of how much, and how to go on.
    pub(super) fn check_budget(&self) -> Result<(), ChatError> {
        let limit = self.setting().and_then(|setting| setting.limit());
        let spent = self.chat.standing.spent();
        match limit {
            Some(limit) if spent >= limit => Err(ChatError::Budget { limit, spent }),
            _ => Ok(()),
        }
    }

    /// Ends a turn that the agent did not: what is known of its calls is counted. Gives the
    /// beginning of the event that tells.
    pub(super) fn break_off(&mut self, turn: &TraceId, why: &str) -> EventBody {
        let body = EventBody::default().text("turn", &turn.to_string());
        let at = self.now();
        self.book.broke_off(turn, why, at);
        if let ChatState::Starting { .. } = self.state {
            // Nobody was asked anything yet.
            return body;
        }
        let (used, prices) = (self.book.used_in(turn), self.prices());
        let costs = used.iter().map(|(model, usage)| price_of(&prices, model, usage));
        let cost: Money = costs.flatten().sum();
        let cost = (cost > Money::ZERO).then_some(cost);
        self.book.billed(turn, cost, true, at);
        let standing = &mut self.chat.standing;
        standing.cost = standing.cost + cost.unwrap_or_default();
        standing.is_at_least = true;
        self.outbox.is_stale = true;
        tell_spending(body, &used, cost, true)
    }

    /// Ends a process that was started otherwise than the next is to be, once it rests.
    pub(super) fn part_if_outdated(&mut self) {
        let is_outdated = self.running.as_ref().is_some_and(|running| running.is_outdated);
        if is_outdated && self.is_idle() {
            self.park();
        }
    }
}
