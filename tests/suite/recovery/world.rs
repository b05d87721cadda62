//! A whole world around the real program: a Telegram server, a CalDAV server and a mail server, what was asked for in it,
//! and the verdict: everything asked for happened once, or is visibly open, and no invariant is broken.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use unavez::audit::invariants;
use unavez::domain::time::{Elapsed, Now, Wall};

use crate::support::caldav::CalDavServer;
use crate::support::daemon::{Daemon, Place};
use crate::support::smtp::{Mode, Server as SmtpServer};
use crate::support::telegram::{self, TelegramServer};

pub const ANN: i64 = 42;

/// What can be learned of a mail after it was handed over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mail {
    /// SMTP alone: what happened after the final dot cannot be known.
    Blind,
    /// Files in a folder of our own: can be read back.
    Folder,
}

pub struct World {
    pub telegram: TelegramServer,
    pub caldav: CalDavServer,
    pub smtp: SmtpServer,
    pub place: Place,
    pub mail: Mail,
    next: i64,
    pub events: Vec<String>,
    pub mails: Vec<String>,
}

impl World {
    pub async fn new(mail: Mail) -> Self {
        Self::with_hold(mail, "0s").await
    }

    /// Mails wait `hold` before they leave: by then everything else has come to rest.
    pub async fn with_hold(mail: Mail, hold: &str) -> Self {
        let telegram = TelegramServer::start().await;
        let caldav = CalDavServer::start().await;
        let smtp = SmtpServer::start(Mode::Plain, &[]).await;
        let backend = match mail {
            Mail::Blind => format!(
                "backend = \"smtp\"\nfrom = \"ann@example.test\"\n[mail.smtp]\nhost = \"127.0.0.1\"\nport = {}\ntls = \"none\"\n",
                smtp.address.port()
            ),
            Mail::Folder => "backend = \"maildir\"\nfrom = \"ann@example.test\"\n".to_owned(),
        };
        let place = Place::new(&format!(
            r#"
            [assistant]
            language = "en"
            timezone = "Europe/Madrid"
            [telegram]
            enabled = true
            token = {{ env = "BOT_TOKEN" }}
            api_url = "{}"
            poll_timeout = "2s"
            owners = [{ANN}]
            min_interval = "0ms"
            [debounce]
            closed = "0ms"
            neutral = "0ms"
            open = "0ms"
            structural = "0ms"
            [turns]
            double_texting = "enqueue"
            [approvals]
            mail_send = "auto"
            [evidence]
            hold = "{hold}"
            mails_per_hour = 100000
            backoff = ["100ms"]
            reconcile = ["0s", "100ms", "300ms"]
            [calendar]
            backend = "caldav"
            [calendar.caldav]
            url = "{}"
            user = "ann"
            password = {{ env = "CALDAV_PASSWORD" }}
            [mail]
            {backend}
            "#,
            telegram.url, caldav.url
        ));
        Self { telegram, caldav, smtp, place, mail, next: 0, events: Vec::new(), mails: Vec::new() }
    }

    pub fn environment(&self) -> Vec<(&'static str, String)> {
        vec![("BOT_TOKEN", telegram::TOKEN.to_owned()), ("CALDAV_PASSWORD", "secret".to_owned())]
    }

    pub fn try_start(&self, further: &[(&str, String)]) -> Result<Daemon, String> {
        let mut environment = self.environment();
        environment.extend(further.iter().map(|(name, value)| {
            let name: &'static str = Box::leak((*name).to_owned().into_boxed_str());
            (name, value.clone())
        }));
        let environment: Vec<(&str, &str)> = environment.iter().map(|(name, value)| (*name, value.as_str())).collect();
        Daemon::try_start(&self.place, &environment)
    }

    pub fn start(&self) -> Daemon {
        self.try_start(&[]).unwrap_or_else(|text| panic!("unavezd did not start:\n{text}"))
    }

    /// Ann asks for an event of its own, in a chat of its own.
    pub fn ask_event(&mut self) {
        self.next += 1;
        let title = format!("Visit{}", self.next);
        let (day, hour) = (1 + self.next / 10 % 28, 8 + self.next % 10);
        self.telegram.text(1000 + self.next, ANN, &format!("schedule {title} on 2031-05-{day:02} at {hour:02}:00"));
        self.events.push(title);
    }

    /// Asks again for an event asked for before, in another chat.
    pub fn ask_again(&mut self) {
        let Some(title) = self.events.last().cloned() else { return };
        let number: i64 = title.trim_start_matches("Visit").parse().unwrap();
        self.next += 1;
        let (day, hour) = (1 + number / 10 % 28, 8 + number % 10);
        self.telegram.text(1000 + self.next, ANN, &format!("schedule {title} on 2031-05-{day:02} at {hour:02}:00"));
    }

    pub fn ask_mail(&mut self) {
        self.next += 1;
        let subject = format!("Letter{}", self.next);
        self.telegram.text(
            1000 + self.next,
            ANN,
            &format!(
                "send an email to bo@example.test with subject {subject} saying number {} is on its way",
                self.next
            ),
        );
        self.mails.push(subject);
    }

    /// Nothing is on its way any more: every update is stored, every turn has ended, no effect waits for its worker.
    pub fn is_quiet(&self) -> bool {
        if !self.place.database().exists() {
            return false;
        }
        const OPEN: &str = "SELECT
            (SELECT count(*) FROM inbound WHERE state = 'buffered')
          + (SELECT count(*) FROM bursts WHERE state IN ('queued', 'running'))
          + (SELECT count(*) FROM turns WHERE state <> 'ended')
          + (SELECT count(*) FROM effects WHERE state IN ('ready', 'dispatching', 'retryable'))
          + (SELECT count(*) FROM effects WHERE state = 'unknown' AND next_attempt_elapsed IS NOT NULL)
          + (SELECT count(*) FROM outbound WHERE state IN ('queued', 'sending'))";
        let connection = self.place.read();
        let open: Result<i64, _> = connection.query_row(OPEN, [], |row| row.get(0));
        self.telegram.unconfirmed() == 0 && open.is_ok_and(|open| open == 0)
    }

    pub async fn until_quiet(&self, within: Duration) -> bool {
        let deadline = Instant::now() + within;
        while Instant::now() < deadline {
            if self.is_quiet() {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        false
    }

    /// How often each title stands in the calendar.
    pub fn in_calendar(&self) -> BTreeMap<String, usize> {
        let mut found = BTreeMap::new();
        for (_, data) in self.caldav.stored() {
            for line in data.lines() {
                if let Some(title) = line.strip_prefix("SUMMARY:") {
                    *found.entry(title.trim().to_owned()).or_insert(0) += 1;
                }
            }
        }
        found
    }

    /// How often each subject was accepted by the mail server, or stands in the folder.
    pub fn delivered(&self) -> BTreeMap<String, usize> {
        let mut found = BTreeMap::new();
        let mut note = |bytes: &[u8]| {
            for line in String::from_utf8_lossy(bytes).lines() {
                if let Some(subject) = line.strip_prefix("Subject: ") {
                    *found.entry(subject.trim().to_owned()).or_insert(0) += 1;
                }
            }
        };
        match self.mail {
            Mail::Blind => self.smtp.stored().iter().for_each(|stored| note(&stored.data)),
            Mail::Folder => {
                let mut folders = vec![self.place.data().join("maildir")];
                while let Some(folder) = folders.pop() {
                    for entry in std::fs::read_dir(folder).into_iter().flatten() {
                        let path = entry.unwrap().path();
                        if path.is_dir() {
                            folders.push(path);
                        } else if path.extension().is_some_and(|ext| ext == "eml") {
                            note(&std::fs::read(path).unwrap());
                        }
                    }
                }
            }
        }
        found
    }

    /// Everything that is wrong; the world must be quiet.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let calendar = self.in_calendar();
        for title in &self.events {
            match calendar.get(title).copied().unwrap_or(0) {
                1 => {}
                0 => faults.push(format!("LOST event {title}")),
                count => faults.push(format!("DUPLICATE event {title}: {count} times")),
            }
        }
        let delivered = self.delivered();
        for subject in &self.mails {
            let state = self.state_of(subject);
            match (delivered.get(subject).copied().unwrap_or(0), state.as_deref()) {
                // Accepted and there, or nobody can know and it says so.
                (1, Some("accepted" | "unknown")) | (0, Some("unknown")) => {}
                (0, state) => faults.push(format!("LOST mail {subject}: it is {state:?} and was not delivered")),
                (1, state) => faults.push(format!("mail {subject} was delivered and is {state:?}")),
                (count, _) => faults.push(format!("DUPLICATE mail {subject}: {count} times")),
            }
            if self.mail == Mail::Folder && state.as_deref() != Some("accepted") {
                faults.push(format!("mail {subject} can be read back and is {state:?}"));
            }
        }
        let inbound = self.place.count("SELECT count(*) FROM inbound WHERE kind = 'message'");
        if inbound != self.next {
            faults.push(format!("I4: {} messages were confirmed, {inbound} are in the inbox", self.next));
        }
        faults.extend(self.broken_invariants());
        faults
    }

    pub fn broken_invariants(&self) -> Vec<String> {
        let now = Now { wall: Wall(0), elapsed: Elapsed(0) };
        let violations = invariants::check(&self.place.read(), now, Duration::from_secs(600)).unwrap();
        violations.into_iter().map(|violation| format!("{}: {}", violation.invariant, violation.what)).collect()
    }

    pub fn state_of(&self, summary: &str) -> Option<String> {
        let connection = self.place.read();
        let mut statement = connection
            .prepare("SELECT state FROM effects WHERE summary = ?1 ORDER BY created_elapsed DESC LIMIT 1")
            .unwrap();
        statement.query_row([summary], |row| row.get(0)).ok()
    }

    /// Asks, waits for quiet, checks; the log of the program when it does not come to rest.
    pub async fn settle(&self, daemon: Daemon) -> Vec<String> {
        let quiet = self.until_quiet(Duration::from_secs(40)).await;
        let mut faults = Vec::new();
        if !quiet {
            faults.push(format!("not at rest after 40 s: {}", self.what_is_open()));
        }
        drop(daemon);
        faults.extend(self.faults());
        faults
    }

    fn what_is_open(&self) -> String {
        let connection = self.place.read();
        let list = |sql: &str| {
            let mut statement = connection.prepare(sql).unwrap();
            let rows = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
            rows.map(Result::unwrap).collect::<Vec<_>>().join(", ")
        };
        format!(
            "unconfirmed {}; inbound {}; bursts {}; turns {}; effects {}; outbound {}",
            self.telegram.unconfirmed(),
            list("SELECT id || ' ' || state FROM inbound WHERE state = 'buffered'"),
            list("SELECT id || ' ' || state FROM bursts WHERE state IN ('queued', 'running')"),
            list("SELECT id || ' ' || state FROM turns WHERE state <> 'ended'"),
            list(
                "SELECT summary || ' ' || state || ' ' || coalesce(last_error, '') FROM effects WHERE state NOT IN ('accepted')"
            ),
            list(
                "SELECT id || ' ' || state || ' ' || coalesce(error, '') FROM outbound WHERE state NOT IN ('delivered')"
            )
        )
    }
}
