//! A keychain that is absent, locked or gives nothing: the program starts, says which, and goes on once it can.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use secrecy::SecretString;
use serde_json::Value;
use tokio::sync::mpsc;
use unavez::api::{Line, Request};
use unavez::app::{App, AppOptions};
use unavez::config;
use unavez::domain::ports::{SecretError, Secrets};
use unavez::store::DataFolder;

use crate::support::telegram::{TOKEN, TelegramServer};

/// What the keychain does at the moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mood {
    Absent,
    Locked,
    /// An entry without a value.
    Null,
    Open,
}

struct MoodyKeychain {
    mood: Mutex<Mood>,
    deleted: Mutex<Vec<String>>,
}

impl MoodyKeychain {
    fn new(mood: Mood) -> Arc<Self> {
        Arc::new(Self { mood: Mutex::new(mood), deleted: Mutex::default() })
    }

    fn answer(&self, name: &str) -> Result<(), SecretError> {
        match *self.mood.lock().unwrap() {
            Mood::Absent => Err(SecretError::Unavailable { reason: "no service answers".into() }),
            Mood::Locked => Err(SecretError::Locked { reason: "the prompt was dismissed".into() }),
            Mood::Null => Err(SecretError::Empty { name: name.into() }),
            Mood::Open => Ok(()),
        }
    }
}

#[async_trait]
impl Secrets for MoodyKeychain {
    async fn get(&self, name: &str) -> Result<SecretString, SecretError> {
        self.answer(name)?;
        if name == "telegram.token" { Ok(TOKEN.into()) } else { Err(SecretError::Missing { name: name.into() }) }
    }
    async fn set(&self, name: &str, _value: SecretString) -> Result<(), SecretError> {
        self.answer(name)
    }
    async fn delete(&self, name: &str) -> Result<(), SecretError> {
        self.deleted.lock().unwrap().push(name.into());
        self.answer(name)
    }
}

async fn status(app: &App) -> Value {
    let (lines, mut ready) = mpsc::channel(4);
    app.api().answer(Request::Status, lines).await;
    match ready.recv().await.unwrap() {
        Line::Row(row) => row,
        other => panic!("{other:?}"),
    }
}

async fn until(what: &str, app: &App, condition: impl Fn(&Value) -> bool) -> Value {
    for _ in 0..600 {
        let row = status(app).await;
        if condition(&row) {
            return row;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("never: {what}: {}", status(app).await["telegram"]);
}

#[tokio::test]
async fn case_e13_each_state_of_the_keychain_is_told_apart_and_recovers_without_a_restart() {
    for (mood, word) in [(Mood::Absent, "no service answers"), (Mood::Locked, "dismissed"), (Mood::Null, "is empty")] {
        let server = TelegramServer::start().await;
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("config.toml");
        let text = format!("[telegram]\nenabled = true\napi_url = \"{}\"\npoll_timeout = \"1s\"\n", server.url);
        std::fs::write(&file, &text).unwrap();
        let loaded = config::parse(&text, &file).unwrap();
        let folder = DataFolder::open(dir.path().join("data")).unwrap();
        let keychain = MoodyKeychain::new(mood);
        let mut options = AppOptions::new(loaded, file.clone(), folder.clone());
        options.ports.keychain = Some(keychain.clone());
        let mut app = App::open(options).await.unwrap();
        app.start().await.unwrap();

        let row = until("the reason is shown", &app, |row| row["telegram"]["reason"].is_string()).await;
        let reason = row["telegram"]["reason"].as_str().unwrap();
        assert!(reason.contains(word), "{mood:?}: {reason}");
        assert_ne!(row["telegram"]["state"], "receiving");
        if mood != Mood::Null {
            assert_eq!(row["keychain"]["state"], "failing", "{mood:?}");
        }
        // Nothing was forgotten, and no secret was written anywhere by itself.
        assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
        assert!(keychain.deleted.lock().unwrap().is_empty());
        assert!(!folder.path().join("http-token").exists());

        *keychain.mood.lock().unwrap() = Mood::Open;
        until("polling goes on", &app, |row| row["telegram"]["state"] == "receiving").await;
        app.stop().await;
    }
}
