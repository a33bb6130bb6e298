//! Context of a page request: viewer, project, scope and query; links to other pages.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::header::COOKIE;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use ratchet_core::time::Timestamp;
use ratchet_store::aggregate::{AggregateDimension, AggregateQuery, Step};
use ratchet_store::catalog::Project;
use ratchet_store::project::ProjectId;
use ratchet_store::query::TimeRange;

use crate::page_error::{PageError, PageResult};
use crate::scope::{Scope, Span};
use crate::sign_in::here;
use crate::viewer::Viewer;
use crate::viewer_time::ViewerTime;
use crate::web::Web;

/// Characters that are not percent-encoded in a path.
const ENCODED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b':');

/// Extractor of the viewer, the project, the scope and the query parameters.
#[derive(Clone, Debug)]
pub struct RequestContext {
    pub viewer: Viewer,
    pub project: Project,
    /// Projects that the viewer can access.
    pub projects: Vec<Project>,
    /// Environment, agent and time range.
    pub scope: Scope,
    /// Environments for the menu.
    pub environments: Vec<String>,
    /// All query parameters, including the scope.
    pub params: Params,
    /// Color theme, if set by a cookie.
    pub theme: Option<Theme>,
    /// URL of this server, as the browser used it.
    pub server: String,
    pub now: Timestamp,
    /// How times are shown.
    pub time: ViewerTime,
    /// Time limit of list queries.
    pub query_timeout: Duration,
    path: String,
}

impl RequestContext {
    /// Project ID for store queries.
    pub fn project_id(&self) -> ProjectId {
        self.project.id.clone()
    }

    /// Time range of the scope.
    pub fn range(&self) -> TimeRange {
        self.scope.span.range(self.now)
    }

    /// Link to a page of this project in the same scope.
    pub fn to(&self, segments: &[&str]) -> Link {
        Link::to_project(&self.project.id, segments).in_scope(&self.scope)
    }

    /// A command line of `ratchet` that works on this server.
    pub fn command(&self, arguments: &str) -> String {
        format!("ratchet {arguments} --server {}", self.server)
    }

    /// Code for a Langfuse SDK, below the address of this server.
    pub fn sdk_code(&self, code: &str) -> String {
        let address = format!("os.environ[\"LANGFUSE_BASE_URL\"] = \"{}\"", self.server);
        format!("import os\n\n# Keys: Settings, API keys\n{address}\n\n{code}")
    }

    /// Link to this page.
    pub fn here(&self) -> Link {
        Link { path: self.path.clone(), pairs: self.params.0.clone() }
    }
}

impl FromRequestParts<Web> for RequestContext {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, web: &Web) -> Result<Self, PageError> {
        let mut viewer = Viewer::identify(web, parts).await?;
        let projects = viewer.projects(web).await?;
        let named = RawPathParams::from_request_parts(parts, web)
            .await
            .map_err(|_| PageError::NotFound("no page".to_owned()))?;
        let named = named.iter().find(|(name, _)| *name == "project").map(|(_, value)| value);
        let found = projects.iter().find(|(project, _)| Some(project.id.as_str()) == named);
        let (project, role) = found.cloned().ok_or_else(|| PageError::not_there("project"))?;
        viewer.role = role;
        keep_to_queues(&viewer, parts.uri.path(), &project.id)?;
        let projects = projects.into_iter().map(|(project, _)| project).collect();
        let time = ViewerTime::of(&parts.headers, web.now());
        let params = Params::read(parts.uri.query().unwrap_or_default()).with_one_range(&time);
        let scope = Scope::read(params.pairs());
        let environments = if wants_frame(parts) && viewer.can_read() {
            environments(web, &project.id, &scope).await?
        } else {
            Vec::new()
        };
        Ok(Self {
            viewer,
            project,
            projects,
            scope,
            environments,
            params,
            theme: Theme::of(&parts.headers),
            server: here(&parts.headers).unwrap_or_else(|| "http://127.0.0.1:3000".to_owned()),
            now: time.now,
            time,
            query_timeout: web.settings.query_timeout,
            path: parts.uri.path().to_owned(),
        })
    }
}

/// A text as one word of a command line, whatever is in it.
pub fn shell_word(text: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "-_./:@".contains(char);
    if !text.is_empty() && !text.starts_with('-') && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Keeps reviewers to the pages of queues: every page of a project has this context, so none is
/// forgotten.
fn keep_to_queues(viewer: &Viewer, path: &str, project: &ProjectId) -> PageResult<()> {
    let home = Link::to_project(project, &[]);
    let queues = Link::to_project(project, &["queues"]);
    let is_of_queues = path == queues.path() || path.starts_with(&format!("{}/", queues.path()));
    // The handler of media checks that they belong to a trace in a queue of theirs.
    let is_media = path.starts_with(&format!("{}/", Link::to_project(project, &["media"]).path()));
    if viewer.can_read() || is_of_queues || is_media || is_picture(path, project) {
        return Ok(());
    }
    if path == home.path() {
        return Err(PageError::Elsewhere { to: queues.to_string() });
    }
    Err(PageError::Forbidden(format!(
        "a {} sees queues and what is in them, and no other page",
        viewer.role.as_str()
    )))
}

/// Whether a path is that of an inline picture of a trace or observation. Its handler checks that the
/// record is in a queue of the reviewer.
fn is_picture(path: &str, project: &ProjectId) -> bool {
    let traces = Link::to_project(project, &["traces"]);
    let rest = path.strip_prefix(traces.path()).unwrap_or_default();
    let segments: Vec<&str> = rest.split('/').collect();
    matches!(segments[..], ["", _, "picture"] | ["", _, "observations", _, "picture"])
}

/// Whether the response is a whole page, not a fragment for a script or a redirect.
fn wants_frame(parts: &Parts) -> bool {
    let is_script = parts.headers.get("sec-fetch-dest").is_some_and(|dest| dest == "empty");
    parts.method == Method::GET && !is_script
}

/// Environments with data, and the selected one even without. Read from hourly rollups, so the cost
/// does not grow with the number of observations.
async fn environments(web: &Web, project: &ProjectId, scope: &Scope) -> PageResult<Vec<String>> {
    let question = AggregateQuery {
        project: project.clone(),
        range: scope.span.range(web.now()),
        by: vec![AggregateDimension::Environment],
        step: Step::Whole,
        conditions: Vec::new(),
    };
    let answer = web.store.telemetry.aggregate(question).await?;
    let keys = answer.groups.into_iter().filter_map(|group| group.key.into_iter().next().flatten());
    let all: BTreeSet<String> = keys.chain(scope.environment.clone()).collect();
    Ok(all.into_iter().collect())
}

/// Query parameters in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Params(Vec<(String, String)>);

impl Params {
    pub fn read(query: &str) -> Self {
        let pairs = form_urlencoded::parse(query.as_bytes());
        Self(pairs.map(|(name, value)| (name.into_owned(), value.into_owned())).collect())
    }

    /// The same, with the two moments of a form for the time, `from` and `to`, as the one `range`
    /// that addresses have. A browser writes them without a zone; they mean the viewer's.
    #[must_use]
    fn with_one_range(mut self, time: &ViewerTime) -> Self {
        let moment = |name: &str| time.parse(self.get(name)?);
        let (Some(from), Some(to)) = (moment("from"), moment("to")) else { return self };
        self.0.retain(|(name, _)| !["from", "to", "range"].contains(&name.as_str()));
        self.0.push(("range".to_owned(), Span::Between(from, to).word()));
        self
    }

    /// Creates parameters from pairs.
    pub fn of(pairs: &[(&str, &str)]) -> Self {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Self(pairs.iter().map(owned).collect())
    }

    /// The first value with a name; an empty one counts as none.
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// Every value with a name.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.pairs().filter(move |(known, _)| *known == name).map(|(_, value)| value)
    }

    /// Page number, from 1.
    pub fn page(&self) -> u64 {
        self.get("page").and_then(|page| page.parse().ok()).unwrap_or(1).max(1)
    }

    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

/// A URL of this server, for links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    path: String,
    pairs: Vec<(String, String)>,
}

impl Link {
    /// Link to a path such as `/sign-in`.
    pub fn new(path: &str) -> Self {
        Self { path: path.to_owned(), pairs: Vec::new() }
    }

    /// Link to a page of a project.
    pub fn to_project(project: &ProjectId, segments: &[&str]) -> Self {
        let mut path = format!("/project/{project}");
        for segment in segments {
            path.push('/');
            path.extend(utf8_percent_encode(segment, ENCODED));
        }
        Self::new(&path)
    }

    /// Adds the parameters of a scope.
    #[must_use]
    pub fn in_scope(self, scope: &Scope) -> Self {
        let bare = ["env", "agent", "range"].into_iter().fold(self, Self::without);
        let pairs = scope.pairs();
        pairs.into_iter().fold(bare, |link, (name, value)| link.with(name, value))
    }

    /// Sets a parameter, replacing all of that name.
    #[must_use]
    pub fn with(self, name: &str, value: impl Into<String>) -> Self {
        let mut link = self.without(name);
        link.pairs.push((name.to_owned(), value.into()));
        link
    }

    /// Appends a parameter.
    #[must_use]
    pub fn and(mut self, name: &str, value: impl Into<String>) -> Self {
        self.pairs.push((name.to_owned(), value.into()));
        self
    }

    /// Removes a parameter.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.pairs.retain(|(known, _)| known != name);
        self
    }

    /// The path without the query.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The query parameters, for hidden fields of a form.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pairs.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)?;
        for (index, (name, value)) in self.pairs.iter().enumerate() {
            let mark = if index == 0 { '?' } else { '&' };
            let (name, value) =
                (utf8_percent_encode(name, ENCODED), utf8_percent_encode(value, ENCODED));
            write!(f, "{mark}{name}={value}")?;
        }
        Ok(())
    }
}

/// The color theme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    Light,
    Dark,
}

impl Theme {
    /// Name in the cookie and in CSS.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }

    /// Theme of the cookie; `None` follows the system.
    pub fn of(headers: &HeaderMap) -> Option<Self> {
        let cookies = headers.get_all(COOKIE).iter().filter_map(|cookie| cookie.to_str().ok());
        let mut pairs = cookies.flat_map(|cookies| cookies.split(';'));
        let chosen = pairs.find_map(|pair| pair.trim().strip_prefix("theme="))?;
        [Self::Light, Self::Dark].into_iter().find(|theme| theme.as_str() == chosen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_odd_characters_fit_into_a_path() {
        let project = ProjectId::parse("p").unwrap();
        let link = Link::to_project(&project, &["traces", "a/b ?#&\"<"]);
        assert_eq!(link.to_string(), "/project/p/traces/a%2Fb%20%3F%23%26%22%3C");
    }

    #[test]
    fn a_name_is_one_word_of_a_command() {
        assert_eq!(shell_word("eval/refunds-2"), "eval/refunds-2");
        assert_eq!(shell_word("it's $(rm -r ~)"), r"'it'\''s $(rm -r ~)'");
        assert_eq!((shell_word(""), shell_word("--x")), ("''".to_owned(), "'--x'".to_owned()));
    }

    #[test]
    fn a_parameter_is_set_once() {
        let link = Link::new("/x").with("page", "2").with("q", "a b&c").with("page", "3");
        assert_eq!(link.to_string(), "/x?q=a%20b%26c&page=3");
        assert_eq!(link.without("q").to_string(), "/x?page=3");
    }

    #[test]
    fn a_query_is_read_as_browsers_write_it() {
        let params = Params::read("q=a+b%26c&tag=x&tag=y&empty=");
        assert_eq!(params.get("q"), Some("a b&c"));
        assert_eq!(params.all("tag").collect::<Vec<_>>(), ["x", "y"]);
        assert_eq!(params.get("empty"), None);
    }

    #[test]
    fn two_moments_of_a_form_are_one_range() {
        let read = |query: &str| {
            Params::read(query).with_one_range(&ViewerTime::utc(Timestamp::from_millis(0)))
        };
        let one = read("q=x&range=7d&from=2026-11-01T10:00&to=2026-11-02T10%3A30");
        let at = |text: &str| Timestamp::parse(text).unwrap();
        let span = Span::Between(at("2026-11-01T10:00:00Z"), at("2026-11-02T10:30:00Z"));
        assert_eq!(one.get("range").and_then(Span::parse), Some(span));
        assert_eq!((one.get("from"), one.get("q")), (None, Some("x")));
        assert_eq!(read("range=7d&from=soon&to=").get("range"), Some("7d"));
    }

    #[test]
    fn the_theme_is_one_of_two_words() {
        let of =
            |cookie: &str| Theme::of(&HeaderMap::from_iter([(COOKIE, cookie.parse().unwrap())]));
        assert_eq!(of("a=b; theme=dark"), Some(Theme::Dark));
        assert_eq!(of("theme=\"><script>"), None);
    }
}
