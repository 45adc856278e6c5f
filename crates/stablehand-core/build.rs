//! Digests the sources of this crate, so that a state that one version saved is never restored by
//! another one (`replay::STATE_VERSION`).

use std::collections::hash_map::DefaultHasher;
use std::error::Error;
use std::hash::Hasher;
use std::path::{Path, PathBuf};

/// Versions of dependencies, where the crate is built in its workspace.
const LOCK: &str = "../../Cargo.lock";

#[expect(clippy::disallowed_methods, reason = "the build script is no part of the crate")]
fn main() -> Result<(), Box<dyn Error>> {
    let mut files = vec![PathBuf::from("Cargo.toml")];
    add(Path::new("src"), &mut files)?;
    files.sort();
    let mut digest = DefaultHasher::new();
    for file in &files {
        digest.write(file.as_os_str().as_encoded_bytes());
        digest.write(&std::fs::read(file)?);
    }
    if let Ok(lock) = std::fs::read(LOCK) {
        digest.write(&lock);
        println!("cargo::rerun-if-changed={LOCK}");
    }
    println!("cargo::rerun-if-changed=src");
    println!("cargo::rerun-if-changed=Cargo.toml");
    println!("cargo::rustc-env=STABLEHAND_STATE_VERSION={:016x}", digest.finish());
    Ok(())
}

fn add(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            add(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
