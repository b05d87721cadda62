//! Signing in at a provider: the browser comes back to this computer, and the keychain has what lasts.

use std::sync::Arc;

use axum::Router;
use axum::routing::post;
use secrecy::ExposeSecret;
use unavez::app::{AppOptions, SignInTo, sign_in};
use unavez::config;
use unavez::domain::ports::Secrets;
use unavez::runtime::secrets::MemorySecrets;
use unavez::store::DataFolder;

use crate::support::daemon::Place;

/// A token endpoint that wants the code and the proof of who asked for it.
async fn provider() -> String {
    let answer = |form: String| async move {
        let good = form.contains("code=good") && form.contains("code_verifier=") && form.contains("client_id=desk");
        let token = r#"{"access_token":"short","token_type":"Bearer","expires_in":3600,"refresh_token":"lasting-one"}"#;
        let body = if good { token } else { r#"{"error":"invalid_grant"}"# };
        ([("content-type", "application/json")], body)
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, Router::new().route("/token", post(answer))).await.unwrap() });
    url
}

/// The person agrees on the provider's page, which sends the browser back.
fn agree(page: &str, scope: &str) {
    let page = reqwest::Url::parse(page).unwrap();
    let value = |name: &str| page.query_pairs().find(|(key, _)| key == name).unwrap().1.into_owned();
    assert!(value("scope").split(' ').any(|one| one == scope), "{page}");
    let back = format!("{}?code=good&state={}", value("redirect_uri"), value("state"));
    tokio::spawn(async move { reqwest::get(back).await.unwrap() });
}

#[tokio::test]
async fn signing_in_puts_the_lasting_token_into_the_keychain() {
    let url = provider().await;
    let keys = format!("auth_url = \"{url}\"\ntoken_url = \"{url}\"\nclient_id = \"desk\"\n");
    let place = Place::new(&format!(
        "[mail]\nbackend = \"gmail\"\nfrom = \"me@gmail.com\"\n[mail.oauth]\n{keys}[calendar]\nbackend = \"google\"\n[calendar.google]\n{keys}"
    ));
    let places = config::find(Some(place.config()), Some(place.data())).unwrap();
    let keychain = Arc::new(MemorySecrets::default());
    let folder = DataFolder::open(place.data()).unwrap();
    let mut options = AppOptions::new(config::load(&places).unwrap(), place.config(), folder);
    options.ports.keychain = Some(keychain.clone());
    for (to, name, scope) in [
        (SignInTo::Mail, "mail.oauth.refresh_token", "https://mail.google.com/"),
        (SignInTo::Calendar, "calendar.google.refresh_token", "https://www.googleapis.com/auth/calendar.events"),
    ] {
        assert!(keychain.get(name).await.is_err());
        sign_in(&options, to, |page| agree(page, scope)).await.unwrap();
        assert_eq!(keychain.get(name).await.unwrap().expose_secret(), "lasting-one");
    }
}

#[test]
fn what_cannot_be_signed_in_says_what_is_missing() {
    let place = Place::new("");
    let output = place.run(&["sign-in", "mail"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(1) && said.contains("mail.oauth.client_id"), "{said}");
    place.configure("[calendar.google]\nclient_id = \"desk\"\nrefresh_token = { env = \"TOKEN\" }\n");
    let output = place.run(&["sign-in", "calendar"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(1) && said.contains("calendar.google.refresh_token"), "{said}");
}
