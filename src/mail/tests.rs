#![allow(clippy::unwrap_used, clippy::expect_used)]
use mail_parser::{MessageParser, MimeHeaders};

use super::compose::{ComposeError, Composer};
use super::maildir::Maildir;
use super::message;
use crate::domain::action::{AttachedFile, SendEmail};
use crate::domain::effect::Outcome;
use crate::domain::ports::{MailReader, MailSender};
use crate::domain::time::Wall;
use crate::runtime::hash::sha256_hex;

const AT: Wall = Wall(1_796_000_000_000);

fn mail() -> SendEmail {
    SendEmail {
        from: "Ana Núñez <ana@example.test>".into(),
        to: vec!["Bo <bo@example.test>".into()],
        cc: vec![],
        bcc: vec![],
        subject: "Offer".into(),
        body: "Hi,\nsee you.".into(),
        html: None,
        attachments: vec![],
        in_reply_to: None,
        references: vec![],
        thread: None,
    }
}

fn composer() -> Composer {
    Composer::new("/nonexistent", "")
}

fn text(mail: &SendEmail) -> String {
    String::from_utf8(composer().freeze(mail, "token", AT).unwrap().bytes).unwrap()
}

#[test]
fn case_c12_the_same_mail_is_the_same_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let hash = sha256_hex(b"content");
    std::fs::write(dir.path().join(&hash), b"content").unwrap();
    let composer = Composer::new(dir.path(), "");
    let file = AttachedFile { name: "informe año.pdf".into(), mime: "application/pdf".into(), sha256: hash, bytes: 7 };
    for (html, attachments) in
        [(None, vec![]), (Some("<p>Hi</p>".into()), vec![]), (Some("<p>Hi</p>".into()), vec![file])]
    {
        let mail = SendEmail { html, attachments, ..mail() };
        let first = composer.freeze(&mail, "token", AT).unwrap();
        assert_eq!(first.bytes, composer.freeze(&mail, "token", AT).unwrap().bytes);
        let text = String::from_utf8_lossy(&first.bytes).into_owned();
        assert!(text.contains(&format!("Message-ID: {}\r\n", first.message_id)), "{text}");
        assert_eq!(text.matches("\r\nDate: ").count(), 1);
        assert_ne!(first.message_id, composer.freeze(&mail, "other", AT).unwrap().message_id);
        let (left, domain) = first.message_id.trim_matches(['<', '>']).split_once('@').unwrap();
        assert!(left.len() == 32 && left.bytes().all(|b| b.is_ascii_alphanumeric()) && domain == "example.test");
    }
}

#[test]
fn every_shape_reads_back_as_written() {
    let dir = tempfile::tempdir().unwrap();
    let hash = sha256_hex(b"\x00\x01binary");
    std::fs::write(dir.path().join(&hash), b"\x00\x01binary").unwrap();
    let mail = SendEmail {
        subject: "Presupuesto de otoño: 50 % más, y una línea de asunto muy muy larga que se pliega".into(),
        to: vec![r#""Núñez, Bo" <bo@example.test>"#.into(), "c@bücher.test".into()],
        cc: vec!["d@example.test".into()],
        bcc: vec!["hidden@example.test".into()],
        body: "Línea uno\r\n.\ntres\r.cuatro\n".into(),
        html: Some("<p>Línea <b>uno</b></p>".into()),
        attachments: vec![AttachedFile {
            name: "informe año.pdf".into(),
            mime: "application/pdf".into(),
            sha256: hash,
            bytes: 8,
        }],
        in_reply_to: Some("<parent@x.test>".into()),
        references: vec!["<root@x.test>".into(), "<parent@x.test>".into()],
        ..mail()
    };
    let frozen = Composer::new(dir.path(), "mail.example.test").freeze(&mail, "token", AT).unwrap();
    assert!(frozen.message_id.ends_with("@mail.example.test>") && !frozen.needs_smtputf8);
    assert_eq!(frozen.recipients, ["bo@example.test", "c@xn--bcher-kva.test", "d@example.test", "hidden@example.test"]);
    let raw = String::from_utf8_lossy(&frozen.bytes).into_owned();
    assert!(!raw.contains("hidden@") && !raw.to_lowercase().contains("bcc:"), "{raw}");
    assert!(raw.is_ascii() && raw.lines().all(|line| line.len() <= 998));
    assert!(!raw.replace("\r\n", "").contains(['\r', '\n']), "only CRLF");

    let parsed = MessageParser::default().parse(&frozen.bytes).unwrap();
    assert_eq!(parsed.subject(), Some(mail.subject.as_str()));
    assert_eq!(parsed.from().unwrap().first().unwrap().name(), Some("Ana Núñez"));
    assert_eq!(parsed.to().unwrap().first().unwrap().name(), Some("Núñez, Bo"));
    assert_eq!(parsed.body_text(0).unwrap().replace("\r\n", "\n").trim_end(), "Línea uno\n.\ntres\n.cuatro");
    assert!(parsed.body_html(0).unwrap().contains("<b>uno</b>"));
    let attachment = parsed.attachment(0).unwrap();
    assert_eq!(
        (attachment.attachment_name(), attachment.contents()),
        (Some("informe año.pdf"), &b"\x00\x01binary"[..])
    );
    let parsed = message::parse(&frozen.bytes).unwrap();
    assert_eq!(parsed.references(), ["<root@x.test>", "<parent@x.test>"]);
    assert_eq!(parsed.message_id().as_deref(), Some(frozen.message_id.as_str()));
}

#[test]
fn case_c19_c20_injection_is_refused() {
    for hostile in ["Hi\r\nBcc: x@evil.test", "Hi\rX: y", "=?utf-8?Q?Hi=0D=0ABcc:_x@evil.test?="] {
        let shapes = [
            SendEmail { subject: hostile.into(), ..mail() },
            SendEmail { from: format!("{hostile} <ana@example.test>"), ..mail() },
            SendEmail { to: vec![format!("{hostile} <bo@example.test>")], ..mail() },
            SendEmail { in_reply_to: Some(format!("<i@x>{hostile}")), ..mail() },
            SendEmail { in_reply_to: Some("<i@x>".into()), references: vec![hostile.into()], ..mail() },
            SendEmail {
                attachments: vec![AttachedFile {
                    name: hostile.into(),
                    mime: "text/plain".into(),
                    sha256: "0".repeat(64),
                    bytes: 1,
                }],
                ..mail()
            },
        ];
        for shape in shapes {
            assert!(composer().freeze(&shape, "token", AT).is_err(), "{shape:?}");
        }
    }
}

#[test]
fn case_c22_line_ends_are_canonical() {
    let expected = text(&SendEmail { body: "a\r\n.\r\nb".into(), ..mail() });
    assert_eq!(text(&SendEmail { body: "a\n.\nb".into(), ..mail() }), expected);
    assert_eq!(text(&SendEmail { body: "a\r.\rb".into(), ..mail() }), expected);
    assert!(expected.ends_with("\r\n\r\na\r\n.\r\nb\r\n"), "{expected:?}");
}

#[test]
fn case_c24_a_local_part_is_written_as_it_is() {
    let frozen = composer().freeze(&SendEmail { to: vec!["jörg@example.test".into()], ..mail() }, "t", AT).unwrap();
    assert!(frozen.needs_smtputf8);
    let raw = String::from_utf8(frozen.bytes).unwrap();
    assert!(raw.contains("To: jörg@example.test\r\n"), "{raw}");
}

#[test]
fn case_c17_what_cannot_be_sent_is_refused_with_its_reason() {
    let refused = |mail: SendEmail| composer().freeze(&mail, "token", AT).unwrap_err();
    assert!(matches!(refused(SendEmail { to: vec!["test".into()], ..mail() }), ComposeError::Address(_)));
    assert!(matches!(refused(SendEmail { to: vec![], ..mail() }), ComposeError::NoRecipients));
    assert!(matches!(refused(SendEmail { body: "a\0b".into(), ..mail() }), ComposeError::Nul));
    let small = Composer { largest: 500, ..composer() };
    let large = small.freeze(&SendEmail { body: "word ".repeat(200), ..mail() }, "token", AT);
    assert!(matches!(large, Err(ComposeError::TooLarge { .. })));
}

#[test]
fn case_c28_a_mail_without_id_gets_a_stable_one() {
    let bytes = b"Received: by a\r\nFrom: A <a@example.test>\r\nDate: Mon, 30 Nov 2026 10:00:00 +0000\r\nSubject: s\r\n\r\nbody\r\n";
    let again = String::from_utf8_lossy(bytes).replace("by a", "by b");
    let id = message::parse(bytes).unwrap().stable_id();
    assert_eq!(id, message::parse(again.as_bytes()).unwrap().stable_id());
    let other = String::from_utf8_lossy(bytes).replace("body", "other");
    assert_ne!(id, message::parse(other.as_bytes()).unwrap().stable_id());
}

#[tokio::test]
async fn a_saved_mail_is_one_private_whole_file() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("maildir");
    let saver = Maildir::new(&folder, "ana@example.test".into(), composer());
    let frozen = saver.freeze(&mail(), "token", AT).unwrap();
    let mut paths = Vec::new();
    for _ in 0..2 {
        let performed = saver.send(&frozen, &frozen.recipients, None).await;
        let Outcome::Accepted { receipt } = performed.outcome else { panic!("{performed:?}") };
        assert!(performed.reply.unwrap().ends_with("not sent"));
        paths.push(receipt.detail["path"].as_str().unwrap().to_owned());
    }
    assert_eq!(paths[0], paths[1]);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
    assert_eq!(std::fs::read(&paths[0]).unwrap(), frozen.bytes);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(std::fs::metadata(&paths[0]).unwrap().permissions().mode() & 0o777, 0o600);
    }
    assert_eq!(saver.find_sent(&frozen.message_id).await.unwrap().as_deref(), Some(paths[0].as_str()));
    assert_eq!(saver.find_sent("<other@example.test>").await.unwrap(), None);
    let found = saver.search("from:ana offer", 10).await.unwrap();
    assert_eq!(found.len(), 1);
    assert!(saver.read(&found[0].id).await.unwrap().text.contains("see you."));
    assert!(saver.search("subject:invoice", 10).await.unwrap().is_empty());
    assert!(saver.read("../../etc/passwd").await.is_err());
}
