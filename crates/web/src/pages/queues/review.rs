//! One queue item per screen: what happened, what the judge says, and the reviewer's answer.

/// The record that an item is about.
mod record;
/// The answer's form.
mod form;
/// The answer's form where the queue has score configs.
mod config_form;
/// Items that are sessions.
mod session;
/// Answers, skips, undoing and heartbeats.
mod answer;
/// How the items of a queue are reviewed.
mod settings;
/// Who reviews a queue.
mod assignees;

use std::collections::BTreeSet;
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::{AppendHeaders, IntoResponse, Response};
use axum::routing::{get, post};
use maud::{Markup, html};
use ratchet_core::catalog::annotation::ItemKind;
use ratchet_core::catalog::review::{ReviewOutcome, ReviewSettings, agreement, median};
use ratchet_core::secret::Secret;
use ratchet_store::catalog::{
    Queue, QueueId, QueueProgress, Review, ReviewLease, StoredScoreConfig,
};
use uuid::Uuid;

use self::record::Record;
use crate::assets;
use crate::components::{empty, figure, toast};
use crate::cookie::{Channel, Cookie};
use crate::frame::{Page, Section};
use crate::page_error::{PageError, PageResult};
use crate::request_context::{Link, RequestContext};
use crate::score_summary;
use crate::viewer::{Identity, Viewer};
use crate::web::Web;

/// The reviewer on a server without users; the id of the browser follows, if it has one.
const LOCAL: &str = "local";
/// How long a browser keeps its id.
const BROWSER_LIFE: Duration = Duration::from_secs(365 * 24 * 60 * 60);

pub(super) fn routes() -> Router<Web> {
    const QUEUE: &str = "/project/{project}/queues/{queue}";
    let of_queue = |rest: &str| format!("{QUEUE}{rest}");
    Router::new()
        .route(&of_queue("/review"), get(show))
        .route(&of_queue("/review/{item}"), post(answer::save))
        .route(&of_queue("/review/{item}/heartbeat"), post(answer::heartbeat))
        .route(&of_queue("/undo"), post(answer::undo))
        .route(&of_queue("/assignees"), post(assignees::save))
        .route(&of_queue("/settings"), get(settings::show).post(settings::save))
}

/// Id of the reviewer, for leases and reviews.
fn reviewer(viewer: &Viewer) -> String {
    match &viewer.who {
        Identity::Person(signed_in) => signed_in.user.id.clone(),
        Identity::Anyone => match &viewer.browser {
            Some(browser) => format!("{LOCAL}-{browser}"),
            None => LOCAL.to_owned(),
        },
    }
}

/// Gives a browser an id where nobody signs in, so that two people never hold the same item.
/// Returns the header to send, if it is new.
fn tell_apart(viewer: &mut Viewer, headers: &HeaderMap) -> Option<[(HeaderName, HeaderValue); 1]> {
    if viewer.who != Identity::Anyone || viewer.browser.is_some() {
        return None;
    }
    let id = Uuid::new_v4();
    viewer.browser = Some(id);
    let value = Secret::new(id.to_string());
    Some([Cookie::Browser.set(&value, Some(BROWSER_LIFE), Channel::of(headers))])
}

/// A queue with what was done in it.
struct Progress {
    queue: Queue,
    settings: ReviewSettings,
    items: QueueProgress,
    reviews: Vec<Review>,
}

impl Progress {
    async fn read(web: &Web, ctx: &RequestContext, of: &QueueId) -> PageResult<Self> {
        let catalog = &web.store.catalog;
        let queue = catalog.queue(of.clone()).await?;
        let settings = catalog.review_settings(of.clone()).await?;
        let progress = catalog.queue_progress(ctx.project_id()).await?;
        let items = progress.get(&of.queue).copied().unwrap_or_default();
        let reviews = catalog.reviews(of.clone()).await?;
        Ok(Self { queue, settings, items, reviews })
    }

    /// The summary in one line: progress, time per item, agreement.
    fn summary(&self, me: &str) -> Markup {
        let answered = self.reviews.iter().filter(|one| one.outcome == ReviewOutcome::Answered);
        let mine: BTreeSet<&str> = answered
            .clone()
            .filter(|one| one.reviewer == me)
            .map(|one| one.item.as_str())
            .collect();
        let seconds: Vec<u64> = answered.clone().filter_map(|one| one.seconds).collect();
        let timed = seconds.len();
        let agreed =
            agreement(answered.filter_map(|one| Some((one.item.as_str(), one.is_correct?))));
        let total = self.items.waiting + self.items.done;
        html! {
            span data-progress {
                (figure::grouped(self.items.done)) " of " (figure::grouped(total)) " done, "
                (figure::grouped(mine.len() as u64)) " by you."
            }
            @if let Some(seconds) = median(seconds) {
                " Median " (seconds) " s per item, n = " (timed) "."
            }
            @if let Some(agreed) = agreed {
                @let (share, interval) = score_summary::share(agreed);
                " Reviewers agree on " (share)
                @if let Some(interval) = interval { " (95% CI " (interval) ")" }
                ", n = " (agreed.n) "."
            }
        }
    }
}

async fn show(
    State(web): State<Web>,
    mut ctx: RequestContext,
    Path((_, queue)): Path<(String, String)>,
    headers: HeaderMap,
) -> PageResult<Response> {
    ctx.viewer.may_review()?;
    let cookie = tell_apart(&mut ctx.viewer, &headers);
    let of = QueueId { project: ctx.project_id(), queue };
    super::must_be_assigned(&web, &ctx, &of).await?;
    let me = reviewer(&ctx.viewer);
    let wanted = ctx.params.get("item").map(str::to_owned);
    let is_wanted = wanted.is_some();
    let lease =
        web.store.catalog.claim_review(of.clone(), me.clone(), wanted.clone(), ctx.now).await?;
    let progress = Progress::read(&web, &ctx, &of).await?;
    let mut page = Page::new(Section::Queues, format!("Review {}", progress.queue.name));
    let here = ctx.to(&["queues", &of.queue]);
    page.crumbs = vec![
        ("Queues".to_owned(), Section::Queues.link(&ctx)),
        (progress.queue.name.clone(), here.clone()),
    ];
    page.summary = progress.summary(&me);
    page.action = actions(&ctx, &of, &progress.reviews, &me);
    let configs = config_form::configs(&web, &of, &progress.queue.score_configs).await?;
    let body = match lease {
        Some(lease) => reviewing(&web, &ctx, (&of, &lease), (&progress.settings, &configs)).await?,
        None if is_wanted => unavailable(&web, &ctx, &of, wanted.unwrap_or_default()).await?,
        None => finished(&progress, &here),
    };
    page.body = html! {
        @if let Some(words) = answer::done(&ctx) { (toast::toast(words)) }
        (body)
        script type="module" src=(assets::address("review.js")) {}
    };
    let shown = page.show(&ctx);
    Ok(match cookie {
        Some(cookie) => (AppendHeaders(cookie), shown).into_response(),
        None => shown.into_response(),
    })
}

fn actions(ctx: &RequestContext, of: &QueueId, reviews: &[Review], me: &str) -> Markup {
    let has_reviewed = reviews.iter().any(|one| one.reviewer == me);
    html! {
        @if has_reviewed {
            form method="post" action=(ctx.to(&["queues", &of.queue, "undo"])) data-undo {
                (ctx.viewer.form_token.field())
                button.button type="submit" aria-keyshortcuts="u" { "Undo last answer " kbd { "u" } }
            }
        }
        @if ctx.viewer.can_change() {
            a.button href=(ctx.to(&["queues", &of.queue, "settings"])) { "Review settings" }
        }
    }
}

/// The item with its form.
async fn reviewing(
    web: &Web,
    ctx: &RequestContext,
    (of, lease): (&QueueId, &ReviewLease),
    (settings, configs): (&ReviewSettings, &[StoredScoreConfig]),
) -> PageResult<Markup> {
    let item = match lease.item.kind {
        ItemKind::Session if configs.is_empty() => {
            session::show(web, ctx, (of, lease), settings).await
        }
        ItemKind::Session => {
            session::show_configs(web, ctx, (of, lease), (settings, configs)).await
        }
        ItemKind::Trace | ItemKind::Observation => {
            record_item(web, ctx, (of, lease), (settings, configs)).await
        }
    };
    let item = match item {
        Ok(item) => item,
        Err(PageError::NotFound(_)) => return Ok(gone(ctx, of, lease)),
        Err(error) => return Err(error),
    };
    let people = matches!(ctx.viewer.who, Identity::Person(_));
    Ok(html! {
        @if !settings.instructions.is_empty() {
            p.review-instructions { bdi { (settings.instructions) } }
        }
        @if settings.reviews > 1 && !people { p.review-instructions { (ONE_BROWSER) } }
        (item)
    })
}

/// Why double review needs people who sign in.
const ONE_BROWSER: &str = "This queue asks for several reviews of each item. Without sign-in, each \
    browser counts as one person: use another browser for the second review, or turn sign-in on.";

async fn record_item(
    web: &Web,
    ctx: &RequestContext,
    (of, lease): (&QueueId, &ReviewLease),
    (settings, configs): (&ReviewSettings, &[StoredScoreConfig]),
) -> PageResult<Markup> {
    let record = Record::load(web, ctx, &lease.item).await?;
    let form = if configs.is_empty() {
        form::form(web, ctx, (of, lease), (&record, settings)).await?
    } else {
        form::config_form(web, ctx, (of, lease), (&record, settings, configs)).await?
    };
    Ok(html! {
        div.review {
            section.review-record aria-label="Record" tabindex="0" { (record.show(ctx)) }
            aside.review-side { (form) }
        }
    })
}

/// An item whose record was deleted can only be skipped.
fn gone(ctx: &RequestContext, of: &QueueId, lease: &ReviewLease) -> Markup {
    let how = html! {
        p { "Its record was deleted, by retention or by a person." }
        (form::skip(ctx, of, lease))
    };
    empty::empty("This item is gone", &how)
}

async fn unavailable(
    web: &Web,
    ctx: &RequestContext,
    of: &QueueId,
    item: String,
) -> PageResult<Markup> {
    let holder = web.store.catalog.review_holder(of.clone(), item, ctx.now).await?;
    let holder = match holder {
        Some(id) => Some(name(web, id).await),
        None => None,
    };
    let next = ctx.to(&["queues", &of.queue, "review"]);
    let how = html! {
        p {
            @match holder {
                Some(name) => { bdi { (name) } " is reviewing it. It becomes free when they leave it." },
                None => { "It has all its reviews." },
            }
        }
        p { a.button.primary href=(next) data-next { "Next item" } }
    };
    Ok(empty::empty("This item is not free", &how))
}

/// Why a trace was drawn for review, if it was.
pub(super) async fn reason(
    web: &Web,
    ctx: &RequestContext,
    trace: String,
) -> PageResult<Option<String>> {
    let draws = web.store.catalog.draws_of_trace(ctx.project_id(), trace).await?;
    Ok(draws.into_iter().next().map(|(_, drawn)| drawn.reason))
}

/// Display name of a reviewer.
pub(super) async fn name(web: &Web, id: String) -> String {
    if let Some(browser) = id.strip_prefix(LOCAL) {
        let browser: String = browser.chars().skip(1).take(4).collect();
        return format!("Local reviewer {browser}").trim_end().to_owned();
    }
    let user = web.store.catalog.user(id.clone()).await.ok();
    user.map_or(id, |user| user.name.unwrap_or(user.email))
}

fn finished(progress: &Progress, queue: &Link) -> Markup {
    let title = if progress.items.waiting == 0 { "All done" } else { "Nothing left for you" };
    let how = html! {
        p {
            @if progress.items.waiting == 0 { "Every item of this queue is reviewed." }
            @else {
                (figure::grouped(progress.items.waiting))
                " waiting items are held by other reviewers, or were reviewed or skipped by you."
            }
        }
        p { a.button href=(queue) { "View items" } }
    };
    html! { div data-finished { (empty::empty(title, &how)) } }
}
