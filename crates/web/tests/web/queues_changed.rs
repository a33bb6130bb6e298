//! Queues that are edited and deleted.

use ratchet_core::catalog::annotation::{ItemKind, ItemStatus};
use ratchet_store::catalog::{NewQueue, NewQueueItem, QueueId};
use ratchet_testkit::build::{START, batch, project, trace};

use crate::browser::Site;

const QUEUES: &str = "/project/shop/queues";
const CONFIGS: &str = "/project/shop/settings/score-configs";

/// A queue with an item. Returns the path of its page.
async fn odd(site: &Site) -> String {
    site.record(batch(&project("shop")).with(trace("t").named("checkout"))).await;
    let catalog = site.data.catalog();
    let new = NewQueue {
        name: "odd".to_owned(),
        description: Some("unsure".to_owned()),
        score_configs: Vec::new(),
    };
    let queue = catalog.create_queue(project("shop"), new, START).await.unwrap();
    let of = QueueId { project: project("shop"), queue: queue.id.clone() };
    let item =
        NewQueueItem { kind: ItemKind::Trace, object: "t".to_owned(), status: ItemStatus::Pending };
    catalog.add_queue_item(of, item, START).await.unwrap();
    format!("{QUEUES}/{}", queue.id)
}

#[tokio::test]
async fn a_queue_gets_another_name_and_score_configs() {
    let site = Site::open().await;
    let queue = odd(&site).await;
    site.post(CONFIGS, CONFIGS, "action=create&name=kind&dataType=BOOLEAN").await;
    let edit = format!("{queue}/edit");
    let form = site.get(&edit).await;
    form.check(200, "value=\"unsure\"").check(200, "<bdi>kind</bdi>");
    let (_, config) = form.text.split_once("name=\"config\" value=\"").unwrap();
    let (config, _) = config.split_once('"').unwrap();
    let sent = format!("name=doubtful&description=&config={config}");
    site.post(&edit, &edit, &sent).await.leads_to(&format!("{queue}?done=edited"));
    let page = site.get(&format!("{queue}?done=edited")).await;
    page.check(200, "doubtful").check(200, "Queue saved").check(200, "checkout");
    assert!(!page.text.contains("unsure"), "{}", page.text);
    let again = site.get(&edit).await;
    again.check(200, &format!("value=\"{config}\" checked"));
}

#[tokio::test]
async fn a_refused_queue_keeps_what_was_entered() {
    let site = Site::open().await;
    let queue = odd(&site).await;
    let taken = site.post(QUEUES, QUEUES, "name=odd&description=of+today").await;
    taken.check(422, "exists already").check(422, "value=\"of today\"");
    taken.check(422, "<details class=\"making\" open>");
    site.post(QUEUES, QUEUES, "name=other").await;
    let edit = format!("{queue}/edit");
    let refused = site.post(&edit, &edit, "name=other&description=of+today").await;
    refused.check(422, "exists already").check(422, "value=\"of today\"");
    site.post(&edit, &edit, "name=").await.check(422, "1 to ");
    site.get(&queue).await.check(200, "odd");
}

#[tokio::test]
async fn a_queue_is_deleted_after_a_question_and_its_traces_stay() {
    let site = Site::open().await;
    let queue = odd(&site).await;
    site.get(&queue).await.check(200, &format!("{queue}/delete"));
    let question = format!("{queue}/delete");
    site.get(&question).await.check(200, "Delete queue odd?").check(200, "Its 1 waiting");
    site.post(&question, &question, "sure=yes").await.leads_to(&format!("{QUEUES}?done=deleted"));
    site.get(&format!("{QUEUES}?done=deleted")).await.check(200, "No queues yet");
    assert_eq!(site.get(&queue).await.status, 404);
    site.get("/project/shop/traces/t").await.check(200, "checkout");
}
