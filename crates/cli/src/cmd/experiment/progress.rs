use std::io::{IsTerminal as _, Write as _, stderr};
use std::time::{Duration, Instant};

use ratchet_core::experiment::plan::ExperimentProgress;

/// Width of the bar.
const WIDTH: u64 = 24;

/// Reports the progress of a run on stderr, if it is a terminal.
#[derive(Debug)]
pub(super) struct RunProgress {
    is_watched: bool,
    started: Instant,
    /// Trials that were finished before.
    before: u64,
}

impl RunProgress {
    pub(super) fn new(run: &ExperimentProgress) -> Self {
        Self { is_watched: stderr().is_terminal(), started: Instant::now(), before: run.done }
    }

    pub(super) fn report(&self, run: &ExperimentProgress) {
        if self.is_watched {
            let done = run.done.saturating_sub(self.before);
            eprint!("\r{}\u{1b}[K", line(run, done, self.started.elapsed()));
            // Nothing depends on the line being seen at once.
            drop(stderr().flush());
        }
    }

    pub(super) fn done(&self) {
        if self.is_watched {
            eprint!("\r\u{1b}[K");
        }
    }
}

fn line(run: &ExperimentProgress, done_now: u64, elapsed: Duration) -> String {
    let filled = (run.done * WIDTH).checked_div(run.trials).unwrap_or(WIDTH).min(WIDTH);
    let bar: String = (0..WIDTH).map(|place| if place < filled { '█' } else { '░' }).collect();
    let mut line = format!("{bar} {} of {} trials", run.done, run.trials);
    if run.faults > 0 {
        line += &format!(", {} without an answer", run.faults);
    }
    if run.cost > 0.0 {
        line += &format!(", ${:.4}", run.cost);
    }
    let open = run.trials.saturating_sub(run.done);
    let left = elapsed.as_secs().saturating_mul(open).checked_div(done_now);
    if let Some(left) = left.filter(|_| open > 0) {
        line += &format!(", about {left} s left");
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(done: u64, trials: u64, faults: u64, cost: f64) -> ExperimentProgress {
        let calls = done;
        ExperimentProgress { trials, done, faults, calls, cost, ..ExperimentProgress::default() }
    }

    #[test]
    fn the_line_has_progress_faults_cost_and_what_is_left() {
        let bar = |filled: usize| "█".repeat(filled) + &"░".repeat(24 - filled);
        let shown = line(&run(30, 40, 2, 0.5), 10, Duration::from_secs(20));
        let expected = ", 2 without an answer, $0.5000, about 20 s left";
        assert_eq!(shown, format!("{} 30 of 40 trials{expected}", bar(18)));
        let fresh = line(&run(0, 40, 0, 0.0), 0, Duration::ZERO);
        assert_eq!(fresh, format!("{} 0 of 40 trials", bar(0)), "no estimate yet");
        let empty = line(&run(0, 0, 0, 0.0), 0, Duration::ZERO);
        assert_eq!(empty, format!("{} 0 of 0 trials", bar(24)));
    }
}
