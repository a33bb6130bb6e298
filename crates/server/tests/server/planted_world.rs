use ratchet_testkit::planted_world::{AGENT, PlantedWorld};

use crate::harness::TestServer;
use crate::langfuse::{read, record};

#[tokio::test]
async fn a_week_of_the_planted_world_is_recorded_over_http() {
    let server = TestServer::start().await;
    let config = PlantedWorld::score_config().to_string();
    let config = server.post("/api/public/score-configs").json(config).send().await;
    let config = config.check(200, "id").json();
    let world = PlantedWorld::new(11).weeks(1).annotated_with(config["id"].as_str().unwrap());
    for batch in world.ingestion_batches() {
        record(&server, batch["batch"].as_array().unwrap()).await;
    }
    let traces = world.traces();
    let total = |path: &'static str| {
        let server = &server;
        async move {
            let total = read(server, path).await["meta"]["totalItems"].as_u64().unwrap();
            usize::try_from(total).unwrap()
        }
    };
    assert_eq!(total("/api/public/traces?limit=1").await, traces.len());
    let thumbs = traces.iter().filter(|trace| trace.thumb.is_some()).count();
    assert_eq!(total("/api/public/v2/scores?limit=1&name=thumbs_feedback").await, thumbs);
    let reviewed = traces.iter().filter(|trace| trace.is_reviewed).count();
    let answers = "/api/public/v2/scores?limit=1&name=correctness&source=ANNOTATION";
    assert_eq!(total(answers).await, reviewed);
    let failed = traces.iter().filter(|it| it.tool().is_some_and(|(_, failed)| failed)).count();
    assert!(failed > 0);
    assert_eq!(total("/api/public/observations?limit=1&type=TOOL&level=ERROR").await, failed);
    let first = read(&server, &format!("/api/public/traces/{}", traces[0].id)).await;
    assert_eq!(first["metadata"]["agent"], AGENT);
    assert_eq!(first["sessionId"], traces[0].session.as_str());
    server.stop().await;
}
