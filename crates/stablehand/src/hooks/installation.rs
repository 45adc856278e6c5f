//! Our hooks in a settings file for the length of a run.
//!
//! Owns when the file is written and when it is given back. What it was is in the journal before it
//! is touched. The last run that needs it restores it, byte for byte; after a kill the keeper does,
//! and after a kill of both whoever comes next. What somebody changed in the meantime is never
//! overwritten: then only our entries are taken out.

use super::journal::{Journal, Locked, Record, User};
use super::merge::{is_blank, unmerge_where};
use super::place::{Deed, Found, Place, Target, hash};
use super::{Finding, HookError, HookPlan, Survey, command};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a process that was killed may take until its locks are free.
const DYING: Duration = Duration::from_secs(2);

/// What became of a file that was given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is what it was, to the byte.
    Restored,
    /// Somebody had changed it, so that only our entries were taken out.
    Edited,
    /// Somebody had deleted it, and it stays so.
    Deleted,
    /// Its whole project is gone.
    Gone,
}

/// How an installation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Nothing had to be put in, and nothing was taken out.
    Covered,
    /// Other runs need it still.
    StillUsed,
    /// The file was given back.
    GivenBack(Change),
}

/// Who has put hooks into a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InstalledBy {
    /// The processes of the runs that need it now.
    pub runs: Vec<u32>,
    /// Whether a journal says what the file was, and nobody needs it: the rest of a run that was
    /// killed.
    pub left_over: bool,
}

/// A file that was put right.
#[derive(Debug)]
pub struct Repaired {
    /// Which.
    pub path: PathBuf,
    /// What became of it, or why nothing could be done.
    pub result: Result<Change, HookError>,
}

/// What somebody needs to end an installation in our place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// The folder of the journal.
    pub journal: PathBuf,
    /// The run's own file in it.
    pub user: OsString,
}

/// Our hooks in a file, until this is dropped.
#[derive(Debug)]
pub struct Installation {
    path: PathBuf,
    journal: Journal,
    /// Nothing where the file has everything for good.
    user: Option<User>,
    /// What was wrong with the file.
    pub findings: Vec<Finding>,
    /// What a run that was killed had left, and became of it.
    pub repaired: Option<Change>,
}

impl Installation {
    /// Puts the hooks of a plan into a file. `state` is our state folder.
    pub fn begin(
        target: &Target,
        plan: &HookPlan,
        state: &Path,
    ) -> Result<Installation, HookError> {
        let target = target.resolved()?;
        // Links and other people's files are refused before anything is made.
        Place::open(&target)?.read()?;
        let journal = Journal::of(state, &target);
        let locked = journal.lock()?;
        let mut repaired = None;
        let mut shared = None;
        if let Some(record) = locked.record()? {
            if locked.living().is_empty() {
                repaired = Some(restore(&locked, &record)?);
            } else {
                shared = Some(record);
            }
        }
        let begun = Begun { target: &target, plan, locked: &locked, shared };
        let (user, survey) = begun.put_in()?;
        drop(locked);
        let findings = survey.findings;
        Ok(Installation { path: target.path(), journal, user, findings, repaired })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether everything was there for good already.
    pub fn is_covered(&self) -> bool {
        self.user.is_none()
    }

    /// What the keeper needs to give the file back when we are killed.
    pub fn release(&self) -> Option<Release> {
        let user = self.user.as_ref()?;
        Some(Release { journal: self.journal.folder().to_owned(), user: user.name.clone() })
    }

    /// Gives the file back, if no other run needs it.
    pub fn end(mut self) -> Result<Ending, HookError> {
        self.finish()
    }

    fn finish(&mut self) -> Result<Ending, HookError> {
        let Some(user) = self.user.take() else { return Ok(Ending::Covered) };
        let locked = self.journal.lock()?;
        locked.remove_user(&user.name);
        drop(user);
        give_back(&locked)
    }
}

impl Drop for Installation {
    fn drop(&mut self) {
        // Whoever wants to know ends it by hand. What is left is put right by the next one.
        let _put_right_later = self.finish();
    }
}

/// Ends an installation in the place of a run that has died. Nothing happens where the run lives,
/// or has ended it itself.
pub fn release(release: &Release) -> Result<Option<Ending>, HookError> {
    let journal = Journal::at(release.journal.clone());
    if journal.user_ended(&release.user, DYING) != Some(true) {
        return Ok(None);
    }
    let locked = journal.lock()?;
    locked.remove_user(&release.user);
    give_back(&locked).map(Some)
}

/// Puts right whatever runs that were killed have left in any file.
pub fn repair(state: &Path) -> Vec<Repaired> {
    Journal::all(state).iter().filter_map(repair_one).collect()
}

fn repair_one(journal: &Journal) -> Option<Repaired> {
    let broken = |error| Some(Repaired { path: journal.folder().to_owned(), result: Err(error) });
    let locked = match journal.lock() {
        Ok(locked) => locked,
        Err(error) => return broken(error),
    };
    let record = match locked.record() {
        Ok(record) => record?,
        Err(error) => return broken(error),
    };
    if !locked.living().is_empty() {
        return None;
    }
    Some(Repaired { path: record.target().path(), result: restore(&locked, &record) })
}

/// Which runs have put hooks into a file.
pub fn running(target: &Target, state: &Path) -> Result<InstalledBy, HookError> {
    let journal = Journal::of(state, &target.resolved()?);
    if !journal.exists() {
        return Ok(InstalledBy::default());
    }
    let locked = journal.lock()?;
    let runs = locked.living();
    let left_over = runs.is_empty() && locked.record()?.is_some();
    Ok(InstalledBy { runs, left_over })
}

fn give_back(locked: &Locked) -> Result<Ending, HookError> {
    if !locked.living().is_empty() {
        return Ok(Ending::StillUsed);
    }
    match locked.record()? {
        Some(record) => restore(locked, &record).map(Ending::GivenBack),
        None => Ok(Ending::Covered),
    }
}

/// One `begin`, under the lock.
struct Begun<'b> {
    target: &'b Target,
    plan: &'b HookPlan,
    locked: &'b Locked<'b>,
    /// What the runs that live have written down.
    shared: Option<Record>,
}

impl Begun<'_> {
    fn put_in(&self) -> Result<(Option<User>, Survey), HookError> {
        let mut place = Place::open(self.target)?;
        let made_folder = !place.has_folder();
        let mut user = None;
        let done = place.update(|found| {
            let (deed, survey) = self.decide(found, made_folder)?;
            if (deed != Deed::Keep || self.shared.is_some()) && user.is_none() {
                user = Some(self.locked.add_user()?);
            }
            Ok((deed, survey))
        });
        match (done, user) {
            (Ok(survey), user) => Ok((user, survey)),
            (Err(error), user) => {
                if let Some(user) = user {
                    self.locked.remove_user(&user.name);
                }
                // Nobody depends on a journal of a file that could not be written.
                if self.shared.is_none() {
                    if made_folder {
                        place.remove_folder();
                    }
                    let _the_first_error_counts = self.locked.forget();
                }
                Err(error)
            }
        }
    }

    /// What is to be written, which is in the journal when this returns.
    fn decide(&self, found: Option<&Found>, made: bool) -> Result<(Deed, Survey), HookError> {
        let path = self.target.path();
        let unreadable = |source| HookError::File { path: path.clone(), source };
        let text = found.map(|found| text_of(found, &path)).transpose()?;
        let survey = self.plan.survey(text).map_err(unreadable)?;
        if self.plan.is_covered_by(&survey) {
            return Ok((Deed::Keep, survey));
        }
        let merged = self.plan.merge(text).map_err(unreadable)?;
        let (before, made_folder) = match &self.shared {
            None => (text.map(str::to_owned), made),
            // Our entries are in what is there already, so it is not what the file was.
            Some(record) if text.is_some_and(|text| record.after_hash == hash(text.as_bytes())) => {
                (record.before.clone(), record.made_folder)
            }
            Some(record) => {
                let rest = text.map(|text| without_ours(text, record)).transpose();
                (rest.map_err(unreadable)?.flatten(), record.made_folder)
            }
        };
        let name = &self.plan.name;
        let record = Record::new(self.target, name, before, &merged.text, made_folder);
        self.locked.write(&record)?;
        Ok((Deed::Write(merged.text), survey))
    }
}

/// Gives a file back, and forgets the journal.
pub(super) fn restore(locked: &Locked, record: &Record) -> Result<Change, HookError> {
    let target = record.target();
    let mut place = match Place::open(&target) {
        Ok(place) => place,
        Err(HookError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            locked.forget()?;
            return Ok(Change::Gone);
        }
        Err(error) => return Err(error),
    };
    place.remove_unfinished();
    let change = place.update(|found| decide_rest(found, record, &target.path()))?;
    if record.made_folder {
        place.remove_folder();
    }
    locked.forget()?;
    Ok(change)
}

fn decide_rest(
    found: Option<&Found>,
    record: &Record,
    path: &Path,
) -> Result<(Deed, Change), HookError> {
    let before = || record.before.clone().map_or(Deed::Remove, Deed::Write);
    let Some(found) = found else {
        let change = if record.before.is_some() { Change::Deleted } else { Change::Restored };
        return Ok((Deed::Keep, change));
    };
    if record.before.as_ref().is_some_and(|before| before.as_bytes() == found.bytes) {
        // Killed before the file was touched, or after it was given back.
        return Ok((Deed::Keep, Change::Restored));
    }
    if hash(&found.bytes) == record.after_hash {
        return Ok((before(), Change::Restored));
    }
    let text = text_of(found, path)?;
    let rest = without_ours(text, record)
        .map_err(|source| HookError::File { path: path.to_owned(), source })?;
    let deed = match rest {
        Some(rest) if rest == text => Deed::Keep,
        Some(rest) => Deed::Write(rest),
        None => before(),
    };
    Ok((deed, Change::Edited))
}

/// A file that somebody has changed, without the entries that were put in: those that had been there
/// before stay. Nothing where the whole file is ours.
fn without_ours(text: &str, record: &Record) -> Result<Option<String>, super::FileError> {
    let mut there_before = BTreeSet::new();
    if let Some(before) = record.before.as_deref().filter(|before| !is_blank(before)) {
        // Only looks: nothing is said to be ours.
        unmerge_where(before, |entry| {
            there_before.insert((entry.event.to_owned(), entry.command.to_owned()));
            false
        })?;
    }
    let name = record.name();
    let unmerged = unmerge_where(text, |entry| {
        let known = (entry.event.to_owned(), entry.command.to_owned());
        command::is_ours(entry.command, name) && !there_before.contains(&known)
    })?;
    Ok(unmerged.text)
}

fn text_of<'f>(found: &'f Found, path: &Path) -> Result<&'f str, HookError> {
    let not_text = |_| HookError::File { path: path.into(), source: super::FileError::NotText };
    str::from_utf8(&found.bytes).map_err(not_text)
}
