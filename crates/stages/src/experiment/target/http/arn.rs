//! Agents in Amazon Bedrock AgentCore Runtime, by their ARN.

use ratchet_agent::aws_signer::{AwsIdentity, AwsSigner};
use ratchet_agent::environment::Variables;
use ratchet_core::experiment::target::{AgentCoreArnSpec, AwsKeys, TargetEnvironment};
use ratchet_core::outbound::OutboundPolicy;
use ratchet_core::secret::Secret;
use ratchet_core::url_encoding::encoded;
use reqwest::Method;
use reqwest::header::{ACCEPT, HeaderMap, HeaderValue};

use super::{Contract, HttpTarget, client, parsed};
use crate::experiment::target::template::{checked_body, checked_path};
use crate::experiment::target::{TargetError, invalid};

/// The service of agents in AWS, in host names and signatures.
const SERVICE: &str = "bedrock-agentcore";
/// The variable in which AWS's tools expect another endpoint.
const ENDPOINT_VARIABLE: &str = "AWS_ENDPOINT_URL_BEDROCK_AGENTCORE";

impl HttpTarget {
    /// An agent in AgentCore Runtime, by its ARN.
    pub(in crate::experiment::target) async fn agentcore_arn(
        spec: &AgentCoreArnSpec,
        environment: &TargetEnvironment,
        (lookup, outbound): (Variables<'_>, &OutboundPolicy),
    ) -> Result<Self, TargetError> {
        let arn = environment.url.as_ref().unwrap_or(&spec.arn).resolve("arn", lookup)?;
        let region = region(&arn, spec.region.as_deref())?;
        let entered = spec.endpoint.as_ref().map(|value| value.resolve("endpoint", lookup));
        let entered = entered.transpose()?.or_else(|| lookup(ENDPOINT_VARIABLE));
        // The service's own address is ours, not entered by anyone.
        let outbound = match entered {
            Some(_) => outbound.clone(),
            None => OutboundPolicy::unrestricted(),
        };
        let base = entered.unwrap_or_else(|| format!("https://{SERVICE}.{region}.amazonaws.com"));
        let qualifier = encoded(spec.qualifier.as_deref().unwrap_or("DEFAULT"));
        let (base, arn) = (base.trim_end_matches('/'), encoded(&arn));
        let url = parsed(&format!("{base}/runtimes/{arn}/invocations?qualifier={qualifier}"))?;
        let identity = identity(spec.credentials.as_ref(), lookup)?;
        let signer = AwsSigner::open(identity, &region, SERVICE).await;
        let signer = signer.map_err(|error| invalid("credentials", error.to_string()))?;
        let accepted = HeaderValue::from_static("application/json, text/event-stream");
        Ok(Self {
            client: client(&url, &outbound)?,
            outbound,
            url,
            contract: Contract::AgentCoreArn(signer),
            method: Method::POST,
            headers: HeaderMap::from_iter([(ACCEPT, accepted)]),
            body: checked_body(spec.body.as_deref())?,
            output: checked_path(spec.output.as_deref())?,
            is_stream: false,
        })
    }
}

/// The region of an ARN. It becomes part of a host name.
fn region(arn: &str, named: Option<&str>) -> Result<String, TargetError> {
    let parts: Vec<&str> = arn.split(':').collect();
    let [_, _, SERVICE, of_arn, _, resource, ..] = parts.as_slice() else {
        let like = "arn:aws:bedrock-agentcore:REGION:ACCOUNT:runtime/NAME";
        return Err(invalid("arn", format!("must be the ARN of an agent runtime, such as {like}")));
    };
    if !resource.starts_with("runtime/") {
        return Err(invalid("arn", "must name a runtime"));
    }
    let region = named.unwrap_or(of_arn);
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    if (1..=63).contains(&region.len()) && region.bytes().all(is_word) {
        return Ok(region.to_owned());
    }
    Err(invalid("region", "must be a region such as eu-central-1"))
}

fn identity(keys: Option<&AwsKeys>, lookup: Variables<'_>) -> Result<AwsIdentity, TargetError> {
    let Some(keys) = keys else { return Ok(AwsIdentity::Ambient) };
    let session = keys.session_token.as_ref();
    let session = session.map(|value| value.resolve("credentials.session_token", lookup));
    let secret = keys.secret_access_key.resolve("credentials.secret_access_key", lookup)?;
    Ok(AwsIdentity::Keys {
        id: keys.access_key_id.resolve("credentials.access_key_id", lookup)?,
        secret: Secret::new(secret),
        session: session.transpose()?.map(Secret::new),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arn_names_its_region() {
        let arn = "arn:aws:bedrock-agentcore:eu-west-1:123456789012:runtime/helper-abc";
        assert_eq!(region(arn, None).unwrap(), "eu-west-1");
        assert_eq!(region(arn, Some("us-east-1")).unwrap(), "us-east-1");
        assert!(region(arn, Some("x.example/")).is_err(), "it becomes part of a host name");
        for wrong in ["", "helper", "arn:aws:s3:::bucket", &arn.replace("runtime/", "memory/")] {
            assert!(region(wrong, None).is_err(), "{wrong}");
        }
        assert_eq!(encoded("a:b/c-d_e"), "a%3Ab%2Fc-d_e");
    }
}
