use ratchet_core::catalog::annotation::ItemKind;
use ratchet_core::id::SessionId;
use ratchet_core::judge::rubric;
use ratchet_core::quality::label::{DATASET, Mark};
use ratchet_stages::review::sampling::SamplePlan;
use ratchet_stages::review::{labels, sampling};
use ratchet_stages::source::Source;
use ratchet_store::catalog::QueueId;
use ratchet_testkit::build::project;

use super::{check, draw, form, sink, site};
use crate::browser::Site;

/// Draws a sample into another dataset, as `ratchet label --dataset` does; returns the page of reviews.
async fn draw_into(site: &Site, dataset: &str) -> String {
    let source = Source::Local(site.data.telemetry().clone(), project("shop"));
    let rubric = rubric::shipped().next().unwrap();
    let plan = SamplePlan { dataset, rubric, days: 7, size: None };
    sampling::this_week(&source, &sink(site), plan, site.now()).await.unwrap();
    let queue = site.data.catalog().queue_named(project("shop"), dataset.to_owned()).await;
    format!("/project/shop/queues/{}/review", queue.unwrap().unwrap().id)
}

/// The item of a session in the queue with some page of reviews.
async fn item(site: &Site, review: &str, session: &SessionId) -> String {
    let queue = review.trim_end_matches("/review").rsplit('/').next().unwrap().to_owned();
    let of = QueueId { project: project("shop"), queue };
    let wanted = (ItemKind::Session, session.to_string());
    let items = site.data.catalog().queue_items_of(of, wanted).await.unwrap();
    items.first().unwrap().id.clone()
}

/// The same sessions in two datasets, by one person: a second opinion, or a trial of the questions.
#[tokio::test]
async fn two_datasets_are_labelled_side_by_side() {
    let site = site().await;
    let mut ada = site.browser();
    let reviews = [draw(&mut ada, "").await, draw_into(&site, "second-opinion").await];
    assert_ne!(reviews[0], reviews[1], "each dataset has a queue");
    let read = async |dataset| {
        let given = labels::read(&sink(&site), dataset).await.unwrap();
        given.into_iter().map(|label| label.marks["tool_mastery"].text()).collect::<Vec<_>>()
    };
    for (review, mark) in reviews.iter().zip(["0.25", "0.75"]) {
        // Of the second dataset, the session that was labelled in the first one.
        let of_first = labels::read(&sink(&site), DATASET).await.unwrap();
        let page = match of_first.first() {
            Some(label) => format!("{review}?item={}", item(&site, review, &label.session).await),
            None => review.clone(),
        };
        let session = ada.get(&page).await;
        check(&session, 200, "0 of 12 done");
        let (action, attempt) = form(&session);
        let given = format!("attempt={attempt}&tool_mastery={mark}");
        assert_eq!(ada.fill(&page, &action, &given).await.status, 303);
    }
    for review in &reviews {
        check(&ada.get(review).await, 200, "1 of 12 done");
    }
    assert_eq!(read(DATASET).await, ["0.25"]);
    assert_eq!(read("second-opinion").await, ["0.75"]);
    // Both are of the same session, and calibration counts the label of its dataset alone.
    let sessions = async |dataset| {
        let given = labels::read(&sink(&site), dataset).await.unwrap();
        given.into_iter().map(|label| label.session).collect::<Vec<_>>()
    };
    assert_eq!(sessions(DATASET).await, sessions("second-opinion").await);
    let source = Source::Local(site.data.telemetry().clone(), project("shop"));
    let rubric = rubric::shipped().next().unwrap();
    for (dataset, mark) in [(DATASET, 0.25), ("second-opinion", 0.75)] {
        let all = labels::all((&source, &sink(&site)), (dataset, rubric)).await.unwrap();
        let marks: Vec<_> = all.iter().map(|label| &label.marks["tool_mastery"]).collect();
        assert_eq!(marks, [&Mark::Number(mark)], "{dataset}");
    }
    // What is taken back in one stays in the other.
    let undo = reviews[0].replace("/review", "/undo");
    assert_eq!(ada.fill(&reviews[0], &undo, "").await.status, 303);
    assert_eq!(read(DATASET).await, [""; 0]);
    assert_eq!(read("second-opinion").await, ["0.75"]);
    check(&ada.get(&reviews[0]).await, 200, "0 of 12 done");
    check(&ada.get(&reviews[1]).await, 200, "1 of 12 done");
}
