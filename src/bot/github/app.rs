//! Authentication as a GitHub App: a JWT (RS256) that the app signs itself is exchanged for an installation token,
//! which is valid for an hour.

use std::collections::HashMap;
use std::sync::Mutex;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use serde_json::json;
use ureq::http::Method;
use ureq::tls::{PemItem, parse_pem};

use super::super::error::StepError;
use super::super::secret::Secret;
use super::super::work::Moment;
use super::api::client;

/// Tolerated clock skew, in seconds.
const DRIFT: Moment = 60;
/// Lifetime of a JWT in seconds; GitHub rejects more than ten minutes.
const HOLDS: Moment = 540;
/// A token that expires within this many milliseconds is not used any more.
const SOON: Moment = 300_000;
/// Lifetime of an installation token in milliseconds.
const HOUR: Moment = 3_600_000;

/// Installation tokens and when they expire.
#[derive(Debug, Default)]
pub struct Installations(Mutex<HashMap<u64, (Secret, Moment)>>);

impl Installations {
    /// The token of `installation`, requested with the app's JWT unless a valid one is known.
    pub fn token(&self, api: &str, jwt: &str, installation: u64, now: Moment) -> Result<Secret, StepError> {
        let known = || self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some((token, ends)) = known().get(&installation)
            && *ends > now + SOON
        {
            return Ok(token.clone());
        }
        let url = format!("{api}/app/installations/{installation}/access_tokens");
        let answer = client(jwt)?.send(&Method::POST, &url, None)?;
        let token = answer["token"].as_str().ok_or_else(|| StepError::temporary("an installation without a token"))?;
        let token = Secret::new(token);
        known().insert(installation, (token.clone(), now + HOUR));
        Ok(token)
    }

    /// Forgets all tokens after one was refused.
    pub fn forget(&self) {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clear();
    }
}

/// The JWT of the app `id`, signed with its private `key`, PKCS#1 (as GitHub issues it) or PKCS#8.
pub fn jwt(id: &str, key: &Secret, now: Moment) -> Result<String, StepError> {
    let unfit = || StepError::temporary("the app's private key is no RSA key in PEM");
    let pair = parse_pem(key.expose().as_bytes()).find_map(|item| match item {
        Ok(PemItem::PrivateKey(key)) => {
            RsaKeyPair::from_der(key.der()).or_else(|_| RsaKeyPair::from_pkcs8(key.der())).ok()
        }
        _ => None,
    });
    let pair = pair.ok_or_else(unfit)?;
    let seconds = now / 1000;
    let part = |value: serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let head = part(json!({ "alg": "RS256", "typ": "JWT" }));
    let claims = part(json!({ "iat": seconds - DRIFT, "exp": seconds + HOLDS, "iss": id }));
    let signed = format!("{head}.{claims}");
    let mut signature = vec![0; pair.public().modulus_len()];
    pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), signed.as_bytes(), &mut signature).map_err(|_| unfit())?;
    Ok(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
}
