use std::collections::BTreeSet;

use super::quoting::QuotedText;
use crate::judge::evidence::Evidence;
use crate::money::Money;
use crate::record::trace::{LevelCounts, TraceSummary};
use crate::time::Timestamp;

/// Limit for a name.
const NAME_BYTES: usize = 200;
/// The maximum number of names per category.
const NAMES: usize = 10;

/// Facts on a session as a whole.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionFacts {
    pub traces: usize,
    /// Observations by level.
    pub levels: LevelCounts,
    pub start: Option<Timestamp>,
    /// The end of its last observation.
    pub end: Option<Timestamp>,
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// Sum of known costs; `None` if none is known.
    pub cost: Option<Money>,
    pub models: BTreeSet<String>,
    pub agents: BTreeSet<String>,
}

impl SessionFacts {
    /// Collects the facts.
    pub fn of(evidence: &Evidence) -> Self {
        let mut facts = Self { traces: evidence.traces.len(), ..Self::default() };
        for numbered in &evidence.traces {
            facts.add(numbered.trace.timestamp, &TraceSummary::of(&numbered.steps));
            facts.agents.extend(numbered.trace.agent.clone());
            for step in &numbered.steps {
                facts.models.extend(step.model.clone());
                facts.agents.extend(step.agent.clone());
            }
        }
        facts
    }

    fn add(&mut self, began: Timestamp, summary: &TraceSummary) {
        let (start, end) = (summary.start.unwrap_or(began), summary.end.unwrap_or(began));
        self.start = Some(self.start.map_or(start, |first| first.min(start).min(began)));
        self.end = Some(self.end.map_or(end, |last| last.max(end)));
        self.levels.debug += summary.levels.debug;
        self.levels.default += summary.levels.default;
        self.levels.warning += summary.levels.warning;
        self.levels.error += summary.levels.error;
        self.input_tokens = self.input_tokens.saturating_add(summary.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(summary.output_tokens);
        self.cost = self.cost.into_iter().chain(summary.cost).reduce(|sum, cost| sum + cost);
    }

    /// Renders the facts.
    pub(super) fn write(&self, out: &mut QuotedText) {
        out.line(format_args!("traces: {}", self.traces));
        let steps = self.levels.total();
        let (errors, warnings) = (self.levels.error, self.levels.warning);
        out.line(format_args!("steps: {steps}, {errors} with errors, {warnings} with warnings"));
        if let (Some(start), Some(end)) = (self.start, self.end) {
            let lasted = duration(end.since(start));
            out.line(format_args!("time: {start} to {end}, {lasted}"));
        }
        let (input, output) = (self.input_tokens, self.output_tokens);
        out.line(format_args!("tokens of the agent's models: {input} in, {output} out"));
        match self.cost {
            Some(cost) => out.line(format_args!("cost: ${:.4}", cost.dollars())),
            None => out.line("cost: unknown"),
        };
        names(out, "models", &self.models);
        names(out, "agents", &self.agents);
    }
}

fn names(out: &mut QuotedText, label: &str, names: &BTreeSet<String>) {
    if names.is_empty() {
        return;
    }
    out.line(label).ours(":");
    for name in names.iter().take(NAMES) {
        out.ours(" ").word(name, NAME_BYTES);
    }
    if names.len() > NAMES {
        out.ours(format_args!(" and {} more", names.len() - NAMES));
    }
}

/// Formats nanoseconds with a unit.
pub(super) fn duration(nanos: i64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "shown to people")]
    let seconds = nanos.max(0) as f64 / 1e9;
    match seconds {
        _ if seconds < 0.95 => format!("{:.0} ms", seconds * 1e3),
        _ if seconds < 120.0 => format!("{seconds:.1} s"),
        _ if seconds < 7200.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3600.0),
    }
}
