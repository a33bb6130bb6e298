use ratchet_server::clock::Clock;
use ratchet_testkit::http::{self, Answer};
use ratchet_testkit::process::Ratchet;
use serde_json::{Value, json};

use super::list::encode;

/// Writes to a server as clients and people do.
pub(crate) struct Writer<'a> {
    pub(crate) server: &'a Ratchet,
}

impl Writer<'_> {
    /// Asks for something that must be there.
    #[track_caller]
    pub(crate) fn get(&self, path: &str) -> Value {
        self.send(http::get(path), path).json()
    }

    /// A page that must be there.
    #[track_caller]
    pub(crate) fn page(&self, path: &str) -> String {
        self.send(http::get(path), path).text()
    }

    /// Sends something that must be taken: what is refused would test nothing.
    #[track_caller]
    pub(crate) fn post(&self, path: &str, body: &Value) -> Value {
        let answer = self.send(http::post(path).json(body.to_string()), path);
        let answer = if answer.body.is_empty() { Value::Null } else { answer.json() };
        let refused = answer["errors"].as_array().is_some_and(|errors| !errors.is_empty());
        assert!(!refused, "{path}: {answer} to {body}");
        answer
    }

    #[track_caller]
    pub(crate) fn put(&self, path: &str, body: &Value) -> Value {
        self.send(http::request("PUT", path).json(body.to_string()), path).json()
    }

    #[track_caller]
    pub(crate) fn record(&self, events: &[(&str, Value)]) {
        let now = Clock::System.now().to_string();
        let event = |(nth, (kind, body)): (usize, &(&str, Value))| {
            let id = body["id"].as_str().unwrap_or_default();
            json!({ "id": format!("{kind} {nth} {id}"), "type": kind, "timestamp": now, "body": body })
        };
        let batch: Vec<Value> = events.iter().enumerate().map(event).collect();
        self.post("/api/public/ingestion", &json!({ "batch": batch }));
    }

    /// Sends a form of a page, as a browser without scripts does, and tells where it leads.
    #[track_caller]
    pub(crate) fn submit(&self, page: &str, action: &str, fields: &[(&str, &str)]) -> String {
        let shown = self.page(page);
        let (_, after) = shown.split_once("name=\"form_token\" value=\"").unwrap();
        let mut form = format!("form_token={}", after.split('"').next().unwrap());
        for (name, value) in fields {
            form += &format!("&{name}={}", encode(value));
        }
        let request = http::post(action).host("localhost").body(form);
        let request = request.header("Content-Type", "application/x-www-form-urlencoded");
        let answer = self.server.send(request);
        assert_eq!(answer.status, 303, "{action}: {}", answer.text());
        answer.header("location").unwrap().to_owned()
    }

    #[track_caller]
    fn send(&self, request: http::Request, path: &str) -> Answer {
        let answer = self.server.send(request.host("localhost"));
        assert!((200..300).contains(&answer.status), "{path}: {}", answer.text());
        answer
    }
}
