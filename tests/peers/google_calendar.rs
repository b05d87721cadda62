//! The Google edge against myworld, an emulator of Google Calendar that is not ours.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::tz::TimeZone;
use serde_json::{Value, json};
use unavez::calendar::google::{GoogleCalendar, Settings};
use unavez::domain::action::EventChanges;
use unavez::domain::calendar::{EventDraft, EventTime};
use unavez::domain::ports::{Calendar, CalendarError, Secrets};
use unavez::domain::time::{Elapsed, Wall};
use unavez::domain::when;
use unavez::runtime::clock::{BootReading, SystemClock};
use unavez::runtime::oauth::{OAuthClient, OAuthSecrets, OAuthSettings};
use unavez::runtime::secrets::MemorySecrets;

/// The emulator with one empty calendar; stopped when dropped.
struct Peer {
    url: String,
    refresh_token: String,
    access_token: String,
    child: Child,
    _folder: tempfile::TempDir,
}

impl Drop for Peer {
    fn drop(&mut self) {
        // silent-ok: a server that has ended by itself is what is wanted here.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Peer {
    async fn start() -> Option<Self> {
        unavez::runtime::tls::install_provider();
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers/.cache/venv/bin/myworld");
        if !program.exists() {
            println!("SKIPPED myworld: {} is not there; run `make test-peers`", program.display());
            return None;
        }
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let folder = tempfile::tempdir().unwrap();
        let child = Command::new(program)
            .args(["serve", "--port", &port.to_string(), "--time", "realtime", "--no-passthrough"])
            .current_dir(folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let url = format!("http://127.0.0.1:{port}");
        let deadline = Instant::now() + Duration::from_secs(60);
        while tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_err() {
            assert!(Instant::now() < deadline, "myworld does not start");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        let user = json!({ "email": "user@example.com", "name": "User", "timeZone": "Europe/Berlin" });
        let spec = json!({ "name": "desk", "task": "none", "now": "wallclock", "time": "realtime",
            "servers": { "calendar": { "seed": { "user": user } } } });
        let made: Value = reqwest::Client::new()
            .post(format!("{url}/envs"))
            .json(&json!({ "spec": spec, "id": "desk" }))
            .send()
            .await
            .unwrap()
            .json()
            .await
            .unwrap();
        let token =
            |name: &str| made["credentials"]["agent"]["google_authorized_user"][name].as_str().unwrap().to_owned();
        Some(Self { refresh_token: token("refresh_token"), access_token: token("token"), url, child, _folder: folder })
    }

    async fn account(&self) -> GoogleCalendar {
        let clock = Arc::new(SystemClock::starting(Elapsed(0), &BootReading::take()));
        let secrets = Arc::new(MemorySecrets::default());
        secrets.set("refresh", self.refresh_token.clone().into()).await.unwrap();
        secrets.set("secret", "myworld".to_owned().into()).await.unwrap();
        let oauth = OAuthSettings {
            auth_url: "https://accounts.google.com".into(),
            token_url: format!("{}/gw/oauth2.googleapis.com/token", self.url),
            client_id: "myworld.apps.googleusercontent.com".into(),
            scopes: Vec::new(),
        };
        let names = OAuthSecrets { client_secret: "secret".into(), refresh_token: "refresh".into() };
        let oauth = Arc::new(OAuthClient::new(oauth, secrets, names, clock).unwrap());
        let settings = Settings { api_url: format!("{}/gw/www.googleapis.com", self.url), ..Settings::default() };
        GoogleCalendar::new(settings, oauth, TimeZone::get("Europe/Berlin").unwrap()).unwrap()
    }

    /// Another program's call, past everything that is under test.
    async fn raw(&self, method: reqwest::Method, path: &str) -> Value {
        let url = format!("{}/gw/www.googleapis.com/calendar/v3/calendars/primary/events{path}", self.url);
        let answer = reqwest::Client::new().request(method, url).bearer_auth(&self.access_token).send().await.unwrap();
        let text = answer.text().await.unwrap();
        serde_json::from_str(&text).unwrap_or(Value::Null)
    }

    /// Ids of what stands, straight from the server.
    async fn standing(&self) -> Vec<String> {
        let list = self.raw(reqwest::Method::GET, "").await;
        let mut ids: Vec<String> =
            list["items"].as_array().unwrap().iter().map(|event| event["id"].as_str().unwrap().to_owned()).collect();
        ids.sort();
        ids
    }

    async fn fault(&self, kind: &str) {
        let rules = json!([{ "tool": "calendar.events.insert", "kind": kind, "on_call": 1, "hang_s": 1 }]);
        let url = format!("{}/instances/desk-calendar/faults", self.url);
        let answer = reqwest::Client::new().put(url).json(&rules).send().await.unwrap();
        assert!(answer.status().is_success(), "{answer:?}");
    }
}

fn time(text: &str) -> EventTime {
    when::resolve(text, &TimeZone::get("Europe/Berlin").unwrap()).unwrap().time
}

fn wall(text: &str) -> Wall {
    text.parse::<jiff::Timestamp>().unwrap().into()
}

fn draft(id: &str, start: &str) -> EventDraft {
    let start = time(start);
    EventDraft {
        id: id.into(),
        calendar: "primary".into(),
        title: "Dentist".into(),
        end: when::default_end(&start).unwrap(),
        start,
        location: None,
        description: None,
        guests: Vec::new(),
        recurrence: None,
        reminders: Vec::new(),
    }
}

#[tokio::test]
async fn google_holds_each_event_once() {
    let Some(peer) = Peer::start().await else { return };
    let (one, two) = (peer.account().await, peer.account().await);
    assert!(one.calendars().await.unwrap().iter().any(|info| info.id == "primary" && info.writable && info.is_default));

    // Two programs, one id.
    for n in 0..5 {
        let event = draft(&format!("k1race{n}"), "2031-03-10T09:00");
        let (first, second) = tokio::join!(one.create(&event), two.create(&event));
        let created = [&first, &second].iter().filter(|result| result.is_ok()).count();
        let found =
            [&first, &second].iter().filter(|result| matches!(result, Err(CalendarError::Exists { .. }))).count();
        assert_eq!((created, found), (1, 1), "{first:?} {second:?}");
    }
    assert_eq!(peer.standing().await.len(), 5);

    // Stored, and the answer lost.
    peer.fault("timeout_after_commit").await;
    let lost = one.create(&draft("k1lost", "2031-03-11T09:00")).await;
    assert!(matches!(lost, Err(CalendarError::NoAnswer { .. })), "{lost:?}");
    assert_eq!(one.get("primary", "k1lost").await.unwrap().start, time("2031-03-11T09:00"));
    let again = one.create(&draft("k1lost", "2031-03-11T09:00")).await;
    assert!(matches!(again, Err(CalendarError::Exists { .. })), "{again:?}");
    peer.fault("rate_limit").await;
    let limited = one.create(&draft("k1limit", "2031-03-12T09:00")).await;
    assert!(matches!(limited, Err(CalendarError::Unavailable { retry_after: Some(_), .. })), "{limited:?}");
    assert_eq!(peer.standing().await.len(), 6);

    // Deleted by somebody else in between: gone or cancelled, but not done.
    peer.raw(reqwest::Method::DELETE, "/k1lost").await;
    match one.get("primary", "k1lost").await {
        Ok(found) => assert!(found.cancelled, "{found:?}"),
        Err(error) => assert!(matches!(error, CalendarError::NotFound { .. }), "{error:?}"),
    }
    assert_eq!(peer.standing().await.len(), 5);

    // Changes come by token; one that Google no longer knows starts over.
    let all = one.sync("primary", None).await.unwrap();
    let changes = EventChanges { title: Some("Dentist, later".into()), ..EventChanges::default() };
    let moved = one.update("primary", "k1race0", None, &changes, None).await.unwrap();
    assert_eq!(moved.title, "Dentist, later");
    let since = one.sync("primary", all.token.as_deref()).await.unwrap();
    assert_eq!(since.changed.iter().map(|event| event.id.as_str()).collect::<Vec<_>>(), ["k1race0"]);
    let restarted = one.sync("primary", Some("no-token-of-ours")).await.unwrap();
    assert!(restarted.restarted && restarted.changed.len() == 5, "{restarted:?}");
    let stale = one.update("primary", "k1race1", None, &changes, Some("\"old\"")).await;
    assert!(matches!(stale, Err(CalendarError::Changed { .. })), "{stale:?}");
    for n in 0..5 {
        one.delete("primary", &format!("k1race{n}"), None, None).await.unwrap();
    }
    assert_eq!(peer.standing().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_series_at_google_keeps_its_local_time() {
    let Some(peer) = Peer::start().await else { return };
    let account = peer.account().await;
    let series = EventDraft { recurrence: Some("FREQ=WEEKLY;COUNT=4".into()), ..draft("k1team", "2031-03-25T13:00") };
    account.create(&series).await.unwrap();
    let (from, to) = (wall("2031-03-20T00:00:00Z"), wall("2031-04-30T00:00:00Z"));
    let dates = account.list("primary", from, to).await.unwrap();
    let starts: Vec<EventTime> = dates.iter().map(|event| event.start.clone()).collect();
    // The clocks change on 30 March 2031.
    let tuesdays = ["2031-03-25T13:00", "2031-04-01T13:00", "2031-04-08T13:00", "2031-04-15T13:00"].map(time);
    assert_eq!(starts, tuesdays);
    assert!(dates.iter().all(|event| event.id == "k1team" && event.occurrence.is_some()));
    let later = EventChanges { start: Some(time("2031-04-01T16:00")), ..EventChanges::default() };
    let moved = account.update("primary", "k1team", Some(&tuesdays[1]), &later, None).await.unwrap();
    assert_eq!(moved.start, time("2031-04-01T16:00"));
    account.delete("primary", "k1team", Some(&tuesdays[2]), None).await.unwrap();
    let dates = account.list("primary", from, to).await.unwrap();
    let starts: Vec<EventTime> = dates.iter().map(|event| event.start.clone()).collect();
    assert_eq!(starts, [tuesdays[0].clone(), time("2031-04-01T16:00"), tuesdays[3].clone()]);
}
