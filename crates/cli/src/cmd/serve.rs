use clap::Args;
use ratchet_server::shutdown;

use crate::config::layers::Flag;
use crate::config::{Config, ConfigArgs};
use crate::exit::Outcome;
use crate::first_start::FirstKeysFor;
use crate::print::{OutputArgs, print};
use crate::server::Server;
use crate::signals::Signals;
use crate::{log, runtime, startup_message};

/// `ratchet serve`
#[derive(Args, Debug)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    config: ConfigArgs,
    /// Web UI, APIs and OTLP over HTTP [default: 127.0.0.1:3000]
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// OTLP over gRPC [default: 127.0.0.1:4317]
    #[arg(long, value_name = "ADDR|off")]
    otlp_grpc: Option<String>,
    /// OTLP over HTTP on a separate port [default: 127.0.0.1:4318]
    #[arg(long, value_name = "ADDR|off")]
    otlp_http: Option<String>,
    /// Graceful shutdown timeout [default: 10 s]
    #[arg(long, value_name = "TIME")]
    drain: Option<String>,
    /// Disable authentication; every local user is owner (loopback only)
    #[arg(long)]
    no_auth: bool,
    #[command(flatten)]
    output: OutputArgs,
}

impl ServeArgs {
    fn flags(&self) -> Vec<Flag> {
        let typed = [
            ("listen", self.listen.clone()),
            ("otlp_grpc", self.otlp_grpc.clone()),
            ("otlp_http", self.otlp_http.clone()),
            ("timeouts.drain", self.drain.clone()),
            ("auth", self.no_auth.then(|| "off".to_owned())),
        ];
        typed.into_iter().filter_map(|(key, text)| Some((key, text?))).collect()
    }
}

/// Runs `ratchet serve`.
pub(crate) fn run(args: &ServeArgs) -> anyhow::Result<Outcome> {
    let config = Config::load(&args.config, args.flags())?;
    config.warn_of_unknown_variables();
    runtime::block_on(async {
        let traces = log::init(&config.log)?;
        let outcome = serve(&config, args.output).await;
        log::stop(traces).await;
        outcome
    })
}

async fn serve(config: &Config, output: OutputArgs) -> anyhow::Result<Outcome> {
    let signals = Signals::listen()?;
    let server = Server::open(config, "ratchet serve", FirstKeysFor::Reader).await?;
    let text =
        if output.json { startup_message::line(&server)? } else { startup_message::text(&server) };
    print(&text)?;
    let (stopper, stop) = shutdown::signal();
    signals.supervise(server.run(stop), &stopper).await
}
