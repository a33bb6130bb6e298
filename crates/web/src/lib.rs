//! Every page. For now there are two: one says that the server works and how to reach it, the other
//! describes its API.

/// The API's description.
mod docs;

use axum::Router;
use axum::response::Html;
use axum::routing::get;

/// The pages, to be merged with the server's routes.
pub fn pages() -> Router {
    Router::new().route("/", get(home)).merge(docs::pages())
}

async fn home() -> Html<&'static str> {
    Html(include_str!("home.html"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_page_needs_nothing_from_elsewhere() {
        let page = include_str!("home.html");
        assert!(page.starts_with("<!doctype html>"));
        assert!(!page.contains("http://") && !page.contains("https://"), "no foreign assets");
        assert!(!page.contains("<script"), "first paint needs no script");
    }
}
