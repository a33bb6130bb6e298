use futures_util::future::join_all;
use ratchet_agent::budget::Budget;
use ratchet_agent::pool::ModelPool;
use ratchet_agent::request::LlmRequest;
use ratchet_testkit::scripted::{Failure, Reply, ScriptedModel};

use crate::kit;

#[tokio::test]
async fn concurrent_requests_share_a_pool_that_backs_off() {
    let server = ScriptedModel::start().unwrap();
    server.say(Reply::failing(Failure::Later(429, 0)));
    server.say_always(Reply::text("Blue."));
    let pool = ModelPool::new(4);
    let model = kit::anthropic(&server).with_pool(pool.clone());
    let (ask, budget) = (LlmRequest::new("Why?"), Budget::unlimited());
    let answers = join_all((0..20).map(|_| model.complete(&ask, &budget))).await;
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    assert_eq!((server.requests().len(), budget.spent().tokens), (21, 20 * 110));
    assert!((2..=4).contains(&pool.width()));
}
