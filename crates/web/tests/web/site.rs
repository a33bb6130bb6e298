//! The pages over a data folder that goes away with the test.

use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderMap, Request};
use ratchet_store::catalog::NewProject;
use ratchet_store::project::ProjectId;
use ratchet_testkit::build::{BatchBuilder, START, project};
use ratchet_testkit::folder::DataFolder;
use ratchet_web::Web;
use ratchet_web::web::Access;
use tower::ServiceExt as _;

/// The pages, open to anyone, with one project named `shop`.
#[derive(Debug)]
pub(crate) struct TestSite {
    pub(crate) data: DataFolder,
    router: axum::Router,
}

/// What a page answered.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
    pub(crate) bytes: Bytes,
}

impl TestSite {
    pub(crate) async fn new() -> Self {
        Self::patient_for(Duration::from_secs(60)).await
    }

    /// Pages that look only so long for what they show.
    pub(crate) async fn patient_for(patience: Duration) -> Self {
        let data = DataFolder::new();
        let shop: ProjectId = project("shop");
        let new = NewProject { id: shop.clone(), name: "shop".to_owned(), retention_days: None };
        data.catalog().create_project(new, START).await.unwrap();
        let store = data.folder().clone();
        let web = Web::patient_for(patience, store, Access::Open(shop), || START);
        Self { router: ratchet_web::pages(web), data }
    }

    pub(crate) async fn record(&self, batch: BatchBuilder) {
        self.data.telemetry().record(batch.build()).await.unwrap();
    }

    pub(crate) async fn get(&self, address: &str) -> Shown {
        self.ask(Request::get(address).body(Body::empty()).unwrap()).await
    }

    /// Sends a form of a page, with the page's token.
    pub(crate) async fn post(&self, page: &str, address: &str, fields: &str) -> Shown {
        let token = self.form_token(page).await;
        let request = Request::post(address)
            .header("content-type", "application/x-www-form-urlencoded")
            .body(Body::from(format!("form_token={token}&{fields}")));
        self.ask(request.unwrap()).await
    }

    /// Sends a file by the form of a page, with the page's token.
    pub(crate) async fn upload(&self, page: &str, (file, content): (&str, &str)) -> Shown {
        let token = self.form_token(page).await;
        let form = format!(
            "--x\r\nContent-Disposition: form-data; name=\"form_token\"\r\n\r\n{token}\r\n\
             --x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{file}\"\r\n\
             Content-Type: text/plain\r\n\r\n{content}\r\n--x--\r\n"
        );
        let request = Request::post(page)
            .header("content-type", "multipart/form-data; boundary=x")
            .body(Body::from(form));
        self.ask(request.unwrap()).await
    }

    async fn form_token(&self, page: &str) -> String {
        let page = self.get(page).await.body;
        let (_, after) = page.split_once("name=\"form_token\" value=\"").unwrap();
        after.split('"').next().unwrap().to_owned()
    }

    pub(crate) async fn ask(&self, request: Request<Body>) -> Shown {
        let answer = self.router.clone().oneshot(request).await.unwrap();
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        let bytes = to_bytes(answer.into_body(), 100_000_000).await.unwrap();
        Shown { status, headers, body: String::from_utf8_lossy(&bytes).into_owned(), bytes }
    }
}

impl Shown {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}
