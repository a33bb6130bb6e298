use std::fmt;

use ratchet_core::improve::report::digest::{ProposalDigest, ReportDigest};
use ratchet_core::improve::task::ProposalTask;
use ratchet_core::message::{Message, MessageLine};
use ratchet_remote::smtp::{Mail, SmtpServer};
use ratchet_remote::webhook;
use serde::Deserialize as _;
use serde_json::{Value, json};

/// How e-mail is sent.
#[derive(Clone)]
pub struct MailSettings {
    pub server: SmtpServer,
    /// Draws a weekly document as HTML, which only pages know.
    pub page: fn(&ReportDigest) -> String,
}

impl fmt::Debug for MailSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MailSettings").field("server", &self.server).finish_non_exhaustive()
    }
}

/// Creates an e-mail from the payload of a notification.
pub(super) fn mail((to, id): (&str, &str), payload: &str, settings: &MailSettings) -> Mail {
    let (to, id) = (to.to_owned(), id.to_owned());
    if let Some(digest) = document(payload) {
        let html = Some((settings.page)(&digest));
        return Mail { id, to, subject: digest.title(), text: digest.to_text(), html };
    }
    let message = webhook::notice_message(payload);
    Mail { id, to, subject: message.title.clone(), text: text(&message), html: None }
}

fn text(message: &Message) -> String {
    let mut text = format!("{}\n", message.text);
    for section in &message.sections {
        text += &format!("\n{}\n", section.title.as_deref().unwrap_or_default());
        for line in &section.lines {
            text += &match line {
                MessageLine::Field { name, value } => format!("{name}: {value}\n"),
                MessageLine::Item(item) => format!("- {item}\n"),
            };
        }
    }
    match &message.link {
        Some(link) => format!("{text}\n{link}\n"),
        None => text,
    }
}

/// The body of a request that creates an issue, from the payload of a notification. A test has no
/// proposal.
pub(super) fn issue(payload: &str, shape: impl FnOnce(&ProposalTask<'_>) -> Value) -> Value {
    let payload: Value = serde_json::from_str(payload).unwrap_or_default();
    let data = &payload["data"];
    let proposal = ProposalDigest::deserialize(&data["proposal"]).unwrap_or_else(|_| {
        let text = |value: &Value| value.as_str().unwrap_or("Ratchet").to_owned();
        ProposalDigest {
            agent: text(&data["project"]),
            title: "test notification".to_owned(),
            id: "test".to_owned(),
            component: "test".to_owned(),
            ..ProposalDigest::default()
        }
    });
    let week = data["week"].as_str().unwrap_or_default();
    shape(&ProposalTask { proposal: &proposal, week, url: data["url"].as_str() })
}

/// The payload without its document, for push services, which take few bytes.
pub(super) fn without_document(payload: &str) -> String {
    let Ok(mut payload) = serde_json::from_str::<Value>(payload) else { return payload.to_owned() };
    if let Some(data) = payload.get_mut("data").and_then(Value::as_object_mut) {
        data.remove("report");
        data.remove("proposal");
        for value in data.values_mut() {
            let short = value.as_str().map(|text| text.chars().take(500).collect::<String>());
            if let Some(short) = short {
                *value = json!(short);
            }
        }
    }
    payload.to_string()
}

fn document(payload: &str) -> Option<ReportDigest> {
    let payload: Value = serde_json::from_str(payload).ok()?;
    ReportDigest::deserialize(&payload["data"]["report"]).ok()
}
