//! The pages, in the order of the sidebar.

/// Home: the loop with current numbers.
mod home;
mod queues;
/// Datasets.
mod datasets;
mod prompts;
mod agents;
mod playground;
/// Chats with agents that the server runs.
mod chats;
mod dashboards;
/// Project settings.
mod settings;
mod lists;
mod lookup;
mod annotation;
mod comments;
mod queue_menu;
mod marks;
/// Traces and sessions read by a public link.
mod public_link;
mod dataset_target;
mod deletion;
/// Folders of prompts and datasets.
mod folders;
/// What a dataset still needs.
mod dataset_guide;
/// Chats with targets.
mod target_chats;
mod table_export;
mod sessions;
/// One session.
mod session;
mod users;
/// One user.
mod user;
mod scores;
/// Score detail.
mod score;
/// Comparison of two scores.
mod score_compare;
/// Judge calibration.
mod calibration;
mod labels;
mod matrix;
mod metrics;
/// Online evaluators.
mod evaluators;
/// Runs of all datasets.
mod experiments;
/// Decisions of gates.
mod gates;
/// Targets that the server runs by itself.
mod targets;
/// Promotions of agent versions.
mod promotions;
/// A/B tests of prompts.
mod ab_tests;
/// Agents that call agents.
mod agent_runs;
/// The backlog of proposals.
mod proposals;
/// Weekly quality reports.
mod reports;
mod gallery;
/// One trace.
mod trace;

use axum::Router;
use axum::extract::State;
use axum::http::Uri;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::Redirect;
use axum::routing::{any, get};

use crate::page_error::{PageError, PageResult};
use crate::request_context::Link;
use crate::viewer::Viewer;
use crate::web::{Access, Web};
use crate::{assets, csrf, docs, page_error, policy, sign_in};

pub use reports::{feedback_document, mail_document, report_document};

/// Paths without a project, which redirect to the viewer's first project. `/metrics` is not among them:
/// it is for Prometheus.
const SHORT: [&str; 23] = [
    "traces",
    "observations",
    "sessions",
    "users",
    "scores",
    "calibration",
    "reports",
    "queues",
    "labels",
    "matrix",
    "evaluators",
    "datasets",
    "targets",
    "experiments",
    "gates",
    "promotions",
    "proposals",
    "prompts",
    "agents",
    "playground",
    "chats",
    "dashboards",
    "settings",
];

pub fn pages(web: Web) -> Router {
    let short = SHORT.iter().fold(Router::new(), |router, name| {
        router.route(&format!("/{name}"), get(to_first_project))
    });
    short
        .route("/", get(to_first_project))
        .merge(assets::routes())
        .merge(gallery::routes())
        .merge(home::routes())
        .merge(queues::routes())
        .merge(annotation::routes())
        .merge(datasets::routes())
        .merge(prompts::routes())
        .merge(agents::routes())
        .merge(targets::routes())
        .merge(playground::routes())
        .merge(chats::routes())
        .merge(dashboards::routes())
        .merge(settings::routes())
        .merge(trace::routes())
        .merge(public_link::routes())
        .merge(lists::routes())
        .merge(lookup::routes())
        .merge(sign_in::routes())
        .merge(session::routes())
        .merge(users::routes())
        .merge(user::routes())
        .merge(scores::routes())
        .merge(score::routes())
        .merge(score_compare::routes())
        .merge(calibration::routes())
        .merge(labels::routes())
        .merge(matrix::routes())
        .merge(metrics::routes())
        .merge(evaluators::routes())
        .merge(target_chats::routes())
        .merge(experiments::routes())
        .merge(gates::routes())
        .merge(promotions::routes())
        .merge(ab_tests::routes())
        .merge(agent_runs::routes())
        .merge(proposals::routes())
        .merge(reports::routes())
        // Named with its project, so that the error is shown in the project's frame.
        .route("/project/{project}/{*page}", any(not_found))
        .fallback(not_found)
        .with_state(web.clone())
        .merge(docs::pages())
        .layer(from_fn_with_state(web.clone(), csrf::require_csrf_token))
        .layer(from_fn_with_state(web, page_error::in_frame))
        .layer(from_fn(policy::apply))
}

/// Redirects to the same page of the viewer's first project.
async fn to_first_project(
    State(web): State<Web>,
    viewer: Viewer,
    uri: Uri,
) -> PageResult<Redirect> {
    let projects = viewer.projects(&web).await?;
    let preferred = match &web.access {
        Access::Open(project) => projects.iter().find(|(known, _)| known.id == *project),
        Access::People(_) => None,
    };
    let first = preferred.or(projects.first());
    let (project, _) = first.ok_or_else(|| {
        PageError::Forbidden(
            "you are not a member of any project yet; ask an owner to add you".to_owned(),
        )
    })?;
    let segments: Vec<&str> = uri.path().split('/').filter(|part| !part.is_empty()).collect();
    let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    Ok(Redirect::to(&format!("{}{query}", Link::to_project(&project.id, &segments))))
}

async fn not_found(uri: Uri) -> PageError {
    let path = ratchet_core::record::limit::elide(uri.path(), 200);
    PageError::NotFound(format!("page {path} not found"))
}
