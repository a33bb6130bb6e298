use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ratchet_core::money::Money;
use tokio::sync::Notify;

/// Spending limits; `None` is unlimited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allowance {
    /// Input and output tokens.
    pub tokens: Option<u64>,
    pub money: Option<Money>,
    /// Time since the budget was created.
    pub time: Option<Duration>,
}

/// The spending so far. Where there is a limit, calls in flight count with their maximum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spending {
    pub calls: u64,
    /// Input and output tokens.
    pub tokens: u64,
    /// Money, as far as prices are known.
    pub money: Money,
}

/// Error: a request could exceed the budget.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BudgetExceeded {
    #[error(
        "the request could take {needed} tokens and the budget has {left} left; raise it, or send less"
    )]
    Tokens {
        /// The maximum of the request.
        needed: u64,
        left: u64,
    },
    #[error(
        "the request could cost {needed} and the budget has {left} left; raise it, or use a cheaper model"
    )]
    Money {
        /// The maximum of the request.
        needed: Money,
        left: Money,
    },
    #[error("the time limit is reached")]
    Time,
    /// A limit on money cannot be enforced for a model without a price.
    #[error("{model} has no known price; define one, or set no limit on money")]
    NoPrice { model: String },
}

/// A budget shared by calls: each reserves its maximum and returns the unused part.
///
/// A call that is dropped before its cost is known counts as spent, because it may be billed.
///
/// ```
/// use ratchet_agent::budget::{Allowance, Budget};
///
/// let budget = Budget::new(Allowance { tokens: Some(1_000), ..Allowance::default() });
/// assert_eq!(budget.left().tokens, Some(1_000));
/// ```
#[derive(Clone, Debug)]
pub struct Budget {
    allowance: Allowance,
    began: Instant,
    shared: Arc<Shared>,
}

/// What the clones of a budget have in common.
#[derive(Debug, Default)]
struct Shared {
    spent: Mutex<Spending>,
    calls: Mutex<OpenCalls>,
    /// Notified when a call is settled.
    settled: Notify,
}

/// Calls that hold a reservation, and those that did.
#[derive(Clone, Copy, Debug, Default)]
struct OpenCalls {
    open: u64,
    settled: u64,
}

/// The cost of a call, actual or maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CallCost {
    pub(crate) tokens: u64,
    /// `None` when the price is unknown.
    pub(crate) money: Option<Money>,
}

impl CallCost {
    pub(crate) const NOTHING: Self = Self { tokens: 0, money: Some(Money::ZERO) };
}

/// Computes the maximum cost of a call. Lazy, because counting the tokens of a long request is the
/// slowest part of preparing it and is only needed under a limit.
pub(crate) type CostCeiling<'a> = &'a (dyn Fn() -> CallCost + Sync);

/// A part of a budget reserved by a call.
pub(crate) struct Reservation<'a> {
    budget: &'a Budget,
    max_cost: CostCeiling<'a>,
    /// `None` where no limit applies.
    taken: Option<CallCost>,
    is_settled: bool,
}

impl Budget {
    /// Creates a budget; its time starts now.
    pub fn new(allowance: Allowance) -> Self {
        Self { allowance, began: Instant::now(), shared: Arc::default() }
    }

    /// Creates a budget without limits, which still counts spending.
    pub fn unlimited() -> Self {
        Self::new(Allowance::default())
    }

    /// Returns the spending so far.
    pub fn spent(&self) -> Spending {
        *self.lock()
    }

    /// Returns the remaining budget, where there is a limit.
    pub fn left(&self) -> Allowance {
        self.left_after(self.spent())
    }

    /// Returns how many calls have ended so far: an argument of [`Budget::more_is_left`].
    pub fn settled(&self) -> u64 {
        self.calls().settled
    }

    /// Waits until a call ends that was open after `settled` calls, so that the unused part of its
    /// reservation is available; false if there is none to wait for.
    pub async fn more_is_left(&self, settled: u64) -> bool {
        loop {
            let next = self.shared.settled.notified();
            let mut next = pin!(next);
            // From here on no notification is missed.
            next.as_mut().enable();
            let calls = self.calls();
            if calls.settled > settled {
                return true;
            }
            if calls.open == 0 {
                return false;
            }
            next.await;
        }
    }

    /// Returns the share of the allowed money that is spent; `None` without a limit.
    pub fn spent_share(&self) -> Option<f64> {
        let most = self.allowance.money?.dollars();
        Some(if most > 0.0 { self.spent().money.dollars() / most } else { 1.0 })
    }

    fn calls(&self) -> OpenCalls {
        *self.shared.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change_calls(&self, change: impl FnOnce(&mut OpenCalls)) {
        change(&mut self.shared.calls.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Returns whether the maximum of a call must be known in advance.
    fn is_bounded(&self) -> bool {
        self.allowance.tokens.is_some() || self.allowance.money.is_some()
    }

    fn left_after(&self, spent: Spending) -> Allowance {
        let Allowance { tokens, money, time } = self.allowance;
        Allowance {
            tokens: tokens.map(|max_cost| max_cost.saturating_sub(spent.tokens)),
            money: money.map(|max_cost| (max_cost - spent.money).max(Money::ZERO)),
            time: time.map(|max_cost| max_cost.saturating_sub(self.began.elapsed())),
        }
    }

    /// Reserves the maximum cost of a call.
    pub(crate) fn reserve<'a>(
        &'a self,
        max_cost: CostCeiling<'a>,
        model: &str,
    ) -> Result<Reservation<'a>, BudgetExceeded> {
        let taken = self.is_bounded().then(max_cost);
        let mut spent = self.lock();
        self.check(*spent, taken.unwrap_or(CallCost::NOTHING), model)?;
        spent.calls += 1;
        spent.add(taken.unwrap_or(CallCost::NOTHING));
        drop(spent);
        self.change_calls(|calls| calls.open += 1);
        Ok(Reservation { budget: self, max_cost, taken, is_settled: false })
    }

    /// Checks that the budget covers a cost.
    pub(crate) fn allows(&self, max_cost: CallCost, model: &str) -> Result<(), BudgetExceeded> {
        self.check(self.spent(), max_cost, model)
    }

    fn check(
        &self,
        spent: Spending,
        max_cost: CallCost,
        model: &str,
    ) -> Result<(), BudgetExceeded> {
        let left = self.left_after(spent);
        if left.time.is_some_and(|left| left.is_zero()) {
            return Err(BudgetExceeded::Time);
        }
        if let Some(left) = left.tokens.filter(|left| *left < max_cost.tokens) {
            return Err(BudgetExceeded::Tokens { needed: max_cost.tokens, left });
        }
        if let Some(left) = left.money {
            let needed = max_cost
                .money
                .ok_or_else(|| BudgetExceeded::NoPrice { model: model.to_owned() })?;
            if left < needed {
                return Err(BudgetExceeded::Money { needed, left });
            }
        }
        Ok(())
    }

    /// Charges the cost of an earlier call, even beyond the limit.
    pub(crate) fn charge(&self, took: CallCost) {
        let mut spent = self.lock();
        spent.calls += 1;
        spent.add(took);
    }

    fn lock(&self) -> MutexGuard<'_, Spending> {
        self.shared.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Spending {
    fn add(&mut self, cost: CallCost) {
        self.tokens = self.tokens.saturating_add(cost.tokens);
        self.money = self.money + cost.money.unwrap_or(Money::ZERO);
    }
}

impl Reservation<'_> {
    /// Replaces the reservation by the actual cost.
    pub(crate) fn settle(mut self, took: CallCost) {
        self.is_settled = true;
        let taken = self.taken.unwrap_or(CallCost::NOTHING);
        let mut spent = self.budget.lock();
        spent.tokens = spent.tokens.saturating_sub(taken.tokens);
        spent.money = spent.money - taken.money.unwrap_or(Money::ZERO);
        spent.add(took);
    }

    /// Cancels the reservation: nothing was billed.
    pub(crate) fn release(self) {
        self.settle(CallCost::NOTHING);
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        if !self.is_settled && self.taken.is_none() {
            let max_cost = (self.max_cost)();
            self.budget.lock().add(max_cost);
        }
        self.budget.change_calls(|calls| {
            calls.open = calls.open.saturating_sub(1);
            calls.settled += 1;
        });
        self.budget.shared.settled.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEN: CallCost = CallCost { tokens: 10, money: Some(Money::from_pico(10)) };

    fn budget(tokens: u64) -> Budget {
        Budget::new(Allowance { tokens: Some(tokens), ..Allowance::default() })
    }

    #[test]
    fn what_is_not_used_is_given_back() {
        let budget = budget(12);
        let hold = budget.reserve(&|| TEN, "m").unwrap();
        let refused = budget.reserve(&|| TEN, "m").err().unwrap();
        assert_eq!(refused, BudgetExceeded::Tokens { needed: 10, left: 2 });
        hold.settle(CallCost { tokens: 2, money: Some(Money::from_pico(3)) });
        assert_eq!(budget.left().tokens, Some(10));
        assert_eq!(budget.spent().money, Money::from_pico(3));
        budget.reserve(&|| TEN, "m").unwrap().release();
        assert_eq!(budget.left().tokens, Some(10));
    }

    #[test]
    fn a_dropped_call_stays_spent() {
        let budget = budget(12);
        let hold = budget.reserve(&|| TEN, "m").unwrap();
        drop(hold);
        assert_eq!(budget.left().tokens, Some(2));
        let budget = Budget::unlimited();
        drop(budget.reserve(&|| TEN, "m").unwrap());
        assert_eq!(budget.spent().tokens, 10, "it may be billed");
    }

    #[tokio::test]
    async fn whoever_is_refused_can_wait_for_what_others_do_not_use() {
        let budget = budget(12);
        let settled = budget.settled();
        let hold = budget.reserve(&|| TEN, "m").unwrap();
        let settles = async { hold.settle(CallCost { tokens: 1, money: None }) };
        let (has_more, ()) = tokio::join!(budget.more_is_left(settled), settles);
        assert!(has_more);
        assert!(budget.more_is_left(settled).await, "it ended before one began to wait");
        assert!(!budget.more_is_left(budget.settled()).await, "nobody is left to wait for");
    }

    #[test]
    fn a_bound_on_money_needs_a_price() {
        let money = Some(Money::from_pico(5));
        let budget = Budget::new(Allowance { money, ..Allowance::default() });
        let unknown = budget.reserve(&|| CallCost { tokens: 1, money: None }, "m").err().unwrap();
        assert_eq!(unknown, BudgetExceeded::NoPrice { model: "m".to_owned() });
        assert!(matches!(budget.reserve(&|| TEN, "m"), Err(BudgetExceeded::Money { .. })));
    }

    #[test]
    fn no_call_begins_when_the_time_is_up() {
        let time = Some(Duration::ZERO);
        let budget = Budget::new(Allowance { time, ..Allowance::default() });
        assert_eq!(budget.reserve(&|| TEN, "m").err().unwrap(), BudgetExceeded::Time);
    }
}
