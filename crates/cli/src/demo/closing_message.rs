use std::time::Duration;

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
        "\nRecorded {traces} traces with {spans} steps in {} sessions, {thumbs} thumbs{labels} in {:.1} s.\n",
        sessions.len(),
        recorded.took.as_secs_f64()
    );
    if stays_up {
        let pages = format!("{}/project/{project}", client.web());
        if let Some(reports) = &recorded.reports {
            let summary = reports.newest.summary();
            text += &format!("Last week: {}\n", summary.first().map_or("", String::as_str));
        }
        text += &tour(&recorded.ledger, &pages, recorded.reports.is_some());
        text += &format!("\nAPI:  {}\n", client.curl("traces?limit=5"));
        text += "\nPress Ctrl-C to stop.\n";
    }
    text
}

fn tour(ledger: &Ledger, pages: &str, is_scored: bool) -> String {
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
        "Releases 4.8.0 and 4.8.1 on the same questions".to_owned(),
        format!("{pages}/datasets/support-regressions/runs"),
    ));
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
        stops.push(("What to change next".to_owned(), format!("{pages}/reports/suggestions")));
    }
    let mut text = "\nFive minutes, in this order:\n".to_owned();
    for (nth, (what, link)) in (1..).zip(stops) {
        text += &format!("{nth}. {what}\n   {link}\n");
    }
    text
}
