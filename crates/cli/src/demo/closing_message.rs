use std::time::Duration;

use ratchet_core::gate::decision::Verdict;
use ratchet_core::improve::report::FeedbackReport;

use super::gates::DecidedGate;
use super::ledger::{Ledger, PlantedSession};
use super::scoring::Reports;
use super::send::Client;
use super::story::Course;

/// What was recorded and scored.
#[derive(Debug)]
pub(crate) struct Recorded {
    pub(crate) ledger: Ledger,
    /// `None` if only recorded.
    pub(crate) reports: Option<Reports>,
    /// Empty if only recorded, and if an earlier demo of this folder has them.
    pub(crate) gates: Vec<DecidedGate>,
    /// The weekly document of the second week; `None` if only recorded.
    pub(crate) document: Option<FeedbackReport>,
    pub(crate) took: Duration,
}

/// Returns a summary and, for a demo that stays up, what to look at, in the order of the story.
pub(crate) fn text(recorded: &Recorded, client: &Client, project: &str, stays_up: bool) -> String {
    let Ledger { traces, spans, thumbs, sessions, .. } = &recorded.ledger;
    let labels = match &recorded.reports {
        Some(reports) => format!(", {} labels and 2 weekly reports", reports.labels),
        None => String::new(),
    };
    let mut text = format!(
        "\nRecorded {traces} traces with {spans} observations in {} sessions, {thumbs} thumbs{labels} in {:.1} s.\n",
        sessions.len(),
        recorded.took.as_secs_f64()
    );
    text += &gates(&recorded.gates);
    if stays_up {
        let pages = format!("{}/project/{project}", client.web());
        if let Some(reports) = &recorded.reports {
            let summary = reports.newest.summary();
            text += &format!("Last week: {}\n", summary.first().map_or("", String::as_str));
        }
        if let Some(document) = &recorded.document {
            text += &format!("\n{}", document.to_text());
        }
        text += &tour(recorded, &pages);
        text += &format!("\nAPI:  {}\n", client.curl("traces?limit=5"));
        text += "\nPress Ctrl-C to stop.\n";
    }
    text
}

/// How many gates passed, blocked or could not tell.
fn gates(gates: &[DecidedGate]) -> String {
    if gates.is_empty() {
        return String::new();
    }
    let count = |verdict| gates.iter().filter(|gate| gate.verdict == verdict).count();
    format!(
        "Gates on runs of the support desk: {} passed, {} blocked, {} could not tell.\n",
        count(Verdict::Pass),
        count(Verdict::Block),
        count(Verdict::Inconclusive)
    )
}

fn blocked_gate(recorded: &Recorded, pages: &str) -> Option<(String, String)> {
    let blocked = recorded.gates.iter().find(|gate| gate.verdict == Verdict::Block)?;
    Some((
        format!("The gate that blocked {}, and why; others passed or could not tell", blocked.run),
        format!("{pages}/gates/{}", blocked.id),
    ))
}

fn tour(recorded: &Recorded, pages: &str) -> String {
    let (ledger, is_scored) = (&recorded.ledger, recorded.reports.is_some());
    let bad = &ledger.bad_release;
    let is_bad = |planted: &PlantedSession| {
        planted.release == bad.release
            && planted.environment == "prod"
            && planted.course == Course::Failing
    };
    let worst = ledger.sessions.iter().find(|(_, planted)| is_bad(planted));
    let worst = worst.map_or("", |(session, _)| session.as_str());
    let [_, week] = &ledger.weeks;
    let mut stops = Vec::new();
    if is_scored {
        stops.push((
            format!("Last week's report: {} fell. Since which release?", bad.agent),
            format!("{pages}/reports/{week}"),
        ));
    }
    stops.push((
        format!(
            "A session of {} {}: {} fails, the agent gives up",
            bad.agent, bad.release, bad.tool
        ),
        format!("{pages}/sessions/{worst}"),
    ));
    stops.push((
        "All failed calls of that release".to_owned(),
        format!("{pages}/observations?q=level%3Aerror%20version%3A{}", bad.release),
    ));
    stops.push((
        "Three releases on the same questions".to_owned(),
        format!("{pages}/datasets/support-regressions/runs"),
    ));
    stops.extend(blocked_gate(recorded, pages));
    stops.push((
        format!(
            "Where the money goes: {} reads whole tables, without a prompt cache",
            ledger.costly_agent
        ),
        format!("{pages}/traces?q=agent%3A{}", ledger.costly_agent),
    ));
    if is_scored {
        stops.push((
            format!("How far to trust the judges; {} has drifted", ledger.drifted_judge.judge),
            format!("{pages}/calibration"),
        ));
        stops.push((
            "What to change next: the proposals above, and what became of last week's".to_owned(),
            format!("{pages}/proposals"),
        ));
    }
    let mut text = "\nFive minutes, in this order:\n".to_owned();
    for (nth, (what, link)) in (1..).zip(stops) {
        text += &format!("{nth}. {what}\n   {link}\n");
    }
    text
}
