//! Watches the settings file that the agent reads its hooks from.
//!
//! Owns what that file did to hold the agent when the run began. The agent's own tools can reach the
//! file (`git clean -fdx` removes it), and an agent that reads it again would then ask nobody. Edits
//! that leave our entries as they were are no change.

use super::setup::HookFile;
use crate::hooks::{Guard, can_be_started, program_of};
#[cfg(target_os = "linux")]
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

/// A settings file as it was when the run began.
#[derive(Debug)]
pub(super) struct FileWatch {
    file: HookFile,
    /// Our program, which the entries start.
    program: Option<PathBuf>,
    /// The text that was last found to hold the agent.
    text: Option<String>,
    /// Absent where the file could not be read.
    guard: Option<Guard>,
    #[cfg(target_os = "linux")]
    notices: Option<Inotify>,
}

impl FileWatch {
    /// Remembers what the file does to hold the agent.
    pub(super) fn begin(file: &HookFile) -> FileWatch {
        let command = file.plan.commands.iter().next();
        let mut watch = FileWatch {
            file: file.clone(),
            program: command.and_then(|command| program_of(&command.command)),
            text: None,
            guard: None,
            // Without notices we look at every tool and every question all the same.
            #[cfg(target_os = "linux")]
            notices: Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC).ok(),
        };
        // Before the first look, so that no change falls between the two.
        watch.watch_folders();
        (watch.text, watch.guard) = watch.look();
        watch
    }

    /// Returns the file.
    pub(super) fn path(&self) -> PathBuf {
        self.file.target.path()
    }

    /// Returns true if our entries are not as they were, or cannot be run any more.
    pub(super) fn has_changed(&mut self) -> bool {
        if self.program.as_deref().is_some_and(|program| !can_be_started(program)) {
            return true;
        }
        let (text, guard) = self.look();
        if guard == self.guard {
            self.text = text;
            return false;
        }
        true
    }

    fn look(&self) -> (Option<String>, Option<Guard>) {
        let Ok(text) = self.file.target.read() else { return (None, None) };
        let is_known = text.is_some() && text == self.text;
        let guard =
            if is_known { self.guard.clone() } else { self.file.plan.guard(text.as_deref()).ok() };
        (text, guard)
    }

    /// Returns the descriptor that is readable when somebody touched the file.
    #[cfg(target_os = "linux")]
    pub(super) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.notices.as_ref().map(AsFd::as_fd)
    }

    /// Returns true if somebody touched the file since the last call.
    #[cfg(target_os = "linux")]
    pub(super) fn was_touched(&self) -> bool {
        let Some(notices) = &self.notices else { return false };
        let was_touched = notices.read_events().is_ok();
        if was_touched {
            // A folder that was removed and made again is another one.
            self.watch_folders();
        }
        was_touched
    }

    #[cfg(target_os = "linux")]
    fn watch_folders(&self) {
        let Some(notices) = &self.notices else { return };
        let path = self.path();
        let folder = path.parent();
        for folder in folder.into_iter().chain(folder.and_then(Path::parent)) {
            let any = AddWatchFlags::IN_CREATE
                | AddWatchFlags::IN_CLOSE_WRITE
                | AddWatchFlags::IN_MODIFY
                | AddWatchFlags::IN_MOVE
                | AddWatchFlags::IN_DELETE
                | AddWatchFlags::IN_ONLYDIR;
            // A folder that is not there is seen when it is made.
            let _not_there = notices.add_watch(folder, any);
        }
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn was_touched(&self) -> bool {
        false
    }

    #[cfg(not(target_os = "linux"))]
    fn watch_folders(&self) {}
}
