use super::explain::{percent, points};
use super::flip::FlipKind;
use super::report::GateReport;

/// Returns the report as JUnit XML: one test case for the verdict, one for each changed item.
pub fn junit(report: &GateReport) -> String {
    let passed = report.verdict.as_str() == "pass";
    let regressed: Vec<_> =
        report.flips.iter().filter(|flip| flip.kind == FlipKind::Regressed).collect();
    let cases = 1 + report.flips.len();
    let failures = usize::from(!passed);
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"ratchet gate {}\" \
         tests=\"{cases}\" failures=\"{failures}\" errors=\"0\" skipped=\"{}\">\n",
        xml(&report.dataset),
        regressed.len()
    );
    let body = if passed {
        format!("<system-out>{}</system-out>", xml(&report.sentence))
    } else {
        let kind = report.verdict.as_str();
        format!("<failure type=\"{kind}\" message=\"{}\"/>", xml(&report.sentence))
    };
    text +=
        &format!("<testcase classname=\"gate\" name=\"{}\">{body}</testcase>\n", xml(&report.run));
    for flip in &report.flips {
        let numbers = format!("{} before, {} now", percent(flip.before), percent(flip.after));
        // An item alone decides nothing: it is shown, and does not fail the build.
        let body = match flip.kind {
            FlipKind::Regressed => format!("<skipped message=\"regressed: {numbers}\"/>"),
            FlipKind::Fixed => format!("<system-out>fixed: {numbers}</system-out>"),
        };
        let name = xml(&flip.item);
        text += &format!("<testcase classname=\"items\" name=\"{name}\">{body}</testcase>\n");
    }
    text + "</testsuite>\n</testsuites>\n"
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
    if report.faults.trials > 0 {
        text += &format!(
            "\n{} of {} trials had no answer: the target failed. They count as wrong.\n",
            report.faults.trials, report.faults.of
        );
    }
    if let Some(found) = &report.corrections {
        let items = if found.items == 1 { "item was" } else { "items were" };
        text += &format!(
            "\n{} {items} corrected by people; without that: {}, accuracy {}.\n",
            found.items,
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
