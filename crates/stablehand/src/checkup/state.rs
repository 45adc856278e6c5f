//! Our folders, the space in them, who holds a session, and hooks that were left in settings.

use super::{CheckFinding, CheckLevel};
use nix::sys::statvfs::statvfs;
use nix::unistd::{AccessFlags, access};
use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Below this a run cannot be logged to its end.
const NEEDED_BYTES: u64 = 100 << 20;

/// Below this a long night of runs may fill the disk.
const COMFORTABLE_BYTES: u64 = 1 << 30;

/// Checks folders, space, leases and leftover hooks.
pub(super) fn check(state: Option<&Path>) -> Vec<CheckFinding> {
    let Some(state) = state else {
        let text = "HOME is not set, so there is no place for logs";
        let finding = CheckFinding::new("logs", CheckLevel::Broken, text);
        return vec![finding.fix("set HOME or STABLEHAND_HOME")];
    };
    let mut findings = vec![logs(&state.join("logs")), space(state), leases(&state.join("leases"))];
    findings.extend(hooks(state));
    findings
}

/// The nearest folder that exists, at or above a path.
fn existing(path: &Path) -> Option<PathBuf> {
    path.ancestors().find(|folder| folder.exists()).map(Path::to_owned)
}

/// Repairs settings files that a killed run has left changed.
fn hooks(state: &Path) -> Vec<CheckFinding> {
    let repaired = crate::hooks::repair(state);
    if repaired.is_empty() {
        return vec![CheckFinding::ok("hooks", "no run has left its hooks in a settings file")];
    }
    let finding = |one: &crate::hooks::Repaired| {
        let text = one.to_string();
        match &one.result {
            Ok(_) => CheckFinding::new("hooks", CheckLevel::Note, text),
            Err(_) => CheckFinding::new("hooks", CheckLevel::Warning, text)
                .fix("mend the file, then run `stablehand hooks status`"),
        }
    };
    repaired.iter().map(finding).collect()
}

fn logs(folder: &Path) -> CheckFinding {
    let shown = folder.display();
    let failed = |text: String| CheckFinding::new("logs", CheckLevel::Broken, text);
    let Ok(meta) = fs::metadata(folder) else {
        let may = existing(folder).filter(|above| {
            above.is_dir() && access(above, AccessFlags::W_OK | AccessFlags::X_OK).is_ok()
        });
        return match may {
            Some(_) => CheckFinding::ok("logs", format!("{shown} will be made by the first run")),
            None => failed(format!("{shown} is not there and cannot be made"))
                .fix("make it yourself, or set STABLEHAND_HOME to a folder that you may write to"),
        };
    };
    if !meta.is_dir() {
        return failed(format!("{shown} is not a folder")).fix("move it away");
    }
    if let Err(e) = try_to_write(folder) {
        return failed(format!("{shown} cannot be written: {e}"))
            .fix(format!("see to its owner and mode (chmod 700 {shown}), and to the disk"));
    }
    let mode = meta.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        let text = format!("{shown} can be entered by others (mode {mode:o})");
        return CheckFinding::new("logs", CheckLevel::Warning, text)
            .fix(format!("chmod 700 {shown}"));
    }
    CheckFinding::ok("logs", format!("{shown} is writable and private"))
}

fn try_to_write(folder: &Path) -> io::Result<()> {
    let path = folder.join(format!(".doctor-{}", std::process::id()));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    let written = file.write_all(b"well\n").and_then(|()| file.sync_data());
    fs::remove_file(&path).and(written)
}

fn space(state: &Path) -> CheckFinding {
    let found = existing(state).and_then(|folder| statvfs(&folder).ok());
    let Some(disk) = found else {
        return CheckFinding::new(
            "disk",
            CheckLevel::Note,
            "how much room there is could not be learnt",
        );
    };
    #[cfg_attr(
        target_os = "linux",
        expect(clippy::useless_conversion, reason = "its types differ between systems")
    )]
    let available =
        u64::from(disk.blocks_available()).saturating_mul(u64::from(disk.fragment_size()));
    judge_space(available)
}

fn judge_space(bytes: u64) -> CheckFinding {
    let gib = bytes as f64 / f64::from(1 << 30);
    let text = format!("{gib:.1} GiB free for logs");
    let fix = "make room, or set STABLEHAND_HOME to a folder on another disk";
    match bytes {
        ..NEEDED_BYTES => {
            let text = format!("{} MiB free for logs", bytes >> 20);
            CheckFinding::new("disk", CheckLevel::Broken, text).fix(fix)
        }
        NEEDED_BYTES..COMFORTABLE_BYTES => {
            CheckFinding::new("disk", CheckLevel::Warning, text).fix(fix)
        }
        _ => CheckFinding::ok("disk", text),
    }
}

fn leases(folder: &Path) -> CheckFinding {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let files: Vec<(u64, String)> = entries
        .filter(|entry| entry.path().extension().is_some_and(|end| end == "lock"))
        .filter_map(|entry| {
            let holder: String = fs::read_to_string(entry.path())
                .ok()?
                .chars()
                .filter(char::is_ascii_digit)
                .collect();
            Some((entry.metadata().ok()?.ino(), holder))
        })
        .collect();
    // Looked up and not tried: to try a lock is to hold it for a moment, and a run that begins just
    // then would be refused.
    let locks = fs::read_to_string("/proc/locks").ok();
    judge_leases(&files, locks.as_deref().map(locked))
}

/// The inodes of all files with a lock of our kind, from the text of `/proc/locks`.
fn locked(text: &str) -> BTreeSet<u64> {
    let inode = |line: &str| {
        let words: Vec<_> = line.split_whitespace().collect();
        let [_, "FLOCK", _, _, _, file, ..] = words.as_slice() else { return None };
        file.rsplit(':').next()?.parse().ok()
    };
    text.lines().filter_map(inode).collect()
}

fn judge_leases(files: &[(u64, String)], locked: Option<BTreeSet<u64>>) -> CheckFinding {
    let Some(locked) = locked else {
        return CheckFinding::new(
            "leases",
            CheckLevel::Note,
            "who holds them cannot be seen on this system",
        );
    };
    let held: Vec<_> = files.iter().filter(|(inode, _)| locked.contains(inode)).collect();
    let gone = |holder: &&&(u64, String)| !Path::new("/proc").join(&holder.1).exists();
    if let Some((_, holder)) = held.iter().find(gone) {
        let text = format!("a session is held, but process {holder} that took it is gone");
        return CheckFinding::new("leases", CheckLevel::Warning, text)
            .fix("stop what that process left behind (`lslocks` shows who has the lock)");
    }
    CheckFinding::ok(
        "leases",
        match held.as_slice() {
            [] => "no session is held by a run".to_owned(),
            [(_, holder)] => format!("1 session is held by a run (process {holder})"),
            more => format!("{} sessions are held by runs", more.len()),
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_for_logs_is_judged_by_what_can_be_done_with_it() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("logs");
        assert_eq!(logs(&folder).level, CheckLevel::Ok, "it can be made");
        fs::create_dir(&folder).unwrap();
        let mode = |mode| fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
        mode(0o755);
        let open = logs(&folder);
        assert_eq!(open.level, CheckLevel::Warning);
        assert!(open.fix.unwrap().starts_with("chmod 700 "));
        mode(0o700);
        assert_eq!(logs(&folder).level, CheckLevel::Ok);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "nothing is left in it");
        fs::remove_dir(&folder).unwrap();
        fs::write(&folder, "").unwrap();
        assert_eq!(logs(&folder).level, CheckLevel::Broken);
        assert_eq!(logs(&folder.join("below/a/file")).level, CheckLevel::Broken);
    }

    #[test]
    fn little_space_is_said_before_it_is_none() {
        let levels = [0, NEEDED_BYTES, COMFORTABLE_BYTES].map(|bytes| judge_space(bytes).level);
        assert_eq!(levels, [CheckLevel::Broken, CheckLevel::Warning, CheckLevel::Ok]);
    }

    #[test]
    fn a_lease_without_its_holder_is_stale() {
        let text = "1: POSIX  ADVISORY  WRITE 7 fd:00:11 0 EOF\n\
                    2: FLOCK  ADVISORY  WRITE 8 fd:00:12 0 EOF\n\
                    2: -> FLOCK  ADVISORY  WRITE 9 fd:00:13 0 EOF\nrubbish\n";
        assert_eq!(locked(text), BTreeSet::from([12]));
        let me = std::process::id().to_string();
        let held = BTreeSet::from([12]);
        let judge = |files: &[(u64, String)]| judge_leases(files, Some(held.clone())).level;
        assert_eq!(judge(&[(12, me.clone()), (14, "1".into())]), CheckLevel::Ok);
        assert_eq!(judge(&[(12, "4194999".into())]), CheckLevel::Warning);
        assert_eq!(judge(&[(14, "4194999".into())]), CheckLevel::Ok, "nobody holds it");
    }
}
