//! Bounds by Landlock: what may be written, read and connected to, whoever runs it.

use super::mounts::{self, Spaces};
use super::{Entered, SandboxPlan};
use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, PathBeneath,
    PathFd, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus,
    Scope,
};
use std::io;
use std::path::{Path, PathBuf};

/// The newest version whose rights we name; an older kernel gets those that it knows.
const KNOWN: ABI = ABI::V6;

/// Enters namespaces for what lies inside the bounds, then sets the bounds.
pub(super) fn enter(plan: &SandboxPlan) -> io::Result<Entered> {
    let mut missing = plan.notes.clone();
    let wants_mounts = mounts::needs(plan);
    let no_ports = plan.connect.as_ref().is_some_and(Vec::is_empty);
    let spaces = Spaces { mounts: wants_mounts, network: no_ports };
    let folder = std::env::current_dir();
    let entered = mounts::enter_spaces(spaces);
    let mut has_network_of_its_own = false;
    match &entered {
        Ok(()) => {
            has_network_of_its_own = no_ports;
            missing.extend(mounts::apply(plan));
        }
        Err(error) if wants_mounts => missing.push(format!(
            "files inside the writable folders cannot be protected: no mount namespace ({error})"
        )),
        Err(_) => {}
    }
    if let (Ok(folder), Ok(())) = (folder, &entered) {
        // The folder may have been mounted anew, and we would still be in the old one.
        std::env::set_current_dir(folder)?;
    }
    let ports = plan.connect.as_deref().filter(|_| !has_network_of_its_own);
    let held = restrict(plan, entered.is_ok(), ports).map_err(io::Error::other)?;
    match held {
        RulesetStatus::FullyEnforced => {}
        RulesetStatus::PartiallyEnforced => {
            missing.push("this kernel's Landlock is old: not every bound is held".to_owned());
        }
        RulesetStatus::NotEnforced => {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "this kernel has no Landlock"));
        }
    }
    if ports.is_some() {
        missing.push("UDP is not held: network = \"none\" with open ports is about TCP".to_owned());
    }
    Ok(Entered { missing })
}

fn restrict(
    plan: &SandboxPlan,
    has_mounts: bool,
    ports: Option<&[u16]>,
) -> Result<RulesetStatus, RulesetError> {
    let writes = AccessFs::from_write(ABI::V3);
    // What is masked by a mount needs no bound.
    let far = |path: &&PathBuf| !(has_mounts && plan.may_write(path));
    let hidden: Vec<&Path> = plan.hidden.iter().filter(far).map(PathBuf::as_path).collect();
    let reads: BitFlags<AccessFs> = match (&plan.read, hidden.is_empty()) {
        (Some(_), _) => AccessFs::ReadFile | AccessFs::ReadDir | AccessFs::Execute,
        (None, false) => AccessFs::ReadFile.into(),
        (None, true) => BitFlags::EMPTY,
    };
    let mut rules = Ruleset::default().set_compatibility(CompatLevel::BestEffort);
    // Refer is refused everywhere unless it is handled.
    rules = rules.handle_access(writes | reads)?;
    rules = rules.scope(Scope::from_all(KNOWN))?;
    if ports.is_some() {
        rules = rules.handle_access(AccessNet::ConnectTcp)?;
    }
    let mut made = rules.create()?;
    let everywhere = [PathBuf::from("/")];
    for root in plan.write.as_deref().unwrap_or(&everywhere) {
        made = grant(made, root, writes)?;
    }
    if !reads.is_empty() {
        for root in plan.read.as_deref().unwrap_or(&everywhere) {
            made = grant_around(made, root, &hidden, reads)?;
        }
    }
    for port in ports.unwrap_or_default() {
        made = made.add_rule(NetPort::new(*port, AccessNet::ConnectTcp))?;
    }
    Ok(made.restrict_self()?.ruleset)
}

/// Grants access to a folder but for some paths below: to what lies beside the way to them. Landlock
/// can only grant, and what it grants it grants for everything below.
fn grant_around(
    mut made: RulesetCreated,
    root: &Path,
    hidden: &[&Path],
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    if hidden.iter().any(|path| root.starts_with(path)) {
        return Ok(made);
    }
    if !hidden.iter().any(|path| path.starts_with(root)) {
        return grant(made, root, access);
    }
    // Names may be seen: a shell that cannot list the home folder is no shell.
    made = grant(made, root, access & AccessFs::ReadDir)?;
    for entry in std::fs::read_dir(root).into_iter().flatten().filter_map(Result::ok) {
        // A link would grant what it leads to, which may be hidden.
        if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
            made = grant_around(made, &entry.path(), hidden, access)?;
        }
    }
    Ok(made)
}

fn grant(
    made: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    let access = if path.is_dir() { access } else { access & AccessFs::from_file(KNOWN) };
    match PathFd::new(path) {
        Ok(fd) if !access.is_empty() => made.add_rule(PathBeneath::new(fd, access)),
        // What cannot be opened cannot be used either.
        _ => Ok(made),
    }
}
