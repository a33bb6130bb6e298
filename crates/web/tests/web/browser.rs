//! The pages over a data folder that goes away with the test, a clock that stands still, and
//! browsers.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::ConnectInfo;
use axum::http::{HeaderMap, Request};
use axum::response::Response;
use ratchet_core::catalog::account::Email;
use ratchet_core::judge::rubric::{self, Dimension, Rubric};
use ratchet_core::outbound::OutboundPolicy;
use ratchet_core::secret::Secret;
use ratchet_core::time::Timestamp;
use ratchet_stages::app_state::AppState;
use ratchet_stages::clock::{Clock, ManualClock};
use ratchet_store::catalog::{NewProject, NewUser, Role, User};
use ratchet_store::project::ProjectId;
use ratchet_testkit::build::{BatchBuilder, START};
use ratchet_testkit::folder::DataFolder;
use ratchet_testkit::recording::RecordBatch;
use ratchet_testkit::wait;
use ratchet_web::Web;
use ratchet_web::sign_in::SignIn;
use ratchet_web::web::{Access, WebSettings};
use tower::ServiceExt;

pub(crate) const PASSWORD: &str = "correct horse";
pub(crate) const HOST: &str = "ratchet.example";

/// What a form says it is.
const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");
/// The same of one with a file in it.
pub(crate) const PARTS: (&str, &str) = ("content-type", "multipart/form-data; boundary=x");

/// A server's pages with two projects, `shop` and `lab`, and a clock that stands still.
pub(crate) struct Site {
    pub(crate) data: DataFolder,
    pub(crate) router: Router,
    pub(crate) web: Web,
    clock: ManualClock,
    /// What browsers call the server.
    host: &'static str,
}

/// Pages that look long enough.
fn settings() -> WebSettings {
    WebSettings { query_timeout: wait::TIMEOUT, ..WebSettings::default() }
}

/// Stores a rubric of the user's own, besides those that come with Ratchet.
fn add_rubric(data: &Path) {
    let shipped = rubric::shipped().next().cloned().unwrap();
    let first = shipped.dimensions.into_iter().take(1);
    let dimensions = first.map(|first| Dimension { weight: 1.0, ..first }).collect();
    let own = Rubric { name: "kindness".to_owned(), dimensions, ..shipped };
    std::fs::create_dir(data.join("rubrics")).unwrap();
    std::fs::write(data.join("rubrics/kindness.toml"), own.to_toml()).unwrap();
}

impl Site {
    pub(crate) async fn new() -> Self {
        Self::with(Access::People(SignIn::default())).await
    }

    /// Pages without sign-in.
    pub(crate) async fn open() -> Self {
        Self::with(Access::Open(id("shop"))).await
    }

    /// Pages without sign-in, with a query timeout.
    pub(crate) async fn patient_for(timeout: Duration) -> Self {
        let settings = WebSettings { query_timeout: timeout, ..settings() };
        Self::made(Access::Open(id("shop")), settings).await
    }

    pub(crate) async fn with(access: Access) -> Self {
        Self::made(access, settings()).await
    }

    /// Pages of a server that may call such addresses.
    pub(crate) async fn calling(outbound: OutboundPolicy) -> Self {
        Self::built(Access::People(SignIn::default()), settings(), outbound).await
    }

    /// Models are scripted on this machine.
    pub(crate) async fn made(access: Access, settings: WebSettings) -> Self {
        Self::built(access, settings, "localhost".parse().unwrap()).await
    }

    async fn built(access: Access, settings: WebSettings, outbound: OutboundPolicy) -> Self {
        let data = DataFolder::new();
        add_rubric(data.path());
        for name in ["shop", "lab"] {
            let new = NewProject { id: id(name), name: name.to_owned(), retention_days: None };
            data.catalog().create_project(new, START).await.unwrap();
        }
        let host = match &access {
            Access::Open(_) => "localhost",
            Access::People(_) => HOST,
        };
        let clock = ManualClock::at(START);
        let place = (data.folder().clone(), data.path().to_owned());
        let state = AppState::new(place, Clock::Manual(clock.clone()), outbound);
        let web = Web::new(settings, state, access);
        Self { data, router: ratchet_web::pages(web.clone()), web, clock, host }
    }

    pub(crate) async fn record(&self, batch: BatchBuilder) {
        self.data.telemetry().record(batch.build()).await.unwrap();
    }

    /// What a browser that was never here gets.
    pub(crate) async fn get(&self, address: &str) -> Answer {
        self.browser().get(address).await
    }

    /// Sends a form of a page, with the page's token.
    pub(crate) async fn post(&self, page: &str, address: &str, fields: &str) -> Answer {
        self.browser().fill(page, address, fields).await
    }

    /// Sends a file by the form of a page, with the page's token.
    pub(crate) async fn upload(&self, page: &str, (file, content): (&str, &str)) -> Answer {
        let mut browser = self.browser();
        browser.get(page).await;
        let form = format!(
            "--x\r\nContent-Disposition: form-data; name=\"form_token\"\r\n\r\n{}\r\n\
             --x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{file}\"\r\n\
             Content-Type: text/plain\r\n\r\n{content}\r\n--x--\r\n",
            browser.form_token,
        );
        browser.send("POST", page, &[PARTS], form).await
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.web.now()
    }

    pub(crate) fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }

    /// Makes a person with the usual password, who works in `shop` unless they own everything.
    pub(crate) async fn person(&self, email: &str, role: Role) -> User {
        let new = NewUser {
            email: Email::parse(email).unwrap(),
            name: None,
            password: Secret::new(PASSWORD),
            role,
            project: (role != Role::Owner).then(|| id("shop")),
        };
        self.data.catalog().create_user(new, Timestamp::default()).await.unwrap()
    }

    /// A browser that was never here.
    pub(crate) fn browser(&self) -> Browser {
        Browser {
            router: self.router.clone(),
            address: "203.0.113.1:5000".parse().unwrap(),
            jar: BTreeMap::new(),
            headers: vec![
                ("host".into(), self.host.into()),
                ("user-agent".into(), "Test/1".into()),
            ],
            form_token: String::new(),
        }
    }

    /// A browser that someone signed in with.
    pub(crate) async fn signed_in(&self, email: &str) -> Browser {
        let mut browser = self.browser();
        assert_eq!(browser.sign_in(email, PASSWORD).await.status, 303);
        browser
    }
}

pub(crate) fn id(name: &str) -> ProjectId {
    ProjectId::parse(name).unwrap()
}

/// A browser: it keeps cookies, and fills the token of the last page into the next form.
#[derive(Clone)]
pub(crate) struct Browser {
    router: Router,
    pub(crate) address: SocketAddr,
    pub(crate) jar: BTreeMap<String, String>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) form_token: String,
}

impl Browser {
    pub(crate) async fn get(&mut self, path: &str) -> Answer {
        self.send("GET", path, &[], String::new()).await
    }

    pub(crate) async fn post(&mut self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let fields = fields.iter().copied().chain([("form_token", self.form_token.as_str())]);
        let form = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        self.send("POST", path, &[FORM], form).await
    }

    /// Opens a page and sends one of its forms, with the page's token.
    pub(crate) async fn fill(&mut self, page: &str, address: &str, fields: &str) -> Answer {
        self.get(page).await;
        let form = format!("form_token={}&{fields}", self.form_token);
        self.send("POST", address, &[FORM], form).await
    }

    /// Opens the form and sends it.
    pub(crate) async fn sign_in(&mut self, email: &str, password: &str) -> Answer {
        self.get("/sign-in").await;
        self.post("/sign-in", &[("email", email), ("password", password)]).await
    }

    /// The answer as it begins: one that goes on does so for as long as it is kept.
    pub(crate) async fn open(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Body>,
    ) -> Response {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let cookies: Vec<_> =
            self.jar.iter().map(|(name, value)| format!("{name}={value}")).collect();
        if !cookies.is_empty() {
            request = request.header("cookie", cookies.join("; "));
        }
        let mut request = request.body(body.into()).unwrap();
        request.extensions_mut().insert(ConnectInfo(self.address));
        let answer = self.router.clone().oneshot(request);
        wait::with_timeout(&format!("an answer of {path}"), answer).await.unwrap()
    }

    pub(crate) async fn send(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Body>,
    ) -> Answer {
        let response = self.open(method, path, headers, body).await;
        let (parts, body) = response.into_parts();
        let end = format!("the end of {path}");
        let bytes = wait::with_timeout(&end, to_bytes(body, 100_000_000)).await.unwrap();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let answer = Answer { status: parts.status.as_u16(), headers: parts.headers, text, bytes };
        self.keep(&answer);
        answer
    }

    fn keep(&mut self, answer: &Answer) {
        for line in answer.cookies() {
            let (name, rest) = line.split_once('=').unwrap();
            let value = rest.split(';').next().unwrap();
            if line.contains("Max-Age=0") {
                self.jar.remove(name);
            } else {
                self.jar.insert(name.to_owned(), value.to_owned());
            }
        }
        if let Some((_, rest)) = answer.text.split_once("name=\"form_token\" value=\"") {
            self.form_token = rest.split('"').next().unwrap().to_owned();
        }
    }
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
    pub(crate) bytes: Bytes,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    pub(crate) fn cookies(&self) -> Vec<&str> {
        self.headers.get_all("set-cookie").iter().map(|value| value.to_str().unwrap()).collect()
    }

    /// Checks the status and what the page must say.
    #[track_caller]
    pub(crate) fn check(&self, status: u16, words: &str) -> &Self {
        assert_eq!(self.status, status, "{}", self.text);
        assert!(self.text.contains(words), "{} does not say {words}", self.text);
        self
    }

    /// Checks that it leads somewhere.
    #[track_caller]
    pub(crate) fn leads_to(&self, path: &str) -> &Self {
        assert_eq!((self.status, self.header("location")), (303, path), "{}", self.text);
        self
    }
}
