//! The server's encryption key, in a file that only its owner may read.
//!
//! It signs links and encrypts secrets. It is created on first use and excluded from backups by
//! default: a copy of the catalog alone reveals no secret.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305, XNonce};
use hmac::{Hmac, Mac};
use ratchet_core::secret::Secret;
use sha2::Sha256;
use subtle::ConstantTimeEq;

use crate::{StoreError, StoreResult, private_files};

/// File name of the key.
pub const SECRET_FILE: &str = "secret.key";

const KEY_BYTES: usize = 32;
const NONCE_BYTES: usize = 24;
/// Block size of SHA-256, and the key length of HMAC.
const BLOCK_BYTES: usize = 64;

/// Signs links and encrypts secrets.
#[derive(Clone)]
pub struct Secrets {
    file: Arc<Path>,
    key: Arc<Mutex<Option<[u8; KEY_BYTES]>>>,
}

/// Purpose of a derived key: one key never serves two purposes.
#[derive(Clone, Copy)]
enum Use {
    Links,
    Texts,
}

impl Secrets {
    /// The key file need not exist yet.
    pub(crate) fn new(folder: &Path) -> Self {
        Self { file: folder.join(SECRET_FILE).into(), key: Arc::default() }
    }

    /// Signs a text with HMAC.
    ///
    /// # Errors
    /// Fails if the key cannot be read or created.
    pub fn sign(&self, text: &str) -> StoreResult<String> {
        Ok(URL_SAFE_NO_PAD.encode(mac(&self.derived(Use::Links)?, text.as_bytes())))
    }

    /// Verifies a signature in constant time.
    ///
    /// # Errors
    /// Fails if the key cannot be read or created.
    pub fn is_signed(&self, text: &str, signature: &str) -> StoreResult<bool> {
        Ok(self.sign(text)?.as_bytes().ct_eq(signature.as_bytes()).into())
    }

    /// Encrypts a secret, bound to its owner as associated data.
    ///
    /// # Errors
    /// Fails if the key cannot be read or created.
    pub fn seal(&self, secret: &Secret, owner: &str) -> StoreResult<String> {
        let nonce: [u8; NONCE_BYTES] = random()?;
        let payload = Payload { msg: secret.expose().as_bytes(), aad: owner.as_bytes() };
        let sealed = self.cipher()?.encrypt(&XNonce::from(nonce), payload);
        let sealed =
            sealed.map_err(|_| StoreError::BadQuery("the secret is too long".to_owned()))?;
        Ok(URL_SAFE_NO_PAD.encode([nonce.as_slice(), &sealed].concat()))
    }

    /// Decrypts a secret.
    ///
    /// # Errors
    /// Fails if it was encrypted with another key, or for another owner.
    pub fn open(&self, sealed: &str, owner: &str) -> StoreResult<Secret> {
        let unreadable = || StoreError::Sealed(self.file.to_path_buf());
        let bytes = URL_SAFE_NO_PAD.decode(sealed).map_err(|_| unreadable())?;
        let (nonce, sealed) = bytes.split_first_chunk::<NONCE_BYTES>().ok_or_else(unreadable)?;
        let payload = Payload { msg: sealed, aad: owner.as_bytes() };
        let opened = self.cipher()?.decrypt(&XNonce::from(*nonce), payload);
        let text = opened.ok().and_then(|bytes| String::from_utf8(bytes).ok());
        text.map(Secret::new).ok_or_else(unreadable)
    }

    fn cipher(&self) -> StoreResult<XChaCha20Poly1305> {
        Ok(XChaCha20Poly1305::new(&self.derived(Use::Texts)?.into()))
    }

    fn derived(&self, purpose: Use) -> StoreResult<[u8; KEY_BYTES]> {
        let label: &[u8] = match purpose {
            Use::Links => b"ratchet: signed links",
            Use::Texts => b"ratchet: sealed texts",
        };
        Ok(mac(&self.key()?, label))
    }

    fn key(&self) -> StoreResult<[u8; KEY_BYTES]> {
        let mut known = self.key.lock().map_err(|_| StoreError::Closing)?;
        if let Some(key) = *known {
            return Ok(key);
        }
        let key = match read(&self.file)? {
            Some(key) => key,
            None => make(&self.file)?,
        };
        *known = Some(key);
        Ok(key)
    }
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Secrets").field("file", &self.file).finish_non_exhaustive()
    }
}

fn mac(key: &[u8; KEY_BYTES], text: &[u8]) -> [u8; KEY_BYTES] {
    // HMAC pads a short key with zeros.
    let mut block = [0; BLOCK_BYTES];
    block[..KEY_BYTES].copy_from_slice(key);
    let mut mac = <Hmac<Sha256> as KeyInit>::new(&block.into());
    mac.update(text);
    mac.finalize().into_bytes().into()
}

/// A new random token of 256 bits, safe in URLs and cookies.
///
/// # Errors
/// Fails if the system has no randomness.
pub fn random_token() -> StoreResult<Secret> {
    Ok(Secret::new(URL_SAFE_NO_PAD.encode(random::<KEY_BYTES>()?)))
}

fn random<const N: usize>() -> StoreResult<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| StoreError::Random(error.to_string()))?;
    Ok(bytes)
}

fn read(file: &Path) -> StoreResult<Option<[u8; KEY_BYTES]>> {
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(failed("read", file)(source)),
    };
    let bytes = URL_SAFE_NO_PAD.decode(text.trim()).ok();
    let key = bytes.and_then(|bytes| <[u8; KEY_BYTES]>::try_from(bytes).ok());
    let what = || "it does not contain 32 bytes in base64".to_owned();
    key.map(Some).ok_or_else(|| StoreError::Corrupt { file: file.to_owned(), what: what() })
}

/// Writes a new key to a temporary file and renames it, readable by its owner only.
fn make(file: &Path) -> StoreResult<[u8; KEY_BYTES]> {
    let key = random()?;
    let mut partial = file.as_os_str().to_owned();
    partial.push(".new");
    let partial = PathBuf::from(partial);
    let write = || -> io::Result<()> {
        let mut options = private_files::options();
        let mut new = options.write(true).create(true).truncate(true).open(&partial)?;
        new.write_all(URL_SAFE_NO_PAD.encode(key).as_bytes())?;
        new.sync_all()?;
        fs::rename(&partial, file)?;
        File::open(file.parent().unwrap_or(Path::new(".")))?.sync_all()
    };
    write().map_err(failed("make", file))?;
    Ok(key)
}

fn failed(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.to_owned();
    move |source| match source.kind() {
        io::ErrorKind::StorageFull => StoreError::DiskFull,
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
            StoreError::ReadOnly(path)
        }
        _ => StoreError::File { what, path, source },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_key_is_made_once_and_for_its_owner_only() {
        let folder = tempfile::tempdir().unwrap();
        let signature = Secrets::new(folder.path()).sign("a").unwrap();
        let mode = fs::metadata(folder.path().join(SECRET_FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let again = Secrets::new(folder.path());
        assert!(again.is_signed("a", &signature).unwrap());
        assert!(!again.is_signed("b", &signature).unwrap());
        assert!(!again.is_signed("a", "").unwrap());
    }

    #[test]
    fn a_sealed_secret_opens_for_its_owner_and_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let secrets = Secrets::new(folder.path());
        let sealed = secrets.seal(&Secret::new("sk-1"), "shop/openai").unwrap();
        assert!(!sealed.contains("sk-1"));
        assert_ne!(sealed, secrets.seal(&Secret::new("sk-1"), "shop/openai").unwrap());
        assert_eq!(secrets.open(&sealed, "shop/openai").unwrap().expose(), "sk-1");
        for (text, owner) in [(sealed.as_str(), "other/openai"), ("", "shop/openai"), ("%", "a")] {
            assert!(matches!(secrets.open(text, owner), Err(StoreError::Sealed(_))), "{owner}");
        }
        let elsewhere = tempfile::tempdir().unwrap();
        let stranger = Secrets::new(elsewhere.path()).open(&sealed, "shop/openai");
        assert!(stranger.unwrap_err().to_string().contains("secret.key"));
    }

    #[test]
    fn a_damaged_key_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(SECRET_FILE), "short").unwrap();
        let refused = Secrets::new(folder.path()).sign("a");
        assert!(matches!(refused, Err(StoreError::Corrupt { .. })));
    }
}
