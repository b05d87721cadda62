#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::time::Duration;

use proptest::prelude::*;
use teloxide::types::MessageEntityKind;

use super::{format, split};

fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

/// Kind and marked text of every entity.
fn marked(markdown: &str) -> (String, Vec<(String, String)>) {
    let formatted = format(markdown);
    let utf16: Vec<u16> = formatted.text.encode_utf16().collect();
    let entities = formatted
        .entities
        .iter()
        .map(|entity| {
            let kind = match &entity.kind {
                MessageEntityKind::TextLink { url } => format!("link {url}"),
                MessageEntityKind::Pre { language } => format!("pre {}", language.as_deref().unwrap_or("-")),
                kind => format!("{kind:?}").to_lowercase(),
            };
            (kind, String::from_utf16(&utf16[entity.offset..entity.offset + entity.length]).unwrap())
        })
        .collect();
    (formatted.text, entities)
}

#[test]
fn markdown_becomes_text_with_entities() {
    for (markdown, text, entities) in [
        ("plain", "plain", vec![]),
        ("Moved to **15:00** — *ok*?", "Moved to 15:00 — ok?", vec![("bold", "15:00"), ("italic", "ok")]),
        ("😀 **ja** `x<y`", "😀 ja x<y", vec![("bold", "ja"), ("code", "x<y")]),
        ("# Title\n\ntext", "Title\n\ntext", vec![("bold", "Title")]),
        ("- one\n- two\n  - deep\n\nend", "• one\n• two\n  • deep\n\nend", vec![]),
        ("3. a\n4. b", "3. a\n4. b", vec![]),
        ("```rust\nlet x = 1;\n```\nafter", "let x = 1;\n\nafter", vec![("pre rust", "let x = 1;")]),
        ("> quoted\n> more\n\nend", "quoted\nmore\n\nend", vec![("blockquote", "quoted\nmore")]),
        (
            "[site](https://example.test/a) ~~old~~",
            "site old",
            vec![("link https://example.test/a", "site"), ("strikethrough", "old")],
        ),
        ("[x](javascript:alert)", "x", vec![]),
        ("**bold *both***", "bold both", vec![("bold", "bold both"), ("italic", "both")]),
        ("a_b_c and 2 * 3 * 4 & <b>", "a_b_c and 2 * 3 * 4 & <b>", vec![]),
        ("line one\nline two", "line one\nline two", vec![]),
        ("***", "———", vec![]),
        ("**", "**", vec![]),
    ] {
        let entities: Vec<(String, String)> =
            entities.into_iter().map(|(kind, text): (&str, &str)| (kind.to_owned(), text.to_owned())).collect();
        assert_eq!(marked(markdown), (text.to_owned(), entities), "{markdown:?}");
    }
}

#[test]
fn case_d11_length_is_counted_in_utf16_units() {
    for (text, parts) in [
        ("😀".repeat(2100), 2),
        ("a".repeat(4096), 1),
        ("я".repeat(4096), 1),
        ("a".repeat(4097), 2),
        ("👨‍👩‍👧‍👦".repeat(1000), 3),
    ] {
        let split = split(&text);
        assert_eq!(split.len(), parts, "{} units", units(&text));
        assert!(split.iter().all(|part| units(part) <= 4096 && !part.contains('\u{fffd}')));
        assert_eq!(split.concat(), text);
    }
    // More marks than one message may have.
    let many = "**b** ".repeat(250);
    let parts = split(&many);
    assert!(parts.len() >= 3 && parts.iter().all(|part| format(part).entities.len() <= 100));
}

#[test]
fn a_cut_prefers_paragraphs_and_keeps_code_fenced() {
    let paragraph = "word ".repeat(500);
    let text = format!("{paragraph}\n\n{paragraph}");
    let parts = split(&text);
    assert_eq!(parts, [paragraph.trim_end(), paragraph.trim_end()]);
    let code = format!("```sh\n{}```\nend", "echo hello\n".repeat(600));
    let parts = split(&code);
    assert!(parts.len() >= 2);
    for part in &parts {
        assert_eq!(part.matches("```").count() % 2, 0, "{part}");
    }
    assert_eq!(parts.concat().matches("echo hello").count(), 600);
    assert!(parts[1].starts_with("```sh\necho hello"));
    assert!(split("  \n ").is_empty());
}

proptest! {
    #[test]
    fn any_text_splits_into_parts_that_fit_and_lose_no_word(text in "([a-zñ😀*_`\\[\\]() >#-]{0,40}\n{0,2}){0,200}") {
        let parts = split(&text);
        for part in &parts {
            prop_assert!(units(part) <= 4096);
            let formatted = format(part);
            prop_assert!(units(&formatted.text) <= 4096 + 64);
            for entity in &formatted.entities {
                prop_assert!(entity.length > 0 && entity.offset + entity.length <= units(&formatted.text));
            }
        }
        let letters = |text: &str| text.chars().filter(|c| c.is_alphabetic()).collect::<String>();
        prop_assert_eq!(letters(&parts.concat()), letters(&text));
    }
}

/// Listens on `address` and swallows every further connection, as a broken route does: its queue is full.
fn black_hole(address: &str) -> (std::net::TcpListener, Vec<std::net::TcpStream>) {
    let listener = std::net::TcpListener::bind(address).unwrap();
    let to = listener.local_addr().unwrap();
    let mut waiting = Vec::new();
    while let Ok(stream) = std::net::TcpStream::connect_timeout(&to, Duration::from_millis(300)) {
        waiting.push(stream);
        assert!(waiting.len() < 100_000, "the queue has no end");
    }
    (listener, waiting)
}

/// A bot whose server has these addresses, with the connection settings of the channel.
fn bot(port: u16, addresses: [std::net::SocketAddr; 2]) -> teloxide::Bot {
    let client = teloxide::net::default_reqwest_settings()
        .timeout(Duration::from_secs(30))
        .no_proxy()
        .resolve_to_addrs("bot.test", &addresses)
        .build()
        .unwrap();
    teloxide::Bot::with_client("1:t", client).set_api_url(format!("http://bot.test:{port}").parse().unwrap())
}

#[tokio::test]
async fn case_d20_a_family_that_swallows_connections_costs_no_call() {
    let (hole, _waiting) = black_hole("[::1]:0");
    let port = hole.local_addr().unwrap().port();
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await.unwrap();
    let answer = || async { axum::Json(serde_json::json!({ "ok": true, "result": { "id": 1 } })) };
    let router = axum::Router::new().fallback(answer);
    tokio::spawn(async move { axum::serve(listener, router).await });
    let bot = bot(port, [hole.local_addr().unwrap(), ([127, 0, 0, 1], port).into()]);
    for call in 0..2 {
        let began = std::time::Instant::now();
        super::bot::call(&bot, teloxide::payloads::GetMe::new()).await.unwrap();
        assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
        // The family that worked is the connection that is kept.
        assert!(call == 0 || began.elapsed() < Duration::from_millis(250), "{:?}", began.elapsed());
    }
}

#[tokio::test]
async fn case_d20_when_both_families_fail_the_channel_is_offline() {
    let (six, _waiting) = black_hole("[::1]:0");
    let port = six.local_addr().unwrap().port();
    let (four, _too) = black_hole(&format!("127.0.0.1:{port}"));
    let bot = bot(port, [six.local_addr().unwrap(), four.local_addr().unwrap()]);
    let began = std::time::Instant::now();
    let error = super::bot::call(&bot, teloxide::payloads::GetMe::new()).await.unwrap_err();
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    let state = super::errors::poll_error(&error);
    assert!(matches!(state, crate::domain::ports::PollError::Offline { .. }), "{state:?}");
}
