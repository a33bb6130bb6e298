use ring::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::agreement::{ECDH_P256, EphemeralPrivateKey, UnparsedPublicKey, agree_ephemeral};
use ring::error::Unspecified;
use ring::hkdf::{HKDF_SHA256, KeyType, Salt};
use ring::rand::SecureRandom;

use super::{AUTH_BYTES, POINT_BYTES, PushError};

/// The record size, which is also the maximum that push services must accept.
const RECORD_BYTES: u32 = 4_096;
const SALT_BYTES: usize = 16;
/// The header: salt, record size, key length, key.
const HEADER_BYTES: usize = SALT_BYTES + 4 + 1 + POINT_BYTES;
/// The delimiter of the last record.
const END: u8 = 2;
/// The maximum length of a message.
pub const MAX_BYTES: usize = RECORD_BYTES as usize - HEADER_BYTES - 16 - 1;

/// Output length of a key derivation.
struct Bytes(usize);

impl KeyType for Bytes {
    fn len(&self) -> usize {
        self.0
    }
}

/// Encrypts a message for a browser's public key and authentication secret (RFC 8291).
///
/// Randomness is an argument: first for the salt, then for the ephemeral key.
///
/// # Errors
/// Fails if the message is too long or the point is not on the curve.
pub fn seal(
    browser: &[u8; POINT_BYTES],
    auth: &[u8; AUTH_BYTES],
    message: &[u8],
    random: &dyn SecureRandom,
) -> Result<Vec<u8>, PushError> {
    if message.len() > MAX_BYTES {
        return Err(PushError::Length);
    }
    let mut salt = [0; SALT_BYTES];
    random.fill(&mut salt).map_err(|_| PushError::Keys)?;
    let once = EphemeralPrivateKey::generate(&ECDH_P256, random).map_err(|_| PushError::Keys)?;
    let ours = once.compute_public_key().map_err(|_| PushError::Keys)?;
    let ours: [u8; POINT_BYTES] = ours.as_ref().try_into().map_err(|_| PushError::Keys)?;
    let theirs = UnparsedPublicKey::new(&ECDH_P256, browser);
    let keys = agree_ephemeral(once, &theirs, |shared| {
        MessageKeys::derive(shared, auth, (browser, &ours), &salt)
    });
    let keys = keys.and_then(|keys| keys).map_err(|_| PushError::Keys)?;
    let mut record = message.to_vec();
    record.push(END);
    keys.encrypt(&mut record).map_err(|_| PushError::Keys)?;
    let mut sealed = salt.to_vec();
    sealed.extend(RECORD_BYTES.to_be_bytes());
    sealed.push(65);
    sealed.extend(ours);
    sealed.extend(record);
    Ok(sealed)
}

struct MessageKeys {
    key: [u8; 16],
    nonce: [u8; 12],
}

impl MessageKeys {
    /// Derives content key and nonce from the shared secret.
    fn derive(
        shared: &[u8],
        auth: &[u8; AUTH_BYTES],
        (browser, ours): (&[u8; POINT_BYTES], &[u8; POINT_BYTES]),
        salt: &[u8; SALT_BYTES],
    ) -> Result<Self, Unspecified> {
        let mut both = [0; 32];
        let secret = Salt::new(HKDF_SHA256, auth).extract(shared);
        let info: [&[u8]; 3] = [b"WebPush: info\0", browser, ours];
        secret.expand(&info, Bytes(32))?.fill(&mut both)?;
        let message = Salt::new(HKDF_SHA256, salt).extract(&both);
        let (mut key, mut nonce) = ([0; 16], [0; 12]);
        message.expand(&[b"Content-Encoding: aes128gcm\0"], Bytes(16))?.fill(&mut key)?;
        message.expand(&[b"Content-Encoding: nonce\0"], Bytes(12))?.fill(&mut nonce)?;
        Ok(Self { key, nonce })
    }

    fn encrypt(self, record: &mut Vec<u8>) -> Result<(), Unspecified> {
        let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &self.key)?);
        let nonce = Nonce::assume_unique_for_key(self.nonce);
        key.seal_in_place_append_tag(nonce, Aad::empty(), record)
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;

    use super::*;

    fn bytes<const N: usize>(text: &str) -> [u8; N] {
        URL_SAFE_NO_PAD.decode(text).unwrap().try_into().unwrap()
    }

    #[test]
    #[expect(deprecated, reason = "the only way to a key that is known beforehand")]
    fn the_example_of_the_rfc_comes_out() {
        let salt: [u8; SALT_BYTES] = bytes("DGv6ra1nlYgDCS1FRnbzlw");
        let private: [u8; 32] = bytes("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw");
        let chance = ring::test::rand::FixedSliceSequenceRandom {
            bytes: &[&salt, &private],
            current: std::cell::UnsafeCell::new(0),
        };
        let browser = bytes(concat!(
            "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcx",
            "aOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
        ));
        let auth = bytes("BTBZMqHH6r4Tts7J_aSIgg");
        let message = b"When I grow up, I want to be a watermelon";
        let sealed = seal(&browser, &auth, message, &chance).unwrap();
        let expected = concat!(
            "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27ml",
            "mlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPT",
            "pK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
        );
        assert_eq!(URL_SAFE_NO_PAD.encode(sealed), expected);
    }

    #[test]
    fn what_fits_is_what_push_services_take() {
        let random = ring::rand::SystemRandom::new();
        let browser = bytes(concat!(
            "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcx",
            "aOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
        ));
        let sealed = |length| seal(&browser, &[7; AUTH_BYTES], &vec![b'x'; length], &random);
        assert_eq!(sealed(MAX_BYTES).unwrap().len(), RECORD_BYTES as usize);
        assert_eq!(sealed(MAX_BYTES + 1), Err(PushError::Length));
    }
}
