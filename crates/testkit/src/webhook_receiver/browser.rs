use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::agreement::{ECDH_P256, EphemeralPrivateKey, UnparsedPublicKey, agree_ephemeral};
use ring::hkdf::{HKDF_SHA256, KeyType, Salt};
use ring::signature::{self, ECDSA_P256_SHA256_FIXED};
use serde_json::Value;

use super::ReceivedMessage;

/// A browser with its own key, which decrypts its push messages.
#[derive(Clone, Debug)]
pub struct FakeBrowser {
    private: [u8; 32],
    auth: [u8; 16],
}

struct Length(usize);

impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

impl FakeBrowser {
    /// One of many browsers.
    pub fn new(number: u8) -> Self {
        Self { private: [number.wrapping_add(1); 32], auth: [number; 16] }
    }

    /// The keys of its subscription: public key and authentication secret.
    pub fn keys(&self) -> (String, String) {
        let point = self.key().compute_public_key().unwrap();
        (URL_SAFE_NO_PAD.encode(point), URL_SAFE_NO_PAD.encode(self.auth))
    }

    /// The same key again: the library's keys can be used once.
    #[expect(deprecated, reason = "the only way to a key that is known beforehand")]
    fn key(&self) -> EphemeralPrivateKey {
        let chance = ring::test::rand::FixedSliceRandom { bytes: &self.private };
        EphemeralPrivateKey::generate(&ECDH_P256, &chance).unwrap()
    }

    /// Decrypts a message by RFC 8291.
    ///
    /// # Panics
    /// If it is not for this browser.
    pub fn read(&self, letter: &ReceivedMessage) -> Value {
        assert_eq!(letter.header("content-encoding"), "aes128gcm");
        let (salt, rest) = letter.body.split_at(16);
        assert_eq!(rest[..5], [0, 0, 16, 0, 65], "records of 4096 bytes, a key of 65");
        let (sender, sealed) = rest[5..].split_at(65);
        let own = self.key();
        let point = own.compute_public_key().unwrap();
        let theirs = UnparsedPublicKey::new(&ECDH_P256, sender);
        let both = agree_ephemeral(own, &theirs, |shared| {
            let info: [&[u8]; 3] = [b"WebPush: info\0", point.as_ref(), sender];
            expand::<32>(&self.auth, shared, &info)
        });
        let both = both.unwrap();
        let key = expand::<16>(salt, &both, &[b"Content-Encoding: aes128gcm\0"]);
        let nonce = expand::<12>(salt, &both, &[b"Content-Encoding: nonce\0"]);
        let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &key).unwrap());
        let mut record = sealed.to_vec();
        let nonce = Nonce::assume_unique_for_key(nonce);
        let recorded = key.open_in_place(nonce, Aad::empty(), &mut record).unwrap();
        let (end, recorded) = recorded.split_last().unwrap();
        assert_eq!(*end, 2, "the last record");
        serde_json::from_slice(recorded).unwrap()
    }

    /// Verifies the sender of a message like a push service, and returns the claims.
    ///
    /// # Panics
    /// If the signature is not by this public key.
    pub fn verified_claims(letter: &ReceivedMessage, public: &str) -> Value {
        let said = letter.header("authorization").strip_prefix("vapid t=").unwrap();
        let (token, key) = said.split_once(", k=").unwrap();
        assert_eq!(key, public);
        let (said, signature) = token.rsplit_once('.').unwrap();
        let bytes = |text: &str| URL_SAFE_NO_PAD.decode(text).unwrap();
        let key = signature::UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, bytes(key));
        key.verify(said.as_bytes(), &bytes(signature)).unwrap();
        let (header, claims) = said.split_once('.').unwrap();
        let header: Value = serde_json::from_slice(&bytes(header)).unwrap();
        assert_eq!(header["alg"], "ES256");
        serde_json::from_slice(&bytes(claims)).unwrap()
    }
}

fn expand<const N: usize>(salt: &[u8], secret: &[u8], info: &[&[u8]]) -> [u8; N] {
    let mut out = [0; N];
    let secret = Salt::new(HKDF_SHA256, salt).extract(secret);
    secret.expand(info, Length(N)).unwrap().fill(&mut out).unwrap();
    out
}
