//! A proposal for the next split of tier 2, from the reviews of a quarter.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::allocation::{Counts, ReviewPlan, round};
use super::category::Category;
use super::estimate::{self, CategoryFigures};
use super::metrics::WeekFacts;
use super::rebalance::{Measured, Split, Tier2};
use super::weekly::CategoryView;
use crate::stats::interval::float;

/// Weeks of a quarter.
pub const WEEKS: usize = 13;
/// Reviewed weeks that a proposal needs: one bad week is no quarter.
const MIN_WEEKS: usize = 4;
/// Reviews of each side that a proposal needs: fewer say too little about its failures.
const MIN_REVIEWS: u64 = 10;
/// Splits in the list of what each one costs.
const MAX_SPLITS: usize = 41;

/// A week of a quarter: its first day, and its facts.
pub type QuarterWeek = (String, WeekFacts);

/// What reviews of a quarter propose for the next draws.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SplitProposal {
    /// `None` for traces without an agent.
    pub agent: Option<String>,
    /// First day of the first week with reviews.
    pub from: Option<String>,
    /// First day of the last one.
    pub to: Option<String>,
    /// Weeks with reviews.
    pub weeks: u64,
    /// The half-width of agent accuracy that a split must keep.
    pub wanted_half_width: f64,
    /// Places of tier 2 in a usual week.
    pub capacity: u64,
    /// Figures of the quarter.
    pub categories: Vec<CategoryView>,
    /// What the next draw does now.
    pub current: Option<SplitView>,
    /// What it should do; `None` where something is missing, or where the current split is best.
    pub proposed: Option<SplitView>,
    pub gain: Option<SplitGain>,
    /// What each split is expected to give, from few flagged traces to many.
    pub splits: Vec<SplitView>,
    /// What is missing for a proposal, in words.
    pub missing: Vec<String>,
}

/// A split of tier 2, and what it is expected to give in a usual week.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SplitView {
    /// Share of flagged traces.
    pub flagged_share: f64,
    /// Reviews of flagged traces.
    pub flagged: u64,
    /// Reviews of quiet traces.
    pub quiet: u64,
    pub half_width: f64,
    /// Failures that the reviews find.
    pub expected_failures: f64,
}

/// What the proposed split changes in a usual week.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SplitGain {
    /// Failures found in addition.
    pub failures: f64,
    /// Change of the half-width: negative is more precise.
    pub half_width: f64,
}

impl From<Split> for SplitView {
    fn from(split: Split) -> Self {
        Self {
            flagged_share: split.flagged_share(),
            flagged: split.flagged,
            quiet: split.quiet,
            half_width: split.half_width,
            expected_failures: split.expected_failures,
        }
    }
}

impl SplitProposal {
    /// Proposes the split that finds the most failures within the wanted half-width. The plan is
    /// that of the next draw.
    pub fn new(
        agent: Option<String>,
        weeks: &[QuarterWeek],
        (plan, wanted): (&ReviewPlan, f64),
    ) -> Self {
        let is_reviewed = |(_, facts): &&QuarterWeek| facts.drawn_reviewed > 0;
        let weeks: Vec<&QuarterWeek> = weeks.iter().filter(is_reviewed).collect();
        let strata: Vec<_> = weeks.iter().flat_map(|(_, facts)| facts.strata.clone()).collect();
        let figures = estimate::categories(&strata);
        let usual = usual_week(&figures, weeks.len());
        let taken = plan.allocate(&usual);
        let tier_2 = tier_2((&figures, &usual), &taken);
        let mut proposal = Self {
            agent,
            from: weeks.iter().map(|(week, _)| week.clone()).min(),
            to: weeks.iter().map(|(week, _)| week.clone()).max(),
            weeks: weeks.len() as u64,
            wanted_half_width: wanted,
            capacity: tier_2.capacity,
            missing: missing(weeks.len(), &tier_2),
            categories: figures.into_iter().map(CategoryView::new).collect(),
            ..Self::default()
        };
        let flagged = taken.get(&Category::W5).copied().unwrap_or(0);
        if tier_2.flagged.population > 0 && tier_2.quiet.population > 0 {
            proposal.current = tier_2.split(flagged).map(SplitView::from);
            proposal.splits = thinned(tier_2.splits().map(SplitView::from).collect());
        }
        if proposal.missing.is_empty() {
            proposal.propose(&tier_2);
        }
        proposal
    }

    fn propose(&mut self, tier_2: &Tier2) {
        let Some(best) = tier_2.propose(self.wanted_half_width).map(SplitView::from) else {
            self.missing.push(format!(
                "no split of {} reviews reaches ±{:.0} points; raise the agent's reviews per week",
                self.capacity,
                self.wanted_half_width * 100.0
            ));
            return;
        };
        let Some(current) = self.current.filter(|current| current.flagged != best.flagged) else {
            return;
        };
        self.gain = Some(SplitGain {
            failures: best.expected_failures - current.expected_failures,
            half_width: best.half_width - current.half_width,
        });
        self.proposed = Some(best);
    }
}

/// The mean population of each category.
fn usual_week(figures: &[CategoryFigures], weeks: usize) -> Counts {
    let weeks = float(weeks.max(1) as u64);
    let mean = |figures: &CategoryFigures| round(float(figures.population) / weeks).max(1);
    let present = figures.iter().filter(|figures| figures.population > 0);
    present.map(|figures| (figures.category, mean(figures))).collect()
}

fn tier_2((figures, usual): (&[CategoryFigures], &Counts), taken: &Counts) -> Tier2 {
    const QUIET: [Category; 2] = [Category::W6, Category::U3];
    let sum = |of: &Counts, categories: &[Category]| -> u64 {
        categories.iter().filter_map(|category| of.get(category)).sum()
    };
    let by_category: BTreeMap<Category, &CategoryFigures> =
        figures.iter().map(|figures| (figures.category, figures)).collect();
    let measured = |categories: &[Category]| {
        let found: Vec<_> = categories.iter().filter_map(|one| by_category.get(one)).collect();
        Measured {
            population: sum(usual, categories),
            reviewed: found.iter().map(|figures| figures.reviewed).sum(),
            failed: found.iter().map(|figures| figures.failures).sum(),
        }
    };
    let flagged = [Category::W5];
    let all: u64 = usual.values().sum();
    Tier2 {
        capacity: sum(taken, &flagged) + sum(taken, &QUIET),
        flagged: measured(&flagged),
        quiet: measured(&QUIET),
        tier_1: all - sum(usual, &flagged) - sum(usual, &QUIET),
    }
}

fn missing(weeks: usize, tier_2: &Tier2) -> Vec<String> {
    let mut missing = Vec::new();
    if weeks < MIN_WEEKS {
        missing.push(format!(
            "{MIN_WEEKS} weeks with drawn and reviewed traces are needed; there are {weeks}"
        ));
    }
    for (name, side) in [
        ("without feedback that the judge flagged (W5)", tier_2.flagged),
        ("without feedback that no judge flagged (W6, U3)", tier_2.quiet),
    ] {
        if side.reviewed < MIN_REVIEWS {
            missing.push(format!(
                "{MIN_REVIEWS} reviews of traces {name} are needed; there are {}",
                side.reviewed
            ));
        }
    }
    missing
}

/// Some of the splits, first and last included.
fn thinned(splits: Vec<SplitView>) -> Vec<SplitView> {
    let step = splits.len().div_ceil(MAX_SPLITS).max(1);
    let last = splits.len().saturating_sub(1);
    let is_kept = |(at, _): &(usize, SplitView)| at % step == 0 || *at == last;
    splits.into_iter().enumerate().filter(is_kept).map(|(_, split)| split).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::review::estimate::{ReviewedStratum, TraceReview};
    use crate::stats::near;
    use crate::stats::prediction_powered::Moments;

    fn stratum(category: Category, population: u64, reviewed: u64, failed: u64) -> ReviewedStratum {
        let review = |n| TraceReview { correct: n >= failed, quality: None, in_dataset: false };
        let reviews = (0..reviewed).map(review).collect();
        ReviewedStratum { category, population, quality: Moments::default(), reviews }
    }

    /// Twelve weeks of 1,000 traces: tier 1 has 200, and 40 of 120 and 10 of 680 are reviewed.
    fn quarter(weeks: usize) -> Vec<QuarterWeek> {
        let week = |n: usize| {
            // Six failures of quiet traffic in twelve weeks.
            let quiet = stratum(Category::W6, 680, 10, u64::from(n.is_multiple_of(2)));
            let strata = vec![
                stratum(Category::W1, 200, 200, 150),
                stratum(Category::W5, 120, 40, 32),
                quiet,
            ];
            let facts =
                WeekFacts { strata, drawn: 250, drawn_reviewed: 250, ..WeekFacts::default() };
            (format!("2026-0{}-01", n % 9 + 1), facts)
        };
        (0..weeks).map(week).collect()
    }

    fn plan(capacity: usize) -> ReviewPlan {
        ReviewPlan { capacity, ..ReviewPlan::default() }
    }

    /// The reference values of the rebalancing cases, through a whole quarter.
    #[test]
    fn a_quarter_of_reviews_proposes_the_reference_split() {
        let weeks = quarter(12);
        let proposal = SplitProposal::new(None, &weeks, (&plan(250), 0.06));
        assert_eq!(proposal.missing, Vec::<String>::new());
        assert_eq!((proposal.weeks, proposal.capacity), (12, 50));
        let current = proposal.current.unwrap();
        assert_eq!((current.flagged, current.quiet), (40, 10));
        near(current.half_width, 0.095_178_161_395_244_43);
        let proposed = proposal.proposed.unwrap();
        assert_eq!((proposed.flagged, proposed.quiet), (23, 27));
        near(proposed.half_width, 0.059_418_811_624_704_145);
        near(proposed.expected_failures, 19.836_068_108_795_384);
        near(proposal.gain.unwrap().failures, 19.836_068_108_795_384 - 32.512_242_057_696_604);
        // At ±10 points the current split is the best one: nothing is proposed.
        let kept = SplitProposal::new(None, &weeks, (&plan(250), 0.1));
        assert_eq!((kept.proposed, kept.missing.len()), (None, 0));
        let none = SplitProposal::new(None, &weeks, (&plan(250), 0.03));
        assert!(none.missing[0].contains("reaches ±3 points"), "{:?}", none.missing);
    }

    #[test]
    fn the_next_draw_has_the_split_that_was_proposed() {
        let proposal = SplitProposal::new(None, &quarter(12), (&plan(250), 0.06));
        let proposed = proposal.proposed.unwrap();
        let next = ReviewPlan { half_width: None, ..plan(250) };
        let next = ReviewPlan { flagged_share: proposed.flagged_share, ..next };
        let usual = Counts::from([(Category::W1, 200), (Category::W5, 120), (Category::W6, 680)]);
        let taken = next.allocate(&usual);
        assert_eq!(
            (taken[&Category::W5], taken[&Category::W6]),
            (proposed.flagged, proposed.quiet)
        );
    }

    #[test]
    fn too_little_data_says_what_is_missing() {
        let proposal = SplitProposal::new(None, &quarter(3), (&plan(250), 0.06));
        assert_eq!(proposal.proposed, None);
        assert!(proposal.missing[0].starts_with("4 weeks"), "{:?}", proposal.missing);
        let empty = SplitProposal::new(None, &[], (&plan(50), 0.1));
        assert_eq!((empty.missing.len(), empty.current), (3, None));
    }
}
