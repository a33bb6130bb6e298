use super::decision::{Reason, Verdict};
use super::report::GateReport;

/// What to try after a verdict that is not a pass, in order: the cheapest change first.
const NEXT_STEPS: [(&str, &str); 3] = [
    (
        "Prompt",
        "Read the regressed items side by side with the baseline. If the answers miss an \
         instruction, a format or an example, change the prompt and run the gate again.",
    ),
    (
        "Model",
        "If the prompt asks for the right thing and the answers are still wrong, run the same \
         items with another model or with more reasoning effort, and compare cost beside accuracy.",
    ),
    (
        "Tools",
        "If traces show failed or missing tool calls, look at the tools: their descriptions, their \
         errors, the data behind them.",
    ),
];

/// Returns what to try next.
pub fn next_steps(verdict: Verdict, needed: Option<usize>, items: usize) -> Vec<String> {
    let mut steps = Vec::new();
    if verdict == Verdict::Pass {
        return steps;
    }
    if verdict == Verdict::Inconclusive {
        steps.push(match needed {
            Some(needed) if needed > items => format!(
                "Items: about {needed} would decide if they behave like these {items}. Add \
                 {} from reviewed traces or a CSV file.",
                needed - items
            ),
            Some(_) => "Repeats: run again with more repeats, so that unreliable items weigh less."
                .to_owned(),
            None => "Items alone will not decide: the measured value is not on the passing side. \
                     Treat it as a change that has to become better."
                .to_owned(),
        });
    }
    steps.extend(NEXT_STEPS.iter().map(|(title, text)| format!("{title}: {text}")));
    steps
}

/// What records say of the cause of a regression.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RegressionEvidence {
    /// Regressed items whose traces were read.
    pub items: usize,
    /// Those in which a tool call failed.
    pub with_tool_errors: usize,
    /// Versions of the prompt in the last gate that did not pass and now, if they differ.
    pub prompt_versions: Option<(String, String)>,
}

impl RegressionEvidence {
    /// Returns the part of the agent to change next, and why.
    fn next(&self) -> (&'static str, String) {
        let Self { items, with_tool_errors, prompt_versions } = self;
        if *with_tool_errors > 0 && with_tool_errors * 2 >= *items {
            return (
                "Tools",
                format!("Tool calls failed in {with_tool_errors} of {items} regressed items."),
            );
        }
        if let Some((before, now)) = prompt_versions {
            let why = format!(
                "The prompt changed already since the last gate that did not pass ({before} before, \
                 {now} now)."
            );
            return ("Model", why);
        }
        let why = match (items, with_tool_errors) {
            (0, _) => "It is the cheapest change.".to_owned(),
            (items, 0) => format!("No tool call failed in {items} regressed items."),
            (items, some) => {
                format!("Tool calls failed in only {some} of {items} regressed items.")
            }
        };
        ("Prompt", why)
    }
}

impl GateReport {
    /// Puts the step that records point to before the others, with the reason. Advice on items stays
    /// in front: without enough of them, nothing else can be shown.
    pub fn suggest(&mut self, evidence: &RegressionEvidence) {
        let (title, why) = evidence.next();
        let of = |name: &str| format!("{name}: ");
        let is_it = |step: &String| step.starts_with(&of(title));
        let Some(at) = self.next_steps.iter().position(is_it) else { return };
        let step = self.next_steps.remove(at);
        let step = step.replacen(&of(title), &format!("{title}: {why} "), 1);
        let is_part =
            |step: &String| NEXT_STEPS.iter().any(|(name, _)| step.starts_with(&of(name)));
        let first = self.next_steps.iter().position(is_part).unwrap_or(0);
        self.next_steps.insert(first, step);
    }
}

/// Formats a share as percent.
pub fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

/// Formats a difference of shares in points.
pub fn points(difference: f64) -> String {
    let text = format!("{:+.1} points", difference * 100.0);
    match text.strip_prefix('-') {
        Some("0.0 points") => "0.0 points".to_owned(),
        Some(size) => format!("−{size}"),
        None => text,
    }
}

impl Reason {
    /// Returns the finding in plain words.
    pub fn text(&self) -> String {
        match self {
            Self::AccuracyClears { lower, least } => format!(
                "Accuracy is at least {}, and {} is required.",
                percent(*lower),
                percent(*least)
            ),
            Self::AccuracyBelow { upper, least } => format!(
                "Accuracy is at most {}, and {} is required.",
                percent(*upper),
                percent(*least)
            ),
            Self::AccuracyUnclear { value, lower, upper, least } => format!(
                "Accuracy was measured as {}; it may be anything from {} to {}, and {} is required.",
                percent(*value),
                percent(*lower),
                percent(*upper),
                percent(*least)
            ),
            Self::CriticalFailed { item, failures, trials } => format!(
                "Critical item {item} never failed before; now it failed in {failures} of {trials} trials."
            ),
            Self::CriticalFailedOnce { item } => {
                format!("Critical item {item} failed and was not run again.")
            }
            Self::CriticalRightAgain { item } => {
                format!("Critical item {item} failed and was right when it was run again.")
            }
            _ => self.comparison_text(),
        }
    }

    fn comparison_text(&self) -> String {
        match self {
            Self::NoWorse { lower, margin } => format!(
                "Against the baseline it is {} at worst; {} are accepted.",
                points(*lower),
                points(-*margin)
            ),
            Self::Worse { value, upper } => format!(
                "It is worse than the baseline: {}, and {} at best.",
                points(*value),
                points(*upper)
            ),
            Self::DifferenceUnclear { value, lower, upper, margin } => format!(
                "Against the baseline it measured {}; it may be anything from {} to {}, and {} are \
                 accepted.",
                points(*value),
                points(*lower),
                points(*upper),
                points(-*margin)
            ),
            Self::NothingToCompare => {
                "The baseline has no unchanged item in common with this run.".to_owned()
            }
            Self::NoWorseThanBest { lower, margin } => format!(
                "Against the best promoted run it is {} at worst; {} are accepted.",
                points(*lower),
                points(-*margin)
            ),
            Self::BelowBest { value, upper, margin } => format!(
                "It is worse than the best promoted run: {}, and {} at best; {} are accepted.",
                points(*value),
                points(*upper),
                points(-*margin)
            ),
            Self::BestUnclear { lower, margin } => format!(
                "Against the best promoted run it may be {}; {} are accepted.",
                points(*lower),
                points(-*margin)
            ),
            _ => String::new(),
        }
    }
}

/// Returns the verdict in one sentence.
pub fn sentence(verdict: Verdict, reasons: &[Reason]) -> String {
    let word = match verdict {
        Verdict::Pass => "Passed",
        Verdict::Block => "Blocked",
        Verdict::Inconclusive => "Inconclusive",
    };
    let deciding = reasons.iter().filter(|reason| reason.verdict() == verdict);
    let texts: Vec<String> = deciding.map(Reason::text).collect();
    format!("{word}. {}", texts.join(" ")).trim().to_owned()
}

/// Explains a report in plain words.
pub fn explain(report: &GateReport) -> String {
    let mut text = format!("{}\n", report.sentence);
    let section = |text: &mut String, title: &str, lines: &[String]| {
        if !lines.is_empty() {
            text.push_str(&format!("\n{title}\n"));
            lines.iter().for_each(|line| text.push_str(&format!("- {line}\n")));
        }
    };
    let rates = format!(
        "Each bound is wrong in at most {} of such decisions; n is {} items, repeats are averaged \
         first.",
        percent(1.0 - report.rule.confidence),
        report.accuracy.n
    );
    let mut why: Vec<String> = report.reasons.iter().map(Reason::text).collect();
    why.push(rates);
    section(&mut text, "Why", &why);
    let flips: Vec<String> = report.flips.iter().map(flip_text).collect();
    section(&mut text, "Items that changed", &flips);
    section(&mut text, "Notes", &report.notes);
    section(&mut text, "What it could not see", &report.not_seen);
    section(&mut text, "What to try next", &report.next_steps);
    text
}

fn flip_text(flip: &super::flip::Flip) -> String {
    let word = match flip.kind {
        super::flip::FlipKind::Regressed => "regressed",
        super::flip::FlipKind::Fixed => "fixed",
    };
    let link = flip.url.as_deref().map(|url| format!(" {url}")).unwrap_or_default();
    format!(
        "{} {word}: {} before, {} now{link}",
        flip.item,
        percent(flip.before),
        percent(flip.after)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_choose_the_next_step() {
        let next = |items, with_tool_errors, versions: Option<(&str, &str)>| {
            let prompt_versions = versions.map(|(a, b)| (a.to_owned(), b.to_owned()));
            RegressionEvidence { items, with_tool_errors, prompt_versions }.next().0
        };
        let changed = Some(("support v1", "support v2"));
        assert_eq!(next(4, 2, changed), "Tools");
        assert_eq!(next(4, 1, changed), "Model");
        assert_eq!(next(4, 1, None), "Prompt");
        assert_eq!(next(0, 0, None), "Prompt");
    }
}
