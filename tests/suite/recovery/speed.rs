//! How long the store takes to stand after a kill.

use std::time::Instant;

use rusqlite::Connection;
use unavez::domain::ports::Clock;
use unavez::evidence;
use unavez::store::{DataFolder, Durability, Store, StoreMode};

/// 100,000 settled effects and 1,000 found in flight.
fn filled(folder: &DataFolder) {
    drop(Store::open(folder, StoreMode::Inline).unwrap());
    let connection = Connection::open(folder.database()).unwrap();
    connection
        .execute_batch(
            "PRAGMA synchronous = off; BEGIN;
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 101000)
             INSERT INTO effects (id, tool, target, account, state, idempotency_key, identity, digest, literal_hash, normalisation,
                     intent, action, summary, attempts, epoch, lease_until, receipt, accepted_elapsed, created_at, created_elapsed, updated_at)
             SELECT 'e' || i, 'create_event', 'calendar', 'local', CASE WHEN i <= 100000 THEN 'accepted' ELSE 'dispatching' END,
                    'x' || i, 'i' || i, 'd', 'l', 1, '{\"tool\":\"create_event\",\"arguments\":{},\"request\":\"\",\"stale_seconds\":null}',
                    '{\"kind\":\"other\",\"tool\":\"t\",\"arguments\":{},\"identity_fields\":[]}', 's', 1, 1, 1,
                    CASE WHEN i <= 100000 THEN '{\"source\":\"provider\",\"provider_id\":null,\"detail\":null}' END,
                    CASE WHEN i <= 100000 THEN i END, i, i, i FROM n;
             INSERT INTO effect_attempts (effect_id, n, phase, started_at) SELECT id, 1, 'claimed', 1 FROM effects WHERE state = 'dispatching';
             COMMIT;",
        )
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "fills a database: scripts/proof.sh"]
async fn proof_recovery_is_fast() {
    let dir = tempfile::tempdir().unwrap();
    let folder = DataFolder::open(dir.path().join("data")).unwrap();
    filled(&folder);
    let started = Instant::now();
    let store = Store::open(&folder, StoreMode::Threaded).unwrap();
    let now = store.system_clock().now();
    let settings = evidence::Settings::default();
    store.write("evidence.recover", Durability::Full, move |tx| evidence::recover(tx, now, &settings)).await.unwrap();
    let took = started.elapsed();
    let unknown: i64 = Connection::open(folder.database())
        .unwrap()
        .query_row("SELECT count(*) FROM effects WHERE state = 'unknown'", [], |row| row.get(0))
        .unwrap();
    assert_eq!(unknown, 1_000);
    println!(
        "PROOF recovery: 100,000 rows and 1,000 in flight in {} ms (goal 250 ms, release build)",
        took.as_millis()
    );
}
