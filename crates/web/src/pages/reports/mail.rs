use maud::{DOCTYPE, Markup, html};
use ratchet_core::improve::report::digest::{ProposalDigest, ReportDigest};

/// Colours and sizes stand in each element: mail programs drop style sheets.
const PAGE: &str = "margin:0;padding:16px;background:#ffffff;color:#1c1b1a;\
    font:14px/1.5 system-ui,-apple-system,'Segoe UI',sans-serif";
const CARD: &str =
    "border:1px solid #e4e3df;border-radius:6px;padding:12px 16px;margin:0 0 12px;max-width:640px";
const MUTED: &str = "color:#5f5e5a;margin:0 0 8px";
const CODE: &str = "background:#f7f7f5;padding:8px;white-space:pre-wrap;word-break:break-word;\
    font:12px/1.45 ui-monospace,monospace";
const NAME: &str = "text-align:left;vertical-align:top;padding:2px 12px 2px 0;font-weight:600;\
    white-space:nowrap";
const CELL: &str = "vertical-align:top;padding:2px 0;word-break:break-word";

/// A weekly document as the HTML of an e-mail: no script, no image, no style sheet.
pub fn mail_document(digest: &ReportDigest) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (digest.title()) }
            }
            body style=(PAGE) {
                h1 style="font-size:20px;margin:0 0 4px" { (digest.title()) }
                p style=(MUTED) { (digest.headline()) }
                (metrics(digest))
                @for (number, proposal) in (1..).zip(&digest.proposals) { (card(number, proposal)) }
                @if digest.more > 0 {
                    p style=(MUTED) { (digest.more) " more proposals are in the document." }
                }
                (list("Events this week", &digest.events))
                (list("Still open", &digest.open))
                @if let Some(quality) = &digest.quality {
                    h2 style="font-size:16px" { "Session quality" }
                    p { (quality) }
                }
                @if let Some(url) = &digest.url { p { a href=(url) { "Open in Ratchet" } } }
            }
        }
    };
    page.into_string()
}

fn metrics(digest: &ReportDigest) -> Markup {
    let rows: Vec<(&str, &str)> =
        digest.metrics.iter().map(|metric| (metric.name.as_str(), metric.value.as_str())).collect();
    html! { @if !rows.is_empty() { div style=(CARD) { (table(&rows)) } } }
}

fn card(number: usize, proposal: &ProposalDigest) -> Markup {
    let fields = proposal.fields();
    let rows: Vec<(&str, &str)> =
        fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
    html! {
        div style=(CARD) {
            h2 style="font-size:16px;margin:0 0 4px" { (number) ". " (proposal.title) }
            p style=(MUTED) {
                (proposal.component) ", priority " (proposal.priority) ", " (proposal.agent)
            }
            (table(&rows))
            @if let Some(diff) = &proposal.diff { pre style=(CODE) { (diff) } }
        }
    }
}

fn table(rows: &[(&str, &str)]) -> Markup {
    html! {
        table style="border-collapse:collapse;font-size:13px" {
            @for (name, value) in rows {
                tr { th scope="row" style=(NAME) { (name) } td style=(CELL) { (value) } }
            }
        }
    }
}

fn list(title: &str, lines: &[String]) -> Markup {
    html! {
        @if !lines.is_empty() {
            h2 style="font-size:16px" { (title) }
            ul { @for line in lines { li { (line) } } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_traces_is_text_in_a_mail() {
        let hostile = "<img src=x onerror=alert(1)> & \"quotes\"".to_owned();
        let proposal = ProposalDigest {
            title: hostile.clone(),
            reason: hostile.clone(),
            diff: Some(hostile.clone()),
            ..ProposalDigest::default()
        };
        let page = mail_document(&ReportDigest {
            agents: hostile.clone(),
            proposals: vec![proposal],
            events: vec![hostile.clone()],
            open: vec![hostile.clone()],
            quality: Some(hostile),
            url: Some("https://ratchet.test/\"><script>".to_owned()),
            ..ReportDigest::default()
        });
        assert!(!page.contains("<img") && !page.contains("<script"), "{page}");
        assert!(page.contains("&lt;img src=x onerror=alert(1)&gt; &amp; "), "{page}");
    }
}
