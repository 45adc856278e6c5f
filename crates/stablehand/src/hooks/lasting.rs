//! Our hooks in a settings file for good, and out of it again.
//!
//! The same lock as for runs. While a run has the file, it is not the file that changes but what the
//! run will give back, so that neither undoes the other's work.

use super::installation::restore;
use super::journal::{Journal, Record};
use super::merge::unmerge;
use super::place::{Deed, Place, Target};
use super::{FileError, HookError, HookPlan, Survey};
use std::ffi::OsStr;
use std::path::Path;

/// What was done to a file, or would be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lasting {
    /// The events that got an entry, or how many entries were taken out.
    pub changed: usize,
    /// What the file says now; nothing where it is not there any more.
    pub text: Option<String>,
    /// What was in it before.
    pub before: Survey,
    /// The runs that have the file now: it changes when the last of them ends.
    pub waits_for: Vec<u32>,
}

/// Whether something is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preview {
    /// Only told.
    Only,
    /// Done.
    No,
}

/// Puts the hooks of a plan into a file, for good.
pub fn install(
    target: &Target,
    plan: &HookPlan,
    state: &Path,
    preview: Preview,
) -> Result<Lasting, HookError> {
    change(target, plan, state, preview, |text| {
        let merged = plan.merge(text)?;
        Ok((Some(merged.text), merged.added.len()))
    })
}

/// Takes every entry of ours out of a file.
pub fn uninstall(
    target: &Target,
    plan: &HookPlan,
    state: &Path,
    preview: Preview,
) -> Result<Lasting, HookError> {
    let name: &OsStr = &plan.name;
    change(target, plan, state, preview, |text| {
        let Some(text) = text else { return Ok((None, 0)) };
        let unmerged = unmerge(text, name)?;
        Ok((unmerged.text, unmerged.removed))
    })
}

type Edit<'e> = dyn Fn(Option<&str>) -> Result<(Option<String>, usize), FileError> + 'e;

fn change(
    target: &Target,
    plan: &HookPlan,
    state: &Path,
    preview: Preview,
    edit: impl Fn(Option<&str>) -> Result<(Option<String>, usize), FileError>,
) -> Result<Lasting, HookError> {
    let target = target.resolved()?;
    Place::open(&target)?.read()?;
    if preview == Preview::Only {
        return look(&target, plan, &edit);
    }
    let journal = Journal::of(state, &target);
    let locked = journal.lock()?;
    if let Some(record) = locked.record()? {
        let waits_for = locked.living();
        if !waits_for.is_empty() {
            let (record, lasting) = change_record(&record, plan, &edit, waits_for)?;
            locked.write(&record)?;
            return Ok(lasting);
        }
        restore(&locked, &record)?;
    }
    let path = target.path();
    let unreadable = |source| HookError::File { path: path.clone(), source };
    let mut place = Place::open(&target)?;
    place.remove_unfinished();
    let lasting = place.update(|found| {
        let text = match found {
            None => None,
            Some(found) => {
                let text = str::from_utf8(&found.bytes);
                Some(text.map_err(|_| unreadable(FileError::NotText))?)
            }
        };
        let before = plan.survey(text).map_err(unreadable)?;
        let (new, changed) = edit(text).map_err(unreadable)?;
        let deed = match &new {
            _ if new.as_deref() == text => Deed::Keep,
            Some(new) => Deed::Write(new.clone()),
            None => Deed::Remove,
        };
        Ok((deed, Lasting { changed, text: new, before, waits_for: Vec::new() }))
    })?;
    if lasting.text.is_none() && lasting.changed > 0 {
        // The file was ours alone, and an empty folder says nothing.
        place.remove_folder();
    }
    Ok(lasting)
}

fn look(target: &Target, plan: &HookPlan, edit: &Edit) -> Result<Lasting, HookError> {
    let unreadable = |source| HookError::File { path: target.path(), source };
    let text = target.read()?;
    let before = plan.survey(text.as_deref()).map_err(unreadable)?;
    let (text, changed) = edit(text.as_deref()).map_err(unreadable)?;
    Ok(Lasting { changed, text, before, waits_for: Vec::new() })
}

/// Changes what a run will give back.
fn change_record(
    record: &Record,
    plan: &HookPlan,
    edit: &Edit,
    waits_for: Vec<u32>,
) -> Result<(Record, Lasting), HookError> {
    let unreadable = |source| HookError::File { path: record.target().path(), source };
    let before = plan.survey(record.before.as_deref()).map_err(unreadable)?;
    let (text, changed) = edit(record.before.as_deref()).map_err(unreadable)?;
    let lasting = Lasting { changed, text: text.clone(), before, waits_for };
    Ok((record.over(text), lasting))
}
