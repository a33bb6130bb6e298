use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use ratchet_agent::budget::Budget;
use ratchet_agent::judge::ProviderName;
use ratchet_agent::request::LlmRequest;
use ratchet_testkit::scripted::{Failure, Reply, ScriptedModel};
use tracing_subscriber::fmt::MakeWriter;

use crate::kit::{self, KEY};

/// Captures log output.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn keys_are_neither_logged_nor_in_errors() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::TRACE)
        .with_writer(log.clone())
        .finish();
    let guard = tracing::subscriber::set_default(subscriber);
    let server = ScriptedModel::start().unwrap();
    let mut text = String::new();
    for model in kit::each(&server).await {
        server.script([Reply::failing(Failure::Status(529)), Reply::text("Blue.")]);
        let budget = Budget::unlimited();
        let answer = model.complete(&LlmRequest::new("Why?"), &budget).await.unwrap();
        // AWS secret keys are never sent, so a server cannot echo them.
        let is_sent = model.provider().name() != ProviderName::Bedrock;
        let key = if is_sent { KEY } else { "AKIDEXAMPLE" };
        server.script([Reply::rejecting(&format!("the key {key} is not for you"))]);
        let error = model.complete(&LlmRequest::new("Why?"), &budget).await.unwrap_err();
        text += &format!("{model:?} {answer:?} {error} {error:?}");
    }
    drop(guard);
    let logged = String::from_utf8_lossy(&log.0.lock().unwrap()).into_owned();
    assert!(logged.contains("asking again"), "{logged}");
    assert!(!logged.contains(KEY), "{logged}");
    assert!(!text.contains(KEY), "{text}");
    assert!(text.contains("***"), "{text}");
}
