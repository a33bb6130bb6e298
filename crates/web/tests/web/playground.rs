//! Prompts tried on models, and connections that are tested.

use ratchet_core::catalog::llm::LlmAdapter;
use ratchet_core::catalog::prompt::{Pick, PromptBody};
use ratchet_core::outbound::OutboundPolicy;
use ratchet_core::payload::Json;
use ratchet_core::secret::Secret;
use ratchet_core::time::Timestamp;
use ratchet_store::catalog::{
    FieldUpdate, NewDataset, NewLlmConnection, NewPrompt, PromptReferences, Role,
};
use ratchet_testkit::scripted::{Call, Failure, Reply, ScriptedModel, Tokens};

use crate::browser::{Browser, Site, id};

const PAGE: &str = "/project/shop/playground";
const CONNECTIONS: &str = "/project/shop/settings/connections";
const SECRET: &str = "sk-very-secret-indeed";

/// Keeps a connection to a scripted model, and tells its id.
pub(crate) async fn connect(
    site: &Site,
    name: &str,
    (adapter, url): (LlmAdapter, String),
) -> String {
    let new = NewLlmConnection {
        provider: name.to_owned(),
        adapter,
        secret: Secret::new(SECRET),
        base_url: Some(url),
        custom_models: vec!["gpt-4o-mini".to_owned()],
        has_default_models: false,
        headers: Default::default(),
        config: None,
    };
    let secrets = site.data.folder().secrets.clone();
    let kept = site.data.catalog().save_llm_connection(id("shop"), new, secrets, site.now());
    kept.await.unwrap().id
}

async fn someone(site: &Site, role: Role) -> Browser {
    site.person("p@shop.example", role).await;
    site.signed_in("p@shop.example").await
}

/// Gives the model a price: 3 dollars for a million tokens in, 15 out.
async fn price(browser: &mut Browser) {
    const MODELS: &str = "/project/shop/settings/models";
    browser.get(MODELS).await;
    let fields = [
        ("modelName", "gpt-4o-mini"),
        ("matchPattern", "^gpt-4o-mini$"),
        ("unit", "TOKENS"),
        ("pricingTiers", "input 3\noutput 15"),
    ];
    assert_eq!(browser.post(MODELS, &fields).await.status, 303);
}

fn says(text: &str) -> Reply {
    let tokens = Tokens { input: 12, output: 5, ..Tokens::default() };
    Reply { text: text.to_owned(), tokens, ..Reply::default() }
}

#[tokio::test]
async fn a_connection_is_tested_with_one_click() {
    let (site, model) = (Site::new().await, ScriptedModel::start().unwrap());
    let good =
        connect(&site, "<b>ours</b>", (LlmAdapter::OpenAi, format!("{}/v1", model.url()))).await;
    let azure = connect(&site, "azure", (LlmAdapter::Azure, model.url())).await;
    let nowhere =
        connect(&site, "gone", (LlmAdapter::Anthropic, "http://127.0.0.1:9".into())).await;
    let mut member = someone(&site, Role::Member).await;
    price(&mut member).await;
    member.get(CONNECTIONS).await.check(200, "Test<span class=\"sr\"> &lt;b&gt;ours");
    let test = |id: &str| format!("{CONNECTIONS}/{id}/test");
    model.script([says("<i>ready</i>"), Reply::failing(Failure::Status(401))]);
    let response = member.post(&test(&good), &[("model", "gpt-4o-mini")]).await;
    response.check(200, "connected").check(200, "&lt;i&gt;ready").check(200, "12 in, 5 out");
    // 12 and 5 of a million, at 3 and 15 dollars.
    response.check(200, "title=\"$0.000111\"");
    let response = member.post(&test(&good), &[("model", "gpt-4o-mini")]).await;
    response.check(200, "connection failed").check(200, "check the key and its permissions");
    assert!(!response.text.contains(SECRET), "{}", response.text);
    member.post(&test(&azure), &[("model", "x")]).await.check(200, "azure cannot be asked");
    let response = member.post(&test(&nowhere), &[("model", "x")]).await;
    response.check(200, "cannot be reached").check(200, "check the address");
    assert_eq!(member.post(&test("none"), &[("model", "x")]).await.status, 404);
}

#[tokio::test]
async fn a_viewer_asks_no_model() {
    let (site, model) = (Site::new().await, ScriptedModel::start().unwrap());
    let id = connect(&site, "ours", (LlmAdapter::OpenAi, format!("{}/v1", model.url()))).await;
    let mut viewer = someone(&site, Role::Viewer).await;
    viewer.get(CONNECTIONS).await;
    viewer.post(&format!("{CONNECTIONS}/{id}/test"), &[("model", "m")]).await.check(403, "viewer");
    viewer.get(PAGE).await.check(403, "viewer");
    viewer.post(PAGE, &[("text", "Hi")]).await.check(403, "viewer");
    let item = [("dataset", "d"), ("input", "1"), ("output", "2")];
    viewer.post(&format!("{PAGE}/item"), &item).await.check(403, "viewer");
    viewer.post(&format!("{PAGE}/version"), &[("name", "n")]).await.check(403, "viewer");
    viewer.form_token = "forged".to_owned();
    viewer.post(PAGE, &[("text", "Hi")]).await.check(403, "form token is missing or expired");
    assert!(model.requests().is_empty(), "nobody was asked");
}

/// A member's browser with two connections, a prompt and a dataset, and what they are asked with.
async fn desk() -> (Site, Browser, ScriptedModel, [String; 2]) {
    let (site, model) = (Site::new().await, ScriptedModel::start().unwrap());
    let open = connect(&site, "open", (LlmAdapter::OpenAi, format!("{}/v1", model.url()))).await;
    let other = connect(&site, "other", (LlmAdapter::Anthropic, model.url())).await;
    let catalog = site.data.catalog();
    let new = NewPrompt {
        name: "triage".to_owned(),
        body: PromptBody::Text("Sort: {{message}}".to_owned()),
        config: Json::parse("{}").unwrap(),
        labels: vec!["production".to_owned()],
        tags: None,
        commit_message: None,
        created_by: "ana".to_owned(),
    };
    catalog.create_prompt(id("shop"), new, Timestamp::default()).await.unwrap();
    let new = NewDataset {
        name: "cases".to_owned(),
        description: None,
        metadata: None,
        input_schema: FieldUpdate::Keep,
        expected_output_schema: FieldUpdate::Keep,
    };
    catalog.save_dataset(id("shop"), new, Timestamp::default()).await.unwrap();
    let member = someone(&site, Role::Member).await;
    (site, member, model, [open, other])
}

#[tokio::test]
async fn a_prompt_is_tried_side_by_side() {
    let (_site, mut member, model, [open, other]) = desk().await;
    let page = member.get(&format!("{PAGE}?prompt=triage&version=1")).await;
    page.check(200, "Sort: {{message}}").check(200, "name=\"var.message\"");
    page.check(200, "based on <bdi>triage</bdi> v1");
    model.script([
        Reply { on: "Where is it?".to_owned(), ..says("<script>alert(1)</script>") },
        Reply::failing(Failure::Status(401)),
    ]);
    let fields = [
        ("text", "Sort: {{message}}"),
        ("kind", "text"),
        ("name", "triage"),
        ("version", "1"),
        ("var.message", "Where is it?"),
        ("connection0", &open),
        ("model0", "gpt-4o-mini"),
        ("connection1", &other),
        ("model1", "claude-sonnet-5"),
        ("temperature", "0.5"),
        ("max_tokens", "64"),
        ("dollars", "1"),
    ];
    let tried = member.post(PAGE, &fields).await;
    tried
        .check(200, "&lt;script&gt;alert(1)")
        .check(200, "12 in, 5 out")
        .check(200, "check the key");
    assert!(!tried.text.contains("<script>alert"), "{}", tried.text);
    assert_eq!(tried.text.matches("<article class=\"answer").count(), 2);
    let asked = model.requests();
    assert_eq!(asked.len(), 2, "{asked:?}");
    let chat = asked.iter().find(|asked| asked["model"] == "gpt-4o-mini").unwrap();
    assert_eq!(chat["messages"][0]["content"], "Sort: Where is it?", "{chat}");
    assert_eq!(chat["temperature"], 0.5);
}

const LOOK_UP: &str = r#"[{"type":"function","function":{"name":"look_up","description":"Finds an order",
    "parameters":{"type":"object","properties":{"order":{"type":"string"}}}}}]"#;

#[tokio::test]
async fn tools_are_sent_and_their_calls_are_shown() {
    let (_site, mut member, model, [open, other]) = desk().await;
    member.get(PAGE).await.check(200, "name=\"tools\"").check(200, "name=\"schema\"");
    let call = Call {
        id: "c1".to_owned(),
        name: "look_up".to_owned(),
        input: serde_json::json!({ "order": "<b>7</b>" }),
    };
    let calls = || Reply { calls: vec![call.clone()], ..says("") };
    model.script([calls(), calls()]);
    let fields = [
        ("text", "Where is order 7?"),
        ("tools", LOOK_UP),
        ("connection0", open.as_str()),
        ("model0", "gpt-4o-mini"),
        ("connection1", other.as_str()),
        ("model1", "claude-sonnet-5"),
        ("max_tokens", "64"),
        ("dollars", "1"),
    ];
    let tried = member.post(PAGE, &fields).await;
    assert_eq!(
        tried.text.matches("Tool call <code><bdi>look_up</bdi>").count(),
        2,
        "{}",
        tried.text
    );
    tried.check(200, "&lt;b&gt;7").check(200, "The same text as the first answer");
    let asked = model.requests();
    let chat = asked.iter().find(|asked| asked["model"] == "gpt-4o-mini").unwrap();
    assert_eq!(chat["tools"][0]["function"]["name"], "look_up", "{chat}");
    let messages = asked.iter().find(|asked| asked["model"] == "claude-sonnet-5").unwrap();
    assert_eq!(messages["tools"][0]["description"], "Finds an order", "{messages}");
    for (field, value, why) in [
        ("tools", "[{}]", "tool 1: name"),
        ("tools", "{", "EOF"),
        ("schema", "[]", "must be a JSON Schema"),
        ("text1", "Hi {{order}}", "fill in order below"),
    ] {
        let mut wrong: Vec<_> = fields.iter().copied().filter(|(name, _)| *name != field).collect();
        wrong.push((field, value));
        let refused = member.post(PAGE, &wrong).await;
        refused.check(200, why).check(200, "Where is order 7?");
    }
    assert_eq!(model.requests().len(), 2);
}

#[tokio::test]
async fn an_answer_fits_the_schema() {
    let (_site, mut member, model, [open, _]) = desk().await;
    member.get(PAGE).await;
    let document = serde_json::json!({ "topic": "refund" });
    model.script([Reply { document: Some(document), ..says("") }]);
    let schema =
        r#"{"type":"object","properties":{"topic":{"type":"string"}},"required":["topic"]}"#;
    let fields = [
        ("text", "Sort it"),
        ("schema", schema),
        ("connection0", open.as_str()),
        ("model0", "gpt-4o-mini"),
        ("max_tokens", "64"),
        ("dollars", "1"),
    ];
    member.post(PAGE, &fields).await.check(200, "&quot;topic&quot;").check(200, "refund");
    let asked = model.requests();
    assert_eq!(asked[0]["response_format"]["json_schema"]["schema"]["required"][0], "topic");
}

#[tokio::test]
async fn different_prompts_are_run_side_by_side_and_each_is_kept() {
    let (site, mut member, model, [open, _]) = desk().await;
    let new = NewPrompt {
        name: "triage".to_owned(),
        body: PromptBody::Text("Sort kindly: {{message}}".to_owned()),
        config: Json::parse(r#"{"model":"m","tools":[{"name":"look_up"}]}"#).unwrap(),
        labels: Vec::new(),
        tags: None,
        commit_message: None,
        created_by: "ana".to_owned(),
    };
    let catalog = site.data.catalog();
    catalog.create_prompt(id("shop"), new, Timestamp::default()).await.unwrap();
    let versions = member.get("/project/shop/prompts/triage?version=2").await;
    let both = "playground?prompt=triage&amp;version=2&amp;against=1";
    versions.check(200, both).check(200, "Try both in playground");
    let page = member.get(&format!("{PAGE}?prompt=triage&version=2&against=1")).await;
    page.check(200, "Sort kindly: {{message}}").check(200, "\nSort: {{message}}</textarea>");
    page.check(200, "look_up");
    model.script([
        Reply { on: "Sort kindly: Hi".to_owned(), ..says("a greeting") },
        Reply { on: "Sort: Hi".to_owned(), ..says("other") },
    ]);
    let fields = [
        ("text", "Sort kindly: {{message}}"),
        ("text1", "Sort: {{message}}"),
        ("name", "triage"),
        ("config", r#"{"model":"m"}"#),
        ("tools", r#"[{"name":"look_up"}]"#),
        ("var.message", "Hi"),
        ("connection0", open.as_str()),
        ("model0", "gpt-4o-mini"),
        ("connection1", open.as_str()),
        ("model1", "gpt-4o-mini"),
        ("max_tokens", "64"),
        ("dollars", "1"),
    ];
    let tried = member.post(PAGE, &fields).await;
    tried.check(200, "Answers compared").check(200, "Changes to the first answer");
    tried.check(200, "a greeting").check(200, "Save this prompt");
    let kept = "{&quot;model&quot;:&quot;m&quot;,&quot;tools&quot;:[{&quot;name&quot;:&quot;look_up&quot;}]}";
    tried.check(200, &format!("name=\"config\" value=\"{kept}\""));
    tried.check(200, "name=\"text\" value=\"Sort: {{message}}\"");
    member.get(&format!("{PAGE}?prompt=triage&version=2&against=9")).await.check(404, "version");
}

#[tokio::test]
async fn what_cannot_be_run_says_why_and_asks_nobody() {
    let (_site, mut member, model, [open, _]) = desk().await;
    price(&mut member).await;
    member.get(PAGE).await;
    let good = [
        ("text", "Hi"),
        ("connection0", open.as_str()),
        ("model0", "gpt-4o-mini"),
        ("max_tokens", "64"),
        ("dollars", "1"),
    ];
    for ((field, value), why) in [
        (("text", "Hi {{who}}"), "fill in who below"),
        (("text", " "), "enter a prompt"),
        (("connection0", "none"), "choose at least one connection"),
        (("model0", ""), "choose at least one connection"),
        (("temperature", "hot"), "a number from 0 to 2"),
        (("max_tokens", "1000000"), "a whole number from 1"),
        (("dollars", "1000"), "an amount up to"),
        (("kind", "chat"), "expected value"),
    ] {
        let mut fields: Vec<_> = good.iter().copied().filter(|(name, _)| *name != field).collect();
        fields.push((field, value));
        member.post(PAGE, &fields).await.check(200, why);
    }
    assert!(model.requests().is_empty());
    let dear = [&good[..3], &[("max_tokens", "16000"), ("dollars", "0.000001")]].concat();
    member.post(PAGE, &dear).await.check(200, "the budget does not allow it");
    assert!(model.requests().is_empty(), "nothing is sent that could cost too much");
}

#[tokio::test]
async fn what_was_tried_is_kept_as_an_item_or_as_a_version() {
    let (site, mut member, ..) = desk().await;
    member.get(PAGE).await;
    let item = [
        ("dataset", "cases"),
        ("input", "{\"message\":\"Where is it?\"}"),
        ("output", "<b>delivery</b>"),
        ("model", "gpt-4o-mini"),
    ];
    let kept = member.post(&format!("{PAGE}/item"), &item).await;
    assert_eq!(kept.status, 303, "{}", kept.text);
    let item = kept.header("location").to_owned();
    assert!(item.starts_with("/project/shop/datasets/cases/items/"), "{item}");
    member.get(&item).await.check(200, "Where is it?").check(200, "&lt;b&gt;delivery");
    member
        .post(&format!("{PAGE}/item"), &[("dataset", "none"), ("input", "1")])
        .await
        .check(404, "");
    let version = [
        ("name", "triage"),
        ("kind", "text"),
        ("text", "Sort kindly: {{message}}"),
        ("message", "kinder"),
    ];
    let kept = member.post(&format!("{PAGE}/version"), &version).await;
    assert_eq!(kept.header("location"), "/project/shop/prompts/triage?version=2&done=made");
    let catalog = site.data.catalog();
    let find =
        catalog.prompt(id("shop"), "triage".to_owned(), Pick::Version(2), PromptReferences::Raw);
    let (prompt, _) = find.await.unwrap().unwrap();
    assert_eq!(prompt.body, PromptBody::Text("Sort kindly: {{message}}".to_owned()));
    assert_eq!(prompt.commit_message.as_deref(), Some("kinder"));
    assert!(!prompt.labels.contains(&"production".to_owned()), "nothing goes live by itself");
    member.post(&format!("{PAGE}/version"), &[("name", "a|b")]).await.check(400, "name: ");
}

#[tokio::test]
async fn before_there_is_a_connection_the_page_says_what_to_do() {
    let site = Site::new().await;
    let mut member = someone(&site, Role::Member).await;
    member.get(PAGE).await.check(200, "No LLM connections yet");
    member.get(&format!("{PAGE}?prompt=none")).await.check(404, "prompt version not found");
}

#[tokio::test]
async fn connections_that_lead_inside_are_refused_and_say_what_to_set() {
    let site = Site::calling(OutboundPolicy::default()).await;
    let model = ScriptedModel::start().unwrap();
    // They were kept before the rule was there, or by someone with another one.
    let named = model.url().replace("127.0.0.1", "localhost");
    let kept = [
        connect(&site, "address", (LlmAdapter::OpenAi, model.url())).await,
        connect(&site, "name", (LlmAdapter::Anthropic, named)).await,
        connect(&site, "aws", (LlmAdapter::Bedrock, model.url())).await,
    ];
    let mut owner = someone(&site, Role::Owner).await;
    owner.get(CONNECTIONS).await;
    for id in kept {
        let response = owner.post(&format!("{CONNECTIONS}/{id}/test"), &[("model", "m")]).await;
        response.check(200, "connection failed").check(200, "an address of this machine");
        response.check(200, "outbound.allow = &quot;");
    }
    let fields = [
        ("provider", "new"),
        ("adapter", "openai"),
        ("secretKey", "sk"),
        ("baseURL", "http://169.254.169.254/latest"),
    ];
    owner.post(CONNECTIONS, &fields).await.check(422, "a link-local address");
    assert!(model.requests().is_empty(), "nobody was asked");
}

#[tokio::test]
async fn what_a_provider_says_is_for_owners_of_the_server() {
    let site = Site::new().await;
    let model = ScriptedModel::start().unwrap();
    model.script([Reply::rejecting("hush"), Reply::rejecting("hush")]);
    let id = connect(&site, "ours", (LlmAdapter::OpenAi, format!("{}/v1", model.url()))).await;
    let path = format!("{CONNECTIONS}/{id}/test");
    let mut member = someone(&site, Role::Member).await;
    member.get(CONNECTIONS).await;
    let response = member.post(&path, &[("model", "m")]).await;
    response.check(200, "rejects the request (status 400)");
    assert!(!response.text.contains("hush"), "{}", response.text);
    site.person("o@shop.example", Role::Owner).await;
    let mut owner = site.signed_in("o@shop.example").await;
    owner.get(CONNECTIONS).await;
    owner.post(&path, &[("model", "m")]).await.check(200, "hush");
}
