//! `make eval-judge DATA=FILE`: measures how well the offline judge separates good sessions from
//! bad ones.
//!
//! Reads labelled trajectories, converts each to the traces that an SDK would have sent, judges
//! them by the shipped rubric, and prints the AUC with a 95% interval (bootstrap over whole tasks)
//! and the agreement with the labels at a threshold chosen without the task at hand. Beside it: what
//! counting messages, characters or failed calls would reach, how good sessions of each mark were,
//! and the AUC of the same sessions in the notations of other agents, which must not fall by more
//! than 0.03. The judge is not fitted, so every task is unseen by it, unless its signals were chosen
//! by looking at this very file. With enough labels, P(success) is fitted and cross-validated.

mod labelled;
/// Conversion of messages to traces.
mod traffic;
/// Conversations in other notations.
mod notation;
mod report;
mod baselines;
mod calibration;
/// P(success), fitted to the labels at hand.
mod success;

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;

use ratchet_core::judge::evidence::Evidence;
use ratchet_core::judge::offline::{self, Peers, SignalSet, Size};
use ratchet_core::judge::rubric::{self, Rubric};

use baselines::Counts;
use labelled::Labelled;
use report::Judged;
use traffic::Shape;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("eval-judge: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let asked = Asked::read(std::env::args().skip(1))?;
    let rubric = rubric::shipped().find(|rubric| rubric.name == rubric::DEFAULT);
    let rubric = rubric.ok_or("no rubric ships")?;
    let mut out = std::io::stdout().lock();
    for file in &asked.files {
        let all = labelled::read(&std::fs::read_to_string(file)?)?;
        for shape in [Shape::Turns, Shape::Whole] {
            for company in [Company::Peers, Company::Alone] {
                let judged = judge_all(&asked.signals, rubric, &all, (shape, company));
                writeln!(out, "{shape:?}, {company:?}: {}", report::report(rubric, &judged))?;
                if (shape, company) == (Shape::Turns, Company::Peers) {
                    writeln!(out, "{}", baselines::report(rubric, &judged))?;
                    writeln!(out, "{}", calibration::report(rubric, &judged))?;
                    writeln!(out, "{}", success::report(&asked.signals, rubric, &judged))?;
                }
                if asked.wants_reasons {
                    writeln!(out, "{}", report::reasons(&judged))?;
                }
            }
        }
        writeln!(out, "{}", notations(&asked.signals, rubric, &all)?)?;
    }
    Ok(())
}

/// How much less the AUC may be in another notation.
const MAX_LOSS: f64 = 0.03;

/// Compares the AUC of the same sessions in the notations of other agents.
fn notations(
    signals: &SignalSet,
    rubric: &Rubric,
    all: &[Labelled],
) -> Result<String, Box<dyn Error>> {
    let area = |shape| {
        let judged = judge_all(signals, rubric, all, (shape, Company::Peers));
        report::overall_area(rubric, &judged).ok_or("all sessions are equally good")
    };
    let own = area(Shape::Turns)?;
    let mut text = "| notation | AUC | against its own |\n|---|---|---|\n".to_owned();
    let mut lost = Vec::new();
    for shape in Shape::NOTATIONS {
        let other = area(shape)?;
        text += &format!("| {shape:?} | {other:.3} | {:+.3} |\n", other - own);
        if own - other > MAX_LOSS {
            lost.push(format!("{shape:?}"));
        }
    }
    match lost.as_slice() {
        [] => Ok(text),
        lost => Err(format!("{text}\nthe AUC falls by more than {MAX_LOSS} in {lost:?}").into()),
    }
}

/// Command line arguments.
struct Asked {
    files: Vec<String>,
    signals: SignalSet,
    wants_reasons: bool,
}

impl Asked {
    fn read(mut arguments: impl Iterator<Item = String>) -> Result<Self, Box<dyn Error>> {
        let signals = SignalSet::shipped().clone();
        let mut asked = Self { files: Vec::new(), signals, wants_reasons: false };
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--why" => asked.wants_reasons = true,
                "--signals" => {
                    let file = arguments.next().ok_or("--signals wants a file")?;
                    asked.signals = SignalSet::parse(&std::fs::read_to_string(file)?)?;
                }
                _ => asked.files.push(argument),
            }
        }
        if asked.files.is_empty() {
            return Err("name a file of labelled trajectories: make eval-judge DATA=FILE".into());
        }
        Ok(asked)
    }
}

/// Whether peer sessions are available for comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Company {
    Peers,
    Alone,
}

fn judge_all(
    signals: &SignalSet,
    rubric: &Rubric,
    all: &[Labelled],
    (shape, company): (Shape, Company),
) -> Vec<Judged> {
    let evidence: Vec<Evidence> =
        (0..).zip(all).map(|(nth, one)| traffic::evidence(nth, one, shape)).collect();
    let sizes: Vec<Size> = evidence.iter().map(Size::of).collect();
    let judge = |(one, evidence): (&Labelled, &Evidence)| {
        let counts = Counts::of(one, evidence);
        let others = all.iter().zip(&sizes).filter(|(other, _)| other.task != one.task);
        let others = others.filter(|_| company == Company::Peers);
        let peers = Peers::new(others.map(|(_, size)| *size));
        let verdict = offline::judge_with(signals, rubric, evidence, &peers);
        let features = offline::success::features(signals, rubric, evidence, &peers);
        Judged { task: one.task.clone(), is_good: one.is_good, verdict, counts, features }
    };
    all.iter().zip(&evidence).map(judge).collect()
}
