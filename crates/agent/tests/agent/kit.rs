use std::sync::Arc;
use std::time::Duration;

use ratchet_agent::access::ModelAccess;
use ratchet_agent::model::{Model, PriceList};
use ratchet_agent::provider::Provider;
use ratchet_agent::provider::anthropic::Anthropic;
use ratchet_agent::provider::bedrock::{Bedrock, BedrockAccess, BedrockCredentials};
use ratchet_agent::provider::openai::OpenAi;
use ratchet_core::backoff::Backoff;
use ratchet_core::outbound::OutboundPolicy;
use ratchet_core::record::price::PriceTable;
use ratchet_core::secret::Secret;
use ratchet_core::time::Timestamp;
use ratchet_testkit::scripted::ScriptedModel;

pub(crate) const KEY: &str = "sk-very-secret-0123456789";

pub(crate) fn prices() -> PriceList {
    PriceList { table: Arc::new(PriceTable::builtin()), at: Timestamp::default() }
}

/// A retry policy without delays.
pub(crate) fn instant_retries() -> Backoff {
    let first = Duration::from_millis(1);
    let (cap, max_elapsed) = (first, Duration::from_secs(5));
    Backoff { max_attempts: 3, first, cap, max_retry_after: max_elapsed, max_elapsed }
}

pub(crate) fn client() -> reqwest::Client {
    ratchet_remote::http::on_this_machine().build().unwrap()
}

pub(crate) fn model(provider: Provider, name: &str) -> Model {
    Model::new(provider, name, prices()).with_backoff(instant_retries())
}

pub(crate) fn anthropic(server: &ScriptedModel) -> Model {
    let access = ModelAccess::new(server.url(), Secret::new(KEY));
    let provider = Anthropic::new(client(), access).unwrap();
    model(Provider::Anthropic(provider), "claude-sonnet-5")
}

pub(crate) fn openai(server: &ScriptedModel) -> Model {
    let access = ModelAccess::new(format!("{}/v1", server.url()), Secret::new(KEY));
    let provider = OpenAi::new(client(), access).unwrap();
    model(Provider::OpenAi(provider), "gpt-4o")
}

pub(crate) async fn bedrock(server: &ScriptedModel) -> Model {
    let credentials = BedrockCredentials::Keys {
        id: "AKIDEXAMPLE".to_owned(),
        secret: Secret::new(KEY),
        session: None,
    };
    let (region, endpoint) = (Some("us-east-1".to_owned()), Some(server.url()));
    let outbound = OutboundPolicy::unrestricted();
    let access = BedrockAccess { region, endpoint, credentials, outbound };
    let provider = Bedrock::open(access).await.unwrap();
    model(Provider::Bedrock(provider), "us.anthropic.claude-sonnet-5-v1:0")
}

/// One model of each HTTP provider, served by the same scripted server.
pub(crate) async fn each(server: &ScriptedModel) -> [Model; 3] {
    [anthropic(server), openai(server), bedrock(server).await]
}
