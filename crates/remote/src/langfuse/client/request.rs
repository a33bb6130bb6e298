use std::fmt::Display;

use reqwest::{Method, Url};
use serde::Serialize;

use super::retry::Idempotency;
use super::slice::Position;

/// The path segment of Langfuse's public API.
const PUBLIC: &str = "public";
const OWN: &str = "v1";

/// A request: method, path, parameters, and whether it is idempotent.
#[derive(Clone, Debug)]
pub(super) struct ApiRequest {
    pub(super) method: Method,
    /// Path segment after `/api`.
    api: &'static str,
    /// Further path segments, unescaped.
    path: Vec<String>,
    query: Vec<(&'static str, String)>,
    pub(super) body: Option<Vec<u8>>,
    pub(super) repeat: Idempotency,
}

impl ApiRequest {
    pub(super) fn get(path: &[&str]) -> Self {
        Self::new(Method::GET, path, None, Idempotency::Idempotent)
    }

    /// Creates a POST request.
    pub(super) fn post(path: &[&str], body: &impl Serialize, repeat: Idempotency) -> Self {
        // Requests are plain structs, which always serialize.
        let body = serde_json::to_vec(body).unwrap_or_default();
        Self::new(Method::POST, path, Some(body), repeat)
    }

    /// Creates a PATCH request.
    pub(super) fn patch(path: &[&str], body: &impl Serialize) -> Self {
        let body = serde_json::to_vec(body).unwrap_or_default();
        Self::new(Method::PATCH, path, Some(body), Idempotency::Idempotent)
    }

    pub(super) fn put(path: &[&str], body: &impl Serialize) -> Self {
        let body = serde_json::to_vec(body).unwrap_or_default();
        Self::new(Method::PUT, path, Some(body), Idempotency::Idempotent)
    }

    /// Creates a DELETE request.
    pub(super) fn delete(path: &[&str]) -> Self {
        Self::new(Method::DELETE, path, None, Idempotency::Idempotent)
    }

    fn new(method: Method, path: &[&str], body: Option<Vec<u8>>, repeat: Idempotency) -> Self {
        let path = path.iter().map(|part| (*part).to_owned()).collect();
        Self { method, api: PUBLIC, path, query: Vec::new(), body, repeat }
    }

    /// Switches to an endpoint that only Ratchet servers have.
    pub(super) fn own(self) -> Self {
        Self { api: OWN, ..self }
    }

    pub(super) fn with(mut self, name: &'static str, value: &(impl Display + ?Sized)) -> Self {
        self.query.push((name, value.to_string()));
        self
    }

    /// Adds an optional parameter.
    pub(super) fn with_some(self, name: &'static str, value: Option<impl Display>) -> Self {
        match value {
            Some(value) => self.with(name, &value),
            None => self,
        }
    }

    /// Adds the position in a list.
    pub(super) fn at(self, at: &Position) -> Self {
        match at {
            Position::Start => self,
            Position::Page(page) => self.with("page", page),
            Position::Cursor(cursor) => self.with("cursor", cursor),
        }
    }

    pub(super) fn url(&self, base: &Url) -> Url {
        let mut url = base.clone();
        if let Ok(mut parts) = url.path_segments_mut() {
            // Each segment is escaped separately: a prompt's name may contain slashes.
            parts.pop_if_empty().extend(["api", self.api]).extend(&self.path);
        }
        if !self.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&self.query);
        }
        url
    }

    /// Returns a label for errors and logs, without keys.
    pub(super) fn label(&self) -> String {
        let mut label = format!("{} /api/{}/{}", self.method, self.api, self.path.join("/"));
        for (index, (name, value)) in self.query.iter().enumerate() {
            let separator = if index == 0 { '?' } else { '&' };
            label.push_str(&format!("{separator}{name}={value}"));
        }
        label
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_and_parameters_are_escaped_and_the_base_path_is_kept() {
        let base = Url::parse("https://example.org/langfuse/").unwrap();
        let request =
            ApiRequest::get(&["v2", "prompts", "a/b ?"]).with("label", "x&y").with("page", &2);
        assert_eq!(
            request.url(&base).as_str(),
            "https://example.org/langfuse/api/public/v2/prompts/a%2Fb%20%3F?label=x%26y&page=2"
        );
        assert_eq!(request.label(), "GET /api/public/v2/prompts/a/b ??label=x&y&page=2");
    }
}
