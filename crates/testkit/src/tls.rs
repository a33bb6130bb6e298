//! TLS in front of a real server, like a reverse proxy.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

/// A certificate authority for one test.
#[derive(Debug)]
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    /// Creates an authority that no client trusts by default.
    pub fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "a test's own authority");
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self { issuer: Issuer::new(params, key), pem }
    }

    /// Writes its certificate to a file, for `SSL_CERT_FILE`.
    pub fn write(&self, to: &Path) {
        std::fs::write(to, &self.pem).unwrap();
    }

    /// The TLS configuration of a server with a certificate for a name or an address.
    pub(crate) fn server(&self, name: &str) -> ServerConfig {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new([name.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap()
    }
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}

/// A running TLS proxy. Stopped on drop.
#[derive(Debug)]
pub struct TlsProxy {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl TlsProxy {
    /// Starts a proxy in front of a server, with a certificate for `name`.
    pub fn start(upstream: SocketAddr, authority: &Authority, name: &str) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(authority.server(name)));
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&connections);
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(async {
                let listener = TcpListener::from_std(listener).unwrap();
                tokio::select! {
                    () = serve(&listener, upstream, &acceptor, &counted) => {}
                    _ = stopped => {}
                }
            });
        });
        Self { address, connections, stop: Some(stop), thread: Some(thread) }
    }

    /// Its URL: `https://127.0.0.1:…`.
    pub fn web(&self) -> String {
        format!("https://{}", self.address)
    }

    /// Number of connections so far.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

impl Drop for TlsProxy {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            // A panic in there has been printed already.
            drop(thread.join());
        }
    }
}

async fn serve(
    listener: &TcpListener,
    upstream: SocketAddr,
    acceptor: &TlsAcceptor,
    connections: &AtomicUsize,
) {
    let mut running = JoinSet::new();
    loop {
        let (client, _) = listener.accept().await.unwrap();
        connections.fetch_add(1, Ordering::SeqCst);
        let acceptor = acceptor.clone();
        running.spawn(async move {
            // Clients that do not trust the authority disconnect here, as they should.
            let Ok(mut client) = acceptor.accept(client).await else {
                return;
            };
            let mut server = TcpStream::connect(upstream).await.unwrap();
            // Either side may disconnect at any time.
            drop(copy_bidirectional(&mut client, &mut server).await);
        });
    }
}
