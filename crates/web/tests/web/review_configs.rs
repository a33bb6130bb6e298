//! Reviews of a queue with score configs: the reviewer fills in those.

use ratchet_core::catalog::annotation::{ItemKind, ItemStatus};
use ratchet_core::id::{SessionId, TraceId};
use ratchet_core::record::score::config::{Category, ConfigValues, ScoreConfig};
use ratchet_core::record::score::{Score, ScoreSource, ScoreValue};
use ratchet_store::catalog::{NewQueue, NewQueueItem, QueueId, Role, StoredScoreConfig};
use ratchet_store::query::{Paging, ScoreQuery, ScoresOn, TimeRange};
use ratchet_testkit::build::{START, batch, project, text, trace};

use crate::browser::{Browser, Site, id};

const EMAIL: &str = "ann@shop.example";

/// A queue that asks for a number, a category and a truth, with a trace and a session in it.
struct ConfigQueue {
    site: Site,
    page: String,
}

impl ConfigQueue {
    async fn new(kind: ItemKind, object: &str) -> Self {
        let site = Site::new().await;
        let category = |label: &str, value| Category { label: label.to_owned(), value };
        let tone = vec![category("kind", 1.0), category("rude", 0.0)];
        for (name, values) in [
            ("effort", ConfigValues::Numeric { min: Some(1.0), max: Some(5.0) }),
            ("tone", ConfigValues::Categorical(tone)),
            ("solved", ConfigValues::Boolean),
            ("retired", ConfigValues::Boolean),
        ] {
            let is_archived = name == "retired";
            let config =
                ScoreConfig { id: format!("c-{name}"), name: name.to_owned(), values, is_archived };
            let description = Some(format!("How <b>{name}</b> is judged"));
            let new =
                StoredScoreConfig { config, description, created_at: START, updated_at: START };
            site.data.catalog().create_score_config(id("shop"), new).await.unwrap();
        }
        let asked = trace("t0").in_session("s0").agent("bot").input(text("question"));
        site.record(batch(&project("shop")).with(asked.output(text("answer")))).await;
        let catalog = site.data.catalog();
        let score_configs = ["effort", "tone", "solved", "retired"].map(|name| format!("c-{name}"));
        let new = NewQueue {
            name: "tone".into(),
            description: None,
            score_configs: score_configs.to_vec(),
        };
        let queue = catalog.create_queue(id("shop"), new, START).await.unwrap().id;
        let of = QueueId { project: id("shop"), queue };
        let item = NewQueueItem { kind, object: object.to_owned(), status: ItemStatus::Pending };
        catalog.add_queue_item(of.clone(), item, START).await.unwrap();
        let person = site.person(EMAIL, Role::Reviewer).await;
        catalog.assign_queue(of.clone(), person.id, START).await.unwrap();
        Self { page: format!("/project/shop/queues/{}/review", of.queue), site }
    }

    async fn scores(&self, on: ScoresOn) -> Vec<Score> {
        let query = ScoreQuery {
            project: id("shop"),
            range: TimeRange::default(),
            on,
            conditions: vec![],
            paging: Paging::After { cursor: None, limit: 100 },
        };
        let mut scores = self.site.data.telemetry().scores(query).await.unwrap().rows;
        scores.sort_by(|one, other| one.name.cmp(&other.name));
        scores
    }

    /// Opens the item; returns the page, the form's action and its hidden fields.
    async fn open(&self, browser: &mut Browser) -> (String, String, Vec<(String, String)>) {
        let shown = browser.get(&self.page).await;
        assert_eq!(shown.status, 200, "{}", shown.text);
        let after = |begin: &str| {
            let (_, rest) = shown.text.split_once(begin).unwrap();
            rest.split('"').next().unwrap().to_owned()
        };
        let action = after("data-review method=\"post\" action=\"");
        let hidden = vec![("attempt".to_owned(), after("name=\"attempt\" value=\""))];
        (shown.text, action, hidden)
    }
}

async fn send(
    browser: &mut Browser,
    (action, hidden): (&str, &[(String, String)]),
    fields: &[(&str, &str)],
) -> u16 {
    let hidden = hidden.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let all: Vec<(&str, &str)> = hidden.chain(fields.iter().copied()).collect();
    browser.post(action, &all).await.status
}

#[tokio::test]
async fn a_reviewer_fills_in_the_score_configs_of_the_queue() {
    let asked = ConfigQueue::new(ItemKind::Trace, "t0").await;
    let mut ann = asked.site.signed_in(EMAIL).await;
    let (page, action, hidden) = asked.open(&mut ann).await;
    for seen in [
        "How &lt;b&gt;effort&lt;/b&gt; is judged",
        "1 to 5",
        "name=\"score.c-effort\" value=\"5\" data-key=\"5\"",
        "name=\"score.c-tone\" value=\"rude\"",
        "name=\"score.c-solved\" value=\"1\"",
    ] {
        assert!(page.contains(seen), "{seen} in {page}");
    }
    for other in ["name=\"correctness\"", "c-retired"] {
        assert!(!page.contains(other), "{other} in {page}");
    }
    let form = (action.as_str(), hidden.as_slice());
    for wrong in [&[][..], &[("score.c-effort.exact", "9")], &[("score.c-effort.exact", "much")]] {
        assert_eq!(send(&mut ann, form, wrong).await, 400, "{wrong:?}");
    }
    let trace = || ScoresOn::Trace(TraceId::parse("t0").unwrap());
    assert!(asked.scores(trace()).await.is_empty(), "all scores or none");
    let fields =
        [("score.c-effort.exact", "4.5"), ("score.c-tone", "kind"), ("comment", "patient")];
    assert_eq!(send(&mut ann, form, &fields).await, 303);
    let scores = asked.scores(trace()).await;
    let said: Vec<_> = scores.iter().map(|one| (one.name.as_str(), one.value.number())).collect();
    assert_eq!(said, [("effort", Some(4.5)), ("tone", Some(1.0))]);
    for score in &scores {
        assert_eq!(score.source, ScoreSource::Annotation);
        assert_eq!(score.config.as_deref(), Some(format!("c-{}", score.name).as_str()));
        assert_eq!(score.comment.as_deref(), Some("patient"));
        assert!(score.author.is_some() && score.queue.is_some(), "{score:?}");
    }
    ann.get(&asked.page).await.check(200, "All done");
    let undo = asked.page.replace("/review", "/undo");
    assert_eq!(ann.post(&undo, &[]).await.status, 303);
    assert!(asked.scores(trace()).await.is_empty(), "taken back with the answer");
}

#[tokio::test]
async fn a_session_in_such_a_queue_is_scored_by_its_configs() {
    let asked = ConfigQueue::new(ItemKind::Session, "s0").await;
    let mut ann = asked.site.signed_in(EMAIL).await;
    let (page, action, hidden) = asked.open(&mut ann).await;
    assert!(page.contains("name=\"score.c-solved\"") && page.contains("answer"), "{page}");
    let form = (action.as_str(), hidden.as_slice());
    assert_eq!(send(&mut ann, form, &[("score.c-solved", "1")]).await, 303);
    let scores = asked.scores(ScoresOn::Session(SessionId::parse("s0").unwrap())).await;
    assert_eq!(scores.len(), 1, "{scores:?}");
    assert_eq!((scores[0].name.as_str(), &scores[0].value), ("solved", &ScoreValue::Boolean(true)));
}
