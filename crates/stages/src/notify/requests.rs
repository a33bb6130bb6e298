use ratchet_core::chat::notification::NotificationKind;
use ratchet_core::outbound::OutboundPolicy;
use ratchet_core::secret::Secret;
use ratchet_remote::web_push::{PushError, PushTarget};
use ratchet_remote::{delivery, http, smtp, webhook};
use ratchet_store::StoreError;
use ratchet_store::catalog::{NewReceiver, ReceiverKeys};
use reqwest::Url;

const MAX_NAME: usize = 100;
/// Bytes of an address.
const MAX_ADDRESS: usize = 2_000;

/// Why a notification cannot be delivered.
#[derive(Debug, thiserror::Error)]
pub enum NotificationRequestError {
    /// A part makes no sense, and which.
    #[error("{0}: {1}")]
    Field(&'static str, String),
    /// What a browser gave makes no sense.
    #[error(transparent)]
    Push(#[from] PushError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Reads a name.
///
/// # Errors
/// Says what names look like.
pub fn name(text: &str) -> Result<String, NotificationRequestError> {
    let text = text.trim();
    let is_name = (1..=MAX_NAME).contains(&text.chars().count());
    if !is_name || text.chars().any(char::is_control) {
        let why = format!("from 1 to {MAX_NAME} visible characters");
        return Err(NotificationRequestError::Field("name", why));
    }
    Ok(text.to_owned())
}

/// Reads which news is wanted.
///
/// # Errors
/// Lists what there is.
pub fn events<'a>(
    words: impl Iterator<Item = &'a str>,
) -> Result<Vec<NotificationKind>, NotificationRequestError> {
    let all = NotificationKind::SUBSCRIBABLE.map(NotificationKind::as_str).join(", ");
    let mut wanted = Vec::new();
    for word in words {
        let kind = NotificationKind::parse(word)
            .filter(|kind| NotificationKind::SUBSCRIBABLE.contains(kind));
        let none =
            || NotificationRequestError::Field("events", format!("{word:?} is none of {all}"));
        let kind = kind.ok_or_else(none)?;
        if !wanted.contains(&kind) {
            wanted.push(kind);
        }
    }
    if wanted.is_empty() {
        return Err(NotificationRequestError::Field("events", format!("at least one of {all}")));
    }
    Ok(wanted)
}

/// Checks a webhook, and makes the secret that messages to it are signed with: it is shown once.
///
/// # Errors
/// Says which part makes no sense.
pub fn webhook(
    called: &str,
    url: &str,
    events: Vec<NotificationKind>,
    outbound: &OutboundPolicy,
) -> Result<(NewReceiver, Secret), NotificationRequestError> {
    let name = name(called)?;
    let address = address(url, outbound)?;
    let secret = webhook::new_secret().ok_or(PushError::Keys)?;
    let keys = ReceiverKeys::Webhook { url: address, secret: secret.clone() };
    Ok((NewReceiver { name, keys, events, person: None }, secret))
}

/// Checks a Slack channel, by the URL of its incoming webhook.
///
/// # Errors
/// Says which part makes no sense.
pub fn slack(
    called: &str,
    url: &str,
    events: Vec<NotificationKind>,
    outbound: &OutboundPolicy,
) -> Result<NewReceiver, NotificationRequestError> {
    let name = name(called)?;
    let keys = ReceiverKeys::Slack { slack: address(url, outbound)? };
    Ok(NewReceiver { name, keys, events, person: None })
}

/// Checks a person's e-mail address.
///
/// # Errors
/// Says which part makes no sense.
pub fn email(
    called: &str,
    to: &str,
    events: Vec<NotificationKind>,
) -> Result<NewReceiver, NotificationRequestError> {
    let name = name(called)?;
    let none = || "one address, such as ada@example.org".to_owned();
    let to = smtp::address(to).ok_or_else(|| NotificationRequestError::Field("email", none()))?;
    Ok(NewReceiver { name, keys: ReceiverKeys::Email { to }, events, person: None })
}

/// Checks a repository on GitHub, by the URL of its issues and a token that may create some. It gets
/// a task for each significant proposal, and nothing else.
///
/// # Errors
/// Says which part makes no sense.
pub fn github(
    called: &str,
    (url, token): (&str, &str),
    outbound: &OutboundPolicy,
) -> Result<NewReceiver, NotificationRequestError> {
    let name = name(called)?;
    let (github, token) = (address(url, outbound)?, secret("token", token)?);
    if !github.expose().trim_end_matches('/').ends_with("/issues") {
        let why = "ends in /issues: https://api.github.com/repos/OWNER/NAME/issues".to_owned();
        return Err(NotificationRequestError::Field("url", why));
    }
    let keys = ReceiverKeys::Github { github, token };
    Ok(NewReceiver { name, keys, events: vec![NotificationKind::Proposal], person: None })
}

/// A project in Jira, as it was entered.
#[derive(Clone, Copy, Debug)]
pub struct JiraRequest<'a> {
    pub name: &'a str,
    pub url: &'a str,
    /// Empty with a personal access token.
    pub user: &'a str,
    pub token: &'a str,
    pub project: &'a str,
}

/// Checks a project in Jira. It gets a task for each significant proposal, and nothing else.
///
/// # Errors
/// Says which part makes no sense.
pub fn jira(
    request: JiraRequest<'_>,
    outbound: &OutboundPolicy,
) -> Result<NewReceiver, NotificationRequestError> {
    let wrong = |field, why: &str| Err(NotificationRequestError::Field(field, why.to_owned()));
    let name = name(request.name)?;
    let (jira, token) = (address(request.url, outbound)?, secret("token", request.token)?);
    if !jira.expose().trim_end_matches('/').ends_with("/rest/api/3/issue") {
        return wrong("url", "ends in /rest/api/3/issue");
    }
    let project = request.project.trim();
    let is_key = (1..=50).contains(&project.len())
        && project.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !is_key {
        return wrong("jiraProject", "the key of a project, such as SHOP");
    }
    let user = request.user.trim();
    if user.len() > MAX_NAME || user.chars().any(|c| c.is_control() || c == ':') {
        return wrong("user", "the e-mail address of the token's user, or nothing");
    }
    let user = Some(user.to_owned()).filter(|user| !user.is_empty());
    let keys = ReceiverKeys::Jira { jira, user, token, project: project.to_owned() };
    Ok(NewReceiver { name, keys, events: vec![NotificationKind::Proposal], person: None })
}

/// Reads a token: one visible word.
fn secret(field: &'static str, text: &str) -> Result<Secret, NotificationRequestError> {
    let text = text.trim();
    if text.is_empty() || text.len() > MAX_ADDRESS || !text.chars().all(|c| c.is_ascii_graphic()) {
        let why = format!("from 1 to {MAX_ADDRESS} visible characters");
        return Err(NotificationRequestError::Field(field, why));
    }
    Ok(Secret::new(text))
}

fn address(url: &str, outbound: &OutboundPolicy) -> Result<Secret, NotificationRequestError> {
    let url = url.trim();
    let address = delivery::address(url).filter(|_| url.len() <= MAX_ADDRESS);
    let none = || {
        let why = format!("an http or https address of {MAX_ADDRESS} bytes at most");
        NotificationRequestError::Field("url", why)
    };
    let address = address.ok_or_else(none)?;
    allowed("url", &address, outbound)?;
    Ok(Secret::new(address.as_str()))
}

/// Checks what a browser gives when it subscribes: the address, its key and what it shares.
///
/// # Errors
/// Says which part makes no sense.
pub fn browser(
    called: &str,
    (endpoint, p256dh, auth): (&str, &str, &str),
    (events, person): (Vec<NotificationKind>, Option<String>),
    outbound: &OutboundPolicy,
) -> Result<NewReceiver, NotificationRequestError> {
    let name = name(called)?;
    let target = PushTarget::read(endpoint, p256dh, auth)?;
    allowed("endpoint", target.url(), outbound)?;
    let keys = ReceiverKeys::Browser {
        endpoint: target.endpoint(),
        p256dh: p256dh.to_owned(),
        auth: Secret::new(auth),
    };
    Ok(NewReceiver { name, keys, events, person })
}

fn allowed(
    field: &'static str,
    address: &Url,
    outbound: &OutboundPolicy,
) -> Result<(), NotificationRequestError> {
    let checked = http::check_entered(address, outbound);
    checked.map_err(|why| NotificationRequestError::Field(field, why.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_no_sense_is_named() {
        let refused = |error: NotificationRequestError| error.to_string();
        assert_eq!(refused(name(" ").unwrap_err()), "name: from 1 to 100 visible characters");
        let unknown = events(["turn.ended", "rain"].into_iter()).unwrap_err();
        assert!(refused(unknown).contains("\"rain\" is none of turn.ended, person.needed"));
        assert!(events(["test"].into_iter()).is_err() && events([].into_iter()).is_err());
        let twice = events(["turn.ended", "turn.ended"].into_iter()).unwrap();
        assert_eq!(twice, [NotificationKind::TurnEnded]);
        for odd in ["", "x", "ftp://example.com", "http://"] {
            let none = webhook("a", odd, twice.clone(), &OutboundPolicy::default());
            assert!(refused(none.unwrap_err()).starts_with("url: "));
        }
    }
}
