use std::fmt::Display;

use reqwest::{Method, Url};
use serde::Serialize;

use super::retry::Repeat;
use super::slice::Position;

/// Langfuse's API, which many servers have.
const PUBLIC: &str = "public";
const OWN: &str = "v1";

/// One request: what, where, and whether it may be repeated.
#[derive(Clone, Debug)]
pub(super) struct Ask {
    pub(super) method: Method,
    /// Whose address it is below `/api`.
    api: &'static str,
    /// The parts of the path below that, not yet escaped.
    path: Vec<String>,
    query: Vec<(&'static str, String)>,
    pub(super) body: Option<Vec<u8>>,
    pub(super) repeat: Repeat,
}

impl Ask {
    pub(super) fn get(path: &[&str]) -> Self {
        Self::new(Method::GET, path, None, Repeat::Harmless)
    }

    /// Something to be kept.
    pub(super) fn post(path: &[&str], body: &impl Serialize, repeat: Repeat) -> Self {
        // What we send are plain structs, which always can be written as JSON.
        let body = serde_json::to_vec(body).unwrap_or_default();
        Self::new(Method::POST, path, Some(body), repeat)
    }

    /// A change of what is there.
    pub(super) fn patch(path: &[&str], body: &impl Serialize) -> Self {
        let body = serde_json::to_vec(body).unwrap_or_default();
        Self::new(Method::PATCH, path, Some(body), Repeat::Harmless)
    }

    pub(super) fn put(path: &[&str], body: &impl Serialize) -> Self {
        let body = serde_json::to_vec(body).unwrap_or_default();
        Self::new(Method::PUT, path, Some(body), Repeat::Harmless)
    }

    /// Something to be taken away.
    pub(super) fn delete(path: &[&str]) -> Self {
        Self::new(Method::DELETE, path, None, Repeat::Harmless)
    }

    fn new(method: Method, path: &[&str], body: Option<Vec<u8>>, repeat: Repeat) -> Self {
        let path = path.iter().map(|part| (*part).to_owned()).collect();
        Self { method, api: PUBLIC, path, query: Vec::new(), body, repeat }
    }

    /// The same at an address that only Ratchet servers have.
    pub(super) fn own(self) -> Self {
        Self { api: OWN, ..self }
    }

    pub(super) fn with(mut self, name: &'static str, value: &(impl Display + ?Sized)) -> Self {
        self.query.push((name, value.to_string()));
        self
    }

    /// With a parameter, if there is one.
    pub(super) fn with_some(self, name: &'static str, value: Option<impl Display>) -> Self {
        match value {
            Some(value) => self.with(name, &value),
            None => self,
        }
    }

    /// From a place in the list on.
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
            // Each part is escaped on its own: a prompt's name may hold slashes.
            parts.pop_if_empty().extend(["api", self.api]).extend(&self.path);
        }
        if !self.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&self.query);
        }
        url
    }

    /// The request as errors and logs name it. Keys are not in it.
    pub(super) fn label(&self) -> String {
        let mut label = format!("{} /api/{}/{}", self.method, self.api, self.path.join("/"));
        for (place, (name, value)) in self.query.iter().enumerate() {
            let separator = if place == 0 { '?' } else { '&' };
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
        let ask = Ask::get(&["v2", "prompts", "a/b ?"]).with("label", "x&y").with("page", &2);
        assert_eq!(
            ask.url(&base).as_str(),
            "https://example.org/langfuse/api/public/v2/prompts/a%2Fb%20%3F?label=x%26y&page=2"
        );
        assert_eq!(ask.label(), "GET /api/public/v2/prompts/a/b ??label=x&y&page=2");
    }
}
