//! The token of the local API: made at the first start if there is none, and said where it is.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::domain::ports::{IdSource, SecretError, Secrets};
use crate::runtime::secrets::{KEYCHAIN_SERVICE, Secret, SecretRef};
use crate::store::{DataFolder, StoreError, secure_file};

/// Name of the file in the data folder that holds the token where there is no keychain.
const FILE: &str = "http-token";

/// A token that can be read, and what a person must be told about it.
pub(super) struct Token {
    pub(super) secret: Secret,
    pub(super) notes: Vec<String>,
}

pub(super) fn file(folder: &DataFolder) -> PathBuf {
    folder.path().join(FILE)
}

/// Finds the token, or makes one: in the keychain, else in a file of mode 0600.
pub(super) async fn ready(
    configured: Secret,
    reference: &SecretRef,
    keychain: &Arc<dyn Secrets>,
    folder: &DataFolder,
    ids: &dyn IdSource,
) -> Result<Token, StoreError> {
    let path = file(folder);
    let in_file = || Secret::new("http.token", SecretRef::File(path.clone()), keychain.clone());
    if *reference != SecretRef::Keychain {
        // A variable or a file that is missing is the configuration's business: every request says so.
        return Ok(Token { secret: configured, notes: Vec::new() });
    }
    match configured.read().await {
        Ok(_) => Ok(Token { secret: configured, notes: Vec::new() }),
        Err(SecretError::Missing { .. }) if !path.exists() => {
            let token = format!("{}{}", ids.token(), ids.token());
            match keychain.set("http.token", token.clone().into()).await {
                Ok(()) => {
                    let note = format!(
                        "The token of the local API was made and is in the keychain (service {KEYCHAIN_SERVICE}, user http.token)."
                    );
                    Ok(Token { secret: configured, notes: vec![note] })
                }
                Err(error) => {
                    without_keychain(&path, &token, &error).map(|note| Token { secret: in_file(), notes: vec![note] })
                }
            }
        }
        Err(_) if path.exists() => Ok(Token { secret: in_file(), notes: vec![kept_in(&path)] }),
        Err(error) => {
            let token = format!("{}{}", ids.token(), ids.token());
            without_keychain(&path, &token, &error).map(|note| Token { secret: in_file(), notes: vec![note] })
        }
    }
}

fn kept_in(path: &Path) -> String {
    format!("The token of the local API is in {} (readable by you only).", path.display())
}

fn without_keychain(path: &Path, token: &str, error: &SecretError) -> Result<String, StoreError> {
    secure_file(path)?;
    let io = |source| StoreError::Io { context: format!("cannot write {}", path.display()), source };
    let mut file = std::fs::File::options().write(true).truncate(true).open(path).map_err(io)?;
    file.write_all(token.as_bytes()).and_then(|()| file.sync_all()).map_err(io)?;
    Ok(format!(
        "The token of the local API could not be kept in the keychain ({error}). It was made and written to {} (readable \
         by you only). To choose another place, set http.token in the configuration.",
        path.display()
    ))
}
