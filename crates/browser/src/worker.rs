use serde_json::{Value, json};

use crate::page::Page;

impl Page {
    /// Registers a service worker of the page's site and gives what an expression gives inside of
    /// it, awaited.
    ///
    /// # Panics
    /// If the worker does not begin to work, or the expression throws.
    #[track_caller]
    pub fn in_worker(&self, worker: &str, expression: &str) -> Value {
        let worker = Value::from(worker);
        self.js(&format!(
            "navigator.serviceWorker.register({worker})\
             .then(() => navigator.serviceWorker.ready).then(() => true)"
        ));
        let session = self.worker();
        let how = json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let answer = self.wire().call(Some(&session), "Runtime.evaluate", &how);
        let mut answer = answer.unwrap_or_else(|error| panic!("{expression}: {error}"));
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].take()
    }

    /// A line to the worker of this page's site.
    #[track_caller]
    fn worker(&self) -> String {
        let ask = |method: &str, params: Value| {
            let answer = self.wire().call(None, method, &params);
            answer.unwrap_or_else(|error| panic!("{method}: {error}"))
        };
        let all = ask("Target.getTargets", json!({}));
        let all = all["targetInfos"].as_array().cloned().unwrap_or_default();
        let is_ours = |target: &&Value| {
            target["type"] == "service_worker" && target["browserContextId"] == self.context()
        };
        let ours = all.iter().find(is_ours).unwrap_or_else(|| panic!("no worker in {all:?}"));
        let how = json!({ "targetId": ours["targetId"], "flatten": true });
        ask("Target.attachToTarget", how)["sessionId"].as_str().unwrap_or_default().to_owned()
    }
}
