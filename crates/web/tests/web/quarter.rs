//! Six weeks of reviews over two months: accuracy by month, and a split that a person accepts.

use std::time::Duration;

use ratchet_core::calendar::{Week, Zone};
use ratchet_core::catalog::agent::AgentSettings;
use ratchet_core::record::score::ScoreSource;
use ratchet_stages::review::review_site::ReviewSite;
use ratchet_stages::review::weekly_draw;
use ratchet_testkit::build::{BatchBuilder, START, batch, project, score, trace};

use crate::browser::{Site, id};

const WEEKS: i64 = 6;
const WEEK_MILLIS: i64 = 7 * 86_400_000;
/// Traces by thumb and judge, and how many of ten are wrong.
const TRAFFIC: [(Option<f64>, f64, usize, usize); 3] =
    [(Some(1.0), 0.9, 4, 0), (None, 0.2, 60, 6), (None, 0.9, 100, 1)];

fn record(week: i64, mut batch: BatchBuilder) -> BatchBuilder {
    let at = week * WEEK_MILLIS + 1_000;
    for (kind, (thumb, quality, count, _)) in TRAFFIC.into_iter().enumerate() {
        for n in 0..count {
            let id = format!("{week}-{kind}-{n}");
            batch = batch.with(trace(&id).beginning(at).agent("bot"));
            for (name, value) in [("thumbs_feedback", thumb), ("quality", Some(quality))] {
                let Some(value) = value else { continue };
                let on = score(&format!("{id}-{name}")).of_trace(&id).on(name);
                batch = batch.with(on.number(value).given(at + 1_000));
            }
        }
    }
    batch
}

fn answer(week: i64, drawn: Vec<String>, mut batch: BatchBuilder) -> BatchBuilder {
    for id in drawn {
        let parts: Vec<usize> = id.split('-').map(|part| part.parse().unwrap()).collect();
        let is_wrong = parts[2] % 10 < TRAFFIC[parts[1]].3;
        let on = score(&format!("{id}-answer")).of_trace(&id).on("correctness");
        let on = on.number(f64::from(u8::from(!is_wrong))).from(ScoreSource::Annotation);
        batch = batch.with(on.given((week + 1) * WEEK_MILLIS));
    }
    batch
}

#[tokio::test]
async fn reviews_are_shown_by_month_and_propose_a_split_that_a_person_accepts() {
    let site = Site::open().await;
    let shop = || batch(&project("shop"));
    let review = ReviewSite::local(site.data.folder(), &id("shop"));
    let settings = AgentSettings { half_width: 0.2, ..AgentSettings::default() };
    site.data.catalog().save_agent(id("shop"), "bot".into(), settings, START).await.unwrap();
    for nth in 0..WEEKS {
        site.record(record(nth, shop())).await;
        let week = Week::of(START.plus_nanos(nth * WEEK_MILLIS * 1_000_000), &Zone::utc());
        let target = &weekly_draw::targets(&review, &week).await.unwrap()[0];
        weekly_draw::draw(&review, &week, target, week.end()).await.unwrap();
        let drawn = site.data.catalog().draws(id("shop"), week.to_string()).await.unwrap();
        let drawn = drawn.into_iter().flat_map(|draw| draw.traces).map(|one| one.trace).collect();
        site.record(answer(nth, drawn, shop())).await;
    }
    site.advance(Duration::from_secs(6 * 7 * 86_400));
    let months = site.get("/project/shop/metrics").await;
    months.check(200, "By month").check(200, "2026-03").check(200, "2026-04");
    months.check(200, "Agent and judge accuracy");
    months.check(200, "Represents").check(200, "With judge scores (PPI)").check(200, "100%");
    let nobody = site.get("/project/shop/metrics?agent=nobody").await;
    assert!(!nobody.text.contains("By month"), "months are cut by agent: {}", nobody.text);
    let cut = site.get("/project/shop/metrics?agent=bot&release=v7&week=2026-03-08").await;
    cut.check(200, "name=\"release\" value=\"v7\"");
    cut.check(200, "metrics/week.csv?agent=bot&amp;week=2026-03-08&amp;release=v7");
    let csv = site.get("/project/shop/metrics/week.csv?week=2026-03-08&release=v7").await;
    csv.check(200, ",n,represents,ppi,ppi_lower,ppi_upper,").check(200, "traces_reviewed,0");
    let back = site.get("/project/shop/matrix?agent=bot&release=v7&week=2026-03-08").await;
    back.check(200, "/metrics?agent=bot&amp;week=2026-03-08&amp;release=v7");
    let agent = "/project/shop/agents/agent/bot";
    site.get(agent).await.check(200, "name=\"flaggedShare\"");
    let matrix = site.get("/project/shop/matrix?agent=bot").await;
    matrix.check(200, "Reviews of the quarter").check(200, "Yield");
    let form = matrix.check(200, "Accept ").text.split_once("name=\"share\" value=\"").unwrap().1;
    let share = form.split('"').next().unwrap();
    let fields = format!("agent=bot&share={share}");
    let shown = "/project/shop/matrix?agent=bot";
    let done = site.post(shown, "/project/shop/matrix/split", &fields).await;
    done.leads_to("/project/shop/matrix?agent=bot&done=saved");
    let agent = site.data.catalog().agent(id("shop"), "bot".into()).await.unwrap();
    assert_eq!(agent.settings.flagged_share.map(|share| share.to_string()).as_deref(), Some(share));
}
