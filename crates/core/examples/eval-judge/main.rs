//! `make eval-judge DATA=FILE`: measures how well the offline judge separates good sessions from
//! bad ones.
//!
//! Reads labelled trajectories, converts each to the traces that an SDK would have sent, judges
//! them by the shipped rubric, and prints the AUC with a 95% interval (bootstrap over whole tasks)
//! and the agreement with the labels at a threshold chosen without the task at hand. Nothing is
//! fitted here, so every task is unseen by the judge, unless its signals were chosen by looking at
//! this very file.

mod labelled;
/// Conversion of messages to traces.
mod traffic;
mod report;

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;

use ratchet_core::judge::evidence::Evidence;
use ratchet_core::judge::offline::{self, Peers, SignalSet, Size};
use ratchet_core::judge::rubric::{self, Rubric};

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
                if asked.wants_reasons {
                    writeln!(out, "{}", report::reasons(&judged))?;
                }
            }
        }
    }
    Ok(())
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
        let others = all.iter().zip(&sizes).filter(|(other, _)| other.task != one.task);
        let others = others.filter(|_| company == Company::Peers);
        let peers = Peers::new(others.map(|(_, size)| *size));
        let verdict = offline::judge_with(signals, rubric, evidence, &peers);
        Judged { task: one.task.clone(), is_good: one.is_good, verdict }
    };
    all.iter().zip(&evidence).map(judge).collect()
}
