use std::io::{IsTerminal as _, Write as _, stderr};

use ratchet_core::money::Money;
use ratchet_stages::score::ScoringProgress;

/// Reports scoring progress on stderr, if it is a terminal.
#[derive(Debug)]
pub(crate) struct ScoringReporter {
    is_watched: bool,
}

/// Width of the bar.
const WIDTH: u64 = 24;

impl ScoringReporter {
    pub(crate) fn new() -> Self {
        Self { is_watched: stderr().is_terminal() }
    }

    pub(crate) fn report(&self, progress: &ScoringProgress) {
        if self.is_watched {
            eprint!("\r{}\u{1b}[K", line(progress));
            // Nothing depends on the line being seen at once.
            drop(stderr().flush());
        }
    }

    pub(crate) fn done(&self) {
        if self.is_watched {
            eprint!("\r\u{1b}[K");
        }
    }
}

fn line(progress: &ScoringProgress) -> String {
    let ScoringProgress { done, of, tally } = progress;
    let filled = (done * WIDTH).checked_div(*of).unwrap_or(WIDTH).min(WIDTH);
    let bar: String = (0..WIDTH).map(|place| if place < filled { '█' } else { '░' }).collect();
    let mut line = format!("{bar} {done} of {of} sessions, {} scored", tally.scored);
    if tally.failed > 0 {
        line += &format!(", {} failed", tally.failed);
    }
    if tally.calls > 0 {
        let mark = if tally.approximate_cost > Money::ZERO { "≈" } else { "" };
        line += &format!(", {} calls, {mark}${:.4}", tally.calls, tally.cost.dollars());
    }
    line
}

#[cfg(test)]
mod tests {
    use ratchet_store::catalog::RunTally;

    use super::*;

    #[test]
    fn a_line_says_how_far_it_is_and_what_was_spent() {
        let tally = RunTally { scored: 2, skipped: 1, ..RunTally::default() };
        let free = line(&ScoringProgress { done: 3, of: 6, tally });
        assert_eq!(free, "████████████░░░░░░░░░░░░ 3 of 6 sessions, 2 scored");
        let cost = Money::from_dollars(0.25).unwrap();
        let paid = RunTally { calls: 4, failed: 1, cost, ..tally };
        let paid = line(&ScoringProgress { done: 6, of: 6, tally: paid });
        assert!(paid.ends_with("6 of 6 sessions, 2 scored, 1 failed, 4 calls, $0.2500"), "{paid}");
    }
}
