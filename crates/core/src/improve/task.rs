use serde_json::{Value, json};

use super::priority::PriorityBand;
use super::report::digest::ProposalDigest;

/// Characters of a task's title, as trackers limit them.
const MAX_TITLE: usize = 200;

/// A proposal as a task, for an issue tracker.
#[derive(Clone, Debug, PartialEq)]
pub struct ProposalTask<'a> {
    pub proposal: &'a ProposalDigest,
    /// First day of the week that it was proposed in.
    pub week: &'a str,
    /// URL of the document.
    pub url: Option<&'a str>,
}

impl ProposalTask<'_> {
    /// Returns the body of a request that creates an issue on GitHub.
    pub fn github(&self) -> Value {
        json!({ "title": self.title(), "body": self.markdown(), "labels": self.labels() })
    }

    /// Returns the body of a request that creates an issue in a project of Jira (API version 3).
    pub fn jira(&self, project: &str) -> Value {
        let priority = match self.proposal.priority.as_str() {
            word if word == PriorityBand::High.as_str() => "High",
            word if word == PriorityBand::Medium.as_str() => "Medium",
            _ => "Low",
        };
        json!({ "fields": {
            "project": { "key": project },
            "issuetype": { "name": "Task" },
            "summary": self.title(),
            "description": self.document(),
            "labels": self.labels(),
            "priority": { "name": priority },
        } })
    }

    /// The same for each attempt and each week, so that a task is found again.
    pub fn label(&self) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        format!("proposal-{}", self.proposal.id.chars().map(plain).take(40).collect::<String>())
    }

    fn labels(&self) -> [String; 3] {
        let component = self.proposal.component.to_lowercase();
        ["ratchet".to_owned(), component, self.label()]
    }

    fn title(&self) -> String {
        let title = format!("{}: {}", self.proposal.agent, self.proposal.title);
        silent(&title).chars().take(MAX_TITLE).collect()
    }

    fn source(&self) -> String {
        format!("Proposed by Ratchet for the week of {}.", self.week)
    }

    fn markdown(&self) -> String {
        let field = |(name, value): (&str, String)| format!("**{name}**: {}\n\n", escaped(&value));
        let mut text: String = self.proposal.fields().into_iter().map(field).collect();
        if let Some(diff) = &self.proposal.diff {
            // Indented: no line of a prompt ends the block.
            text.extend(diff.lines().map(|line| format!("    {line}\n")));
            text.push('\n');
        }
        if let Some(url) = self.url {
            text += &format!("<{url}>\n\n");
        }
        text + &self.source()
    }

    /// The Atlassian document format: text in it has no markup.
    fn document(&self) -> Value {
        let paragraph = |text: &str| json!({ "type": "paragraph", "content": [plain(text)] });
        let field = |(name, value): (&str, String)| {
            let name = json!({ "type": "text", "text": format!("{name}: "), "marks": [{ "type": "strong" }] });
            json!({ "type": "paragraph", "content": [name, plain(&value)] })
        };
        let mut content: Vec<Value> = self.proposal.fields().into_iter().map(field).collect();
        if let Some(diff) = &self.proposal.diff {
            content.push(json!({
                "type": "codeBlock", "attrs": { "language": "diff" }, "content": [plain(diff)],
            }));
        }
        if let Some(url) = self.url {
            let mark = json!({ "type": "link", "attrs": { "href": url } });
            let link = json!({ "type": "text", "text": "Open in Ratchet", "marks": [mark] });
            content.push(json!({ "type": "paragraph", "content": [link] }));
        }
        content.push(paragraph(&self.source()));
        json!({ "type": "doc", "version": 1, "content": content })
    }
}

/// A node of text; one without text is not allowed.
fn plain(text: &str) -> Value {
    json!({ "type": "text", "text": if text.is_empty() { "–" } else { text } })
}

/// Markdown that shows a text as it is, without mentions of users.
fn escaped(text: &str) -> String {
    let special = |c: char| "\\`*_[]<>#|!~&".contains(c);
    silent(text).chars().flat_map(|c| special(c).then_some('\\').into_iter().chain([c])).collect()
}

/// A text whose names and numbers of issues are no mentions: a word joiner follows their sign.
fn silent(text: &str) -> String {
    let is_sign = |c: char| matches!(c, '@' | '#');
    text.chars().flat_map(|c| [Some(c), is_sign(c).then_some('\u{2060}')]).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proposal() -> ProposalDigest {
        ProposalDigest {
            id: "ab12".to_owned(),
            priority: "high".to_owned(),
            component: "Prompt".to_owned(),
            agent: "support".to_owned(),
            title: "Ask @everyone about #1 <b>".to_owned(),
            change: "[click](https://evil.test) `x`".to_owned(),
            diff: Some("+ a\n```\n# b".to_owned()),
            ..ProposalDigest::default()
        }
    }

    #[test]
    fn an_issue_on_github_shows_hostile_text_as_text() {
        let proposal = proposal();
        let url = Some("https://ratchet.test/w");
        let issue = ProposalTask { proposal: &proposal, week: "2026-11-01", url }.github();
        assert_eq!(issue["title"], "support: Ask @\u{2060}everyone about #\u{2060}1 <b>");
        assert_eq!(issue["labels"], json!(["ratchet", "prompt", "proposal-ab12"]));
        let body = issue["body"].as_str().unwrap();
        assert!(body.contains("**Proposal**: \\[click\\](https://evil.test) \\`x\\`"), "{body}");
        assert!(body.contains("    + a\n    ```\n    # b\n"), "{body}");
        assert!(body.contains("<https://ratchet.test/w>"), "{body}");
    }

    #[test]
    fn an_issue_in_jira_is_a_document_of_text_nodes() {
        let proposal = proposal();
        let task = ProposalTask { proposal: &proposal, week: "2026-11-01", url: None };
        let fields = task.jira("SHOP")["fields"].clone();
        assert_eq!(fields["project"]["key"], "SHOP");
        assert_eq!(
            (&fields["priority"]["name"], &fields["issuetype"]["name"]),
            (&json!("High"), &json!("Task"))
        );
        let content = fields["description"]["content"].as_array().unwrap();
        assert_eq!(content[3]["content"][1]["text"], "[click](https://evil.test) `x`");
        assert_eq!(content[8]["type"], "codeBlock");
        let texts = content.iter().flat_map(|node| node["content"].as_array().unwrap());
        assert!(texts.clone().all(|text| !text["text"].as_str().unwrap().is_empty()));
    }
}
