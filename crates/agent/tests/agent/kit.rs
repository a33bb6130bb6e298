//! What the tests share.

use std::sync::Arc;
use std::time::Duration;

use ratchet_agent::access::ModelAccess;
use ratchet_agent::model::{Model, PriceList};
use ratchet_agent::provider::Provider;
use ratchet_agent::provider::anthropic::Anthropic;
use ratchet_agent::retry::Retries;
use ratchet_core::price::PriceTable;
use ratchet_core::secret::Secret;
use ratchet_core::time::Timestamp;
use ratchet_testkit::scripted::ScriptedModel;

pub(crate) const KEY: &str = "sk-very-secret-0123456789";

pub(crate) fn prices() -> PriceList {
    PriceList { table: Arc::new(PriceTable::builtin()), at: Timestamp::default() }
}

/// Retries that take no time.
pub(crate) fn hasty() -> Retries {
    let first = Duration::from_millis(1);
    Retries { attempts: 3, first, longest: first, together: Duration::from_secs(5) }
}

pub(crate) fn client() -> reqwest::Client {
    ratchet_remote::http::on_this_machine().build().unwrap()
}

pub(crate) fn access(server: &ScriptedModel) -> ModelAccess {
    ModelAccess::new(server.url(), Secret::new(KEY))
}

pub(crate) fn anthropic(server: &ScriptedModel) -> Model {
    let provider = Anthropic::new(client(), access(server)).unwrap();
    Model::new(Provider::Anthropic(provider), "claude-sonnet-5", prices()).with_retries(hasty())
}
