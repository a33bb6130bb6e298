//! Issues of GitHub and Jira, by their HTTP APIs.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ratchet_core::secret::Secret;
use reqwest::Url;
use serde_json::Value;

use crate::delivery::OutgoingMessage;

/// Creates a request that creates an issue on GitHub. The URL is that of a repository's issues, such
/// as `https://api.github.com/repos/OWNER/NAME/issues`.
pub fn github(url: Url, token: &Secret, (id, body): (&str, &Value)) -> OutgoingMessage {
    let authorization = format!("Bearer {}", token.expose());
    let accept = ("accept", "application/vnd.github+json".to_owned());
    request(url, authorization, (id, body), vec![accept])
}

/// Creates a request that creates an issue in Jira. The URL is `https://SITE/rest/api/3/issue`. With a
/// user, the token is theirs (Jira Cloud); without one it is a personal access token.
pub fn jira(
    url: Url,
    (user, token): (Option<&str>, &Secret),
    message: (&str, &Value),
) -> OutgoingMessage {
    let authorization = match user {
        Some(user) => {
            format!("Basic {}", STANDARD.encode(format!("{user}:{}", token.expose())))
        }
        None => format!("Bearer {}", token.expose()),
    };
    request(url, authorization, message, Vec::new())
}

fn request(
    url: Url,
    authorization: String,
    (id, body): (&str, &Value),
    headers: Vec<(&'static str, String)>,
) -> OutgoingMessage {
    let own = [
        ("content-type", "application/json".to_owned()),
        ("authorization", authorization),
        ("user-agent", "ratchet".to_owned()),
        // The same for each attempt; a relay in between can drop repeats.
        ("idempotency-key", id.to_owned()),
    ];
    let headers = own.into_iter().chain(headers).collect();
    OutgoingMessage { url, headers, body: body.to_string().into() }
}
