//! Deployments: AgentCore's control plane with signatures that are computed again, and webhooks.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use ratchet_testkit::http;
use ratchet_testkit::process::{Launch, PROJECT, Ratchet};
use ratchet_testkit::wait;
use serde_json::{Value, json};

use crate::{ask, fails, server};

/// A control plane that is scripted, until it is dropped.
pub(crate) struct ControlPlane {
    process: Child,
    pub(crate) url: String,
}

impl ControlPlane {
    /// Starts one that logs its changes.
    pub(crate) fn start(log: &Path) -> Self {
        std::fs::write(log, "").unwrap();
        let script =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/sdk/agentcore_control.py");
        let mut process = Command::new("python3")
            .arg(script)
            .env("LOG", log)
            .env("FAIL", "badc0de")
            .env("HOLD", log.with_file_name("hold"))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut port = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut port).unwrap();
        Self { process, url: format!("http://127.0.0.1:{}", port.trim()) }
    }
}

impl Drop for ControlPlane {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

struct Cloud {
    running: Ratchet,
    control: ControlPlane,
    folder: tempfile::TempDir,
    _data: tempfile::TempDir,
}

/// Runtimes of the agent `shop` in beta and in production.
pub(crate) const FILE: &str = r#"
[agents.shop.beta]
region = "eu-west-1"
runtime = "shop_beta"
role = "arn:aws:iam::123456789012:role/shop"
image = "123456789012.dkr.ecr.eu-west-1.amazonaws.com/shop:{tools}"
[agents.shop.beta.variables]
TOOL_API_BASE_URL = "https://api.beta.internal"
MODEL = "{model}"
API_KEY = { env = "SHOP_API_KEY" }

[agents.shop.prod]
region = "eu-west-1"
runtime = "shop_prod"
endpoint = "live"
role = "arn:aws:iam::123456789012:role/shop"
image = "123456789012.dkr.ecr.eu-west-1.amazonaws.com/shop:{tools}"
"#;

impl Cloud {
    fn start() -> Self {
        let (data, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let control = ControlPlane::start(&folder.path().join("changes"));
        std::fs::write(folder.path().join("deploy.toml"), FILE).unwrap();
        let running = server(data.path()).start();
        let cloud = Self { running, control, folder, _data: data };
        for labels in [json!(["production"]), json!([])] {
            let prompt = json!({ "name": "shop", "prompt": "Be brief.", "labels": labels });
            cloud.post("/api/public/v2/prompts", &prompt);
        }
        crate::ok(ask(&cloud.running, &["agents", "set", "shop"]));
        cloud
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        let answer = self.running.send(http::post(path).json(body.to_string()));
        assert!(answer.status < 300, "{path}: {}", answer.text());
        answer.json()
    }

    fn deploy(&self, environment: &str, tools: &str) -> Launch {
        let file = self.folder.path().join("deploy.toml").display().to_string();
        let args = ["deploy", "--agent", "shop", "--environment", environment, "--file", &file];
        let version = ["--prompt", "shop=2", "--model", "m-1", "--tools", tools];
        ask(&self.running, &args)
            .args(version)
            .env("SHOP_API_KEY", "s3cret-value")
            .env("AWS_ACCESS_KEY_ID", "AKIDTEST")
            .env("AWS_SECRET_ACCESS_KEY", "secret-test")
            .env("AWS_EC2_METADATA_DISABLED", "true")
            .env("AWS_ENDPOINT_URL_BEDROCK_AGENTCORE_CONTROL", &self.control.url)
    }

    /// Changes that the control plane made, as words.
    fn changes(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.folder.path().join("changes")).unwrap();
        let word = |line: &str| {
            let change: Value = serde_json::from_str(line).unwrap();
            let part = |name: &str| change[name].as_str().unwrap().to_owned();
            format!("{} {} {}", part("change"), part("name"), part("version"))
        };
        text.lines().map(word).collect()
    }

    fn serving(&self) -> Value {
        let path = format!("/api/v1/projects/{PROJECT}/agents/shop/versions");
        self.running.send(http::get(&path)).json()["serving"].clone()
    }
}

#[test]
fn a_runtime_is_created_then_updated_and_a_repeat_changes_nothing() {
    let cloud = Cloud::start();
    let first = crate::json(cloud.deploy("beta", "c1"));
    assert_eq!((&first["runtimeVersion"], &first["isChanged"]), (&json!("1"), &json!(true)));
    assert_eq!(first["endpoint"], "DEFAULT", "{first}");
    let changes = std::fs::read_to_string(cloud.folder.path().join("changes")).unwrap();
    let made: Value = serde_json::from_str(changes.trim()).unwrap();
    let image = &made["artifact"]["containerConfiguration"]["containerUri"];
    assert!(image.as_str().unwrap().ends_with("/shop:c1"), "{made}");
    let variables = json!({
        "TOOL_API_BASE_URL": "https://api.beta.internal", "MODEL": "m-1", "API_KEY": "s3cret-value",
    });
    assert_eq!(made["variables"], variables);
    assert_eq!(cloud.serving()[0]["environment"], "beta");
    assert_eq!(cloud.serving()[0]["version"], first["version"]);

    let again = crate::json(cloud.deploy("beta", "c1"));
    assert_eq!(again["isChanged"], false, "{again}");
    for (tools, number) in [("c2", "2"), ("c1", "3")] {
        let next = crate::json(cloud.deploy("beta", tools));
        assert_eq!(next["runtimeVersion"], number, "going back is a change as well: {next}");
    }
    let expected = ["CREATING shop_beta 1", "UPDATING shop_beta 2", "UPDATING shop_beta 3"];
    assert_eq!(cloud.changes(), expected);
    assert_eq!(cloud.serving().as_array().unwrap().len(), 3);
}

#[test]
fn a_command_that_is_killed_in_the_middle_is_finished_by_the_next_one_and_nothing_is_done_twice() {
    let cloud = Cloud::start();
    let hold = cloud.folder.path().join("hold");
    std::fs::write(&hold, "").unwrap();
    let (mut command, _home) = cloud.deploy("prod", "c1").into_parts();
    let mut killed = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait::until("the runtime is being created", || !cloud.changes().is_empty());
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert_eq!(cloud.serving(), json!([]), "what serves is recorded last");

    std::fs::remove_file(&hold).unwrap();
    let finished = crate::json(cloud.deploy("prod", "c1"));
    assert_eq!(finished["runtimeVersion"], "1", "{finished}");
    assert_eq!(cloud.changes(), ["CREATING shop_prod 1", "ENDPOINT live 1"]);
    assert_eq!(cloud.serving().as_array().unwrap().len(), 1);
}

#[test]
fn a_runtime_that_fails_moves_no_endpoint_and_is_not_recorded() {
    let cloud = Cloud::start();
    crate::json(cloud.deploy("prod", "c1"));
    let said = fails(cloud.deploy("prod", "badc0de"), 1);
    assert!(said.contains("UPDATE_FAILED") && said.contains("cannot be pulled"), "{said}");
    let expected = ["CREATING shop_prod 1", "ENDPOINT live 1", "UPDATING shop_prod 2"];
    assert_eq!(cloud.changes(), expected);
    assert_eq!(cloud.serving().as_array().unwrap().len(), 1);
    assert_eq!(cloud.serving()[0]["environment"], "production");

    let said = fails(cloud.deploy("prod", "c2").env("AWS_SECRET_ACCESS_KEY", "another"), 1);
    assert!(said.contains("the signature does not match"), "{said}");
    let said = fails(cloud.deploy("beta", "c2").without_env("SHOP_API_KEY"), 1);
    assert!(said.contains("variables") && said.contains("SHOP_API_KEY is not set"), "{said}");
    let said = fails(cloud.deploy("gamma", "c2"), 1);
    assert!(said.contains("there is no [agents.shop.gamma]"), "{said}");
}

#[test]
fn production_is_not_deployed_without_an_approved_promotion_where_a_policy_demands_it() {
    let cloud = Cloud::start();
    crate::ok(ask(&cloud.running, &["agents", "set", "shop", "--promotion-required", "true"]));
    let said = fails(cloud.deploy("prod", "c1"), 1);
    assert!(said.contains("production changes only by promotion"), "{said}");
    // Both names of production are one environment, whichever the policy has.
    let short = ["agents", "set", "shop", "--promotion-environment", "prod"];
    crate::ok(ask(&cloud.running, &short));
    for name in ["production", "prod", "Prod"] {
        let said = fails(cloud.deploy(name, "c1"), 1);
        assert!(said.contains("changes only by promotion"), "{name}: {said}");
    }
    assert_eq!(cloud.changes(), [""; 0]);
    crate::json(cloud.deploy("beta", "c1"));
    assert_eq!(cloud.changes(), ["CREATING shop_beta 1"]);
}
