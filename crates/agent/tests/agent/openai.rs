use ratchet_agent::budget::Budget;
use ratchet_agent::request::{LlmRequest, ResponseFormat};
use ratchet_testkit::scripted::{Reply, ScriptedModel};
use serde_json::json;

use crate::kit;

#[tokio::test]
async fn a_server_that_knows_no_schema_is_asked_in_words() {
    let server = ScriptedModel::start().unwrap();
    server.say(Reply::rejecting("response_format.type must be text or json_object"));
    server.say(Reply::rejecting("response_format is not supported"));
    server.say(Reply::text("Sure:\n```json\n{\"score\": 1}\n```"));
    let model = kit::openai(&server);
    let schema = json!({"type": "object", "required": ["score"]});
    let ask = LlmRequest {
        response_format: ResponseFormat::Json(schema),
        ..LlmRequest::new("How good?")
    };
    let answer = model.complete(&ask, &Budget::unlimited()).await.unwrap();
    assert_eq!(answer.json, Some(json!({"score": 1})));
    let asked = server.requests();
    let forms: Vec<_> =
        asked.iter().map(|asked| asked["response_format"]["type"].clone()).collect();
    assert_eq!(forms, [json!("json_schema"), json!("json_object"), json!(null)]);
    let system = asked[2]["messages"][0]["content"].as_str().unwrap();
    assert!(system.contains("\"required\":[\"score\"]"), "{system}");
}

#[tokio::test]
async fn a_model_with_another_limit_parameter_gets_it() {
    let server = ScriptedModel::start().unwrap();
    server.say(Reply::rejecting("Use 'max_completion_tokens' instead."));
    server.say(Reply::text("Blue."));
    kit::openai(&server).complete(&LlmRequest::new("?"), &Budget::unlimited()).await.unwrap();
    let asked = server.requests();
    assert_eq!(asked[0]["max_tokens"], 4096);
    assert_eq!(
        (asked[1].get("max_tokens"), &asked[1]["max_completion_tokens"]),
        (None, &json!(4096))
    );
}
