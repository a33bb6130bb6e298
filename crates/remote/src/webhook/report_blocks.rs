use ratchet_core::improve::report::digest::{ProposalDigest, ReportDigest};
use serde_json::{Value, json};

use super::slack::{MAX_CHARS, MAX_TITLE_CHARS, entities, escaped, section};

/// Characters of a list of events or of a diff.
const MAX_LIST: usize = 2_000;

/// Formats a weekly document as Slack blocks, at most 40 of Slack's 50, with a fallback text.
pub(super) fn blocks(digest: &ReportDigest) -> Value {
    let title: String = digest.title().chars().take(MAX_TITLE_CHARS).collect();
    let headline = escaped(&digest.headline());
    let mut blocks = vec![
        json!({ "type": "header", "text": { "type": "plain_text", "text": title } }),
        section(&headline),
    ];
    let metrics = digest
        .metrics
        .iter()
        .map(|metric| format!("*{}* {}", escaped(&metric.name), escaped(&metric.value)));
    blocks.extend(listed("Metrics snapshot", &metrics.collect::<Vec<_>>()));
    for (number, proposal) in (1..).zip(&digest.proposals) {
        blocks.push(json!({ "type": "divider" }));
        blocks.extend(proposal_blocks(number, proposal));
    }
    if digest.more > 0 {
        blocks.push(context(&format!("{} more proposals are in the document", digest.more)));
    }
    blocks.push(json!({ "type": "divider" }));
    let items = |lines: &[String]| {
        lines.iter().map(|line| format!("• {}", escaped(line))).collect::<Vec<_>>()
    };
    blocks.extend(listed("Events this week", &items(&digest.events)));
    blocks.extend(listed("Still open", &items(&digest.open)));
    let quality: Vec<String> = digest.quality.iter().map(|quality| escaped(quality)).collect();
    blocks.extend(listed("Session quality", &quality));
    if let Some(url) = digest.url.as_deref().filter(|url| is_link(url)) {
        let text = json!({ "type": "plain_text", "text": "Open in Ratchet" });
        let button = json!({ "type": "button", "text": text, "url": url });
        blocks.push(json!({ "type": "actions", "elements": [button] }));
    }
    json!({ "text": format!("{}: {headline}", escaped(&title)), "blocks": blocks })
}

fn proposal_blocks(number: usize, proposal: &ProposalDigest) -> Vec<Value> {
    let fields = proposal.fields();
    let fields = fields.iter().filter(|(name, _)| !matches!(*name, "Impact" | "Effort"));
    let lines = fields.map(|(name, value)| format!("*{name}* {}", escaped(value)));
    let heading = format!("*{number}. {}*", escaped(&proposal.heading()));
    let text: Vec<String> = std::iter::once(heading).chain(lines).collect();
    let mut blocks = vec![section(&text.join("\n"))];
    if let Some(diff) = &proposal.diff {
        // Three backticks would end the block.
        let diff: String = entities(&diff.replace('`', "'")).chars().take(MAX_LIST).collect();
        blocks.push(section(&format!("```{}```", diff.trim_end())));
    }
    let worth = format!("Impact: {} · Effort: {}", proposal.impact, proposal.effort);
    blocks.push(context(&worth));
    blocks
}

fn context(text: &str) -> Value {
    let text: String = escaped(text).chars().take(MAX_CHARS).collect();
    json!({ "type": "context", "elements": [{ "type": "mrkdwn", "text": text }] })
}

/// A titled section; none without lines.
fn listed(title: &str, lines: &[String]) -> Option<Value> {
    if lines.is_empty() {
        return None;
    }
    Some(section(&format!("*{title}*\n{}", lines.join("\n"))))
}

/// Slack refuses a message whose button leads nowhere.
fn is_link(url: &str) -> bool {
    url.starts_with("http://") || url.starts_with("https://")
}

#[cfg(test)]
mod tests {
    use ratchet_core::improve::report::digest::DigestMetric;

    use super::*;

    fn digest(text: &str, count: usize) -> ReportDigest {
        let text = text.to_owned();
        let proposal = ProposalDigest {
            title: text.clone(),
            reason: text.clone(),
            change: text.clone(),
            diff: Some(text.clone()),
            ..ProposalDigest::default()
        };
        ReportDigest {
            week: "2026-11-01".to_owned(),
            agents: text.clone(),
            metrics: vec![DigestMetric { name: text.clone(), value: text.clone() }; count],
            proposals: vec![proposal; count.min(8)],
            more: 3,
            events: vec![text.clone(); count],
            open: vec![text.clone()],
            quality: Some(text),
            url: Some("https://ratchet.test/project/shop/reports/2026-11-01".to_owned()),
        }
    }

    #[test]
    fn the_blocks_of_a_document_stay_within_the_limits_of_slack() {
        for text in ["<!channel> *bold* `code` & ```".repeat(20), "x".repeat(600), "\n".repeat(9)] {
            let body = blocks(&digest(&text, 13));
            let blocks = body["blocks"].as_array().unwrap();
            assert!(blocks.len() <= 50, "{}", blocks.len());
            for block in blocks {
                let shown = block["text"]["text"].as_str().unwrap_or_default();
                // A header is plain text: nothing in it has a meaning.
                let is_silent = block["type"] == "header" || !shown.contains("<!channel>");
                assert!(shown.chars().count() <= 3_000 && is_silent, "{block}");
            }
            assert!(body.to_string().len() < 100_000);
        }
    }

    #[test]
    fn a_document_has_its_proposals_and_a_button() {
        let body = blocks(&digest("Call <the> tool", 1));
        let types: Vec<&str> = body["blocks"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["type"].as_str().unwrap())
            .collect();
        let expected = [
            "header", "section", "section", "divider", "section", "section", "context", "context",
            "divider", "section", "section", "section", "actions",
        ];
        assert_eq!(types, expected);
        let proposal = body["blocks"][4]["text"]["text"].as_str().unwrap();
        assert!(proposal.starts_with("*1. Call &lt;the&gt; tool (, priority )*"), "{proposal}");
        assert_eq!(body["blocks"][5]["text"]["text"], "```Call &lt;the&gt; tool```");
        let button = &body["blocks"][12]["elements"][0];
        assert_eq!(button["url"], "https://ratchet.test/project/shop/reports/2026-11-01");
        assert!(body["text"].as_str().unwrap().starts_with("Weekly improvement report 2026-11-01"));
    }
}
