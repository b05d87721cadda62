//! Field by field, what the new call says differently.

use super::normalise::Normalised;
use crate::domain::effect::Difference;

/// Fields whose meaning differs, each with both values as given. Where the first names something and the new call does
/// not, that is a difference too: nothing is dropped in silence.
pub(super) fn differences(first: &Normalised, now: &Normalised) -> Vec<Difference> {
    let mut names: Vec<&str> = first.fields.iter().map(|field| field.name.as_str()).collect();
    names.extend(
        now.fields
            .iter()
            .map(|field| field.name.as_str())
            .filter(|name| first.fields.iter().all(|field| field.name != *name)),
    );
    let find = |of: &'_ Normalised, name: &str| of.fields.iter().find(|field| field.name == name).cloned();
    names
        .into_iter()
        .filter_map(|name| {
            let (one, other) = (find(first, name), find(now, name));
            let normal = |field: &Option<super::normalise::Field>| {
                field.as_ref().map(|field| field.normal.clone()).unwrap_or_default()
            };
            let shown = |field: Option<super::normalise::Field>| field.map(|field| field.shown).unwrap_or_default();
            (normal(&one) != normal(&other)).then(|| Difference {
                field: name.to_owned(),
                first: shown(one),
                now: shown(other),
            })
        })
        .collect()
}
