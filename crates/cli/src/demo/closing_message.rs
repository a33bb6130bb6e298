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
    /// A session in which the coding agent is stuck in a loop.
    pub(crate) session: String,
    /// The release with a regression.
    pub(crate) bad_version: &'static str,
}

/// Returns the summary of the recording and example requests.
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
        format!("\nWeb UI:   {}\n", visitor.web()),
        "\nExample API requests\nNewest traces:\n".to_owned(),
        ask("traces?limit=5"),
        "A trace with sub-agents:\n".to_owned(),
        ask(&format!("traces/{trace}")),
        "A coding session stuck in a loop:\n".to_owned(),
        ask(&format!("sessions/{session}")),
        format!("Traces of release {bad_version}, which has a regression:\n"),
        ask(&format!("traces?version={bad_version}&limit=5")),
        "Recent errors:\n".to_owned(),
        ask("observations?level=ERROR&limit=5"),
        "\nPress Ctrl-C to stop.\n".to_owned(),
    ]
    .concat()
}
