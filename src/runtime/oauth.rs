//! Signing in by OAuth 2: access tokens from a refresh token, and the first sign-in with PKCE on a loopback port (RFC 8252).
//!
//! In: the client of a provider and where its refresh token is kept. Out: access tokens, renewed when they run out.
//! Invariants: the authorisation code arrives on a port of this computer only, with the `state` that was sent; tokens are
//! masked in logs; a refused refresh token is told apart from a server that cannot be reached.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use oauth2::basic::{BasicClient, BasicErrorResponseType, BasicTokenResponse};
use oauth2::{
    AuthUrl, AuthorizationCode, ClientId, ClientSecret, CsrfToken, EndpointNotSet, EndpointSet, HttpRequest,
    HttpResponse, PkceCodeChallenge, RedirectUrl, RefreshToken, RequestTokenError, Scope, TokenResponse, TokenUrl,
};
use secrecy::{ExposeSecret, SecretString};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;

use super::redact::{redact, remember_secret};
use crate::domain::ports::{Clock, SecretError, Secrets};
use crate::domain::time::Elapsed;

/// A token is renewed this long before it runs out.
const MARGIN: Duration = Duration::from_secs(60);
/// For a provider that does not say how long its token lives (RFC 6749 5.1 only recommends it).
const USUAL_LIFE: Duration = Duration::from_secs(3_600);
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a person may take in the browser.
const SIGN_IN_TIMEOUT: Duration = Duration::from_secs(600);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OAuthError {
    /// There is no refresh token yet.
    #[error("not signed in yet: sign in (`unavezd sign-in`)")]
    NotSignedIn,
    /// The provider will not take this sign-in any more.
    #[error("the sign-in is no longer valid ({reason}): sign in again (`unavezd sign-in`)")]
    Refused { reason: String },
    #[error("the sign-in server cannot be reached: {reason}")]
    Unavailable { reason: String },
    #[error("{reason}")]
    Settings { reason: String },
}

/// One client at one provider.
#[derive(Clone, Debug, Default)]
pub struct OAuthSettings {
    /// An address, or only the host: then Google's usual path is added.
    pub auth_url: String,
    pub token_url: String,
    pub client_id: String,
    pub scopes: Vec<String>,
}

/// Names under which the secrets of one client are kept: the dotted configuration keys.
#[derive(Clone, Debug)]
pub struct OAuthSecrets {
    /// Need not exist.
    pub client_secret: String,
    pub refresh_token: String,
}

/// Gives access tokens; one per account.
pub struct OAuthClient {
    settings: OAuthSettings,
    secrets: Arc<dyn Secrets>,
    names: OAuthSecrets,
    clock: Arc<dyn Clock>,
    http: reqwest::Client,
    current: Mutex<Current>,
}

/// What is known without asking.
#[derive(Default)]
struct Current {
    access: Option<(SecretString, Elapsed)>,
    /// Given by the provider in place of a refresh token that we cannot write (one from the environment).
    rotated: Option<SecretString>,
}

type Client = BasicClient<EndpointSet, EndpointNotSet, EndpointNotSet, EndpointNotSet, EndpointSet>;
type TokenError = RequestTokenError<reqwest::Error, oauth2::basic::BasicErrorResponse>;

impl OAuthClient {
    pub fn new(
        settings: OAuthSettings,
        secrets: Arc<dyn Secrets>,
        names: OAuthSecrets,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, OAuthError> {
        super::tls::install_provider();
        let http = reqwest::Client::builder()
            // A token must not follow a redirect to another host.
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .timeout(REQUEST_TIMEOUT)
            .build()
            .map_err(|error| OAuthError::Settings { reason: error.to_string() })?;
        Ok(Self { settings, secrets, names, clock, http, current: Mutex::default() })
    }

    /// A token that is good for at least a minute.
    pub async fn access_token(&self) -> Result<SecretString, OAuthError> {
        let mut current = self.current.lock().await;
        if let Some((token, until)) = &current.access
            && self.clock.now().elapsed < *until
        {
            return Ok(token.clone());
        }
        let refresh = match (&current.rotated, self.secrets.get(&self.names.refresh_token).await) {
            (Some(token), _) => RefreshToken::new(token.expose_secret().to_owned()),
            (None, Ok(token)) => RefreshToken::new(token.expose_secret().to_owned()),
            (None, Err(SecretError::Missing { .. })) => return Err(OAuthError::NotSignedIn),
            (None, Err(error)) => return Err(OAuthError::Settings { reason: error.to_string() }),
        };
        let client = self.client().await?;
        let answer = client.exchange_refresh_token(&refresh).request_async(&sending(&self.http)).await;
        let token = self.keep(answer.map_err(failure)?, &mut current).await?;
        Ok(token)
    }

    /// The provider refused the current token before its time: the next call gets a new one.
    pub async fn forget(&self) {
        self.current.lock().await.access = None;
    }

    /// Signs in: `open` shows the address in a browser; the answer comes to a port of this computer.
    pub async fn sign_in(&self, open: impl FnOnce(&str) + Send) -> Result<(), OAuthError> {
        let io = |error: std::io::Error| OAuthError::Settings { reason: format!("no port for the answer: {error}") };
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(io)?;
        let address = format!("http://{}/", listener.local_addr().map_err(io)?);
        let redirect = RedirectUrl::new(address).map_err(settings_error)?;
        let client = self.client().await?.set_redirect_uri(redirect);
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let (url, state) = client
            .authorize_url(CsrfToken::new_random)
            .add_scopes(self.settings.scopes.iter().cloned().map(Scope::new))
            .add_extra_param("access_type", "offline")
            .add_extra_param("prompt", "consent")
            .set_pkce_challenge(challenge)
            .url();
        open(url.as_str());
        let answer = tokio::time::timeout(SIGN_IN_TIMEOUT, wait_for_code(&listener, state.secret()));
        let code =
            answer.await.map_err(|_| OAuthError::Refused { reason: "nobody signed in within 10 minutes".into() })??;
        let answer = client
            .exchange_code(AuthorizationCode::new(code))
            .set_pkce_verifier(verifier)
            .request_async(&sending(&self.http))
            .await
            .map_err(failure)?;
        if answer.refresh_token().is_none() {
            return Err(OAuthError::Refused { reason: "the provider gave no lasting sign-in".into() });
        }
        let mut current = self.current.lock().await;
        self.keep(answer, &mut current).await?;
        match current.rotated {
            None => Ok(()),
            Some(_) => {
                let reason = "signed in, but the keychain did not keep it: it holds until this program ends";
                Err(OAuthError::Settings { reason: reason.to_owned() })
            }
        }
    }

    async fn client(&self) -> Result<Client, OAuthError> {
        let mut client = BasicClient::new(ClientId::new(self.settings.client_id.clone()));
        match self.secrets.get(&self.names.client_secret).await {
            Ok(secret) => client = client.set_client_secret(ClientSecret::new(secret.expose_secret().to_owned())),
            Err(SecretError::Missing { .. }) => {}
            Err(error) => return Err(OAuthError::Settings { reason: error.to_string() }),
        }
        let auth = AuthUrl::new(with_path(&self.settings.auth_url, "/o/oauth2/v2/auth")).map_err(settings_error)?;
        let token = TokenUrl::new(with_path(&self.settings.token_url, "/token")).map_err(settings_error)?;
        Ok(client.set_auth_uri(auth).set_token_uri(token))
    }

    async fn keep(&self, answer: BasicTokenResponse, current: &mut Current) -> Result<SecretString, OAuthError> {
        if let Some(refresh) = answer.refresh_token() {
            remember_secret(refresh.secret());
            // A rotated refresh token replaces the old one, which is void from now on.
            let rotated = SecretString::from(refresh.secret().clone());
            current.rotated = match self.secrets.set(&self.names.refresh_token, rotated.clone()).await {
                Ok(()) => None,
                Err(error) => {
                    tracing::warn!(%error, "a new refresh token is kept until the program ends only");
                    Some(rotated)
                }
            };
        }
        let token = SecretString::from(answer.access_token().secret().clone());
        remember_secret(token.expose_secret());
        let life = answer.expires_in().unwrap_or(USUAL_LIFE).saturating_sub(MARGIN);
        current.access = Some((token.clone(), self.clock.now().elapsed.plus(life)));
        Ok(token)
    }
}

type Sending = Pin<Box<dyn Future<Output = Result<HttpResponse, reqwest::Error>> + Send>>;

/// What the OAuth library sends its requests with.
fn sending(http: &reqwest::Client) -> impl Fn(HttpRequest) -> Sending + Send + Sync + 'static {
    let http = http.clone();
    move |request| {
        let http = http.clone();
        Box::pin(async move {
            let response = http.execute(request.try_into()?).await?;
            let (status, headers) = (response.status(), response.headers().clone());
            let mut answer = HttpResponse::new(response.bytes().await?.to_vec());
            *answer.status_mut() = status;
            *answer.headers_mut() = headers;
            Ok(answer)
        })
    }
}

fn settings_error(error: impl std::fmt::Display) -> OAuthError {
    OAuthError::Settings { reason: format!("the sign-in address is not valid: {error}") }
}

fn failure(error: TokenError) -> OAuthError {
    match error {
        RequestTokenError::ServerResponse(answer) => {
            let mut reason = answer.error().as_ref().to_owned();
            if let Some(words) = answer.error_description() {
                reason = format!("{reason}: {}", redact(words));
            }
            match answer.error() {
                BasicErrorResponseType::Extension(kind)
                    if matches!(kind.as_str(), "temporarily_unavailable" | "server_error") =>
                {
                    OAuthError::Unavailable { reason }
                }
                BasicErrorResponseType::Extension(_)
                | BasicErrorResponseType::InvalidClient
                | BasicErrorResponseType::InvalidGrant
                | BasicErrorResponseType::InvalidRequest
                | BasicErrorResponseType::InvalidScope
                | BasicErrorResponseType::UnauthorizedClient
                | BasicErrorResponseType::UnsupportedGrantType => OAuthError::Refused { reason },
            }
        }
        RequestTokenError::Request(error) => {
            OAuthError::Unavailable { reason: redact(&error.without_url().to_string()) }
        }
        RequestTokenError::Parse(..) => OAuthError::Unavailable { reason: "its answer could not be read".into() },
        RequestTokenError::Other(words) => OAuthError::Unavailable { reason: redact(&words) },
    }
}

/// `url` itself, or with `path` when it is only a host.
fn with_path(url: &str, path: &str) -> String {
    let bare = url.trim_end_matches('/');
    let is_host = bare.split_once("://").is_some_and(|(_, rest)| !rest.contains('/'));
    if is_host { format!("{bare}{path}") } else { url.to_owned() }
}

/// Serves the loopback port until the browser brings the code with our `state`.
async fn wait_for_code(listener: &TcpListener, state: &str) -> Result<String, OAuthError> {
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        // A browser opens spare connections; one that says nothing must not hold up the one with the answer.
        let request = tokio::time::timeout(Duration::from_secs(5), one_request(stream, state)).await;
        if let Ok(Some(answer)) = request {
            return answer;
        }
    }
}

/// `None`: not the answer we wait for.
async fn one_request(stream: TcpStream, state: &str) -> Option<Result<String, OAuthError>> {
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    stream.read_line(&mut line).await.ok()?;
    let target = line.strip_prefix("GET ")?.split(' ').next()?.to_owned();
    let query = target.split_once('?').map(|(_, query)| query.to_owned()).unwrap_or_default();
    let value = |name: &str| {
        reqwest::Url::parse(&format!("http://localhost/?{query}"))
            .ok()?
            .query_pairs()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.into_owned())
    };
    let answer = match (value("state"), value("code"), value("error")) {
        (Some(given), Some(code), _) if given == state => Some(Ok(code)),
        (Some(given), None, Some(error)) if given == state => Some(Err(OAuthError::Refused { reason: error })),
        _ => None,
    };
    let (status, words) = match &answer {
        Some(Ok(_)) => ("200 OK", "You are signed in. You can close this page."),
        Some(Err(_)) => ("200 OK", "The sign-in was refused. You can close this page."),
        None => ("404 Not Found", "Nothing here."),
    };
    let page = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{words}",
        words.len()
    );
    // silent-ok: the page is a courtesy; the answer is here already.
    let _ = stream.get_mut().write_all(page.as_bytes()).await;
    answer
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use std::sync::Mutex as StdMutex;

    use tokio::io::AsyncReadExt;

    use super::*;
    use crate::domain::time::Wall;
    use crate::runtime::clock::VirtualClock;
    use crate::runtime::secrets::MemorySecrets;

    /// A token server: answers in turn, keeps the forms it got.
    async fn server(answers: Vec<(&'static str, &'static str)>) -> (String, Arc<StdMutex<Vec<String>>>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let forms = Arc::new(StdMutex::new(Vec::new()));
        let kept = forms.clone();
        tokio::spawn(async move {
            for (status, body) in answers {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut request = Vec::new();
                loop {
                    let mut block = [0; 4096];
                    let count = stream.read(&mut block).await.unwrap();
                    request.extend_from_slice(&block[..count]);
                    let text = String::from_utf8_lossy(&request).into_owned();
                    if let Some((head, form)) = text.split_once("\r\n\r\n") {
                        let length = head
                            .to_lowercase()
                            .split("content-length: ")
                            .nth(1)
                            .unwrap()
                            .lines()
                            .next()
                            .unwrap()
                            .parse::<usize>()
                            .unwrap();
                        if form.len() >= length {
                            kept.lock().unwrap().push(form.to_owned());
                            break;
                        }
                    }
                }
                let answer = format!(
                    "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                    body.len()
                );
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        (url, forms)
    }

    fn client(url: &str, refresh: Option<&str>) -> (OAuthClient, VirtualClock) {
        let clock = VirtualClock::starting(Wall(0), Elapsed(0));
        let settings = OAuthSettings {
            auth_url: url.to_owned(),
            token_url: url.to_owned(),
            client_id: "desktop".into(),
            scopes: vec!["mail".into()],
        };
        let secrets = Arc::new(MemorySecrets::with(refresh.map(|token| ("refresh", token))));
        let names = OAuthSecrets { client_secret: "secret".into(), refresh_token: "refresh".into() };
        (OAuthClient::new(settings, secrets, names, Arc::new(clock.clone())).unwrap(), clock)
    }

    #[tokio::test]
    async fn a_token_is_kept_until_a_minute_before_its_end() {
        let first = r#"{"access_token":"token-one","token_type":"Bearer","expires_in":3600}"#;
        let second =
            r#"{"access_token":"token-two","token_type":"Bearer","expires_in":3600,"refresh_token":"rotated-refresh"}"#;
        let third = r#"{"access_token":"token-three","token_type":"Bearer","expires_in":3600}"#;
        let (url, forms) = server(vec![("200 OK", first), ("200 OK", second), ("200 OK", third)]).await;
        let (client, clock) = client(&url, Some("first-refresh"));
        for _ in 0..2 {
            assert_eq!(client.access_token().await.unwrap().expose_secret(), "token-one");
        }
        clock.slept(Duration::from_secs(3_541));
        assert_eq!(client.access_token().await.unwrap().expose_secret(), "token-two");
        client.forget().await;
        assert_eq!(client.access_token().await.unwrap().expose_secret(), "token-three");
        let forms = forms.lock().unwrap();
        assert!(forms[1].contains("refresh_token=first-refresh") && forms[2].contains("refresh_token=rotated-refresh"));
    }

    #[tokio::test]
    async fn a_refusal_is_told_apart_from_an_unreachable_server() {
        let (url, _) = server(vec![
            ("400 Bad Request", r#"{"error":"invalid_grant","error_description":"Token has been revoked"}"#),
            ("503 Unavailable", "<html>busy</html>"),
        ])
        .await;
        let (signed_out, _) = client(&url, Some("old-refresh"));
        assert!(
            matches!(signed_out.access_token().await, Err(OAuthError::Refused { reason }) if reason.contains("revoked"))
        );
        assert!(matches!(signed_out.access_token().await, Err(OAuthError::Unavailable { .. })));
        assert!(matches!(signed_out.access_token().await, Err(OAuthError::Unavailable { .. })), "the server is gone");
        let (new, _) = client(&url, None);
        assert_eq!(new.access_token().await.unwrap_err(), OAuthError::NotSignedIn);
    }

    #[tokio::test]
    async fn signing_in_checks_the_state_and_proves_the_key() {
        let body =
            r#"{"access_token":"token-one","token_type":"Bearer","expires_in":3600,"refresh_token":"new-refresh"}"#;
        let (url, forms) = server(vec![("200 OK", body)]).await;
        let (client, _) = client(&url, Some("old-refresh"));
        let browser = |address: &str| {
            let address = reqwest::Url::parse(address).unwrap();
            let value = |name: &str| address.query_pairs().find(|(key, _)| key == name).unwrap().1.into_owned();
            assert_eq!((address.path(), value("code_challenge_method").as_str()), ("/o/oauth2/v2/auth", "S256"));
            let (redirect, state) = (value("redirect_uri"), value("state"));
            tokio::spawn(async move {
                let port = reqwest::Url::parse(&redirect).unwrap().port().unwrap();
                for query in ["code=stolen&state=forged".to_owned(), format!("code=good%2Fcode&state={state}")] {
                    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
                    stream.write_all(format!("GET /?{query} HTTP/1.1\r\n\r\n").as_bytes()).await.unwrap();
                    let mut page = String::new();
                    stream.read_to_string(&mut page).await.unwrap();
                }
            });
        };
        client.sign_in(browser).await.unwrap();
        assert_eq!(client.access_token().await.unwrap().expose_secret(), "token-one");
        let form = forms.lock().unwrap()[0].clone();
        assert!(form.contains("code=good%2Fcode") && form.contains("code_verifier="), "{form}");
        assert_eq!(client.secrets.get("refresh").await.unwrap().expose_secret(), "new-refresh");
    }
}
