use super::*;

fn folder() -> (tempfile::TempDir, DataFolder) {
    let dir = tempfile::tempdir().unwrap();
    let folder = DataFolder::open(dir.path().join("data")).unwrap();
    (dir, folder)
}

#[tokio::test]
async fn a_write_is_announced_after_its_commit_and_read_back() {
    let (_dir, folder) = folder();
    for mode in [StoreMode::Threaded, StoreMode::Inline] {
        let store = Store::open(&folder, mode).unwrap();
        let watch = store.watch(&[Table::Meta]);
        store.write("test", Durability::Full, |tx| meta::set(tx, "key", &7)).await.unwrap();
        assert!(watch.changed().await.contains(Table::Meta));
        let value: Option<i64> = store.read(|connection| meta::get(connection, "key")).await.unwrap();
        assert_eq!(value, Some(7));
        store.close().await.unwrap();
    }
}

#[tokio::test]
async fn a_failing_or_panicking_write_leaves_nothing_and_the_writer_goes_on() {
    let (_dir, folder) = folder();
    let store = Store::open(&folder, StoreMode::Threaded).unwrap();
    let failed: Result<(), StoreError> = store
        .write("test", Durability::Full, |tx| {
            meta::set(tx, "key", &1)?;
            Err(StoreError::Locked)
        })
        .await;
    assert!(matches!(failed, Err(StoreError::Locked)));
    let panicked: Result<(), StoreError> = store.write("test", Durability::Full, |_| panic!("boom")).await;
    assert!(matches!(panicked, Err(StoreError::Panicked(text)) if text == "boom"));
    let value: Option<i64> = store.read(|connection| meta::get(connection, "key")).await.unwrap();
    assert_eq!(value, None);
    store.write("test", Durability::Normal, |tx| meta::set(tx, "key", &2)).await.unwrap();
}

#[tokio::test]
async fn a_newer_database_is_refused() {
    let (_dir, folder) = folder();
    drop(Store::open(&folder, StoreMode::Inline).unwrap());
    let raw = rusqlite::Connection::open(folder.database()).unwrap();
    raw.pragma_update(None, "user_version", 999).unwrap();
    drop(raw);
    assert!(matches!(Store::open(&folder, StoreMode::Inline), Err(StoreError::Newer { found: 999, .. })));
}

#[cfg(unix)]
#[test]
fn the_folder_is_private_and_locked() {
    use std::os::unix::fs::PermissionsExt;
    let (_dir, folder) = folder();
    let _store = Store::open(&folder, StoreMode::Inline).unwrap();
    let lock = InstanceLock::take(&folder).unwrap();
    assert!(matches!(InstanceLock::take(&folder), Err(StoreError::InUse(_))));
    drop(lock);
    InstanceLock::take(&folder).unwrap();
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(folder.path()), 0o700);
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let entry = entry.unwrap();
        assert_eq!(mode(&entry.path()), if entry.path().is_dir() { 0o700 } else { 0o600 }, "{entry:?}");
    }
}
