//! A question to the index, which is brought up to date with the logs first.

use crate::{Advance, Budget, FILE, Refreshed, Store, StoreError};
use std::path::Path;

/// An answer of the index, and how up to date it is.
#[derive(Debug)]
pub struct Answered<T> {
    /// The answer.
    pub answer: T,
    /// What the index learnt before it answered, and what it still lacks.
    pub refreshed: Refreshed,
    /// The damage for which the index was made again, where it was.
    pub damage: Option<StoreError>,
}

/// Brings the index of a folder up to date within the budget, and asks it. `watch` learns how far it
/// has come. An index that is damaged is removed once and made again; the logs have everything that
/// was in it.
pub fn ask_refreshed<T: Send>(
    folder: &Path,
    budget: Budget,
    watch: &mut dyn FnMut(Advance),
    question: impl Fn(&mut Store) -> Result<T, StoreError> + Sync,
) -> Result<Answered<T>, StoreError> {
    match ask(folder, budget, watch, &question) {
        Err(error) if error.is_damage() => {
            Store::remove(&folder.join(FILE))?;
            let answered = ask(folder, budget, watch, &question)?;
            Ok(Answered { damage: Some(error), ..answered })
        }
        answered => answered,
    }
}

fn ask<T: Send>(
    folder: &Path,
    budget: Budget,
    watch: &mut dyn FnMut(Advance),
    question: &(impl Fn(&mut Store) -> Result<T, StoreError> + Sync),
) -> Result<Answered<T>, StoreError> {
    let mut store = Store::open(folder)?;
    let before = store.changes();
    let (early, refreshed) = std::thread::scope(|scope| {
        // Mostly nothing has changed, and the answer is there when all logs were looked at.
        let asks = || Store::open(folder).and_then(|mut store| question(&mut store)).ok();
        let early = store.has_many_logs().then(|| scope.spawn(asks));
        let refreshed = store.refresh_watched(budget, watch);
        (early.and_then(|early| early.join().ok().flatten()), refreshed)
    });
    let refreshed = refreshed?;
    let answer = match early.filter(|_| store.changes() == before) {
        Some(answer) => answer,
        None => question(&mut store)?,
    };
    Ok(Answered { answer, refreshed, damage: None })
}
