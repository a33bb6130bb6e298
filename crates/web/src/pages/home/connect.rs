use maud::{Markup, html};

use crate::assets;
use crate::components::{copy, empty};
use crate::place::Place;

const LANGFUSE: &str = "export LANGFUSE_BASE_URL=http://127.0.0.1:3000
export LANGFUSE_PUBLIC_KEY=pk-lf-…
export LANGFUSE_SECRET_KEY=sk-lf-…";

const OPENTELEMETRY: &str = "export OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:3000/api/public/otel
export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf
export OTEL_EXPORTER_OTLP_HEADERS=\"Authorization=Basic%20$(printf 'pk-lf-…:sk-lf-…' | base64 -w0)\"";

/// How to connect an SDK. The page turns into the loop by itself when the first span arrives.
pub(super) fn connect(place: &Place) -> Markup {
    let how = html! {
        h2 { "A Langfuse SDK, of any era" }
        (copy::snippet(LANGFUSE))
        h2 { "OpenTelemetry, in any language" }
        (copy::snippet(OPENTELEMETRY))
        h2 { "Claude Code, as it is" }
        (copy::snippet("ratchet import claude-code --follow"))
        p.muted {
            "The keys were printed when the server first started; "
            code { "ratchet keys create" } " makes new ones. This page turns live by itself when "
            "the first span arrives."
        }
        p role="status" data-waiting=(place.to(&["recorded"])) { "Waiting for the first span…" }
        script type="module" src=(assets::address("home.js")) {}
    };
    empty::empty("Nothing has been recorded in this time.", &how)
}
