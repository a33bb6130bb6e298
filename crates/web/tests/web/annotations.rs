//! Scores and comments of people on traces and sessions: a later score replaces the earlier one, and
//! both are deleted by their author and by owners.

use ratchet_core::id::{SessionId, TraceId};
use ratchet_core::record::score::config::{ConfigValues, ScoreConfig};
use ratchet_core::record::score::{Score, ScoreSource};
use ratchet_store::catalog::{Role, StoredScoreConfig};
use ratchet_store::query::{Paging, ScoreQuery, ScoresOn, TimeRange};
use ratchet_testkit::build::{START, batch, project, score, text, trace};

use crate::browser::{Browser, Site, id};

const TRACE: &str = "/project/shop/traces/t";
const SESSION: &str = "/project/shop/sessions/s";

/// A trace in a session, with a judge's score, and a score config.
async fn site() -> Site {
    let site = Site::new().await;
    let values = ConfigValues::Numeric { min: Some(0.0), max: Some(1.0) };
    let (id_of, name) = ("c".to_owned(), "helpful".to_owned());
    let config = ScoreConfig { id: id_of, name, values, is_archived: false };
    let description = Some("Did it help?".to_owned());
    let new = StoredScoreConfig { config, description, created_at: START, updated_at: START };
    site.data.catalog().create_score_config(id("shop"), new).await.unwrap();
    let judged = score("judged").on("quality").of_trace("t").number(0.5).from(ScoreSource::Eval);
    let recorded = trace("t").in_session("s").input(text("Hello")).output(text("Hi"));
    site.record(batch(&project("shop")).with(recorded).with(judged)).await;
    for email in ["ann@shop.example", "bob@shop.example"] {
        site.person(email, Role::Member).await;
    }
    site.person("olga@shop.example", Role::Owner).await;
    site
}

async fn people(site: &Site) -> (Browser, Browser, Browser) {
    (
        site.signed_in("ann@shop.example").await,
        site.signed_in("bob@shop.example").await,
        site.signed_in("olga@shop.example").await,
    )
}

async fn given(site: &Site, on: ScoresOn) -> Vec<Score> {
    let query = ScoreQuery {
        project: id("shop"),
        range: TimeRange::default(),
        on,
        conditions: vec![],
        paging: Paging::After { cursor: None, limit: 100 },
    };
    let mut scores = site.data.telemetry().scores(query).await.unwrap().rows;
    scores.retain(|score| score.source == ScoreSource::Annotation);
    scores
}

#[tokio::test]
async fn a_later_score_of_the_same_person_replaces_the_earlier_one() {
    let site = site().await;
    let (mut ann, mut bob, _) = people(&site).await;
    let (on_trace, on_session) = (
        || ScoresOn::Trace(TraceId::parse("t").unwrap()),
        || ScoresOn::Session(SessionId::parse("s").unwrap()),
    );
    for (page, on) in [(TRACE, &on_trace as &dyn Fn() -> ScoresOn), (SESSION, &on_session)] {
        ann.get(page).await.check(200, "Did it help?");
        let action = format!("{page}/scores");
        let first = "score.c=0.25&comment=meh";
        assert_eq!(ann.fill(page, &action, first).await.status, 303, "{page}");
        ann.get(page).await.check(200, "You: <bdi>0.25</bdi>");
        assert_eq!(ann.fill(page, &action, "score.c=1").await.status, 303, "{page}");
        let scores = given(&site, on()).await;
        assert_eq!(scores.len(), 1, "{scores:?}");
        assert_eq!(scores[0].value.number(), Some(1.0));
        assert_eq!(scores[0].comment, None, "it explained the earlier value");
        assert_eq!(bob.fill(page, &action, "score.c=0").await.status, 303, "{page}");
        assert_eq!(given(&site, on()).await.len(), 2, "another person's score stands beside it");
        assert_eq!(ann.fill(page, &action, "score.c=2").await.status, 400, "out of range");
    }
}

#[tokio::test]
async fn scores_are_deleted_by_their_author_and_by_owners() {
    let site = site().await;
    let (mut ann, mut bob, mut olga) = people(&site).await;
    assert_eq!(ann.fill(TRACE, &format!("{TRACE}/scores"), "score.c=1").await.status, 303);
    let on = || ScoresOn::Trace(TraceId::parse("t").unwrap());
    let score = given(&site, on()).await.remove(0).id;
    let delete = format!("/project/shop/delete-score/{score}");
    assert!(!bob.get(TRACE).await.text.contains(&delete));
    bob.fill(TRACE, &delete, "").await.check(403, "only its author and owners");
    let judged = "/project/shop/delete-score/judged";
    ann.fill(TRACE, judged, "").await.check(403, "only its author and owners");
    ann.get(TRACE).await.check(200, &delete);
    let gone = ann.fill(TRACE, &delete, "").await;
    assert_eq!(
        (gone.status, gone.header("location")),
        (303, "/project/shop/traces/t?done=score-deleted")
    );
    assert!(given(&site, on()).await.is_empty());
    assert_eq!(ann.fill(TRACE, &delete, "").await.status, 404);
    assert_eq!(olga.fill(TRACE, judged, "").await.status, 303, "an owner deletes any");
    let audited = olga.get("/project/shop/settings/audit").await;
    audited.check(200, &score.to_string());
}

#[tokio::test]
async fn comments_are_deleted_by_their_author_and_by_owners() {
    let site = site().await;
    let (mut ann, mut bob, mut olga) = people(&site).await;
    for page in [TRACE, SESSION] {
        for words in ["first", "second"] {
            let sent = format!("content={words}+words");
            assert_eq!(ann.fill(page, &format!("{page}/comments"), &sent).await.status, 303);
        }
        for (who, is_last) in [(&mut ann, false), (&mut olga, true)] {
            let shown = who.get(page).await;
            let (_, rest) = shown.text.split_once("/project/shop/delete-comment/").unwrap();
            let delete =
                format!("/project/shop/delete-comment/{}", rest.split('"').next().unwrap());
            assert!(!bob.get(page).await.text.contains("delete-comment"));
            bob.fill(page, &delete, "").await.check(403, "only its author and owners");
            let gone = who.fill(page, &delete, "").await;
            let back = format!("{page}?done=comment-deleted");
            assert_eq!((gone.status, gone.header("location")), (303, back.as_str()));
            let left = who.get(page).await;
            assert_eq!(left.text.contains(" words</bdi>"), !is_last, "{}", left.text);
        }
    }
}
