use std::error::Error;
use std::time::Duration;

use aws_sdk_bedrockruntime::config::http::HttpResponse;
use aws_sdk_bedrockruntime::error::{DisplayErrorContext, ProvideErrorMetadata, SdkError};
use ratchet_core::backoff;
use ratchet_core::secret::Secret;

use super::bounded_body::BodyError;
use crate::access::redact_secrets;
use crate::error::ModelError;
use crate::http;

/// Maps an SDK error of a request.
pub(super) fn of_request<E>(error: &SdkError<E, HttpResponse>, key: Option<&Secret>) -> ModelError
where
    E: Error + ProvideErrorMetadata + Send + Sync + 'static,
{
    let Some(answer) = error.raw_response() else { return unsent(error) };
    let status = answer.status().as_u16();
    let retry_after = backoff::retry_after(|name| answer.headers().get(name));
    match error.as_service_error() {
        Some(_) if answer.status().is_success() => {
            ModelError::MalformedResponse(http::innermost(error))
        }
        Some(failure) => {
            let (code, words) = (failure.code().unwrap_or_default(), failure.message());
            let why =
                redact_secrets(&format!("{code}: {}", words.unwrap_or_default()), key.into_iter());
            of_service(status, retry_after, code, why)
        }
        // Headers arrived, the body did not.
        None => ModelError::CutStream(http::innermost(error)),
    }
}

/// Maps an SDK error of a started stream.
pub(super) fn of_stream<E, R>(error: &SdkError<E, R>) -> ModelError
where
    E: Error + ProvideErrorMetadata + 'static,
    R: std::fmt::Debug + 'static,
{
    let service = error.as_service_error();
    match service.and_then(ProvideErrorMetadata::code) {
        Some("ThrottlingException") => ModelError::RateLimited { retry_after: None },
        Some(_) if service.is_some() => {
            let why = service.and_then(ProvideErrorMetadata::message).unwrap_or_default();
            ModelError::CutStream(why.to_owned())
        }
        _ => ModelError::CutStream(http::innermost(error)),
    }
}

fn of_service(status: u16, retry_after: Option<Duration>, code: &str, why: String) -> ModelError {
    match code {
        "ModelTimeoutException" | "ModelErrorException" | "ModelNotReadyException" => {
            ModelError::Overloaded { status, why }
        }
        "ThrottlingException" => ModelError::RateLimited { retry_after },
        "ValidationException" if why.to_ascii_lowercase().contains("too long") => {
            ModelError::TooLong { why }
        }
        _ => http::failure(status, retry_after, why),
    }
}

fn unsent<E>(error: &SdkError<E, HttpResponse>) -> ModelError
where
    E: Error + Send + Sync + 'static,
{
    if let Some(cut) = BodyError::among_causes(error) {
        return cut;
    }
    let story = DisplayErrorContext(error).to_string();
    let why = http::innermost(error);
    if story.to_ascii_lowercase().contains("credential") {
        return ModelError::Unauthorised { why };
    }
    match error {
        SdkError::ConstructionFailure(_) => ModelError::NotSetUp(why),
        SdkError::TimeoutError(_) => ModelError::CutStream(why),
        _ => ModelError::Unreachable { place: "Amazon Bedrock".to_owned(), why },
    }
}
