//! The commands, one function each.

use std::io::Write;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::arguments::{
    Approvals, Audit, Calendar, Command, Common, Config, Conversations, Evidence, Format, Resolution, SignInTo,
};
use super::ask::{Printing, Single, Writing, ask};
use super::exit::{Ended, Exit};
use super::print::{Printer, unless_closed};
use super::run::Setting;
use crate::api::{self, Request};
use crate::app::{self, App};
use crate::audit;
use crate::config::{self as file, ConfigError};

/// Every command that needs the database.
pub(super) async fn run(common: &Common, setting: &Setting, command: Command) -> Result<Exit, Ended> {
    let request = match command {
        Command::Run => return serve(common, setting).await,
        Command::Doctor => return doctor(common, setting).await,
        Command::SignIn { to } => return sign_in(common, setting, to).await,
        Command::Restore { file } => return restore(common, setting, &file).await,
        Command::Audit(Audit::Verify { .. }) => return verify(common, setting).await,
        Command::Audit(Audit::Export { format, since, until, kind, output }) => {
            let zone = app::Locale::of(&setting.loaded.config).zone;
            let filter = audit::Filter {
                kinds: kind,
                conversation: None,
                since: since.map(|text| instant(&zone, "--since", &text, false)).transpose()?,
                until: until.map(|text| instant(&zone, "--until", &text, true)).transpose()?,
            };
            let format = match format {
                Format::Jsonl => audit::Format::Jsonl,
                Format::Csv => audit::Format::Csv,
            };
            let request = Request::AuditExport { filter, format };
            match output {
                Some(file) => return export_to(setting, request, &file).await,
                None => request,
            }
        }
        Command::Backup { file } => {
            let file = std::path::absolute(file)?;
            Request::Backup { file: file.to_string_lossy().into_owned() }
        }
        Command::Status => Request::Status,
        Command::Conversations(Conversations::List) => Request::Conversations,
        Command::Conversations(Conversations::Show { id }) => Request::Conversation { id },
        Command::Calendar(Calendar::List { from, to }) => Request::Calendar { from, to },
        Command::Approvals(Approvals::List { all }) => Request::Approvals { all },
        Command::Approvals(Approvals::Approve { id }) => Request::Decide { id, approve: true },
        Command::Approvals(Approvals::Deny { id }) => Request::Decide { id, approve: false },
        Command::Evidence(Evidence::List { state }) => Request::Evidence { state },
        Command::Evidence(Evidence::Show { id }) => Request::EvidenceOf { id },
        Command::Evidence(Evidence::Resolve { id, resolution }) => {
            let resolution = match resolution {
                Resolution::Sent => api::Resolution::Sent,
                Resolution::NotSent => api::Resolution::NotSent,
                Resolution::Drop => api::Resolution::Drop,
                Resolution::Leave => api::Resolution::Leave,
            };
            Request::Resolve { id, resolution }
        }
        Command::Duplicates(super::arguments::Duplicates::List) => Request::Duplicates,
        // These need no database and were handled before.
        Command::Replay { .. } | Command::Config(_) => return Ok(Exit::Usage),
    };
    let mut printer = Printer::stdout(common.json);
    let mut reader = Printing { printer: &mut printer, request: request.clone() };
    ask(setting.options()?, request, &mut reader).await?;
    unless_closed(printer.flush())?;
    Ok(Exit::Done)
}

/// The agent without a window.
async fn serve(common: &Common, setting: &Setting) -> Result<Exit, Ended> {
    let options = setting.options()?;
    app::start_logging(setting.loaded.config.log.level, Some(&options.folder.logs()));
    let mut interrupted = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt())?;
    let mut terminated = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    let mut app = App::open(options).await?;
    let started = app.start().await?;
    for note in &started.notes {
        writeln!(std::io::stderr(), "{note}")?;
    }
    let mut printer = Printer::stdout(common.json);
    printer.line(&started.http.map_or_else(|| "ready".to_owned(), |address| format!("ready http://{address}")))?;
    printer.flush()?;
    tokio::select! {
        _ = interrupted.recv() => {}
        _ = terminated.recv() => {}
    }
    app.stop().await;
    Ok(Exit::Done)
}

async fn doctor(common: &Common, setting: &Setting) -> Result<Exit, Ended> {
    let checks = app::doctor(setting.options()?, &setting.places).await;
    let mut printer = Printer::stdout(common.json);
    let mut bad = false;
    for check in checks {
        bad |= check.is_bad();
        if common.json {
            printer.value(&serde_json::to_value(&check).map_err(Ended::failed)?)?;
        } else {
            printer.line(&check.in_words())?;
        }
    }
    unless_closed(printer.flush())?;
    Ok(if bad { Exit::Failed } else { Exit::Done })
}

/// Shows the address on stderr, so that stdout stays for the answer.
async fn sign_in(common: &Common, setting: &Setting, to: SignInTo) -> Result<Exit, Ended> {
    let to = match to {
        SignInTo::Mail => app::SignInTo::Mail,
        SignInTo::Calendar => app::SignInTo::Calendar,
    };
    let show = |url: &str| {
        // silent-ok: without stderr nobody can be told.
        let _ =
            writeln!(std::io::stderr(), "Open this address in a browser on this computer and sign in there:\n{url}");
    };
    app::sign_in(&setting.options()?, to, show).await.map_err(Ended::failed)?;
    let mut printer = Printer::stdout(common.json);
    if common.json {
        printer.value(&json!({ "signed_in": true }))?;
    } else {
        printer.line("signed in; `unavezd doctor` tries it")?;
    }
    unless_closed(printer.flush())?;
    Ok(Exit::Done)
}

async fn restore(common: &Common, setting: &Setting, file: &Path) -> Result<Exit, Ended> {
    let restored = app::restore(setting.options()?, file).await?;
    let mut printer = Printer::stdout(common.json);
    if common.json {
        printer.value(&serde_json::to_value(&restored).map_err(Ended::failed)?)?;
    } else {
        printer.line(&restored.in_words())?;
    }
    unless_closed(printer.flush())?;
    Ok(Exit::Done)
}

/// Exit 1 names the first bad entry.
async fn verify(common: &Common, setting: &Setting) -> Result<Exit, Ended> {
    let mut single = Single::default();
    ask(setting.options()?, Request::AuditVerify, &mut single).await?;
    verified(common, &single.0.unwrap_or_default())
}

pub(super) fn verify_file(common: &Common, path: &Path) -> Result<Exit, Ended> {
    let input = std::fs::File::open(path).map_err(|error| Ended::failed(format!("{}: {error}", path.display())))?;
    let verification = audit::verify_export(std::io::BufReader::new(input)).map_err(Ended::failed)?;
    verified(common, &serde_json::to_value(verification).map_err(Ended::failed)?)
}

fn verified(common: &Common, verification: &Value) -> Result<Exit, Ended> {
    let mut printer = Printer::stdout(common.json);
    printer.row(&Request::AuditVerify, verification)?;
    unless_closed(printer.flush())?;
    let good = verification.get("bad").is_some_and(Value::is_null);
    Ok(if good { Exit::Done } else { Exit::Failed })
}

/// Into a file of mode 0600, whole or not at all.
async fn export_to(setting: &Setting, request: Request, path: &Path) -> Result<Exit, Ended> {
    let beside = path.with_extension("part");
    crate::store::secure_file(&beside).map_err(Ended::failed)?;
    let out = std::fs::File::options().write(true).truncate(true).open(&beside)?;
    let mut writing = Writing(std::io::BufWriter::new(out));
    let asked = ask(setting.options()?, request, &mut writing).await;
    let written = match asked {
        Ok(()) => writing.0.flush().and_then(|()| writing.0.get_ref().sync_all()).map_err(Ended::from),
        Err(ended) => Err(ended),
    };
    if written.is_err() {
        // silent-ok: half an export is of no use.
        let _ = std::fs::remove_file(&beside);
    }
    written?;
    std::fs::rename(&beside, path)?;
    Ok(Exit::Done)
}

fn instant(zone: &jiff::tz::TimeZone, option: &str, text: &str, upper: bool) -> Result<i64, Ended> {
    api::instant(zone, text, upper)
        .map(|wall| wall.0)
        .ok_or_else(|| Ended::usage(format!("{option} {text} is neither a date (2026-12-07) nor a time with offset")))
}

pub(super) fn config(common: &Common, command: &Config) -> Result<Exit, Ended> {
    let places = file::find(common.config.clone(), common.data.clone())?;
    let mut printer = Printer::stdout(common.json);
    match (command, file::load(&places)) {
        (Config::Check, Err(ConfigError::Invalid { problems, .. })) if common.json => {
            for problem in problems {
                printer.value(&serde_json::to_value(problem).map_err(Ended::failed)?)?;
            }
            unless_closed(printer.flush())?;
            return Ok(Exit::Usage);
        }
        (_, Err(error)) => return Err(error.into()),
        (Config::Check, Ok(_)) => {
            let found = if places.config.exists() { "is valid" } else { "is absent: the defaults hold" };
            if common.json {
                printer.value(&json!({ "file": places.config, "valid": true }))?;
            } else {
                printer.line(&format!("{} {found}", places.config.display()))?;
            }
        }
        (Config::Show, Ok(loaded)) if common.json => printer.value(&nested(&loaded.effective))?,
        (Config::Show, Ok(loaded)) => printer.line(file::as_toml(&loaded.effective).trim_end())?,
    }
    unless_closed(printer.flush())?;
    Ok(Exit::Done)
}

/// Effective values as one JSON object.
fn nested(effective: &[(Vec<String>, toml_edit::Value)]) -> Value {
    let mut root = Map::new();
    for (path, value) in effective {
        insert(&mut root, path, file::as_json(value));
    }
    Value::Object(root)
}

fn insert(table: &mut Map<String, Value>, path: &[String], value: Value) {
    match path {
        [] => {}
        [key] => {
            table.insert(key.clone(), value);
        }
        [key, rest @ ..] => {
            let slot = table.entry(key.clone()).or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(inner) = slot {
                insert(inner, rest, value);
            }
        }
    }
}
