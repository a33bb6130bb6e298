use ratchet_core::counted::counted;
use ratchet_core::id::SessionId;
use ratchet_core::money::Money;
use ratchet_core::quality::calibration::advice;
use ratchet_core::quality::calibration::change::ScoreShift;
use ratchet_core::quality::calibration::draft::mark;
use ratchet_core::quality::calibration::weighted::WeightedAgreement;
use ratchet_core::quality::calibration::{
    Agreement, DisagreedSession, MIN_LABELS, Statistic, TARGET, ThresholdResult,
};
use ratchet_core::quality::synthesis::JudgeVersion;
use ratchet_stages::review::trial::DraftTrial;
use ratchet_store::catalog::RunOutcome;

use super::Found;
use crate::print::{one_line, table};

const APART: usize = 5;

/// All that was found, for people.
pub(super) fn of(found: &Found) -> String {
    let calibration = &found.calibration;
    let mut text = head(found);
    if calibration.sessions == 0 {
        text += "No labels to compare yet; run `ratchet label` to label this week's sample.\n";
        return text;
    }
    text += &standings(found);
    if found.shows_all {
        text += &calibration.weighted.as_ref().map(weighed).unwrap_or_default();
        for one in std::iter::once(&calibration.overall).chain(&calibration.dimensions) {
            text += &agreement(one, calibration.threshold);
        }
    } else {
        text += "\n--all shows all statistics.\n";
    }
    text += "\nLargest disagreements:\n";
    for one in calibration.apart.iter().filter(|one| one.distance > 0.0).take(APART) {
        text += &apart(one, found);
    }
    text += &found.signals.as_ref().map(super::signals::text).unwrap_or_default();
    text += &found.success.as_ref().map(super::success::text).unwrap_or_default();
    text += &drafts(found);
    text += &drift(found);
    if let Some(applied) = &found.applied {
        text += &format!(
            "\nVersion {} written to {}; {} of {} sessions rescored. Agreement still uses the first scores.\n",
            applied.version,
            applied.file.display(),
            applied.rescored,
            applied.affected
        );
        if applied.rescored < applied.affected {
            text += "Run `ratchet score --rescore` for the others.\n";
        }
    }
    if found.is_over_budget() {
        text += "\nStopped at --max-cost; run the same command again to continue.\n";
    }
    text
}

fn head(found: &Found) -> String {
    let Found { rubric, held, calibration, .. } = found;
    let named = |(judge, count): &(JudgeVersion, u64)| format!("{} ({count})", judge.words());
    let judge = held.judge.clone().map(|judge| named(&(judge, held.spoken.len() as u64)));
    let others: Vec<String> = held
        .others
        .iter()
        .map(|(judge, count)| format!("{} ({count})", judge.exact_words()))
        .collect();
    let standing = match calibration.target {
        ThresholdResult::Met => "met",
        ThresholdResult::NotMet => "not met",
        ThresholdResult::CannotTell => "not enough data",
    };
    let headline = calibration.headline();
    let weighted = if headline.is_weighted { ", weighted" } else { "" };
    let mut text = format!(
        "{}: {} sessions labelled by {}; first scored by {}\n\
         Judge–human correlation (overall quality): {}{weighted}; target {TARGET}: {standing}\n",
        rubric.name,
        held.labelled(),
        or_none(&held.people().join(", ")),
        or_none(&judge.unwrap_or_default()),
        headline_text(headline.correlation),
    );
    if !others.is_empty() {
        text += &format!(
            "Not in these figures, because others scored first: {}; --of JUDGE compares them\n",
            others.join(", ")
        );
    }
    if headline.error.is_ok() {
        let (error, bias) = (headline_text(headline.error), headline_text(headline.bias));
        text += &format!("Mean absolute error: {error}; bias (judge − human): {bias}\n");
    }
    if calibration.sessions > 0 {
        text += &calibration.weighted.as_ref().map(coverage).unwrap_or_default();
        text += &format!("\n{}\n", advice::advice(calibration));
    }
    text
}

/// A headline figure, or how many labels it needs.
fn headline_text(statistic: Statistic) -> String {
    match statistic {
        Ok(_) => statistic_text(statistic),
        Err(why) => advice::missing(why),
    }
}

/// Coverage of the figures, and strata without labels.
fn coverage(weighted: &WeightedAgreement) -> String {
    let mut text = format!(
        "The figures stand for {} of {} scored sessions ({:.0}%).\n",
        weighted.stands_for,
        weighted.population,
        100.0 * weighted.covered(),
    );
    for stratum in weighted.strata.iter().filter(|stratum| stratum.labelled == 0) {
        let agent = stratum.agent.as_deref().map(|agent| format!(" of {agent}"));
        text += &format!(
            "  no labels yet: {} sessions scored {}{}\n",
            stratum.population,
            stratum.band.as_str(),
            agent.unwrap_or_default()
        );
    }
    text
}

/// Where the judge can be relied on, one line a dimension.
fn standings(found: &Found) -> String {
    let calibration = &found.calibration;
    let row = |one: &Agreement| {
        let labels = one.pairs.len();
        let (error, standing) = match (labels < MIN_LABELS, one.standing) {
            (true, _) => (format!("{labels} of {MIN_LABELS} labels needed"), "not enough data"),
            (false, standing) => (
                statistic_text(one.error),
                match standing {
                    ThresholdResult::Met => "can be relied on",
                    ThresholdResult::NotMet => "cannot be relied on",
                    ThresholdResult::CannotTell => "not enough data",
                },
            ),
        };
        [one.dimension.clone(), error, standing.to_owned()]
    };
    let all = std::iter::once(&calibration.overall).chain(&calibration.dimensions);
    let rows: Vec<_> = all.map(row).collect();
    format!("\n{}", table(["DIMENSION", "MEAN DIFFERENCE FROM PEOPLE", "JUDGE"], &rows))
}

/// What the sessions that were drawn say of all.
fn weighed(weighted: &WeightedAgreement) -> String {
    let mut text = format!(
        "\noverall_quality, weighted: {} sampled sessions represent {}, weighted by sampling probability\n",
        weighted.sessions, weighted.stands_for
    );
    for (name, statistic) in [
        ("Pearson", weighted.pearson),
        ("mean absolute error", weighted.error),
        ("bias", weighted.bias),
        ("within threshold", weighted.within),
        ("sensitivity", weighted.sensitivity),
        ("specificity", weighted.specificity),
    ] {
        text += &line(name, statistic);
    }
    text
}

fn line(name: &str, statistic: Statistic) -> String {
    format!("  {name:<20} {}\n", statistic_text(statistic))
}

fn or_none(names: &str) -> &str {
    if names.is_empty() { "none" } else { names }
}

/// A statistic in words: `0.91 (0.79 to 0.96, n = 20)`.
fn statistic_text(statistic: Statistic) -> String {
    match statistic {
        Ok(estimate) => match estimate.interval {
            Some(interval) => format!(
                "{:.2} ({:.2} to {:.2}, n = {})",
                estimate.value, interval.lower, interval.upper, estimate.n
            ),
            None => format!("{:.2} (no interval, n = {})", estimate.value, estimate.n),
        },
        Err(why) => format!("not available: {why}"),
    }
}

fn agreement(one: &Agreement, threshold: f64) -> String {
    let standing = match one.standing {
        ThresholdResult::Met => format!("within {threshold:.2}"),
        ThresholdResult::NotMet => format!("beyond {threshold:.2}"),
        ThresholdResult::CannotTell => format!("not enough data (threshold {threshold:.2})"),
    };
    let mut rows = vec![
        ("Pearson", one.pearson),
        ("Spearman", one.spearman),
        ("mean absolute error", one.error),
        ("bias", one.bias),
        ("lower limit", one.limits.map(|(lower, _)| lower)),
        ("upper limit", one.limits.map(|(_, upper)| upper)),
        ("sensitivity", one.sensitivity),
        ("specificity", one.specificity),
    ];
    if let Some(grades) = &one.grades {
        rows.extend([
            ("exact agreement", grades.agreement),
            ("kappa", grades.kappa),
            ("weighted kappa", grades.weighted_kappa),
            ("AC1", grades.ac1),
        ]);
    }
    rows.push(("human alpha", one.people));
    let mut text = format!("\n{}: {standing}\n", one.dimension);
    for (name, statistic) in rows {
        text += &line(name, statistic);
    }
    if let Some(grades) = &one.grades {
        text += "  rows: human, columns: judge\n";
        for (label, counts) in grades.labels.iter().zip(grades.confusion.rows()) {
            let counts: Vec<String> = counts.iter().map(|count| format!("{count:>4}")).collect();
            text += &format!("    {label:<16}{}\n", counts.join(""));
        }
    }
    text
}

fn apart(apart: &DisagreedSession, found: &Found) -> String {
    let row = |(name, pair): &(String, ratchet_core::stats::agreement::RatingPair)| {
        let shown = |value: f64| {
            let dimension = found.rubric.dimension(name);
            dimension.map_or_else(|| format!("{value:.2}"), |dimension| mark(dimension, value))
        };
        [format!("    {name}"), shown(pair.judge), shown(pair.human)]
    };
    let far = apart.marks.iter().filter(|(_, pair)| (pair.judge - pair.human).abs() > 0.0);
    let rows: Vec<_> = far.take(3).map(row).collect();
    let title = found.titles.get(&apart.session).map(|title| format!("{}, ", one_line(title)));
    let mut text = format!(
        "  {}{}: mean difference {:.2}\n",
        title.unwrap_or_default(),
        apart.session,
        apart.distance
    );
    text += &table(["    DIMENSION", "JUDGE", "HUMAN"], &rows);
    if let Some(why) = found.held.why(&apart.session) {
        let why: String = why.split_whitespace().collect::<Vec<_>>().join(" ");
        text += &format!("    reviewer: {}\n", why.chars().take(300).collect::<String>());
    }
    text
}

fn drafts(found: &Found) -> String {
    let mut text = String::new();
    for draft in &found.drafts.drafts {
        text += &format!("\nDraft criterion for {}:\n", draft.dimension);
        for line in draft.after.lines() {
            text += &format!("  {line}\n");
        }
    }
    text += &found.trial.as_ref().map(|trial| tried(trial, found)).unwrap_or_default();
    if !found.drafts.drafts.is_empty() && found.applied.is_none() {
        text += "Nothing is changed yet; --apply saves it as the rubric's next version.\n";
    }
    text
}

/// What trying the drafts has shown.
fn tried(trial: &DraftTrial, found: &Found) -> String {
    let DraftTrial { judge, of, judged, .. } = trial;
    if *of == 0 {
        let others = found.held.judges().into_iter().map(|(judge, _)| judge.words());
        let others: Vec<String> = others.collect();
        return format!(
            "\nThe drafts were not tested: {judge} scored none of the labelled sessions first, but {}; use --revise --judge JUDGE to test them with the same judge.\n",
            or_none(&others.join(", "))
        );
    }
    let mut text =
        format!("\n{judge} with the drafts, on {judged} of {of} labelled sessions it scored first");
    if trial.cost.total > Money::ZERO {
        text += &format!(", for {}", trial.cost);
    }
    text += "; mean absolute error vs. human:\n";
    let row = |shift: &ScoreShift| {
        let nearer = match shift.nearer {
            ThresholdResult::Met => "nearer",
            ThresholdResult::NotMet => "not better",
            ThresholdResult::CannotTell => "not enough data",
        };
        [
            format!("  {}", shift.dimension),
            statistic_text(shift.before),
            statistic_text(shift.after),
            statistic_text(shift.difference),
            nearer.to_owned(),
        ]
    };
    let rows: Vec<_> = trial.shifts.iter().map(row).collect();
    text += &table(["  DIMENSION", "BEFORE", "AFTER", "DIFFERENCE", ""], &rows);
    text += &unfinished(trial.outcome, &trial.failed);
    text
}

/// What is missing, if anything is.
fn unfinished(outcome: RunOutcome, failed: &[(SessionId, String)]) -> String {
    let mut text = String::new();
    for (session, why) in failed {
        text += &format!("  {session} could not be scored: {why}\n");
    }
    if outcome != RunOutcome::Done {
        text += "Stopped early; run the same command to continue without paying twice.\n";
    }
    text
}

fn drift(found: &Found) -> String {
    let mut text = String::new();
    if let Some(sat) = &found.sat {
        text += &format!("\nPanel scored: {}.\n", counted(sat.sessions.len(), "session"));
        text += &unfinished(sat.outcome, &sat.failed);
    }
    for panel in &found.drift {
        let alerts = panel.alerts();
        if alerts.is_empty() {
            let known = panel.standing();
            let (who, first) = (&panel.who, &panel.first);
            let least = panel.drifts.first().and_then(|overall| overall.detectable);
            let least = least.map(|least| format!(" (detectable: ±{least:.2})"));
            text += &format!(
                "\nPanel of {} with {} since {first}: {known}{}\n",
                who.judge,
                who.rubric,
                least.unwrap_or_default()
            );
        }
        for alert in alerts {
            text += &format!("\nALERT: {}.\n", alert.words());
        }
    }
    text
}
