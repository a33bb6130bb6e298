use maud::{Markup, html};

use crate::assets;
use crate::components::{copy, empty};
use crate::request_context::RequestContext;

fn langfuse(server: &str) -> String {
    format!(
        "export LANGFUSE_BASE_URL={server}
export LANGFUSE_PUBLIC_KEY=pk-lf-…
export LANGFUSE_SECRET_KEY=sk-lf-…"
    )
}

fn opentelemetry(server: &str) -> String {
    format!(
        "export OTEL_EXPORTER_OTLP_ENDPOINT={server}/api/public/otel
export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf
export OTEL_EXPORTER_OTLP_HEADERS=\"Authorization=Basic%20$(printf 'pk-lf-…:sk-lf-…' | base64 -w0)\""
    )
}

/// Setup instructions until the first span arrives.
pub(super) fn connect(ctx: &RequestContext) -> Markup {
    let server = &ctx.server;
    let how = html! {
        h2 { "Langfuse SDK (any version)" }
        (copy::snippet(&langfuse(server)))
        h2 { "OpenTelemetry SDK (any language)" }
        (copy::snippet(&opentelemetry(server)))
        h2 { "Claude Code (no changes needed)" }
        (copy::snippet(&ctx.command("import claude-code --follow")))
        p.muted {
            "The keys were printed when the server first started; "
            a href=(ctx.to(&["settings", "keys"])) { "Settings › API keys" } " creates new ones. This page updates automatically when "
            "the first span arrives."
        }
        p role="status" data-waiting=(ctx.to(&["recorded"])) { "Waiting for the first span…" }
        script type="module" src=(assets::address("home.js")) {}
    };
    empty::empty("No traces in this time range", &how)
}
