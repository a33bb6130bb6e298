use std::collections::BTreeMap;

use maud::{Markup, html};
use ratchet_core::money::Money;
use ratchet_core::record::limit::elide;
use ratchet_core::record::observation::Observation;
use ratchet_core::record::usage::TOTAL;

use crate::components::figure;
use crate::components::stack::{Share, stack};
use crate::frame::menu;

/// Maximum number of usage types listed; clients choose the names.
const LISTED: usize = 20;

/// Tokens and cost by usage type.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct UsageTotals {
    tokens: BTreeMap<String, u64>,
    total_tokens: u64,
    money: BTreeMap<String, Money>,
    total_money: Money,
    approximate: Money,
    /// Observations with and without a known cost.
    priced: u64,
    unpriced: u64,
    /// Whether not all observations are included.
    pub(super) is_cut: bool,
}

impl UsageTotals {
    /// Usage of one observation.
    pub(super) fn by_step(step: &Observation) -> Self {
        let mut spent = Self::default();
        spent.add(step);
        spent
    }

    /// Total usage of several observations.
    pub(super) fn by_steps(steps: &[Observation], is_cut: bool) -> Self {
        let mut spent = Self { is_cut, ..Self::default() };
        steps.iter().for_each(|step| spent.add(step));
        spent
    }

    fn add(&mut self, step: &Observation) {
        for (kind, units) in step.usage.kinds().iter().filter(|(kind, _)| *kind != TOTAL) {
            let sum = self.tokens.entry(kind.clone()).or_default();
            *sum = sum.saturating_add(*units);
        }
        self.total_tokens = self.total_tokens.saturating_add(step.usage.total());
        match &step.cost {
            Some(cost) => {
                self.priced += 1;
                self.total_money = self.total_money + cost.total();
                self.approximate = self.approximate + step.approximate_cost();
                for (kind, money) in cost.kinds() {
                    let sum = self.money.entry(kind.clone()).or_default();
                    *sum = *sum + *money;
                }
            }
            None if !step.usage.is_empty() || step.model.is_some() => self.unpriced += 1,
            None => {}
        }
    }

    /// Usage types with their colors.
    fn kinds(&self) -> impl Iterator<Item = (usize, &String)> {
        let all: std::collections::BTreeSet<&String> =
            self.tokens.keys().chain(self.money.keys()).collect();
        all.into_iter().enumerate().take(LISTED)
    }
}

/// Stacked bars of tokens and cost by usage type.
#[expect(clippy::cast_precision_loss, reason = "widths in a drawing")]
pub(super) fn bars(spent: &UsageTotals) -> Markup {
    let share = |hue: usize, kind: &String, amount: f64, text: String| Share {
        name: in_words(kind),
        amount,
        text,
        hue,
    };
    let tokens: Vec<Share> = spent
        .kinds()
        .filter_map(|(hue, kind)| {
            let units = spent.tokens.get(kind)?;
            Some(share(hue, kind, *units as f64, figure::grouped(*units)))
        })
        .collect();
    let money: Vec<Share> = spent
        .kinds()
        .filter_map(|(hue, kind)| {
            let money = spent.money.get(kind)?;
            Some(share(hue, kind, money.dollars(), figure::money(*money)))
        })
        .collect();
    html! {
        @if spent.total_tokens > 0 || !tokens.is_empty() {
            h3 { "Tokens " span.muted { (figure::mark(spent.approximate)) (figure::grouped(spent.total_tokens)) } }
            @if !tokens.is_empty() { (stack("Tokens by type", &tokens)) }
        }
        @if spent.priced > 0 {
            h3 { "Cost " span.muted title=(exactly(spent.total_money)) {
                (figure::money_in_part(spent.total_money, spent.approximate))
            } }
            @if let Some(share) = figure::of_which(spent.approximate) { p.muted { (share) ": " (COUNTED_HERE) } }
            @if !money.is_empty() { (stack("Cost by type", &money)) }
        } @else if spent.unpriced > 0 {
            h3 { "Cost " (figure::cost(None)) }
        }
        @if spent.unpriced > 0 { p.muted { (unpriced(spent.unpriced)) } }
    }
}

/// Menu with the usage of the whole trace.
pub(super) fn menu_of(spent: &UsageTotals) -> Markup {
    let mark = figure::mark(spent.approximate);
    let table = html! {
        table.by-kind {
            caption { "Tokens and cost of the whole trace, by type" }
            thead { tr { th scope="col" { "Type" } th.number scope="col" { "Tokens" } th.number scope="col" { "Cost" } } }
            tbody {
                @for (_, kind) in spent.kinds() {
                    tr {
                        th scope="row" { bdi { (in_words(kind)) } }
                        td.number { @if let Some(units) = spent.tokens.get(kind) { (figure::grouped(*units)) } }
                        td.number { @if let Some(money) = spent.money.get(kind) { (exactly(*money)) } }
                    }
                }
                tr {
                    th scope="row" { "Total" }
                    td.number { (mark) (figure::grouped(spent.total_tokens)) }
                    td.number { @if spent.priced > 0 { (mark) (exactly(spent.total_money)) } @else { "unknown" } }
                }
            }
        }
        @if spent.unpriced > 0 { p.muted { (unpriced(spent.unpriced)) } }
        @if let Some(share) = figure::of_which(spent.approximate) { p.muted { (share) ": " (COUNTED_HERE) } }
        @if spent.is_cut { p.muted { "Only the first observations are included." } }
    };
    html! {
        @if spent.total_tokens > 0 || spent.priced > 0 { (menu("Usage", "Tokens and cost by type", &table)) }
    }
}

/// Why a cost is approximate.
const COUNTED_HERE: &str = "the client sent no usage, so tokens are estimated.";

fn unpriced(steps: u64) -> String {
    match steps {
        1 => "1 observation without a known price is not included in the cost.".to_owned(),
        many => {
            format!(
                "{} observations without a known price are not included in the cost.",
                figure::grouped(many)
            )
        }
    }
}

/// Amount with full precision.
fn exactly(money: Money) -> String {
    figure::exact_dollars(money.dollars())
}

/// Display name of a usage type such as `input_cached_tokens`.
fn in_words(kind: &str) -> String {
    let plain = kind.strip_suffix("_tokens").unwrap_or(kind);
    elide(&plain.replace('_', " "), 60).into_owned()
}
