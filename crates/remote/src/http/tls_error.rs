use std::error::Error;
use std::io;

use rustls::{CertificateError, InvalidMessage};

/// TLS verification of a server failed, before anything was sent. A retry does not help.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}; {advice}")]
pub struct TlsError {
    why: String,
    advice: &'static str,
}

/// Returns the TLS error that a request failed with, if it did.
pub fn tls_error_of(error: &reqwest::Error) -> Option<TlsError> {
    tls_error(error).map(TlsError::new)
}

impl TlsError {
    fn new(error: &rustls::Error) -> Self {
        let rustls::Error::InvalidCertificate(problem) = error else {
            let why = format!("no TLS was agreed on ({error})");
            return Self { why, advice: without_certificate(error) };
        };
        Self { why: format!("its certificate is not trusted ({problem})"), advice: advice(problem) }
    }
}

fn advice(problem: &CertificateError) -> &'static str {
    match problem {
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "use an address that the certificate is made out to"
        }
        CertificateError::Expired
        | CertificateError::ExpiredContext { .. }
        | CertificateError::NotValidYet
        | CertificateError::NotValidYetContext { .. } => {
            "have it renewed, and check this machine's clock"
        }
        _ => {
            "if the server is the right one, name the certificate of the authority that signed it, \
             as a PEM file, in SSL_CERT_FILE"
        }
    }
}

fn without_certificate(error: &rustls::Error) -> &'static str {
    match error {
        rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            "if the server speaks plain HTTP there, begin the address with http://"
        }
        _ => "the server or a proxy before it must speak TLS 1.2 or 1.3",
    }
}

/// Finds the TLS error in the source chain of an error.
fn tls_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    let mut next = Some(error);
    while let Some(cause) = next {
        if let Some(found) = cause.downcast_ref() {
            return Some(found);
        }
        // `io::Error::source` skips the wrapped error itself.
        let wrapped = cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        next = match wrapped {
            Some(inner) => Some(inner),
            None => cause.source(),
        };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_is_found_however_deep() {
        let tls = rustls::Error::InvalidCertificate(CertificateError::Expired);
        let wrapped = io::Error::other(io::Error::new(io::ErrorKind::InvalidData, tls.clone()));
        assert_eq!(tls_error(&wrapped), Some(&tls));
        assert_eq!(tls_error(&io::Error::other("unplugged")), None);
        assert_eq!(tls_error(&io::Error::from(io::ErrorKind::UnexpectedEof)), None);
    }

    #[test]
    fn each_trouble_has_its_advice() {
        let message = |error: rustls::Error| TlsError::new(&error).to_string();
        let certificate = |problem| message(rustls::Error::InvalidCertificate(problem));
        assert!(certificate(CertificateError::UnknownIssuer).contains("in SSL_CERT_FILE"));
        assert!(certificate(CertificateError::Expired).contains("renewed"));
        assert!(certificate(CertificateError::NotValidForName).contains("made out to"));
        let plain = rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType);
        assert!(message(plain).contains("http://"));
    }
}
