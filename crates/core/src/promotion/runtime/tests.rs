use super::*;

const FILE: &str = r#"
[agents.shop.beta]
region = "eu-west-1"
runtime = "shop_beta"
role = "arn:aws:iam::123456789012:role/shop"
image = "123456789012.dkr.ecr.eu-west-1.amazonaws.com/shop:{tools}"
[agents.shop.beta.variables]
MODEL = "{model}"
LIMIT = "{settings.limit}"
API_KEY = { env = "SHOP_API_KEY" }

[agents.shop.prod]
region = "eu-west-1"
runtime = "shop_prod"
endpoint = "live"
role = "arn:aws:iam::123456789012:role/shop"
code = { bucket = "code", prefix = "shop/{tools}.zip", runtime = "PYTHON_3_12", entry_point = ["main.py"] }
"#;

fn version(tools: &str) -> AgentVersion {
    let limits = BTreeMap::from([("limit".to_owned(), "3".to_owned())]);
    AgentVersion {
        model: Some("m-1".to_owned()),
        tools: Some(tools.to_owned()),
        settings: BTreeMap::from([("beta".to_owned(), limits)]),
        ..AgentVersion::default()
    }
}

fn wanted(environment: &str, tools: &str) -> Result<WantedRuntime, Invalid> {
    let file = DeployFile::parse(FILE).unwrap();
    let lookup = |name: &str| (name == "SHOP_API_KEY").then(|| "s3cret".to_owned());
    file.settings("shop", environment)?.wanted(&version(tools), environment, &lookup)
}

#[test]
fn placeholders_are_filled_from_the_version_and_secrets_from_the_environment() {
    let beta = wanted("beta", "c0ffee").unwrap();
    let request = beta.create();
    let image = &request["agentRuntimeArtifact"]["containerConfiguration"]["containerUri"];
    assert!(image.as_str().unwrap().ends_with("/shop:c0ffee"), "{request}");
    let variables = json!({ "MODEL": "m-1", "LIMIT": "3", "API_KEY": "s3cret" });
    assert_eq!(request["environmentVariables"], variables);
    assert!(!format!("{beta:?}").contains("s3cret"));
    let prod = wanted("production", "c0ffee").unwrap();
    assert_eq!((prod.name.as_str(), prod.endpoint.as_str()), ("shop_prod", "live"));
    assert_eq!(beta.endpoint, DEFAULT_ENDPOINT);
}

#[test]
fn a_commit_cannot_lead_to_another_repository() {
    for tools in ["x@sha256:0", "../other", "a b", "a/b"] {
        assert_eq!(wanted("beta", tools).unwrap_err().field, "image", "{tools}");
    }
    assert_eq!(wanted("prod", "../other").unwrap_err().field, "code.prefix");
}

#[test]
fn a_token_repeats_for_the_same_change_and_only_for_it() {
    let (one, other) = (wanted("beta", "c1").unwrap(), wanted("beta", "c2").unwrap());
    let seen = |number: &str| json!({ "agentRuntimeVersion": number, "lastUpdatedAt": 1 });
    let token =
        |wanted: &WantedRuntime, number| wanted.update(&seen(number))["clientToken"].clone();
    assert_eq!(token(&one, "1"), token(&one, "1"));
    assert_ne!(token(&one, "1"), token(&other, "1"));
    assert_ne!(token(&one, "1"), token(&one, "3"), "going back is another change");
    assert!((33..=256).contains(&token(&one, "1").as_str().unwrap().len()));
}

#[test]
fn a_runtime_is_the_same_if_aws_only_adds_defaults() {
    let one = wanted("beta", "c1").unwrap();
    let mut seen = one.create();
    seen["lifecycleConfiguration"] = json!({ "maxLifetime": 28_800 });
    assert!(one.is_same(&seen));
    seen["environmentVariables"]["MORE"] = json!("1");
    assert!(!one.is_same(&seen), "a variable that is not wanted any more");
    assert!(!one.is_same(&wanted("beta", "c2").unwrap().create()));
}

#[test]
fn an_error_names_its_field() {
    for (from, to, field) in [
        ("region = \"eu-west-1\"", "region = \"x.example/\"", "region"),
        ("runtime = \"shop_beta\"", "runtime = \"shop-beta\"", "runtime"),
        ("arn:aws:iam::123456789012:role/shop", "shop", "role"),
        ("image =", "unknown =", "deploy file"),
        ("[agents.shop.prod]", "[agents.shop.production]\nsubnets = [\"s\"]", "subnets"),
        ("[agents.shop.beta", "[agents.shop.production", "agents"),
    ] {
        assert_eq!(DeployFile::parse(&FILE.replace(from, to)).unwrap_err().field, field, "{to}");
    }
    assert_eq!(wanted("gamma", "c1").unwrap_err().field, "agents");
    let file = DeployFile::parse(FILE).unwrap();
    let unset = file.settings("shop", "beta").unwrap().wanted(&version("c1"), "beta", &|_| None);
    assert!(unset.unwrap_err().problem.contains("SHOP_API_KEY is not set"));
}
