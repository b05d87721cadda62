#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::path::Path;
use std::time::Duration;

use super::*;
use crate::domain::conversation::ChannelKind;
use crate::runtime::secrets::SecretRef;

fn problems(text: &str) -> String {
    parse(text, Path::new("config.toml")).expect_err("a mistake").to_string()
}

fn config(text: &str) -> Config {
    parse(text, Path::new("config.toml")).unwrap().config
}

#[test]
fn an_empty_file_is_the_defaults() {
    assert_eq!(config(""), Config::default());
}

#[test]
fn the_effective_values_read_back_to_the_same_configuration() {
    let text = "[debounce]\nclosed = \"2s\"\n[debounce.telegram]\nneutral = \"0s\"\n[model.prices]\n\"a.b\" = [1, 2.5]\n\
                [guard.tools.\"mcp:files/write\"]\nidentity = [\"path\"]\n[mcp.servers.files]\ncommand = [\"npx\", \"x\"]\n";
    let first = parse(text, Path::new("config.toml")).unwrap();
    let mut document = toml_edit::DocumentMut::new();
    for (path, value) in &first.effective {
        let mut table = document.as_table_mut();
        for part in &path[..path.len() - 1] {
            table = table.entry(part).or_insert(toml_edit::table()).as_table_mut().unwrap();
        }
        // A server has a command or a url; the empty one is not written.
        if !(path.last().unwrap() == "url" && path[0] == "mcp") {
            table.insert(path.last().unwrap(), toml_edit::Item::Value(value.clone()));
        }
    }
    let mut again = config(&document.to_string());
    again.guard.tools.get_mut("mcp:files/write").unwrap().window = None;
    assert_eq!(again, first.config);
}

#[test]
fn mistakes_name_place_key_and_what_is_allowed() {
    for (text, expected) in [
        (
            "[debounce]\nclosd = \"1s\"",
            "config.toml:2:1: debounce.closd: unknown key closd; allowed: closed, neutral, open, structural, max_wait, max_messages, telegram, window, http",
        ),
        (
            "[debounce]\n\n  closed = 5\n",
            "config.toml:3:12: debounce.closed: the value 5 is not allowed; allowed: a number with ms, s, m, h or d, such as \"250ms\", \"4s\", \"10m\", \"24h\"",
        ),
        (
            "[turns.telegram]\ndouble_texting = \"both\"",
            "config.toml:2:18: turns.telegram.double_texting: the value \"both\" is not allowed; allowed: \"supersede\", \"enqueue\", \"reject\", \"interrupt\", \"rollback\"",
        ),
        (
            "[http]\nbind = \"0.0.0.0:80\"",
            "config.toml:2:8: http.bind: the value \"0.0.0.0:80\" is not allowed; allowed: an address of this computer with a port, such as \"127.0.0.1:7717\" or \"[::1]:0\"",
        ),
        (
            "[mail.smtp]\nhost = \"mail.example.test\"\ntls = \"none\"",
            "config.toml:3:7: mail.smtp.tls: \"none\" is allowed for a server on this computer only; allowed: \"implicit\", \"starttls\"",
        ),
        (
            "[assistant]\ntimezone = \"Mars/Base\"",
            "config.toml:2:12: assistant.timezone: the value \"Mars/Base\" is not allowed; allowed: \"auto\" or an IANA name such as \"Europe/Madrid\"",
        ),
        ("telegram = 1", "config.toml:1:12: telegram: the value 1 is not allowed; allowed: a table [telegram]"),
        (
            "[model]\nprovider = \"openai\"",
            "config.toml:2:12: model.model: the provider openai needs a model; allowed: the model's name",
        ),
        (
            "[nonsense]\na = 1",
            "config.toml:1:2: nonsense: unknown key nonsense; allowed: assistant, model, inbox, debounce, turns, message, guard, approvals, evidence, calendar, mail, telegram, http, mcp, window, log",
        ),
    ] {
        assert_eq!(problems(text), expected);
    }
}

#[test]
fn every_mistake_is_listed_in_file_order() {
    let text = "[log]\nlevel = \"loud\"\n[inbox]\nstale = \"1h\"\n[window]\ntheme = \"pink\"\n";
    let listed = problems(text);
    let lines: Vec<&str> = listed.lines().map(|line| line.split(": ").next().unwrap()).collect();
    assert_eq!(lines, ["config.toml:2:9", "config.toml:4:1", "config.toml:6:9"]);
}

#[test]
fn text_that_is_not_toml_names_its_place() {
    let text = problems("[debounce]\nclosed = \n");
    assert!(text.starts_with("config.toml:2:"), "{text}");
}

#[test]
fn a_secret_is_never_in_the_file_nor_in_the_error() {
    let text = problems("[telegram]\ntoken = \"123456:REALTOKEN\"");
    assert!(text.contains("telegram.token"), "{text}");
    assert!(text.contains("{ env = \"NAME\" }"), "{text}");
    assert!(!text.contains("REALTOKEN"), "{text}");
    let config = config(
        "[telegram]\ntoken = { env = \"BOT\" }\n[http]\ntoken = { file = \"/run/t\" }\n[model]\napi_key = \"none\"",
    );
    assert_eq!(config.telegram.token, SecretRef::Env("BOT".into()));
    assert_eq!(config.http.token, SecretRef::File("/run/t".into()));
    assert_eq!(config.model.api_key, SecretRef::None);
}

#[test]
fn a_channel_takes_what_it_says_and_the_rest_from_all() {
    let config = config(
        "[debounce]\nopen = \"3s\"\n[debounce.telegram]\nclosed = \"0s\"\n[turns.http]\ndouble_texting = \"enqueue\"",
    );
    let telegram = config.debounce.of(ChannelKind::Telegram);
    assert_eq!((telegram.closed, telegram.open), (Duration::ZERO, Duration::from_secs(3)));
    assert_eq!(config.debounce.of(ChannelKind::Http).closed, Duration::from_millis(1200));
    assert_eq!(config.turns.of(ChannelKind::Http), DoubleTexting::Enqueue);
    assert_eq!(config.turns.of(ChannelKind::Window), DoubleTexting::Supersede);
}

#[test]
fn an_edit_keeps_comments_and_refuses_nonsense() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("config.toml");
    std::fs::write(&file, "# mine\n[debounce] # windows\nclosed = \"1s\" # short\n").unwrap();
    apply(
        &file,
        &[
            Change::set(&["debounce", "closed"], "2s"),
            Change::set(&["telegram", "enabled"], true),
            Change::set(&["guard", "tools", "mcp:a/b", "kind"], "read"),
        ],
    )
    .unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(
        text,
        "# mine\n[debounce] # windows\nclosed = \"2s\" # short\n\n[telegram]\nenabled = true\n\n[guard.tools.\"mcp:a/b\"]\nkind = \"read\"\n"
    );
    let error = apply(&file, &[Change::set(&["debounce", "closed"], "soon")]).unwrap_err();
    assert!(matches!(error, ConfigError::Invalid { .. }));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text, "nothing was written");
    apply(&file, &[Change::remove(&["telegram", "enabled"])]).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
