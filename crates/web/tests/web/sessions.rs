use ratchet_core::payload::Payload;
use ratchet_core::record::observation::Level;
use ratchet_core::record::score::ScoreSource;
use ratchet_testkit::build::{batch, generation, json, project, score, span, text, trace};

use crate::browser::Site;

fn chat(text: &str) -> Payload {
    Payload::Json(json(text))
}

/// A conversation of two turns, the second with another agent called as a tool, and one of a
/// stranger full of markup.
async fn site() -> Site {
    let site = Site::open().await;
    let question = r#"[{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"},
        {"role": "user", "content": "Find me a <b>train</b>"}]"#;
    let response = batch(&project("shop"))
        .with(
            trace("t1")
                .named("concierge")
                .in_session("trip")
                .for_user("ann")
                .beginning(0)
                .input(chat(r#"[{"role": "user", "content": "Hello"}]"#))
                .output(text("Hi")),
        )
        .with(
            trace("t2")
                .named("concierge")
                .in_session("trip")
                .for_user("ann")
                .beginning(10_000)
                .input(chat(question))
                .output(text("The 9:15.")),
        )
        .with(
            trace("t3")
                .named("travel-desk")
                .in_session("trip")
                .beginning(12_000)
                .input(text("trains?"))
                .output(text("9:15")),
        )
        .with(generation("g1").of("t1").lasting(0, 2_000).tokens(10, 5).costing(0.25))
        .with(generation("g2").of("t2").lasting(10_000, 20_000).tokens(10, 5).costing(0.5))
        .with(span("g3").of("t3").lasting(12_000, 15_000).level(Level::Error))
        .with(score("s1").on("helpful").of_trace("t2").number(0.75).given(30_000))
        .with(score("s2").on("solved").of_session("trip").number(1.0).given(31_000))
        .with(
            trace("x")
                .named("<img src=x>")
                .in_session("<script>alert(1)</script>")
                .beginning(1)
                .for_user("\"><svg onload=alert(1)>")
                .input(text("</article><script>alert(2)</script>")),
        );
    site.record(response).await;
    site
}

#[tokio::test]
async fn sessions_are_listed_with_what_they_took() {
    let site = site().await;
    let shown = site.get("/project/shop/sessions").await;
    assert_eq!(shown.status, 200, "{}", shown.text);
    for part in ["trip", "/project/shop/sessions/trip", "ann", "$0.75", "15.00 s", ">3<", "Hello"] {
        assert!(shown.text.contains(part), "{part} in {}", shown.text);
    }
    assert!(!shown.text.contains("<script>alert") && !shown.text.contains("<svg onload"));
    let none = site.get("/project/shop/sessions?env=nowhere").await;
    assert!(none.text.contains("No matches") && none.text.contains("Clear filters"));
    let none =
        site.get("/project/shop/sessions?range=2001-01-01T00:00:00Z..2001-01-02T00:00:00Z").await;
    assert!(
        none.text.contains("No sessions in this time range") && none.text.contains("session_id"),
        "{}",
        none.text
    );
}

#[tokio::test]
async fn a_conversation_is_read_from_top_to_bottom() {
    let site = site().await;
    let shown = site.get("/project/shop/sessions/trip").await;
    assert_eq!(shown.status, 200, "{}", shown.text);
    let at =
        |part: &str| shown.text.find(part).unwrap_or_else(|| panic!("{part} in {}", shown.text));
    assert!(at("Find me a &lt;b&gt;train") < at("The 9:15."));
    assert!(at("id=\"turn-1\"") < at("id=\"turn-2\"") && at("id=\"turn-2\"") < at("id=\"turn-3\""));
    assert!(shown.text.contains("2 earlier messages"), "what was said before is left out");
    assert!(shown.text.contains("called by <bdi>concierge"), "the agent inside was called");
    assert!(shown.text.contains("Agent timeline") && shown.text.contains("Cost by turn"));
    assert!(shown.text.contains("helpful") && shown.text.contains("solved"));
    assert!(shown.text.contains("turn called failed"), "the error is marked: {}", shown.text);
    let policy = shown.header("content-security-policy");
    assert!(!policy.contains("unsafe") && !shown.text.contains("style="));
}

#[tokio::test]
async fn markup_in_a_session_is_text() {
    let site = site().await;
    let shown = site.get("/project/shop/sessions/%3Cscript%3Ealert(1)%3C%2Fscript%3E").await;
    assert_eq!(shown.status, 200);
    for hostile in ["<script>alert", "<img src=x", "<svg onload", "</article><script"] {
        assert!(!shown.text.contains(hostile), "{hostile} in {}", shown.text);
    }
}

#[tokio::test]
async fn steps_open_in_place() {
    let site = site().await;
    let shown = site.get("/project/shop/sessions/trip/steps/t3").await;
    assert_eq!(shown.status, 200);
    assert!(shown.text.contains("error") && shown.text.contains("3.00 s"), "{}", shown.text);
    assert!(!shown.text.contains("<html"), "a part of a page");
}

#[tokio::test]
async fn a_long_conversation_has_pages() {
    let site = Site::open().await;
    let turns = (0_i64..45).map(|n| {
        let turn = trace(&format!("t{n:02}")).named("bot").in_session("long").beginning(n * 1_000);
        turn.input(text(&format!("question {n}")))
    });
    site.record(batch(&project("shop")).with_all(turns)).await;
    let mut address = "/project/shop/sessions/long".to_owned();
    let mut seen = 0;
    for _ in 0..3 {
        let shown = site.get(&address).await;
        seen += shown.text.matches("<article class=\"turn").count();
        let Some(next) =
            shown.text.split("rel=\"next\"").next().filter(|_| shown.text.contains("rel=\"next\""))
        else {
            break;
        };
        let link = next.rsplit("href=\"").next().unwrap().split('"').next().unwrap();
        address = link.replace("&amp;", "&");
    }
    assert_eq!(seen, 45);
    let last = site.get(&address).await;
    assert!(last.text.contains("Turns 41 to 45 of 45"), "{}", last.text);
    let mark = score("s").on("task_completion").of_session("long").number(0.5);
    let cited = mark.from(ScoreSource::Eval).metadata("evidence", "[3, 44, 46]").given(50_000);
    site.record(batch(&project("shop")).with(cited)).await;
    let first = site.get("/project/shop/sessions/long").await.text;
    for part in ["\"#turn-3\"", "/sessions/long?page=3#turn-44\"", "turn 46"] {
        assert!(first.contains(part), "{part} in {first}");
    }
    assert!(!first.contains("#turn-46"), "there is no such turn");
    assert!(site.get("/project/shop/sessions/long?page=3").await.text.contains("id=\"turn-44\""));
}

#[tokio::test]
async fn what_is_not_there_and_what_is_nonsense_is_told_apart_from_a_failure() {
    let site = site().await;
    assert_eq!(site.get("/project/shop/sessions/nobody").await.status, 404);
    assert_eq!(site.get("/project/other/sessions/trip").await.status, 404);
    assert_eq!(site.get("/project/shop/sessions?cursor=nonsense").await.status, 400);
    assert_eq!(site.get("/project/shop/sessions/trip?page=-1").await.status, 200);
    let last = format!("/project/shop/sessions/trip?page={}", u64::MAX);
    assert_eq!(site.get(&last).await.status, 200);
    let long = format!("/project/shop/sessions/{}", "x".repeat(5_000));
    assert_eq!(site.get(&long).await.status, 404);
}

#[tokio::test]
async fn a_verdict_says_who_judged_and_leads_to_its_evidence() {
    let site = site().await;
    let mark = |id: &str| {
        let mark = score(id).of_session("trip").from(ScoreSource::Eval).given(40_000);
        mark.metadata("judge", "\"offline\"")
            .metadata("rubric", "\"session-quality\"")
            .metadata("rubric_version", "3")
    };
    let response = batch(&project("shop"))
        .with(
            mark("new")
                .on("task_completion")
                .number(0.5)
                .comment("1 of 4 <b>calls</b> failed")
                .metadata("evidence", "[2, 9]"),
        )
        .with(mark("old").on("task_completion").number(0.9).metadata("superseded_by", "\"new\""));
    site.record(response).await;
    let shown = site.get("/project/shop/sessions/trip").await.text;
    for part in [
        "Offline judge (rules), session-quality version 3",
        "class=\"badge code\"><bdi>0.5</bdi>",
        "1 of 4 &lt;b&gt;calls",
        "href=\"#turn-2\"",
        "turn 9",
        "1 earlier scores are superseded",
    ] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    assert!(!shown.contains("<bdi>0.9</bdi>"), "{shown}");
}

#[tokio::test]
async fn a_session_is_commented_and_queued_on_its_page() {
    let site = site().await;
    let page = "/project/shop/sessions/trip";
    let comments = format!("{page}/comments");
    assert_eq!(site.post(page, &comments, "content=+").await.status, 400);
    let answer = site.post(page, &comments, "content=Which+%3Cb%3Etrain").await;
    let back = "/project/shop/sessions/trip?done=commented";
    assert_eq!((answer.status, answer.header("location")), (303, back));
    assert!(site.get(back).await.text.contains("Which &lt;b&gt;train"));
    let to_dataset = format!("{page}/dataset");
    let made = site.post(page, &to_dataset, "new_dataset=trips&expected=recorded").await;
    made.leads_to("/project/shop/sessions/trip?done=collected");
    let items = site.get("/project/shop/datasets/trips").await;
    items.check(200, "9:15").check(200, "/traces/t1");
    let unknown = site.post(page, &to_dataset, "dataset=none").await;
    unknown.check(400, "choose a dataset");
    let queues = "/project/shop/queues";
    let queue = site.post(queues, queues, "name=Trips").await.header("location").to_owned();
    let id = queue.rsplit('/').next().unwrap();
    let sent = format!("queue={id}");
    assert_eq!(site.post(page, &format!("{page}/queue"), &sent).await.status, 303);
    let waiting = site.get(&queue).await.text;
    let (_, item) = waiting.split_once("/review?item=").unwrap();
    let removal = format!("{queue}/items/{}/remove", item.split('"').next().unwrap());
    let emptied = site.post(&queue, &removal, "").await;
    emptied.leads_to(&format!("{queue}?done=removed"));
    site.get(&queue).await.check(200, "No items yet");
    assert_eq!(site.post(page, &removal, "").await.status, 404);
    let missing = "/project/shop/sessions/none/comments";
    assert_eq!(site.post(page, missing, "content=x").await.status, 404);
}

#[tokio::test]
async fn scores_by_turn_have_a_line_for_each_judge() {
    let site = site().await;
    let given = |id: &str, judge: &str, value: f64| {
        let score = score(id).on("helpful").of_trace("t1").number(value).from(ScoreSource::Eval);
        score.given(33_000).metadata("judge", &format!("\"{judge}\""))
    };
    let response = batch(&project("shop"))
        .with(given("a", "offline", 0.5))
        .with(given("b", "gpt-9", 0.25))
        .with(given("old", "gpt-9", 0.125).metadata("superseded_by", "\"b\""));
    site.record(response).await;
    let shown = site.get("/project/shop/sessions/trip").await.text;
    let (_, curve) = shown.split_once("Scores by turn").unwrap();
    let (curve, _) = curve.split_once("</figure>").unwrap();
    for part in ["helpful, offline", "helpful, gpt-9", ">helpful<"] {
        assert!(curve.contains(part), "{part} in {curve}");
    }
    assert!(!curve.contains("0.125") && !curve.contains("0.375"), "no mean of two judges: {curve}");
}
