//! Configuration: flags, environment, file and defaults.
//!
//! Two steps: `layers` holds what was typed (flags over `RATCHET_*` variables over
//! `ratchet.toml`), and `Config` is what it means. A setting is one line in one of the `read`
//! functions below: its file key, its variable (`limits.body` is `RATCHET_LIMITS_BODY`), its
//! default and its place in `ratchet config show` all follow from there.

/// Where settings are written down.
pub(crate) mod layers;
/// Reads them one by one.
pub(crate) mod lookup;
/// The kinds of values they have.
pub(crate) mod value;
pub(crate) mod chat;
mod reports;
/// Weekly documents and e-mail.
mod feedback;
mod evaluators;
mod targets;
/// Deployments of promotions.
mod promotion;
/// Default data folder.
mod data_folder;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use clap::Args;
use ratchet_core::network::Networks;
use ratchet_core::outbound::OutboundPolicy;
use ratchet_core::secret::Secret;
use ratchet_server::app::{Limits, Timeouts};
use ratchet_server::rate_limit::Rate;
use ratchet_store::disk_reserve::DiskReserve;
use ratchet_web::form_budget::FormLimits;

use chat::ChatConfig;
pub(crate) use evaluators::EvaluatorConfig;
pub(crate) use feedback::{FeedbackConfig, SmtpConfig};
use layers::{Flag, Layers, Source};
use lookup::{Effective, Lookup};
pub(crate) use promotion::PromotionConfig;
pub(crate) use reports::ReportConfig;
use targets::TargetConfig;
use value::{Address, ByteSize, Count, HumanDuration, Listen, Reserve, ServerUrl, Switch};

/// Names the one file to read; not a setting itself.
const FILE_VARIABLE: &str = "RATCHET_CONFIG";

/// Flags of every command that has settings.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ConfigArgs {
    /// Data folder [default: ~/.local/share/ratchet]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Settings file [default: ratchet.toml in the current folder and in the data folder]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

/// What the settings mean.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub(crate) data: PathBuf,
    pub(crate) addresses: Addresses,
    /// Where people reach the server, if not where it listens.
    pub(crate) url: Option<ServerUrl>,
    /// Whether requests need a key.
    pub(crate) auth: Switch,
    /// What to log, and how.
    pub(crate) log: LogConfig,
    /// Limits on requests.
    pub(crate) limits: Limits,
    /// How long clients may take.
    pub(crate) timeouts: Timeouts,
    /// How much the forms of pages may take.
    pub(crate) forms: FormLimits,
    pub(crate) store: StoreConfig,
    /// A server that vouches for people.
    pub(crate) trusted_proxies: Networks,
    pub(crate) oidc: Oidc,
    /// Which addresses may be called that API callers and people on pages have entered.
    pub(crate) outbound: OutboundPolicy,
    /// Whether tokens are counted for model calls without usage.
    pub(crate) count_tokens: Switch,
    pub(crate) chat: ChatConfig,
    pub(crate) reports: ReportConfig,
    pub(crate) feedback: FeedbackConfig,
    pub(crate) smtp: SmtpConfig,
    pub(crate) evaluators: EvaluatorConfig,
    pub(crate) targets: TargetConfig,
    pub(crate) promotion: PromotionConfig,
    /// What the first start creates.
    pub(crate) init: Init,
    /// The key for `--server`.
    pub(crate) credentials: Credentials,
    /// Every setting with its source.
    pub(crate) effective: Vec<Effective>,
    /// Variables that look like ours but are no setting.
    unknown_variables: Vec<String>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Addresses {
    /// Web pages and all APIs.
    pub(crate) web: Listen,
    pub(crate) otlp_grpc: Address,
    /// OTLP over HTTP, besides the first.
    pub(crate) otlp_http: Address,
}

/// What to log, and how.
#[derive(Clone, Debug)]
pub(crate) struct LogConfig {
    /// Which events: a level, or `target=level` pairs.
    pub(crate) filter: String,
    /// One JSON object a line instead of text.
    pub(crate) json: Switch,
    /// Where the server's own traces go, over OTLP/gRPC.
    pub(crate) traces: Option<String>,
    /// The headers that go with them, a key of that receiver for one.
    pub(crate) traces_headers: Option<Secret>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct StoreConfig {
    /// Batches that may wait to be written.
    pub(crate) queue: usize,
    pub(crate) readers: usize,
    /// Room on the disk that recording leaves alone.
    pub(crate) reserve: DiskReserve,
}

/// OIDC settings, as far as configured.
#[derive(Clone, Debug, Default)]
pub(crate) struct Oidc {
    pub(crate) issuer: Option<String>,
    pub(crate) client_id: Option<String>,
    /// What proves that we are that one.
    pub(crate) client_secret: Option<Secret>,
    /// What the button calls it.
    pub(crate) label: Option<String>,
    /// Domains of the addresses that are let in.
    pub(crate) domains: Option<String>,
    /// What people may do who come for the first time.
    pub(crate) role: Option<String>,
    pub(crate) project: Option<String>,
}

/// `RATCHET_INIT_…` settings, as far as configured.
#[derive(Clone, Debug, Default)]
pub(crate) struct Init {
    pub(crate) project_id: Option<String>,
    pub(crate) project_name: Option<String>,
    /// The half of the key that is no secret.
    pub(crate) public_key: Option<String>,
    pub(crate) secret_key: Option<Secret>,
    pub(crate) owner_email: Option<String>,
    /// What they sign in with.
    pub(crate) owner_password: Option<Secret>,
}

/// The key that opens another server.
#[derive(Clone, Debug)]
pub(crate) struct Credentials {
    /// The half that is no secret.
    pub(crate) public_key: Option<String>,
    pub(crate) secret_key: Option<Secret>,
}

impl Config {
    /// Loads the settings of this process: the flags given, its environment, its files.
    pub(crate) fn load(args: &ConfigArgs, mut flags: Vec<Flag>) -> anyhow::Result<Self> {
        if let Some(data) = &args.data {
            let text = data.to_str().context("--data must be a path in UTF-8")?;
            flags.push(("data", text.to_owned()));
        }
        let named_file =
            args.config.clone().or_else(|| std::env::var_os(FILE_VARIABLE).map(PathBuf::from));
        let mut layers = Layers::new(flags, environment()?);
        match named_file {
            Some(file) => layers.add_file(&file)?,
            None => add_usual_files(&mut layers)?,
        }
        let config = Self::from_layers(&layers)?;
        if config.is_default("data") {
            data_folder::warn_of_old_default(&config.data);
        }
        Ok(config)
    }

    /// Whether a setting has its default.
    fn is_default(&self, key: &str) -> bool {
        self.effective.iter().any(|of| of.key == key && of.source == Source::Default)
    }

    /// Turns sign-in off by default if only this machine can connect.
    pub(crate) fn open_on_loopback(&mut self) {
        let is_private = self.addresses.listeners().all(|(_, address)| address.ip().is_loopback());
        if is_private && self.is_default("auth") {
            self.auth = Switch::Off;
        }
    }

    /// Tells on stderr of variables that look like settings but are none: mostly misspelt ones.
    pub(crate) fn warn_of_unknown_variables(&self) {
        for name in &self.unknown_variables {
            eprintln!("ratchet: unknown setting {name} is ignored");
        }
    }

    fn from_layers(layers: &Layers) -> anyhow::Result<Self> {
        let mut of = Lookup::new(layers);
        let mut config = Self {
            data: of.value("data", data_folder::default(), "data folder")?.0,
            addresses: Addresses::read(&mut of)?,
            url: of
                .optional("public_url", "public URL of the server, for links in notifications")?,
            auth: of.value(
                "auth",
                Switch::On,
                "require API keys and sign-in; off on loopback only",
            )?,
            log: LogConfig::read(&mut of)?,
            limits: read_limits(&mut of)?,
            timeouts: read_timeouts(&mut of)?,
            forms: read_forms(&mut of)?,
            store: read_store(&mut of)?,
            trusted_proxies: of.value(
                "trusted_proxies",
                Networks::default(),
                "trusted proxies (networks), comma-separated",
            )?,
            count_tokens: of.value(
                "count_tokens",
                Switch::On,
                "estimate tokens of model calls without usage",
            )?,
            oidc: Oidc::read(&mut of)?,
            outbound: of.value(
                "outbound.allow",
                OutboundPolicy::default(),
                "private addresses allowed for webhooks and LLM connections",
            )?,
            chat: ChatConfig::read(&mut of)?,
            reports: ReportConfig::read(&mut of)?,
            feedback: FeedbackConfig::read(&mut of)?,
            smtp: SmtpConfig::read(&mut of)?,
            evaluators: EvaluatorConfig::read(&mut of)?,
            targets: TargetConfig::read(&mut of)?,
            promotion: PromotionConfig::read(&mut of)?,
            init: Init::read(&mut of)?,
            credentials: Credentials {
                public_key: of.optional("public_key", "public key for --server")?,
                secret_key: of.secret("secret_key", "secret key for --server"),
            },
            effective: Vec::new(),
            unknown_variables: Vec::new(),
        };
        config.forms.upload_time = config.timeouts.body;
        config.effective = of.into_read();
        let known: Vec<&str> = config.effective.iter().map(|setting| setting.key).collect();
        layers.refuse_unknown_keys(&known)?;
        config.unknown_variables = layers.unknown_variables(&known);
        Ok(config)
    }
}

impl Addresses {
    /// Every address to listen on, with the flag that sets it.
    pub(crate) fn listeners(self) -> impl Iterator<Item = (&'static str, SocketAddr)> {
        let others = [("--otlp-grpc", self.otlp_grpc), ("--otlp-http", self.otlp_http)];
        let others = others.into_iter().filter_map(|(flag, address)| match address {
            Address::At(address) => Some((flag, address)),
            Address::Off => None,
        });
        others.chain([("--listen", self.web.0)])
    }

    fn read(of: &mut Lookup<'_>) -> anyhow::Result<Self> {
        let (grpc, http) = (Address::At(loopback(4317)), Address::At(loopback(4318)));
        Ok(Self {
            web: of.value("listen", Listen(loopback(3000)), "web UI and APIs")?,
            otlp_grpc: of.value("otlp_grpc", grpc, "OTLP over gRPC, or off")?,
            otlp_http: of.value("otlp_http", http, "OTLP over HTTP, or off")?,
        })
    }
}

fn read_store(of: &mut Lookup<'_>) -> anyhow::Result<StoreConfig> {
    let reserve = "reserved disk space; ingestion stops below it";
    Ok(StoreConfig {
        queue: of.value("store.queue", Count(256), "write queue length, in batches")?.0,
        readers: of.value("store.readers", Count(4), "read connections")?.0,
        reserve: of.value("disk.reserve", Reserve::default(), reserve)?.0,
    })
}

fn read_limits(of: &mut Lookup<'_>) -> anyhow::Result<Limits> {
    let usual = Limits::default();
    Ok(Limits {
        body_bytes: of.size("limits.body", usual.body_bytes, "request body, compressed")?,
        decompressed_bytes: of.size(
            "limits.decompressed",
            usual.decompressed_bytes,
            "request body, uncompressed",
        )?,
        public_body_bytes: of.size(
            "limits.public_body",
            usual.public_body_bytes,
            "request body with a public key only",
        )?,
        inflight_bytes: of.size(
            "limits.inflight",
            usual.inflight_bytes,
            "all request bodies in memory",
        )?,
        batch_len: of.count("limits.batch", usual.batch_len, "spans per request")?,
        media_bytes: of.size("limits.media", usual.media_bytes, "media file")?,
        text_bytes: of.size(
            "limits.text",
            usual.text_bytes,
            "attribute length; longer text is truncated",
        )?,
        depth: of.count("limits.depth", usual.depth, "nesting depth of lists and maps")?,
        attributes: of.count("limits.attributes", usual.attributes, "attributes per span")?,
        values: of.count("limits.values", usual.values, "JSON values per request")?,
        rate: of.optional("limits.rate", "requests per second and key")?.map(|Count(rate)| {
            let rate = f64::from(u32::try_from(rate).unwrap_or(u32::MAX));
            Rate { per_second: rate, burst: rate }
        }),
        public_rate: of
            .count("limits.public_rate", 5, "scores per second and address with a public key")
            .map(public_rate)?,
        connections: of.count("limits.connections", usual.connections, "concurrent connections")?,
        connections_each: of.count(
            "limits.connections_each",
            usual.connections_each,
            "connections per address",
        )?,
        streams: of.count("limits.streams", usual.streams, "clients streaming chats")?,
        project_streams: of.count(
            "limits.streams_each",
            usual.project_streams,
            "streaming clients per project",
        )?,
    })
}

/// So many calls a second, and ten seconds' worth of them at once.
fn public_rate(rate: usize) -> Rate {
    let per_second = f64::from(u32::try_from(rate).unwrap_or(u32::MAX));
    Rate { per_second, burst: per_second * 10.0 }
}

fn read_timeouts(of: &mut Lookup<'_>) -> anyhow::Result<Timeouts> {
    let usual = Timeouts::default();
    Ok(Timeouts {
        first_request: of
            .value(
                "timeouts.first_request",
                HumanDuration(usual.first_request),
                "for the first request after connecting",
            )?
            .0,
        headers: of
            .value("timeouts.headers", HumanDuration(usual.headers), "keep-alive between requests")?
            .0,
        body_gap: of
            .value("timeouts.body_gap", HumanDuration(usual.body_gap), "between chunks of a body")?
            .0,
        body: of.value("timeouts.body", HumanDuration(usual.body), "for a whole request body")?.0,
        stall: of
            .value(
                "timeouts.stall",
                HumanDuration(usual.stall),
                "while the client reads no response",
            )?
            .0,
        heartbeat: of
            .value("timeouts.heartbeat", HumanDuration(usual.heartbeat), "between heartbeats")?
            .0,
        drain: of.value("timeouts.drain", HumanDuration(usual.drain), "graceful shutdown")?.0,
    })
}

fn read_forms(of: &mut Lookup<'_>) -> anyhow::Result<FormLimits> {
    let usual = FormLimits::default();
    Ok(FormLimits {
        people_bytes: of
            .value("limits.forms", ByteSize(usual.people_bytes), "all forms of signed-in users")?
            .0,
        strangers_bytes: of
            .value(
                "limits.forms_strangers",
                ByteSize(usual.strangers_bytes),
                "all forms of anonymous users",
            )?
            .0,
        each: of.value("limits.forms_each", Count(usual.each), "concurrent forms per sender")?.0,
        time: of.value("timeouts.form", HumanDuration(usual.time), "for a whole form")?.0,
        upload_time: usual.upload_time,
    })
}

impl LogConfig {
    fn read(of: &mut Lookup<'_>) -> anyhow::Result<Self> {
        Ok(Self {
            filter: of.value("log.filter", "info".to_owned(), "level, or target=level pairs")?,
            json: of.value("log.json", Switch::Off, "JSON log lines")?,
            // Not from `OTEL_EXPORTER_OTLP_ENDPOINT`: people set that for their agents.
            traces: of.optional("log.traces", "OTLP/gRPC endpoint for the server's own traces")?,
            traces_headers: of
                .secret("log.traces_headers", "headers for that endpoint, name=value"),
        })
    }
}

impl Oidc {
    fn read(of: &mut Lookup<'_>) -> anyhow::Result<Self> {
        Ok(Self {
            issuer: of.optional("oidc.issuer", "OpenID Connect issuer")?,
            client_id: of.optional("oidc.client_id", "OIDC client ID")?,
            client_secret: of.secret("oidc.client_secret", "OIDC client secret"),
            label: of.optional("oidc.label", "label of the sign-in button")?,
            domains: of.optional("oidc.domains", "allowed email domains, comma-separated")?,
            role: of.optional("oidc.role", "role of new users")?,
            project: of.optional("oidc.project", "project ID of new users")?,
        })
    }
}

impl Init {
    fn read(of: &mut Lookup<'_>) -> anyhow::Result<Self> {
        Ok(Self {
            project_id: of.optional("init.project_id", "first start: project ID")?,
            project_name: of.optional("init.project_name", "first start: project name")?,
            public_key: of.optional("init.public_key", "first start: public key")?,
            secret_key: of.secret("init.secret_key", "first start: secret key"),
            owner_email: of.optional("init.owner_email", "first start: owner email")?,
            owner_password: of.secret("init.owner_password", "first start: owner password"),
        })
    }
}

/// Our environment variables, but the one that is no setting.
fn environment() -> anyhow::Result<Vec<(String, String)>> {
    let mut ours = Vec::new();
    for (name, text) in std::env::vars_os() {
        let Some(name) = name.to_str().filter(|name| name.starts_with(layers::PREFIX)) else {
            continue;
        };
        let text = text.to_str().with_context(|| format!("{name} is not valid UTF-8"))?;
        if name != FILE_VARIABLE {
            ours.push((name.to_owned(), text.to_owned()));
        }
    }
    Ok(ours)
}

/// Adds `ratchet.toml` of the current folder, and below it that of the data folder.
fn add_usual_files(layers: &mut Layers) -> anyhow::Result<()> {
    layers.add_file_of(Path::new("."))?;
    let data = Lookup::new(layers).value("data", data_folder::default(), "")?.0;
    layers.add_file_of(&data)?;
    let theirs = data.join(layers::FILE_NAME);
    ensure!(
        !layers.file_says(&theirs, "data"),
        "{} sets `data`, which is not allowed in the data folder's own file; set it in ratchet.toml of the current folder",
        theirs.display()
    );
    Ok(())
}

fn loopback(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}
