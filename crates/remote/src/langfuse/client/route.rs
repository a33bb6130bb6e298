use std::sync::atomic::{AtomicU8, Ordering};

use serde::de::DeserializeOwned;

use super::request::ApiRequest;
use super::{ClientError, LangfuseClient};

/// A route that only one of the two API generations has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// v3: `traces`.
    Traces,
    /// v3: `sessions`.
    Sessions,
    /// v3: `observations`.
    Observations,
    /// v3: `v2/scores`.
    ScoresV2,
    /// v4: `v2/observations`.
    ObservationsV2,
    /// v4: `v3/scores`.
    ScoresV3,
}

impl Route {
    /// Returns the path after `/api/public`.
    pub(super) const fn path(self) -> &'static [&'static str] {
        match self {
            Self::Traces => &["traces"],
            Self::Sessions => &["sessions"],
            Self::Observations => &["observations"],
            Self::ScoresV2 => &["v2", "scores"],
            Self::ObservationsV2 => &["v2", "observations"],
            Self::ScoresV3 => &["v3", "scores"],
        }
    }

    const fn bit(self) -> u8 {
        1 << (self as u8)
    }
}

/// A cache of the server's supported routes.
#[derive(Debug, Default)]
pub(super) struct Routes {
    there: AtomicU8,
    gone: AtomicU8,
}

impl Routes {
    fn is_gone(&self, route: Route) -> bool {
        self.gone.load(Ordering::Relaxed) & route.bit() != 0
    }

    fn is_there(&self, route: Route) -> bool {
        self.there.load(Ordering::Relaxed) & route.bit() != 0
    }

    fn note(&self, route: Route, is_there: bool) {
        let known = if is_there { &self.there } else { &self.gone };
        known.fetch_or(route.bit(), Ordering::Relaxed);
    }
}

/// Returns whether the error of a list can only mean that the route does not exist.
fn means_gone(error: &ClientError) -> bool {
    matches!(error.status(), Some(404 | 405 | 410 | 501))
}

impl LangfuseClient {
    /// Requests a list; `None` if the server does not have the route.
    pub(super) async fn get_list<T: DeserializeOwned>(
        &self,
        route: Route,
        request: &ApiRequest,
    ) -> Result<Option<T>, ClientError> {
        if self.0.routes.is_gone(route) {
            return Ok(None);
        }
        match self.get(request).await {
            Ok(list) => {
                self.0.routes.note(route, true);
                Ok(Some(list))
            }
            Err(error) if means_gone(&error) => {
                tracing::debug!(request = request.label(), "the server has no such route");
                self.0.routes.note(route, false);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Returns whether the server has a route, by requesting one row unless it is cached.
    pub(super) async fn has_route(&self, route: Route) -> Result<bool, ClientError> {
        if self.0.routes.is_there(route) {
            return Ok(true);
        }
        let request = ApiRequest::get(route.path()).with("limit", &1);
        let found = self.get_list::<serde::de::IgnoredAny>(route, &request).await?;
        Ok(found.is_some())
    }
}

/// Returns the error that none of several routes exists.
pub(super) fn no_route(list: &'static str, tried: &[Route]) -> ClientError {
    let paths = tried.iter().map(|route| format!("/api/public/{}", route.path().join("/")));
    ClientError::NoRoute { list, routes: paths.collect::<Vec<_>>().join(", ") }
}
