use ratchet_agent::budget::Budget;
use ratchet_agent::provider::Provider;
use ratchet_agent::provider::bedrock::{Bedrock, BedrockAccess, BedrockCredentials};
use ratchet_agent::request::{CacheablePart, LlmRequest};
use ratchet_core::outbound::OutboundPolicy;
use ratchet_core::secret::Secret;
use ratchet_testkit::scripted::{Reply, ScriptedModel};
use serde_json::json;

use crate::kit;

#[tokio::test]
async fn requests_are_signed_and_marked_for_the_cache() {
    let server = ScriptedModel::start().unwrap();
    server.say(Reply::text("Blue."));
    let model = kit::bedrock(&server).await;
    let ask =
        LlmRequest { system: vec![CacheablePart::cached("Be brief.")], ..LlmRequest::new("Why?") };
    model.complete(&ask, &Budget::unlimited()).await.unwrap();
    let requests = server.heard();
    assert_eq!(requests[0].path, "/model/us.anthropic.claude-sonnet-5-v1%3A0/converse");
    let signed = requests[0].header("authorization").unwrap();
    assert!(signed.starts_with("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/"), "{signed}");
    let system = json!([{"text": "Be brief."}, {"cachePoint": {"type": "default"}}]);
    assert_eq!(requests[0].body["system"], system);
    assert_eq!(requests[0].body["inferenceConfig"], json!({"maxTokens": 4096}));
}

#[tokio::test]
async fn one_of_its_own_keys_will_do() {
    let server = ScriptedModel::start().unwrap();
    server.say(Reply::text("Blue."));
    let credentials = BedrockCredentials::read(&Secret::new("bedrock-api-key-1234"));
    let (region, endpoint) = (Some("eu-west-1".to_owned()), Some(server.url()));
    let outbound = OutboundPolicy::unrestricted();
    let access = BedrockAccess { region, endpoint, credentials, outbound };
    let provider = Bedrock::open(access).await.unwrap();
    let model = kit::model(Provider::Bedrock(provider), "amazon.nova-lite-v1:0");
    model.complete(&LlmRequest::new("Why?"), &Budget::unlimited()).await.unwrap();
    let requests = server.heard();
    assert_eq!(requests[0].header("authorization"), Some("Bearer bedrock-api-key-1234"));
}

#[test]
fn a_connection_holds_a_pair_of_keys_or_one() {
    let pair = json!({"accessKeyId": "AKID", "secretAccessKey": "s", "sessionToken": "t"});
    let read = |secret: &str| BedrockCredentials::read(&Secret::new(secret));
    let BedrockCredentials::Keys { id, secret, session } = read(&pair.to_string()) else {
        panic!("no pair")
    };
    assert_eq!((id.as_str(), secret.expose()), ("AKID", "s"));
    assert_eq!(session.unwrap().expose(), "t");
    assert!(matches!(read("plain"), BedrockCredentials::ApiKey(_)));
}
