//! Agents that call agents, on the page of their session and of one trace.

use ratchet_core::record::observation::ObservationKind;
use ratchet_core::record::score::ScoreSource;
use ratchet_store::catalog::Role;
use ratchet_testkit::build::{batch, observation, project, score, tool, trace};

use crate::browser::Site;

const PERSON: &str = "ann@shop.example";
const DESK: &str = "0af7651916cd43dd8448eb211c80319c";
const CALL: &str = "b7ad6b7169203331";

/// A desk that calls a planner within itself, and a billing agent with a trace of its own.
async fn record(site: &Site) {
    let agent = |id: &str| observation(id).kind(ObservationKind::Agent);
    let header = format!("\"00-{DESK}-{CALL}-01\"");
    let judged = |id: &str| score(id).number(1.0).given(9_000);
    let reviewed = |id: &str| judged(id).from(ScoreSource::Annotation).on("tool-usage");
    let recorded = batch(&project("shop"))
        .with(trace(DESK).beginning(0).agent("desk").in_session("one"))
        .with(agent("plan").of(DESK).named("planner").lasting(10, 400))
        .with(tool(CALL).of(DESK).named("ask-billing").lasting(500, 3_000))
        .with(
            trace("b")
                .beginning(5_000)
                .agent("billing")
                .in_session("one")
                .metadata("traceparent", &header),
        )
        .with(tool("b-refund").of("b").named("refund").lasting(5_100, 5_900))
        .with(reviewed("s1").of_observation(DESK, "plan").metadata("tool", "\"planner\""))
        .with(judged("s2").on("routing").of_trace(DESK).metadata("judge", "\"code:routing\""))
        .with(judged("s3").on("quality@planner").of_observation(DESK, "plan"));
    site.record(recorded).await;
    site.person(PERSON, Role::Viewer).await;
}

#[tokio::test]
async fn who_called_whom_is_drawn_with_the_scored_routing_and_accuracy() {
    let site = Site::new().await;
    record(&site).await;
    let mut browser = site.signed_in(PERSON).await;
    let page = browser.get("/project/shop/sessions/one/agents?range=all").await;
    let all = [
        "3 agents, 2 calls of one by another in 2 traces",
        "aria-label=\"Call graph\"",
        "nested",
        "traceparent",
        "Routing decisions",
        "ask-billing",
        "Tools and sub-agents",
        "tool-usage",
        "95% interval",
        "Annotator",
    ];
    for words in all {
        page.check(200, words);
    }
    let routing = page.text.rsplit("Routing decisions").next().unwrap();
    let (planner, billing) = (routing.find("planner").unwrap(), routing.find("billing").unwrap());
    assert!(planner < billing, "{routing}");
    assert!(routing.contains("code:routing"), "{routing}");

    let one = browser.get(&format!("/project/shop/traces/{DESK}/agents?range=all")).await;
    one.check(200, "2 agents, 1 call of one by another in 1 trace");
    browser.get("/project/shop/traces/b/agents").await.check(200, "No agent called another one");
    browser.get("/project/shop/sessions/none/agents").await.check(404, "session");
    browser.get("/project/shop/sessions/one").await.check(200, "/sessions/one/agents");
}
