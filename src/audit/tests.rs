#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::io::Cursor;
use std::sync::Arc;

use super::*;
use crate::domain::ids::ConversationId;
use crate::domain::time::{Elapsed, Now, Wall};
use crate::runtime::secrets::MemorySecrets;
use crate::store::{DataFolder, Durability, Store, StoreError, StoreMode};

struct Rig {
    _dir: tempfile::TempDir,
    folder: DataFolder,
    store: Store,
}

impl Rig {
    async fn with(entries: i64) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let folder = DataFolder::open(dir.path().join("data")).unwrap();
        let store = Store::open(&folder, StoreMode::Inline).unwrap();
        let rig = Self { _dir: dir, folder, store };
        rig.add(entries).await;
        rig
    }

    async fn add(&self, entries: i64) {
        self.store
            .write("test", Durability::Normal, move |tx| {
                for n in 0..entries {
                    let kind = if n % 3 == 0 { Kind::DuplicatePrevented } else { Kind::EffectOutcome };
                    let now = Now { wall: Wall(1_780_000_000_000 + n * 777), elapsed: Elapsed(n) };
                    let entry = Entry::new(kind, Actor::Person("cli".into()))
                        .in_conversation(ConversationId(n % 2))
                        .detail("n", n)
                        .personal("title", format!("=Cena {n} \"x\",\r\ny"));
                    append(tx, now, entry)?;
                }
                Ok::<_, StoreError>(())
            })
            .await
            .unwrap();
    }

    fn sql(&self, statement: &str) {
        rusqlite::Connection::open(self.folder.database()).unwrap().execute_batch(statement).unwrap();
    }

    async fn verify(&self, anchor: Option<Anchor>) -> Verification {
        self.store.read(move |connection| verify(connection, anchor.as_ref())).await.unwrap()
    }

    async fn export(&self, filter: Filter, format: Format) -> Vec<String> {
        let zone = jiff::tz::TimeZone::get("Europe/Madrid").unwrap();
        let mut export = Export::begin(&self.store, filter, format, zone).await.unwrap();
        let mut lines = Vec::new();
        loop {
            let chunk = export.next(&self.store).await.unwrap();
            lines.extend(chunk.lines);
            if chunk.done {
                return lines;
            }
        }
    }
}

#[tokio::test]
async fn any_tampering_is_found_at_its_entry() {
    for (statement, seq) in [
        ("UPDATE audit SET actor = 'model' WHERE seq = 4", 4),
        ("UPDATE audit SET at = at + 1 WHERE seq = 1", 1),
        ("UPDATE audit SET details = '{}' WHERE seq = 9", 9),
        ("DELETE FROM audit_personal WHERE seq = 5; DELETE FROM audit WHERE seq = 5", 5),
        ("UPDATE audit_personal SET value = 'other' WHERE seq = 3", 3),
        ("UPDATE audit SET effect_id = '' WHERE seq = 2", 2),
        (
            "INSERT INTO audit SELECT 11, at, kind, conversation_id, turn_id, effect_id, actor, details, prev_hash, hash
             FROM audit WHERE seq = 10",
            11,
        ),
    ] {
        let rig = Rig::with(10).await;
        assert_eq!(rig.verify(None).await.bad, None);
        rig.sql(statement);
        let bad = rig.verify(None).await.bad.unwrap_or_else(|| panic!("not found: {statement}"));
        assert_eq!(bad.seq, seq, "{statement}");
    }
}

#[tokio::test]
async fn erasing_a_personal_value_leaves_the_log_verifiable() {
    let rig = Rig::with(5).await;
    rig.sql("DELETE FROM audit_personal WHERE seq = 2");
    assert_eq!(rig.verify(None).await.bad, None);
    let lines = rig.export(Filter::default(), Format::Jsonl).await;
    assert_eq!(verify_export(Cursor::new(lines.join("\n"))).unwrap().bad, None);
}

#[tokio::test]
async fn a_cut_tail_or_a_rewritten_log_shows_against_the_anchor() {
    for keychain in [None, Some(Arc::new(MemorySecrets::default()) as Arc<dyn crate::domain::ports::Secrets>)] {
        let rig = Rig::with(10).await;
        let anchors = Anchors::new(rig.folder.audit_anchor(), keychain.clone());
        let clock = rig.store.system_clock();
        let kept = anchors.anchor(&rig.store, &clock).await.unwrap().unwrap();
        assert_eq!(kept.seq, 10);
        assert_eq!(rig.folder.audit_anchor().exists(), keychain.is_none());
        assert_eq!(anchors.load().await.unwrap().as_ref(), Some(&kept));
        assert_eq!(rig.verify(Some(kept.clone())).await.bad, None);
        rig.sql("DELETE FROM audit_personal WHERE seq > 8; DELETE FROM audit WHERE seq > 8");
        assert_eq!(rig.verify(None).await.bad, None, "the chain alone cannot see it");
        assert_eq!(rig.verify(Some(kept.clone())).await.bad.unwrap().seq, 9);
        rig.add(5).await;
        assert_eq!(rig.verify(Some(kept)).await.bad.unwrap().seq, 10, "the log was rewritten");
    }
}

#[tokio::test]
async fn a_filtered_export_carries_what_it_skips_and_verifies_offline() {
    let rig = Rig::with(2_500).await;
    let filter = Filter { kinds: vec![Kind::DuplicatePrevented], ..Filter::default() };
    let lines = rig.export(filter, Format::Jsonl).await;
    assert_eq!(lines.len(), 834);
    let check = verify_export(Cursor::new(lines.join("\n"))).unwrap();
    assert_eq!((check.entries, check.bad), (834, None));
    for (changed, seq) in [
        (lines[7].replace("\"n\":21", "\"n\":22"), 22),
        (lines[7].replace("person:cli", "model"), 22),
        (lines[7].replace("=Cena 21", "=Cena 12"), 22),
    ] {
        assert_ne!(changed, lines[7]);
        let mut copy = lines.clone();
        copy[7] = changed;
        assert_eq!(verify_export(Cursor::new(copy.join("\n"))).unwrap().bad.unwrap().seq, seq);
    }
    let mut without = lines.clone();
    without.remove(7);
    assert!(verify_export(Cursor::new(without.join("\n"))).unwrap().bad.is_some(), "a removed line");
    let cut = &lines[..lines.len() - 1];
    assert!(verify_export(Cursor::new(cut.join("\n"))).unwrap().bad.is_some(), "a cut file");
}

#[tokio::test]
async fn case_e14_csv_is_formula_safe_and_json_is_lossless() {
    let subjects = ["=HYPERLINK(\"http://x\",\"y\")", "+1", "@a", "-2", "\ttab", "a \"quote\", and\r\nline", "plain"];
    let rig = Rig::with(0).await;
    rig.store
        .write("test", Durability::Normal, move |tx| {
            for subject in subjects {
                append(tx, Now::default(), Entry::new(Kind::EffectOutcome, Actor::Model).personal("subject", subject))?;
            }
            Ok::<_, StoreError>(())
        })
        .await
        .unwrap();
    let text = rig.export(Filter::default(), Format::Csv).await.join("\n");
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let about = reader.headers().unwrap().iter().position(|name| name == "about").unwrap();
    let details = reader.headers().unwrap().iter().position(|name| name == "details").unwrap();
    let rows: Vec<csv::StringRecord> = reader.records().collect::<Result<_, _>>().unwrap();
    assert_eq!(rows.len(), subjects.len());
    for (row, subject) in rows.iter().zip(subjects) {
        for cell in row {
            assert!(!cell.starts_with(['=', '+', '-', '@', '\t', '\r']), "{cell}");
        }
        assert_eq!(row[about].trim_start_matches('\''), subject);
        let details: serde_json::Value = serde_json::from_str(&row[details]).unwrap();
        assert_eq!(details["subject"]["value"], subject);
    }
    let lines = rig.export(Filter::default(), Format::Jsonl).await;
    for (line, subject) in lines.iter().zip(subjects) {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(row["details"]["subject"]["value"], subject);
    }
}

#[tokio::test]
async fn case_e15_secrets_inside_values_are_in_neither_export() {
    let rig = Rig::with(0).await;
    rig.store
        .write("test", Durability::Normal, |tx| {
            let entry = Entry::new(Kind::EffectOutcome, Actor::System)
                .detail("error", "https://api.telegram.org/bot123:ABC/sendMessage timed out")
                .personal("text", "smtps://u:p4ssw0rd@host failed");
            append(tx, Now::default(), entry)
        })
        .await
        .unwrap();
    for format in [Format::Jsonl, Format::Csv] {
        let text = rig.export(Filter::default(), format).await.join("\n");
        assert!(text.contains("sendMessage") && text.contains("failed"), "{text}");
        assert!(!text.contains("ABC") && !text.contains("p4ssw0rd"), "{text}");
    }
}

#[tokio::test]
async fn layers_count_per_day() {
    let rig = Rig::with(0).await;
    let day = jiff::civil::date(2026, 12, 7);
    rig.store
        .write("test", Durability::Normal, move |tx| {
            count_layer(tx, day, Layer::Guard)?;
            count_layer(tx, day, Layer::Guard)?;
            count_layer(tx, day, Layer::Burst)
        })
        .await
        .unwrap();
    let counts = rig.store.read(move |connection| layer_counts(connection, day)).await.unwrap();
    assert_eq!(counts, [("2026-12-07".to_owned(), Layer::Burst, 1), ("2026-12-07".to_owned(), Layer::Guard, 2)]);
}
