//! Named points where a test can stop the process or fail a step. Compiled in by the feature `proof` only.
//!
//! Every transaction of the store has two (`LABEL.before_commit`, `LABEL.after_commit`); edges name their own
//! around each foreign call. `UNAVEZ_FAILPOINT=NAME[:N][=kill|error]` arms one by environment: at its N-th pass (from 1)
//! the process is killed as by SIGKILL, or the step fails. `UNAVEZ_FAILPOINT_LOG=FILE` gets a line per pass.

/// What an armed failpoint does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// As if the power was cut for this process.
    Kill,
    /// The step fails as if the disk or the network had.
    Error,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("failpoint {0}")]
pub struct Failed(pub String);

#[cfg(not(feature = "proof"))]
#[inline(always)]
pub fn hit(_name: &str) -> Result<(), Failed> {
    Ok(())
}

#[cfg(feature = "proof")]
pub use armed::{arm, disarm, hit, passed};

#[cfg(feature = "proof")]
mod armed {
    use std::collections::BTreeMap;
    use std::sync::{Mutex, OnceLock, PoisonError};

    use super::{Action, Failed};

    #[derive(Default)]
    struct Points {
        armed: BTreeMap<String, (u64, Action)>,
        passed: BTreeMap<String, u64>,
    }

    fn points() -> &'static Mutex<Points> {
        static POINTS: OnceLock<Mutex<Points>> = OnceLock::new();
        POINTS.get_or_init(|| {
            let mut points = Points::default();
            for spec in std::env::var("UNAVEZ_FAILPOINT").unwrap_or_default().split(',').filter(|s| !s.is_empty()) {
                let (name, action) = match spec.split_once('=') {
                    Some((name, "error")) => (name, Action::Error),
                    Some((name, _)) => (name, Action::Kill),
                    None => (spec, Action::Kill),
                };
                let (name, nth) = match name.split_once(':') {
                    Some((name, nth)) => (name, nth.parse().unwrap_or(1)),
                    None => (name, 1),
                };
                points.armed.insert(name.to_owned(), (nth, action));
            }
            Mutex::new(points)
        })
    }

    /// Arms `name` for its `nth` pass from now (from 1).
    pub fn arm(name: &str, nth: u64, action: Action) {
        let mut points = points().lock().unwrap_or_else(PoisonError::into_inner);
        let passed = points.passed.get(name).copied().unwrap_or(0);
        points.armed.insert(name.to_owned(), (passed + nth, action));
    }

    pub fn disarm(name: &str) {
        points().lock().unwrap_or_else(PoisonError::into_inner).armed.remove(name);
    }

    /// Every name passed so far with its count: the list of gaps.
    pub fn passed() -> BTreeMap<String, u64> {
        points().lock().unwrap_or_else(PoisonError::into_inner).passed.clone()
    }

    pub fn hit(name: &str) -> Result<(), Failed> {
        log(name);
        let mut points = points().lock().unwrap_or_else(PoisonError::into_inner);
        let count = points.passed.entry(name.to_owned()).or_insert(0);
        *count += 1;
        let count = *count;
        match points.armed.get(name) {
            Some((nth, Action::Error)) if *nth == count => {
                points.armed.remove(name);
                Err(Failed(name.to_owned()))
            }
            Some((nth, Action::Kill)) if *nth == count => kill(),
            _ => Ok(()),
        }
    }

    /// Appends the name to the file that counts the gaps, if one is wanted.
    fn log(name: &str) {
        static FILE: OnceLock<Option<Mutex<std::fs::File>>> = OnceLock::new();
        let file = FILE.get_or_init(|| {
            let path = std::env::var_os("UNAVEZ_FAILPOINT_LOG")?;
            std::fs::OpenOptions::new().create(true).append(true).open(path).ok().map(Mutex::new)
        });
        if let Some(file) = file {
            use std::io::Write;
            // silent-ok: a test reads this file and misses what could not be written.
            let _ = writeln!(file.lock().unwrap_or_else(PoisonError::into_inner), "{name}");
        }
    }

    fn kill() -> ! {
        #[cfg(unix)]
        // silent-ok: abort follows if the signal could not be sent.
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
        std::process::abort()
    }
}
