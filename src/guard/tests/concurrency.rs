//! Many callers, one identity: exactly one effect, and nobody sees a locked database.

use std::collections::BTreeSet;

use super::*;
use crate::evidence::testing::*;
use crate::evidence::{Targets, Worker};
use crate::runtime::ids::RandomIds;
use crate::store::{DataFolder, Store, StoreMode};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sixty_four_callers_on_two_connections_make_one_event() {
    let dir = tempfile::tempdir().unwrap();
    let folder = DataFolder::open(dir.path().join("data")).unwrap();
    let stores = [(); 2].map(|()| Store::open(&folder, StoreMode::Threaded).unwrap());
    let target = Arc::new(Scripted::new(DedupeClass::ClientId));
    target.takes(Duration::from_millis(300));
    let targets = Targets::default();
    targets.set("calendar", target.clone());
    let rules = approvals::Rules {
        ids: Arc::new(RandomIds),
        targets: targets.clone(),
        settings: approvals::Settings::default(),
        evidence: crate::evidence::Settings::default(),
    };
    let deps = stores.clone().map(|store| Deps {
        clock: Arc::new(store.system_clock()),
        store,
        calendar: None,
        settings: Settings::default(),
        rules: rules.clone(),
        mail_saves_only: false,
    });
    let worker = tokio::spawn(
        Worker::new(crate::evidence::Deps {
            store: stores[0].clone(),
            clock: deps[0].clock.clone(),
            ids: Arc::new(RandomIds),
            targets,
            settings: crate::evidence::Settings::default(),
        })
        .run(),
    );
    let mut callers = tokio::task::JoinSet::new();
    for n in 0..64 {
        let deps = deps[n % 2].clone();
        callers.spawn(async move {
            let action = Action::CreateEvent(event("Dentist", "2026-03-10T09:00:00+01:00"));
            let request = AdmitRequest {
                declaration: declaration(&action),
                account: AccountId::new("me"),
                target: "calendar".into(),
                intent: Intent::default(),
                origin: Origin::Person { act: format!("act {n}") },
                conversation: None,
                stale_seconds: None,
                repeat: false,
                provenance: Vec::new(),
                action,
            };
            admit(&deps, request).await
        });
    }
    let mut effects = BTreeSet::new();
    let mut fresh = 0;
    while let Some(verdict) = callers.join_next().await {
        match verdict.unwrap().unwrap() {
            Verdict::Admitted { effect } => {
                fresh += 1;
                effects.insert(effect);
            }
            Verdict::Duplicate { effect, receipt, .. } => {
                assert!(receipt.provider_id.is_some());
                effects.insert(effect);
            }
            other => panic!("{other:?}"),
        }
    }
    worker.abort();
    assert_eq!((fresh, effects.len(), target.calls()), (1, 1, 1));
    let rows: i64 = stores[1]
        .read(|connection| {
            Ok::<_, crate::store::StoreError>(connection.query_row(
                "SELECT COUNT(*) FROM prevented WHERE verdict = 'duplicate'",
                [],
                |row| row.get(0),
            )?)
        })
        .await
        .unwrap();
    assert_eq!(rows, 63);
}
