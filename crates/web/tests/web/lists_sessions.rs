//! The list of sessions: the same filter, order, columns, files and actions as the other lists.

use ratchet_core::record::observation::Level;
use ratchet_core::record::score::ScoreValue;
use ratchet_testkit::build::{batch, generation, project, score, span, text, trace};

use crate::browser::Site;
use crate::lists::{encoded, rows};

const SESSIONS: &str = "/project/shop/sessions";

/// Two sessions: a good cheap one, and one with an error.
async fn shop() -> Site {
    let site = Site::open().await;
    let told = batch(&project("shop"))
        .with(
            trace("g1")
                .rooted_in("c1")
                .in_session("good")
                .for_user("ann")
                .tagged("vip")
                .beginning(5_000),
        )
        .with(generation("c1").of("g1").lasting(5_000, 6_000).input(text("Where is my parcel?")))
        .with(generation("c1").of("g1").tokens(10, 5).costing(0.25))
        .with(trace("b1").rooted_in("c2").in_session("bad").for_user("bob").beginning(1_000))
        .with(generation("c2").of("b1").lasting(1_000, 1_500).input(text("Refund me")))
        .with(trace("b2").rooted_in("s2").in_session("bad").beginning(2_000))
        .with(span("s2").of("b2").lasting(2_000, 9_000).level(Level::Error).output(text("Sorry.")))
        .with(score("q1").on("overall_quality").of_session("good").number(0.9))
        .with(score("q2").on("overall_quality").of_session("bad").number(0.2))
        .with(score("q3").on("polite").of_session("bad").value(ScoreValue::Boolean(false)));
    site.record(told).await;
    site
}

#[tokio::test]
async fn filters_narrow_the_sessions() {
    let site = shop().await;
    let check = async |filter: &str, expected: &[&str]| {
        let page = site.get(&format!("{SESSIONS}?q={}", encoded(filter))).await;
        assert_eq!((page.status, rows(&page)), (200, expected.to_vec()), "{filter}");
        assert!(!page.text.contains("role=\"alert\""), "{filter} was not understood");
    };
    check("", &["good", "bad"]).await;
    check("score.overall_quality<0.5", &["bad"]).await;
    check("score.polite:false", &["bad"]).await;
    check("-score.overall_quality<0.5", &["good"]).await;
    check("errors>0", &["bad"]).await;
    check("traces>1 user:bob", &["bad"]).await;
    check("-user:bob", &["good"]).await;
    check("tag:vip", &["good"]).await;
    check("-tag:vip", &["bad"]).await;
    check("cost>0.1", &["good"]).await;
    check("session:bad", &["bad"]).await;
    check("parcel", &["good"]).await;
    check("sorry errors>0", &["bad"]).await;
    check("scores:0", &[]).await;
}

#[tokio::test]
async fn sessions_show_their_messages_and_quality_and_are_sorted() {
    let site = shop().await;
    let page = site.get(SESSIONS).await;
    for words in ["2 sessions, 1 with errors", "Refund me", "Sorry.", "overall_quality", "0.2"] {
        assert!(page.text.contains(words), "{words} in {}", page.text);
    }
    for (sort, expected) in [
        ("-duration_seconds", ["bad", "good"]),
        ("duration_seconds", ["good", "bad"]),
        ("time", ["bad", "good"]),
        ("-cost_usd", ["good", "bad"]),
        ("-traces", ["bad", "good"]),
        ("session", ["bad", "good"]),
    ] {
        let page = site.get(&format!("{SESSIONS}?sort={sort}")).await;
        assert_eq!(rows(&page), expected, "{sort}");
    }
}

#[tokio::test]
async fn counts_of_values_are_of_the_rows_that_match() {
    let site = shop().await;
    let facet = |page: &str, word: &str| {
        let (_, rest) = page.split_once(&format!("<bdi>{word}</bdi>")).unwrap();
        rest.split("</a>").next().unwrap().to_owned()
    };
    let page = site.get("/project/shop/sessions").await.text;
    assert!(facet(&page, "ann").contains(">1<"));
    let page = site.get(&format!("{SESSIONS}?q={}", encoded("errors>0"))).await.text;
    assert!(!page.contains("<bdi>ann</bdi>") && facet(&page, "bob").contains(">1<"));
    let page = site.get("/project/shop/traces?q=level%3Aerror").await.text;
    assert!(!page.contains("<bdi>vip</bdi>"), "the failed trace has no tag");
}

#[tokio::test]
async fn sessions_are_exported_with_their_scores() {
    let site = shop().await;
    let lines = site.get("/project/shop/list/sessions/export?format=jsonl&q=errors%3E0").await.text;
    let rows: Vec<serde_json::Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), 1, "{lines}");
    assert_eq!((&rows[0]["session"], &rows[0]["traces"]), (&"bad".into(), &2.into()));
    assert_eq!(
        (&rows[0]["first_message"], &rows[0]["output"]),
        (&"Refund me".into(), &"Sorry.".into())
    );
    assert_eq!(rows[0]["scores"]["overall_quality"], 0.2);
}

#[tokio::test]
async fn what_is_done_with_chosen_sessions_is_done_with_what_they_are() {
    let site = shop().await;
    const DO: &str = "/project/shop/list/sessions/do";
    let done = async |fields: &str, words: &str| {
        let answer = site.post(SESSIONS, DO, fields).await;
        assert_eq!(answer.status, 303, "{fields}: {}", answer.text);
        site.get(answer.header("location")).await.check(200, words);
    };
    let listed = async |filter: &str| -> Vec<String> {
        let page = site.get(&format!("{SESSIONS}?q={filter}")).await;
        rows(&page).into_iter().map(str::to_owned).collect()
    };
    done("id=good&action=bookmark", "1 session bookmarked").await;
    assert_eq!(listed("is%3Abookmarked").await, ["good"]);
    assert_eq!(listed("-is%3Abookmarked").await, ["bad"]);
    assert!(site.get(SESSIONS).await.text.contains("class=\"starred\""));
    done("id=good&action=unbookmark", "removed").await;
    assert!(listed("is%3Abookmarked").await.is_empty());
    done("id=bad&action=tag&tag=checked", "2 traces").await;
    assert_eq!(listed("tag%3Achecked").await, ["bad"]);
    let dataset = "id=bad&id=good&action=dataset&new_dataset=talks&expected=recorded";
    done(dataset, "2 sessions added to the dataset").await;
    let items = site.get("/project/shop/datasets/talks").await;
    items.check(200, "Refund me").check(200, "Sorry.").check(200, "Where is my parcel?");
    let question = site.post(SESSIONS, DO, "id=bad&action=delete").await;
    question.check(200, "Delete 2 traces?").check(200, "name=\"sure\" value=\"yes\"");
    done("id=bad&action=delete&sure=yes", "2 traces").await;
    assert_eq!(listed("").await, ["good"]);
    let nothing = site.post(SESSIONS, DO, "action=bookmark").await;
    nothing.check(400, "no rows selected");
}

#[tokio::test]
async fn counts_of_many_sessions_are_shares_of_the_newest_and_say_so() {
    let site = Site::open().await;
    let traces = (0_i64..600).map(|nth| {
        let user = if nth % 4 == 0 { "ann" } else { "bob" };
        trace(&format!("t{nth}")).in_session(&format!("s{nth}")).for_user(user).beginning(nth)
    });
    site.record(batch(&project("shop")).with_all(traces)).await;
    let page = site.get(SESSIONS).await.text;
    let (_, ann) = page.split_once("<bdi>ann</bdi>").unwrap();
    assert!(ann.split("</a>").next().unwrap().contains("≈25%"), "{page}");
}
