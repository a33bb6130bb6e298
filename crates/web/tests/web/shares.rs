//! One person takes a share of what is scarce, and leaves the rest for others.

use ratchet_core::catalog::llm::LlmAdapter;
use ratchet_store::catalog::Role;
use ratchet_testkit::scripted::{Reply, ScriptedModel};
use ratchet_testkit::wait;
use tokio::task::JoinSet;

use crate::browser::{Browser, Site};
use crate::chats::send;
use crate::playground::connect;
use crate::seeded_project::Shop;

async fn members(site: &Site) -> [Browser; 2] {
    let mut members = Vec::new();
    for email in ["ada@shop.example", "bob@shop.example"] {
        site.person(email, Role::Member).await;
        let mut member = site.signed_in(email).await;
        member.get("/account").await.check(200, email);
        members.push(member);
    }
    members.try_into().unwrap_or_else(|_| panic!("two members"))
}

#[tokio::test]
async fn one_person_cannot_take_every_stream() {
    let Shop { site, ids, _agents } = Shop::open().await;
    let [mut ada, bob] = members(&site).await;
    let events = format!("/project/shop/chats/{}/events", ids.of("chat"));
    let mut open = Vec::new();
    for _ in 0..40 {
        let stream = ada.open("GET", &events, &[], "").await;
        assert_eq!(stream.status(), 200);
        open.push(stream);
    }
    ada.get(&events).await.check(503, "you already use your share of chat streams (40)");
    assert_eq!(bob.open("GET", &events, &[], "").await.status(), 200, "others have their share");
    open.pop();
    assert_eq!(ada.open("GET", &events, &[], "").await.status(), 200, "a closed one is free");
}

#[tokio::test]
async fn one_person_cannot_have_every_question_to_models() {
    let (site, model) = (Site::new().await, ScriptedModel::start().unwrap());
    let url = format!("{}/v1", model.url());
    let connection = connect(&site, "ours", (LlmAdapter::OpenAi, url)).await;
    let test = format!("/project/shop/settings/connections/{connection}/test");
    let [ada, bob] = members(&site).await;
    model.say_always(Reply { text: "ready".to_owned(), ..Reply::default() });
    model.hold_after(0);
    let ask = |browser: &Browser| {
        let (mut browser, test) = (browser.clone(), test.clone());
        async move { browser.post(&test, &[("model", "gpt-4o-mini")]).await }
    };
    let asked = async |count: usize| {
        let requests = async || model.requests().len();
        wait::for_value_async("questions to the model", requests, |asked| *asked >= count).await
    };
    let mut waiting = JoinSet::from_iter([ask(&ada), ask(&ada)]);
    asked(2).await;
    ask(&ada).await.check(503, "you already use your share of model calls (2)");
    waiting.spawn(ask(&bob));
    asked(3).await;
    model.go_on();
    for answer in waiting.join_all().await {
        answer.check(200, "connected");
    }
}

#[tokio::test]
async fn one_person_cannot_push_out_the_files_of_others() {
    let Shop { site, ids, _agents } = Shop::open().await;
    let [mut ada, mut bob] = members(&site).await;
    let page = format!("/project/shop/datasets/{}/upload", ids.of("name"));
    let file = [("cases.csv", "input\nx\n")];
    let sent = send(&mut bob, &page, &[], &file).await;
    assert_eq!(sent.status, 303, "{}", sent.text);
    let bobs = sent.header("location").to_owned();
    let mut adas = Vec::new();
    for _ in 0..6 {
        let sent = send(&mut ada, &page, &[], &file).await;
        assert_eq!(sent.status, 303, "{}", sent.text);
        adas.push(sent.header("location").to_owned());
    }
    bob.get(&bobs).await.check(200, "1 row");
    for (place, one) in adas.iter().enumerate() {
        let status = ada.get(one).await.status;
        assert_eq!(status, if place < 4 { 404 } else { 200 }, "her own made room for her next");
    }
}
