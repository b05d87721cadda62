//! Keeping, finding and forgetting.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::*;
use crate::domain::ids::FactId;
use crate::domain::time::Now;
use crate::store::{DataFolder, Durability, Store, StoreMode};

async fn keep(store: &Store, kind: FactKind, text: &str, name: Option<&str>, address: Option<&str>) -> (FactId, bool) {
    let new = NewFact {
        kind,
        text: text.to_owned(),
        name: name.map(str::to_owned),
        address: address.map(str::to_owned),
        said_by: "window".to_owned(),
    };
    store.write("test.keep", Durability::Normal, move |tx| remember(tx, Now::default(), &new)).await.unwrap()
}

async fn find(store: &Store, query: &str) -> Vec<String> {
    let query = query.to_owned();
    let found = store.read(move |connection| recall(connection, &query, 10)).await.unwrap();
    found.into_iter().map(|fact| fact.text).collect()
}

#[tokio::test]
async fn facts_are_found_by_their_words_and_forgotten_for_good() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&DataFolder::open(folder.path()).unwrap(), StoreMode::Inline).unwrap();
    let (dentist, fresh) = keep(&store, FactKind::Fact, "Mi dentista es la doctora Muñoz", None, None).await;
    assert!(fresh);
    assert_eq!(keep(&store, FactKind::Fact, "Mi dentista es la doctora Muñoz", None, None).await, (dentist, false));
    keep(&store, FactKind::Contact, "Ana, la vecina", Some("Ana"), Some("ana@example.test")).await;
    let (ana, fresh) = keep(&store, FactKind::Contact, "Ana, de la oficina", Some("ana"), Some("ana@work.test")).await;
    assert!(!fresh, "a contact of the same name is updated");

    assert_eq!(find(&store, "¿quién es mi DENTISTA?").await, ["Mi dentista es la doctora Muñoz"]);
    assert_eq!(find(&store, "munoz").await.len(), 1, "accents do not hide it");
    assert_eq!(find(&store, "ana").await, ["Ana, de la oficina"]);
    assert_eq!(find(&store, "vecina").await, Vec::<String>::new(), "what was replaced is not found");
    assert_eq!(find(&store, "\"; DROP TABLE facts; --").await, Vec::<String>::new());
    assert_eq!(find(&store, "").await.len(), 2);

    store.write("test.forget", Durability::Full, move |tx| forget(tx, Now::default(), ana)).await.unwrap().unwrap();
    assert_eq!(find(&store, "oficina").await, Vec::<String>::new());
    let left = store
        .read(|connection| {
            Ok::<i64, crate::store::StoreError>(connection.query_row(
                "SELECT COUNT(*) FROM facts WHERE text LIKE '%oficina%' OR address LIKE '%work%'",
                [],
                |row| row.get(0),
            )?)
        })
        .await
        .unwrap();
    assert_eq!(left, 0);
    assert!(
        store.write("test.again", Durability::Full, move |tx| forget(tx, Now::default(), ana)).await.unwrap().is_none()
    );
}
