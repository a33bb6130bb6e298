use ratchet_core::catalog::annotation::{ItemKind, ItemStatus};
use ratchet_core::payload::Payload;
use ratchet_core::record::media::{MediaHash, MediaType};
use ratchet_store::catalog::{MediaOwner, NewMedia, NewQueueItem, ReferenceLocation, Role};
use ratchet_testkit::build::{START, batch, generation, json, project, trace};

use super::Desk;
use crate::browser::id;

#[tokio::test]
async fn a_reviewer_sees_media_of_the_records_in_their_queues_only() {
    for owner in [
        MediaOwner::Trace("t0".to_owned()),
        MediaOwner::Observation { trace: "other".to_owned(), observation: "g0".to_owned() },
        MediaOwner::Observation { trace: "talk".to_owned(), observation: "g1".to_owned() },
    ] {
        media_of_a_queued_record(owner).await;
    }
}

async fn media_of_a_queued_record(owner: MediaOwner) {
    let desk = Desk::new(1, 1).await;
    desk.site.record(batch(&project("shop")).with(trace("talk").in_session("s0"))).await;
    for (kind, object) in [(ItemKind::Observation, "g0"), (ItemKind::Session, "s0")] {
        let item = NewQueueItem { kind, object: object.to_owned(), status: ItemStatus::Pending };
        desk.site.data.catalog().add_queue_item(desk.of.clone(), item, START).await.unwrap();
    }
    let store = desk.site.data.folder();
    let hash = MediaHash::parse("LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=").unwrap();
    let mut incoming = store.media.receive().unwrap();
    incoming.write(b"hello").unwrap();
    store.media.save(&incoming, hash).unwrap();
    let new = NewMedia {
        hash,
        content_type: MediaType::OTHER,
        content_length: 5,
        location: ReferenceLocation { owner, field: "input".to_owned() },
    };
    let media = store.catalog.announce_media(id("shop"), new, START).await.unwrap();
    store.catalog.media_stored(id("shop"), media.id.clone(), START).await.unwrap();
    let page = format!("/project/shop/media/{}", media.id);
    let mut ann = desk.reviewer("ann@shop.example").await;
    ann.get(&page).await.check(200, "hello");
    desk.site.person("ben@shop.example", Role::Reviewer).await;
    let mut ben = desk.site.signed_in("ben@shop.example").await;
    ben.get(&page).await.check(404, "not found");
}

#[tokio::test]
async fn a_reviewer_sees_pictures_in_payloads_of_their_queues_only() {
    let desk = Desk::new(0, 1).await;
    let picture = r#"[{"role":"user","content":[{"type":"text","text":"question 0"},{"type":"image_url","image_url":{"url":"data:image/gif;base64,R0lGODlhAQABAAAAACw="}}]}]"#;
    let picture = || Payload::Json(json(picture));
    let recorded = batch(&project("shop"))
        .with(trace("t0").input(picture()))
        .with(generation("g0").of("t0").input(picture()))
        .with(trace("other").input(picture()))
        .with(generation("g1").of("other").input(picture()));
    desk.site.record(recorded).await;
    let (kind, object, status) = (ItemKind::Trace, "t0".to_owned(), ItemStatus::Pending);
    let item = NewQueueItem { kind, object, status };
    desk.site.data.catalog().add_queue_item(desk.of.clone(), item, START).await.unwrap();
    let mut ann = desk.reviewer("ann@shop.example").await;
    let traces = "/project/shop/traces";
    let ours = format!("{traces}/t0/picture?side=input&n=0");
    let page = ann.get(&desk.page()).await.text.replace("&amp;", "&");
    assert!(page.contains(&format!("src=\"{ours}\"")), "{page}");
    for address in [&ours, &format!("{traces}/t0/observations/g0/picture?side=input&n=0")] {
        let answer = ann.get(address).await;
        assert_eq!((answer.status, answer.header("content-type")), (200, "image/gif"), "{address}");
    }
    for address in ["other/picture", "other/observations/g1/picture", "t0/observations/g1/picture"]
    {
        let answer = ann.get(&format!("{traces}/{address}?side=input&n=0")).await;
        assert_eq!(answer.status, 404, "{address}: {}", answer.text);
    }
    for address in ["t0", "t0/payload", "picture", "t0/observations/g0/payload"] {
        assert_eq!(ann.get(&format!("{traces}/{address}")).await.status, 403, "{address}");
    }
}
