use std::collections::{BTreeMap, BTreeSet};

use super::category::Category;
use super::draw::{DrawCell, DrawnTrace, Selection};
use super::estimate::{ReviewedStratum, TraceReview};
use super::metrics::{Basis, ReviewedTrace, WeekFacts};
use crate::catalog::agent::AgentTargets;
use crate::stats::prediction_powered::Moments;

/// A person's answer about a trace, with the trace's current signals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TraceAnswer {
    pub correct: bool,
    pub category: Category,
    pub quality: Option<f64>,
}

/// A stored draw.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DrawnWeek {
    pub cells: Vec<DrawCell>,
    pub traces: Vec<DrawnTrace>,
}

/// The part of the traffic that figures are about; all where `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    pub environment: Option<String>,
    pub release: Option<String>,
}

impl Cut {
    /// Returns whether traffic of an environment and release is in it.
    pub fn has(&self, environment: &str, release: Option<&str>) -> bool {
        self.environment.as_deref().is_none_or(|wanted| wanted == environment)
            && self.release.as_deref().is_none_or(|wanted| Some(wanted) == release)
    }
}

/// What is known of a week.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WeekInput {
    pub traces: u64,
    /// Current categories; used where nothing was drawn.
    pub cells: Vec<DrawCell>,
    pub thumbs_up: u64,
    pub thumbs_down: u64,
    /// Answers by trace.
    pub answers: BTreeMap<String, TraceAnswer>,
    pub draws: Vec<DrawnWeek>,
    /// Traces that became dataset items.
    pub in_dataset: BTreeSet<String>,
    /// Drawn traces that were deleted before anybody answered: the sample is complete without them.
    pub deleted: BTreeSet<String>,
    /// Items added to global datasets.
    pub items_added: u64,
    pub cut: Cut,
    pub targets: AgentTargets,
}

impl WeekInput {
    /// Returns the facts that metrics are computed from. Where a sample was drawn, only its traces
    /// count for estimates; where none was, all answers do, as if they were typical of their
    /// category.
    pub fn facts(&self) -> WeekFacts {
        let mut facts = WeekFacts {
            traces: self.traces,
            thumbs_up: self.thumbs_up,
            thumbs_down: self.thumbs_down,
            items_added: self.items_added,
            targets: self.targets,
            failed: self.failed(),
            reviewed: self.answers.values().map(reviewed).collect(),
            ..WeekFacts::default()
        };
        if self.draws.is_empty() {
            facts.strata = self.chosen();
            return facts;
        }
        facts.basis = Basis::Drawn;
        for draw in &self.draws {
            let in_cut = draw.traces.iter().filter(|drawn| self.has(drawn));
            let in_cut: Vec<&DrawnTrace> = in_cut.collect();
            let answered = in_cut.iter().filter(|drawn| self.answers.contains_key(&drawn.trace));
            facts.drawn_reviewed += answered.count() as u64;
            let is_open = |drawn: &&&DrawnTrace| !self.deleted.contains(&drawn.trace);
            facts.drawn += in_cut.iter().filter(is_open).count() as u64;
            facts.strata.extend(self.drawn(draw, &in_cut));
        }
        facts
    }

    /// The traces that people call wrong.
    fn failed(&self) -> Vec<String> {
        let wrong = self.answers.iter().filter(|(_, answer)| !answer.correct);
        wrong.map(|(trace, _)| trace.clone()).collect()
    }

    fn has(&self, drawn: &DrawnTrace) -> bool {
        self.cut.has(&drawn.environment, drawn.release.as_deref())
    }

    fn drawn(&self, draw: &DrawnWeek, in_cut: &[&DrawnTrace]) -> Vec<ReviewedStratum> {
        let mut strata = self.strata(&draw.cells);
        for drawn in in_cut.iter().filter(|drawn| drawn.selection == Selection::Drawn) {
            let Some(answer) = self.answers.get(&drawn.trace) else { continue };
            let Some(stratum) = strata.get_mut(&drawn.category) else { continue };
            let in_dataset = self.in_dataset.contains(&drawn.trace);
            let review =
                TraceReview { correct: answer.correct, quality: drawn.quality, in_dataset };
            stratum.reviews.push(review);
        }
        strata.into_values().collect()
    }

    fn chosen(&self) -> Vec<ReviewedStratum> {
        let mut strata = self.strata(&self.cells);
        for (trace, answer) in &self.answers {
            let Some(stratum) = strata.get_mut(&answer.category) else { continue };
            let in_dataset = self.in_dataset.contains(trace);
            let review =
                TraceReview { correct: answer.correct, quality: answer.quality, in_dataset };
            stratum.reviews.push(review);
        }
        strata.into_values().collect()
    }

    /// The categories of the cut, without reviews.
    fn strata(&self, cells: &[DrawCell]) -> BTreeMap<Category, ReviewedStratum> {
        let mut strata: BTreeMap<Category, ReviewedStratum> = BTreeMap::new();
        let in_cut = |cell: &&DrawCell| self.cut.has(&cell.environment, cell.release.as_deref());
        for cell in cells.iter().filter(in_cut) {
            let stratum = strata.entry(cell.category).or_insert_with(|| ReviewedStratum {
                category: cell.category,
                population: 0,
                quality: Moments::default(),
                reviews: Vec::new(),
            });
            stratum.population += cell.population;
            if cell.category.judged_good().is_some() {
                stratum.quality.count += cell.population;
                stratum.quality.sum += cell.quality_sum;
                stratum.quality.squares += cell.quality_squares;
            }
        }
        strata
    }
}

fn reviewed(answer: &TraceAnswer) -> ReviewedTrace {
    ReviewedTrace { correct: answer.correct, judged_good: answer.category.judged_good() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::review::allocation::ReviewPlan;
    use crate::review::draw::{TraceCandidate, WeekSampler};
    use crate::stats::near;

    fn candidate(n: usize) -> TraceCandidate {
        TraceCandidate {
            trace: format!("t{n}"),
            thumb: None,
            quality: Some(if n.is_multiple_of(4) { 0.2 } else { 0.9 }),
            environment: if n.is_multiple_of(2) { "production" } else { "staging" }.to_owned(),
            release: None,
        }
    }

    /// A week of 200 traces whose flagged quarter is wrong, drawn and answered in full.
    fn week(cut: Cut) -> WeekInput {
        let mut sampler = WeekSampler::new(ReviewPlan::default(), "seed", "spots");
        (0..200).for_each(|n| sampler.add(candidate(n)));
        let draw = sampler.finish();
        let answer = |drawn: &DrawnTrace| {
            let correct = drawn.category == Category::W6;
            let answer = TraceAnswer { correct, category: drawn.category, quality: drawn.quality };
            (drawn.trace.clone(), answer)
        };
        let mut answers: BTreeMap<String, TraceAnswer> = draw.traces.iter().map(answer).collect();
        // The signals of a drawn trace have changed since, and a trace was chosen by hand.
        let first = draw.traces[0].trace.clone();
        if let Some(answer) = answers.get_mut(&first) {
            answer.category = Category::W1;
        }
        let outside = (0..200).map(|n| format!("t{n}")).find(|name| !answers.contains_key(name));
        let chosen = TraceAnswer { correct: false, category: Category::W6, quality: Some(0.9) };
        answers.insert(outside.unwrap(), chosen);
        let draws = vec![DrawnWeek { cells: draw.cells.clone(), traces: draw.traces }];
        WeekInput { traces: 200, cells: draw.cells, answers, draws, cut, ..WeekInput::default() }
    }

    #[test]
    fn estimates_use_the_category_at_draw_time_and_drawn_traces_only() {
        let facts = week(Cut::default()).facts();
        assert_eq!((facts.basis, facts.drawn, facts.drawn_reviewed), (Basis::Drawn, 50, 50));
        assert_eq!(facts.reviewed.len(), 51, "the chosen trace counts as reviewed");
        let accuracy = &facts.metrics(None)[0];
        near(accuracy.weighted.value.unwrap(), 0.75);
        assert_eq!(accuracy.weighted.n, 50);
        assert!(!facts.is_provisional());
    }

    #[test]
    fn a_drawn_trace_that_was_deleted_does_not_keep_the_week_provisional() {
        let mut input = week(Cut::default());
        let gone = input.draws[0].traces[3].trace.clone();
        input.answers.remove(&gone);
        assert!(input.facts().is_provisional(), "it waits for review");
        input.deleted.insert(gone);
        let facts = input.facts();
        assert_eq!((facts.drawn, facts.drawn_reviewed), (49, 49));
        assert!(!facts.is_provisional());
    }

    #[test]
    fn a_cut_has_its_own_population() {
        let environment = Some("staging".to_owned());
        let facts = week(Cut { environment, release: None }).facts();
        let populations: Vec<u64> = facts.strata.iter().map(|stratum| stratum.population).collect();
        assert_eq!(populations, [100], "no trace of staging is flagged");
        near(facts.metrics(None)[0].weighted.value.unwrap(), 1.0);
    }

    #[test]
    fn without_a_draw_answers_stand_for_their_category() {
        let drawn = week(Cut::default());
        let facts = WeekInput { draws: Vec::new(), ..drawn }.facts();
        assert_eq!(facts.basis, Basis::Chosen);
        assert!(facts.metrics(None)[0].weighted.value.is_some());
    }
}
