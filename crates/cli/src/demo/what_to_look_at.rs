use std::time::Duration;

use super::send::Visitor;

#[derive(Debug)]
pub(crate) struct Recorded {
    pub(crate) traces: usize,
    pub(crate) spans: usize,
    pub(crate) thumbs: usize,
    pub(crate) examples: Examples,
    pub(crate) took: Duration,
}

#[derive(Debug, Default)]
pub(crate) struct Examples {
    pub(crate) trace: String,
    /// A session in which the coding agent goes in circles.
    pub(crate) session: String,
    /// The release that should not have gone out.
    pub(crate) bad_version: &'static str,
}

/// Says what was recorded and where to look.
pub(crate) fn text(recorded: &Recorded, visitor: &Visitor, stays_up: bool) -> String {
    let Recorded { traces, spans, thumbs, examples, took } = recorded;
    let summary = format!(
        "\nRecorded {traces} traces with {spans} spans and {thumbs} thumbs in {:.1} s.\n",
        took.as_secs_f64()
    );
    if !stays_up {
        return summary;
    }
    let ask = |what: &str| format!("  {}\n", visitor.curl(what));
    let Examples { trace, session, bad_version } = examples;
    [
        summary,
        format!("\nLook at it:   {}\n", visitor.web()),
        "\nThe newest traces:\n".to_owned(),
        ask("traces?limit=5"),
        "A run with sub-agents, step by step:\n".to_owned(),
        ask(&format!("traces/{trace}")),
        "A coding session that goes in circles:\n".to_owned(),
        ask(&format!("sessions/{session}")),
        format!("The release that went wrong mid-week, {bad_version}:\n"),
        ask(&format!("traces?version={bad_version}&limit=5")),
        "What failed lately:\n".to_owned(),
        ask("observations?level=ERROR&limit=5"),
        "\nCtrl-C stops it.\n".to_owned(),
    ]
    .concat()
}
