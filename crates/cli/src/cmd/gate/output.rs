use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use ratchet_core::counted::counted;
use ratchet_core::gate::bounds::Bounds;
use ratchet_core::gate::explain::{explain, percent, points};
use ratchet_core::gate::flip::FlipKind;
use ratchet_core::gate::format::{junit, markdown};
use ratchet_core::gate::report::GateReport;
use ratchet_server::api::gates::{GatePlanView, GateView};

use super::GateArgs;
use crate::print::{one_line, table, without_control_characters};

/// Files for CI.
#[derive(Args, Clone, Debug)]
pub(crate) struct OutputFiles {
    /// Also write JUnit XML to this file
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Also write Markdown to this file, for a pull request
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
}

impl OutputFiles {
    pub(super) fn write(&self, report: &GateReport) -> anyhow::Result<()> {
        let write = |path: &Option<PathBuf>, text: fn(&GateReport) -> String| match path {
            Some(path) => write(path, &text(report)),
            None => Ok(()),
        };
        write(&self.junit, junit)?;
        write(&self.markdown, markdown)
    }
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// What the gate will be able to see, before it runs.
pub(super) fn plan(plan: &GatePlanView, args: &GateArgs) -> String {
    let trials = plan.items * usize::try_from(args.repeats).unwrap_or(1);
    let mut text = format!("{}, {}", counted(plan.items, "item"), counted(trials, "trial"));
    let drop = plan.smallest_drop.map(|drop| format!("{:.1} points", drop * 100.0));
    match (&plan.no_baseline, drop) {
        (None, Some(drop)) => text += &format!("; smallest detectable drop: {drop}"),
        (None, None) => {}
        (Some(why), drop) => {
            text += &format!("; no baseline: {}", why.trim_end_matches('.'));
            if let Some(drop) = drop {
                text += &format!(
                    ", so no drop is seen; with one as right as the threshold it would be {drop}"
                );
            }
        }
    }
    match (plan.right_to_pass, args.min_accuracy) {
        (Some(right), _) => text += &format!("; the threshold is met from {right} right items on"),
        (None, Some(_)) => text += "; even all right would be too few items to pass",
        (None, None) => {}
    }
    text += &match plan.cost {
        Some(cost) => format!("; cost about ${cost:.4}"),
        None => "; cost unknown".to_owned(),
    };
    text + "\n"
}

/// The decision for people.
pub(super) fn text(gate: &GateView, with_reasons: bool) -> String {
    let report = &gate.report;
    let mut text = if with_reasons { explain(report) } else { format!("{}\n", report.sentence) };
    let mut rows = vec![row("accuracy", &report.accuracy, percent)];
    if let Some(difference) = &report.difference {
        rows.push(row("difference", &difference.bounds, points));
    }
    if let Some(best) = &report.best {
        rows.push(row("to best promoted", &best.bounds, points));
    }
    text += &format!("\n{}", table(["", "VALUE", "FROM", "TO", "ITEMS"], &rows));
    if let Some(test) = &report.mcnemar {
        text += &format!(
            "McNemar: {} regressed (b), {} fixed (c), p = {:.4}\n",
            test.b, test.c, test.p_one_sided
        );
    }
    if let Some(found) = &report.corrections {
        text += &format!(
            "{} corrected by people; without corrections: {}, accuracy {}\n",
            counted(found.items, "item"),
            found.verdict_without.as_str(),
            percent(found.accuracy_without)
        );
    }
    for line in report.faults.text().into_iter().chain(report.not_judged.text()) {
        text.extend(without_control_characters(&line).chain(['\n']));
    }
    if !with_reasons {
        text += &flips(report);
    }
    if let Some(url) = &gate.url {
        text += &format!("{url}\n");
    }
    text
}

fn row(name: &str, bounds: &Bounds, number: fn(f64) -> String) -> [String; 5] {
    [
        name.to_owned(),
        number(bounds.value),
        number(bounds.lower()),
        number(bounds.upper()),
        bounds.n.to_string(),
    ]
}

fn flips(report: &GateReport) -> String {
    if report.flips.is_empty() {
        return String::new();
    }
    let rows: Vec<_> = report
        .flips
        .iter()
        .map(|flip| {
            let word = match flip.kind {
                FlipKind::Regressed => "regressed",
                FlipKind::Fixed => "fixed",
            };
            [
                one_line(&flip.item),
                word.to_owned(),
                percent(flip.before),
                percent(flip.after),
                flip.url.clone().unwrap_or_default(),
            ]
        })
        .collect();
    format!("\n{}", table(["ITEM", "", "BEFORE", "NOW", "LINK"], &rows))
}
