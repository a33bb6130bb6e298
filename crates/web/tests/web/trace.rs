//! One trace's page, as a browser gets it.

use ratchet_core::calendar::{Week, Zone};
use ratchet_core::payload::Payload;
use ratchet_core::record::observation::{Level, ObservationKind};
use ratchet_core::record::score::config::{ConfigValues, ScoreConfig};
use ratchet_stages::review::review_site::ReviewSite;
use ratchet_stages::review::weekly_draw;
use ratchet_store::catalog::StoredScoreConfig;
use ratchet_testkit::build::{
    START, batch, generation, json, observation, project, score, span, text, tool, trace,
};

use crate::browser::{Site, id};

fn payload(document: &str) -> Payload {
    Payload::Json(json(document))
}

async fn shop() -> Site {
    let site = Site::open().await;
    let agent = observation("a").kind(ObservationKind::Agent).of("t").named("desk").lasting(0, 900);
    let call = generation("g")
        .of("t")
        .under("a")
        .named("answer")
        .calling("gpt-5")
        .tokens(12, 30)
        .lasting(10, 500)
        .input(payload(r#"[{"role":"user","content":"Hi *there*"}]"#))
        .output(text("Hello **you**"));
    let failed = tool("x")
        .of("t")
        .under("a")
        .named("search")
        .lasting(500, 800)
        .level(Level::Error)
        .because("no network");
    let command = tool("b").of("t").under("a").named("Bash").lasting(800, 900);
    let command = command.input(payload(r#"{"command":"go test ./..."}"#));
    let recorded = batch(&project("shop"))
        .with(command)
        .with(trace("t").named("checkout").in_session("monday").beginning(0))
        .with(agent)
        .with(call)
        .with(failed)
        .with(score("s").on("quality").of_observation("t", "g").number(0.5).given(0));
    site.record(recorded).await;
    site
}

#[tokio::test]
async fn the_page_shows_the_tree_and_only_the_chosen_content() {
    let site = shop().await;
    let page = site.get("/project/shop/traces/t").await;
    assert_eq!(page.status, 200);
    for shown in ["checkout", "desk", "answer", "search", "role=\"treeitem\"", "1 error"] {
        assert!(page.text.contains(shown), "{shown} in {}", page.text);
    }
    assert!(page.text.contains("Bash · go test ./..."), "a tool with its argument: {}", page.text);
    assert!(!page.text.contains("<em>there</em>"), "no payload of another step");
    let page = site.get("/project/shop/traces/t?observation=g").await;
    for shown in ["<em>there</em>", "<strong>you</strong>", "gpt-5", "quality"] {
        assert!(page.text.contains(shown), "{shown} in {}", page.text);
    }
}

#[tokio::test]
async fn tokens_and_cost_of_the_whole_trace_are_told_by_kind() {
    let site = Site::open().await;
    let call = |id: &str| generation(id).of("t").calling("gpt-5").tokens(12, 30).costing(0.25);
    let response = batch(&project("shop"))
        .with(trace("t"))
        .with(call("a"))
        .with(call("b"))
        .with(generation("c").of("t").calling("unknown").tokens(1, 2));
    site.record(response).await;
    // Wherever one is in the trace, the head tells all of it.
    for address in ["/project/shop/traces/t", "/project/shop/traces/t?observation=a"] {
        let page = site.get(address).await.text;
        let (_, table) = page.split_once("<table class=\"by-kind\">").unwrap();
        let (table, rest) = table.split_once("</table>").unwrap();
        for part in ["<bdi>input</bdi>", ">25<", "<bdi>output</bdi>", ">62<", ">87<", ">$0.5<"] {
            assert!(table.contains(part), "{part} in {table}");
        }
        assert!(rest.contains("1 observation without a known price"), "{rest}");
    }
}

#[tokio::test]
async fn sound_is_played_in_place_and_served_in_parts() {
    let site = Site::open().await;
    let input = payload(
        r#"[{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"aGVsbG8=","format":"wav"}}]}]"#,
    );
    let response =
        batch(&project("shop")).with(trace("t")).with(generation("g").of("t").input(input));
    site.record(response).await;
    let page = site.get("/project/shop/traces/t?observation=g").await.text;
    let address = "/project/shop/traces/t/observations/g/picture?side=input&amp;n=0";
    assert!(page.contains(&format!("preload=\"none\" src=\"{address}\"")), "{page}");
    let address = address.replace("&amp;", "&");
    let whole = site.get(&address).await;
    assert_eq!((whole.status, whole.text.as_str()), (200, "hello"));
    assert_eq!(whole.header("content-type"), "audio/wav");
    assert_eq!(whole.header("accept-ranges"), "bytes");
    let mut browser = site.browser();
    browser.headers.push(("range".to_owned(), "bytes=1-3".to_owned()));
    let part = browser.get(&address).await;
    assert_eq!((part.status, part.text.as_str()), (206, "ell"));
    assert_eq!(part.header("content-range"), "bytes 1-3/5");
}

#[tokio::test]
async fn a_step_comes_alone_for_scripts() {
    let site = shop().await;
    let part = site.get("/project/shop/traces/t/observations/x/content").await;
    assert_eq!(part.status, 200);
    assert!(part.text.contains("no network") && !part.text.contains("<html"), "{}", part.text);
    let raw = site.get("/project/shop/traces/t/observations/g/content?view=raw").await;
    assert!(raw.text.contains("Metadata") && !raw.text.contains("<em>"), "{}", raw.text);
    let graph = site.get("/project/shop/traces/t/content?view=graph").await;
    assert!(graph.text.contains("Call graph") && graph.text.contains("1 call"), "{}", graph.text);
}

#[tokio::test]
async fn all_of_a_payload_is_text() {
    let site = shop().await;
    let all = site.get("/project/shop/traces/t/observations/g/payload?side=output").await;
    assert_eq!((all.status, all.text.as_str()), (200, "Hello **you**"));
    assert_eq!(all.header("content-type"), "text/plain; charset=utf-8");
    assert_eq!(all.header("x-content-type-options"), "nosniff");
}

#[tokio::test]
async fn what_is_not_there_is_not_there() {
    let site = shop().await;
    for missing in [
        "/project/shop/traces/none",
        "/project/other/traces/t",
        "/project/shop/traces/t/observations/none/content",
        "/project/shop/traces/other/observations/g/content",
        "/project/shop/traces/t/observations/x/payload?side=output",
        "/project/shop/traces/t/observations/g/picture?side=input&n=0",
        "/project/shop/traces/t/observations/g/picture?n=-1",
        "/project/shop/media/none",
        "/trace/none",
    ] {
        assert_eq!(site.get(missing).await.status, 404, "{missing}");
    }
    let page = site.get("/project/shop/traces/t?observation=none").await;
    assert!(page.status == 200 && page.text.contains("not found in this trace"), "{}", page.text);
}

#[tokio::test]
async fn addresses_that_older_sdks_print_find_their_project() {
    let site = shop().await;
    let found = site.get("/trace/t").await;
    assert_eq!((found.status, found.header("location")), (303, "/project/shop/traces/t"));
}

#[tokio::test]
async fn a_picture_is_served_only_as_a_picture() {
    let site = Site::open().await;
    let input = |kind: &str| {
        payload(&format!(
            r#"[{{"role":"user","content":[{{"type":"image_url","image_url":{{"url":"data:{kind};base64,aGk="}}}}]}}]"#
        ))
    };
    let recorded = batch(&project("shop"))
        .with(trace("t").beginning(0).input(input("image/png")))
        .with(generation("html").of("t").beginning(0).input(input("text/html")));
    site.record(recorded).await;
    let picture = site.get("/project/shop/traces/t/picture?side=input&n=0").await;
    assert_eq!((picture.header("content-type"), picture.text.as_str()), ("image/png", "hi"));
    let page = site.get("/project/shop/traces/t/observations/html/picture?side=input&n=0").await;
    assert_eq!(page.header("content-type"), "application/octet-stream");
    assert_eq!(page.header("content-disposition"), "attachment");
}

#[tokio::test]
async fn hostile_names_and_payloads_are_text() {
    let site = Site::open().await;
    let hostile = "<script>alert(1)</script><img src=x onerror=alert(1)>\u{202e}";
    let step = generation("g")
        .of("t")
        .named(hostile)
        .calling(hostile)
        .because(hostile)
        .level(Level::Error)
        .metadata(hostile, "\"<iframe>\"")
        .beginning(0)
        .input(text(hostile))
        .output(payload(&format!("{{{0}: {0}}}", serde_json::Value::from(hostile))));
    let recorded = batch(&project("shop")).with(trace("t").named(hostile).beginning(0)).with(step);
    site.record(recorded).await;
    for address in [
        "",
        "?observation=g",
        "?observation=g&view=raw",
        "?observation=g&view=changes",
        "?view=graph",
    ] {
        let page = site.get(&format!("/project/shop/traces/t{address}")).await;
        assert_eq!(page.status, 200);
        for bad in ["<script>alert", "<img src=x", "<iframe", " style="] {
            assert!(!page.text.contains(bad), "{bad} at {address}");
        }
    }
}

#[tokio::test]
async fn a_large_trace_comes_in_pieces() {
    let site = Site::open().await;
    let steps = (0..1_000).map(|n| span(&format!("s{n:04}")).of("t").beginning(n).ending(n + 1));
    let large = text(&"long ".repeat(400_000));
    let recorded = batch(&project("shop"))
        .with(trace("t").named("large").beginning(0))
        .with_all(steps)
        .with(span("z").of("t").beginning(2_000).input(large));
    site.record(recorded).await;
    let page = site.get("/project/shop/traces/t?observation=z").await;
    assert!(page.text.len() < 1_500_000, "{} bytes", page.text.len());
    assert!(page.text.contains("data-id=\"z\"") && !page.text.contains("data-id=\"s0001\""));
    assert!(page.text.contains("Load all"));
    let rows = site.get("/project/shop/traces/t/rows?from=0&to=250").await;
    assert_eq!(rows.text.matches("role=\"treeitem\"").count(), 250);
    assert!(rows.text.contains("data-id=\"s0001\""));
}

#[tokio::test]
async fn people_comment_and_judge_where_they_look() {
    let site = shop().await;
    let rule = ScoreConfig {
        id: "c".to_owned(),
        name: "tone".to_owned(),
        values: ConfigValues::Numeric { min: Some(0.0), max: Some(1.0) },
        is_archived: false,
    };
    let (description, created_at, updated_at) = (None, START, START);
    let kept = StoredScoreConfig { config: rule, description, created_at, updated_at };
    site.data.catalog().create_score_config(project("shop"), kept).await.unwrap();
    let page = "/project/shop/traces/t?observation=g";
    let sent = "observation=g&content=Too+%3Cb%3Eslow";
    let answer = site.post(page, "/project/shop/traces/t/comments", sent).await;
    let back = "/project/shop/traces/t?observation=g&done=commented";
    assert_eq!((answer.status, answer.header("location")), (303, back));
    let sent = "observation=g&score.c=0.25&comment=curt";
    assert_eq!(site.post(page, "/project/shop/traces/t/scores", sent).await.status, 303);
    let shown = site.get(back).await.text;
    for words in ["Too &lt;b&gt;slow", "tone", "0.25", "curt", "Comment added"] {
        assert!(shown.contains(words), "{words} in {shown}");
    }
}

#[tokio::test]
async fn what_cannot_be_kept_is_refused_with_the_reason() {
    let site = shop().await;
    let page = "/project/shop/traces/t";
    let long = format!("content={}", "x".repeat(5_001));
    for (address, sent, status) in [
        ("/project/shop/traces/t/comments", "content=++", 400),
        ("/project/shop/traces/t/comments", long.as_str(), 400),
        ("/project/shop/traces/t/comments", "observation=none&content=x", 404),
        ("/project/shop/traces/none/comments", "content=x", 404),
        ("/project/shop/traces/t/scores", "score.none=1", 404),
        ("/project/shop/traces/t/scores", "comment=without+a+value", 400),
        ("/project/shop/traces/t/queue", "queue=none", 404),
        ("/project/shop/traces/none/dataset", "new_dataset=d", 404),
    ] {
        assert_eq!(site.post(page, address, sent).await.status, status, "{address} {sent}");
    }
}

#[tokio::test]
async fn a_step_beyond_the_tree_has_its_permalink() {
    let site = Site::open().await;
    for part in 0..5 {
        let mut response = batch(&project("shop"));
        for n in part * 5_000..(part + 1) * 5_000 {
            response =
                response.with(span(&format!("s{n}")).of("long").named("step").lasting(n, n + 1));
        }
        site.record(response).await;
    }
    let rows = site.get("/project/shop/traces/long/rows?from=1&to=3").await;
    assert!(rows.text.contains("s1") && !rows.text.contains("s5"), "{}", rows.text);
    let page = site.get("/project/shop/traces/long?observation=s24999").await;
    assert!(page.text.contains("25,000 observations"), "all of them are counted");
    assert!(page.text.contains("Only the first 20,000 observations"));
    assert!(page.text.contains("s24999") && !page.text.contains("not found in this trace"));
    let page = site.get("/project/shop/traces/long?observation=s25000").await;
    assert!(page.text.contains("not found in this trace"));
    let late = span("late").of("long").named("came late").lasting(0, 1);
    site.record(batch(&project("shop")).with(late)).await;
    let rows = site.get("/project/shop/traces/long/rows?from=1&to=3").await;
    assert!(rows.text.contains("came late"), "what is kept is as new as what was recorded");
}

#[tokio::test]
async fn the_page_shows_the_category_now_beside_the_one_at_draw_time() {
    let site = Site::open().await;
    let judged = score("q").on("quality").of_trace("t").number(0.9).given(1_000);
    let recorded = batch(&project("shop")).with(trace("t").beginning(0).agent("bot")).with(judged);
    site.record(recorded).await;
    let review = ReviewSite::local(site.data.folder(), &id("shop"));
    let week = Week::of(START, &Zone::utc());
    let target = &weekly_draw::targets(&review, &week).await.unwrap()[0];
    weekly_draw::draw(&review, &week, target, week.end()).await.unwrap();
    let page = "/project/shop/traces/t";
    let both = |now: &str| format!("Category now</dt><dd><b>{now}</b>");
    site.get(page).await.check(200, &both("W6")).check(200, "Drawn for 2026-");
    // A user complains later: the draw stays what it was.
    let late = score("u").on("thumbs_feedback").of_trace("t").number(0.0).given(9_000);
    site.record(batch(&project("shop")).with(late)).await;
    let shown = site.get(page).await;
    shown.check(200, &both("W2")).check(200, "<b>W6</b>").check(200, "no feedback, judge good");
}
