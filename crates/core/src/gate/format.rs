use super::critical::{CriticalItem, CriticalState};
use super::decision::Verdict;
use super::explain::{percent, points};
use super::flip::{Flip, FlipKind};
use super::report::GateReport;
use crate::counted::{counted, verb_of};

/// Returns the report as JUnit XML: one test case for the verdict, one for each changed or critical
/// item. Items fail if the gate blocks. Otherwise a flip alone decides nothing, and would make a build
/// red that has passed: it is written as output.
pub fn junit(report: &GateReport) -> String {
    let mut cases = vec![verdict_case(report)];
    cases.extend(report.flips.iter().map(|flip| flip_case(report, flip)));
    let failed_again = |item: &&CriticalItem| item.state == CriticalState::FailedAgain;
    let flipped = |item: &&CriticalItem| report.flips.iter().any(|flip| flip.item == item.item);
    let critical = report.critical.iter().filter(failed_again).filter(|item| !flipped(item));
    cases.extend(critical.map(|item| {
        let why = format!("critical: failed again, {} trials", item.trials);
        case("items", &item.item, &failure("block", &why, ""))
    }));
    let failures = cases.iter().filter(|case| case.contains("<failure ")).count();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"ratchet gate {}\" \
         tests=\"{}\" failures=\"{failures}\" errors=\"0\" skipped=\"0\">\n{}</testsuite>\n</testsuites>\n",
        xml(&report.dataset),
        cases.len(),
        cases.concat()
    )
}

fn verdict_case(report: &GateReport) -> String {
    let mut output = report.sentence.clone();
    if let Some(faults) = report.faults.text() {
        output += &format!(" {faults}");
    }
    let body = match report.verdict {
        Verdict::Pass => printed(&output),
        other => failure(other.as_str(), &output, ""),
    };
    case("gate", &report.run, &body)
}

fn flip_case(report: &GateReport, flip: &Flip) -> String {
    let numbers = format!("{} before, {} now", percent(flip.before), percent(flip.after));
    let url = flip.url.as_deref().unwrap_or_default();
    let body = match flip.kind {
        FlipKind::Regressed if report.verdict == Verdict::Block => {
            failure("regressed", &format!("regressed: {numbers}"), url)
        }
        FlipKind::Regressed => printed(&format!("regressed: {numbers} {url}")),
        FlipKind::Fixed => printed(&format!("fixed: {numbers} {url}")),
    };
    case("items", &flip.item, &body)
}

fn case(class: &str, name: &str, body: &str) -> String {
    format!("<testcase classname=\"{class}\" name=\"{}\">{body}</testcase>\n", xml(name))
}

fn failure(kind: &str, message: &str, text: &str) -> String {
    format!("<failure type=\"{kind}\" message=\"{}\">{}</failure>", xml(message), xml(text))
}

fn printed(text: &str) -> String {
    format!("<system-out>{}</system-out>", xml(text.trim()))
}

/// Returns the report as Markdown for a pull request.
pub fn markdown(report: &GateReport) -> String {
    let mut text = format!(
        "## Gate: {}\n\n{}\n\n| | value | bounds | items |\n|---|---|---|---|\n",
        report.verdict.as_str().to_uppercase(),
        escape(&report.sentence)
    );
    let accuracy = &report.accuracy;
    text += &format!(
        "| accuracy | {} | {} to {} | {} |\n",
        percent(accuracy.value),
        percent(accuracy.lower()),
        percent(accuracy.upper()),
        accuracy.n
    );
    if let Some(difference) = &report.difference {
        let bounds = &difference.bounds;
        text += &format!(
            "| difference to {} | {} | {} to {} | {} |\n",
            escape(report.baseline.as_deref().unwrap_or("the baseline")),
            points(bounds.value),
            points(bounds.lower()),
            points(bounds.upper()),
            bounds.n
        );
    }
    for line in report.faults.text().into_iter().chain(report.not_judged.text()) {
        text += &format!("\n{}\n", escape(&line));
    }
    if let Some(found) = &report.corrections {
        text += &format!(
            "\n{} {} corrected by people; without that: {}, accuracy {}.\n",
            counted(found.items, "item"),
            verb_of(found.items, ["was", "were"]),
            found.verdict_without.as_str(),
            percent(found.accuracy_without)
        );
    }
    text += &flips(report);
    text += &list("Notes", &report.notes);
    text += &list("What it could not see", &report.not_seen);
    text + &list("What to try next", &report.next_steps)
}

fn flips(report: &GateReport) -> String {
    if report.flips.is_empty() {
        return String::new();
    }
    let mut text = "\n| item | | before | now |\n|---|---|---|---|\n".to_owned();
    for flip in &report.flips {
        let name = escape(&flip.item);
        let item = match &flip.url {
            Some(url) => format!("[{name}]({})", url.replace([')', '(', ' ', '|'], "")),
            None => name,
        };
        let word = match flip.kind {
            FlipKind::Regressed => "regressed",
            FlipKind::Fixed => "fixed",
        };
        text +=
            &format!("| {item} | {word} | {} | {} |\n", percent(flip.before), percent(flip.after));
    }
    text
}

fn list(title: &str, lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let lines: String = lines.iter().map(|line| format!("- {}\n", escape(line))).collect();
    format!("\n**{title}**\n\n{lines}")
}

/// Text of items and runs is written by others: nothing of it is markup.
fn xml(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&apos;"),
            '\n' | '\t' | '\r' => safe.push(' '),
            char if char.is_control() || matches!(char, '\u{fffe}' | '\u{ffff}') => {
                safe.push('\u{fffd}');
            }
            char => safe.push(char),
        }
    }
    safe
}

fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '!' | '@' => {
                safe.push('\\');
                safe.push(char);
            }
            char if char.is_control() => safe.push(' '),
            char => safe.push(char),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_others_is_never_markup() {
        assert_eq!(xml("a<b>\"&'\n\u{1}"), "a&lt;b&gt;&quot;&amp;&apos; \u{fffd}");
        assert_eq!(escape("[x](y)|<script>\n@all"), "\\[x\\](y)\\|&lt;script&gt; \\@all");
    }
}
