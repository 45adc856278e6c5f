//! `stablehand policy exec`: the kernel holds a command to a policy, as root and as an ordinary user.

use crate::support::{bins, skip};
use stablehand_testkit::TestEnv;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const POLICY: &str = "\
[policy]
profile = 'workspace-write'

[[policy.rule]]
path = ['~/.ssh/**', '**/.env']
action = 'deny'
";

/// A home with a workspace in it, outside of the folders of temporary files, which may be written.
struct Place {
    home: PathBuf,
    /// Our program, where the user can reach it.
    program: PathBuf,
    /// Run the command as another user than ours.
    as_user: bool,
}

impl Place {
    fn new(name: &str, as_user: bool) -> Option<Place> {
        let own = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let below_temporary = |path: &Path| {
            [Path::new("/tmp"), Path::new("/var/tmp"), &std::env::temp_dir()]
                .iter()
                .any(|folder| path.starts_with(folder))
        };
        let folders = [own, Path::new("/opt"), Path::new("/srv")];
        let base = folders.into_iter().find(|folder| {
            let is_open = !as_user || folder.ancestors().all(is_open_to_all);
            !below_temporary(folder)
                && is_open
                && fs::create_dir_all(folder.join("sandbox")).is_ok()
        })?;
        let home = base.join("sandbox").join(format!("{name}-{}", std::process::id()));
        for folder in ["ws/sub", ".ssh", ".cargo/bin"] {
            fs::create_dir_all(home.join(folder)).unwrap();
        }
        for (file, text) in
            [(".ssh/id_rsa", "KEY"), ("ws/.env", "KEY"), ("ws/sub/.env", "KEY"), ("ws/f", "f\n")]
        {
            fs::write(home.join(file), text).unwrap();
        }
        fs::write(home.join("policy.toml"), POLICY).unwrap();
        let mut program = PathBuf::from(env!("CARGO_BIN_EXE_stablehand"));
        if as_user {
            let copy = home.join("stablehand");
            fs::copy(&program, &copy).unwrap();
            program = copy;
        }
        let place = Place { home, program, as_user };
        if as_user {
            let folder = place.home.to_str().unwrap();
            let given = Command::new("chown").args(["-R", "65534:65534", folder]).status();
            given.ok().filter(std::process::ExitStatus::success)?;
        }
        let git = "git init -q . && git config user.email a@b && git config user.name n";
        assert!(place.outside(&["sh", "-c", git]).status.success());
        Some(place)
    }

    fn exec(&self, flags: &[&str], command: &[&str]) -> Output {
        let policy = self.home.join("policy.toml");
        let ws = self.home.join("ws");
        let mut words = vec![self.program.to_str().unwrap(), "policy", "exec"];
        words.extend(["--policy", policy.to_str().unwrap(), "--workspace", ws.to_str().unwrap()]);
        words.extend(flags);
        words.push("--");
        words.extend(command);
        self.outside(&words)
    }

    /// Runs a command as the user of the place, in the workspace, without a sandbox.
    fn outside(&self, words: &[&str]) -> Output {
        let as_user: &[&str] = if self.as_user {
            &["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        } else {
            &[]
        };
        let words: Vec<&str> = as_user.iter().chain(words).copied().collect();
        let path = std::env::var_os("PATH").unwrap_or_default();
        Command::new(words[0])
            .args(&words[1..])
            .env_clear()
            .env("PATH", path)
            .env("HOME", &self.home)
            .current_dir(self.home.join("ws"))
            .output()
            .unwrap()
    }

    /// Returns what the command wrote to standard error, and asserts that it failed.
    fn refused(&self, script: &str) -> String {
        let run = self.exec(&[], &["sh", "-c", script]);
        let said = String::from_utf8_lossy(&run.stderr).into_owned();
        assert!(!run.status.success(), "{script}: {said}");
        said
    }

    fn works(&self, script: &str) -> String {
        let run = self.exec(&["--require"], &["sh", "-c", script]);
        let said = String::from_utf8_lossy(&run.stderr).into_owned();
        assert!(run.status.success(), "{script}: {said}");
        String::from_utf8_lossy(&run.stdout).into_owned()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _left = fs::remove_dir_all(&self.home);
    }
}

fn is_open_to_all(folder: &Path) -> bool {
    fs::metadata(folder).is_ok_and(|data| data.permissions().mode() & 0o5 == 0o5)
}

fn hold(place: &Place) {
    let home = place.home.display();
    for script in [
        "cat ~/.ssh/id_rsa".to_owned(),
        "cat .env".to_owned(),
        "cat sub/.env".to_owned(),
        format!("cat /proc/self/root{home}/.ssh/id_rsa"),
        "ln -s ~/.ssh x && cat x/id_rsa".to_owned(),
        "ln ~/.ssh/id_rsa y && cat y".to_owned(),
    ] {
        let said = place.refused(&script);
        let is_denied = said.contains("Permission denied") || said.contains("not permitted");
        assert!(is_denied || said.contains("cross-device"), "{script}: {said}");
    }
    for (script, why) in [
        ("echo x > ~/outside", "Permission denied"),
        ("mkdir ~/folder", "Permission denied"),
        ("echo x > ~/.cargo/bin/cargo", "Read-only file system"),
        ("echo x > .git/hooks/pre-commit", "Read-only file system"),
        ("git config core.pager evil", ""),
        ("mv .git away", "busy"),
        ("rm -rf .git/hooks", ""),
        ("mv sub away", "busy"),
        ("umount .git/hooks", ""),
        ("kill -0 1", "not permitted"),
    ] {
        let said = place.refused(script);
        assert!(said.contains(why), "{script}: {said}");
    }
    assert!(!place.home.join("outside").exists());
    assert!(place.home.join("ws/.git/hooks").is_dir());
}

fn work(place: &Place) {
    let said = place.works("echo a > new && mkdir -p d && mv new d/ && cat d/new && ls ~ | wc -l");
    assert!(said.starts_with("a\n"), "{said}");
    let said = place.works(
        "git add f && git commit -qm one && git checkout -qb b && git log --oneline | wc -l",
    );
    assert_eq!(said.trim(), "1");
    let said = place.works("t=$(mktemp) && echo x > $t && rm $t && echo y > /dev/null && echo ok");
    assert_eq!(said, "ok\n");
}

#[test]
fn the_kernel_holds_a_command_and_lets_ordinary_work_pass() {
    let Some(place) = Place::new("own", false) else {
        return skip("no folder outside of the temporary ones can be written");
    };
    hold(&place);
    work(&place);
}

#[test]
fn it_holds_an_ordinary_user_too() {
    if !nix::unistd::geteuid().is_root() {
        // The test above has been run by one.
        return;
    }
    let Some(place) = Place::new("user", true) else {
        return skip("no folder can be given to another user");
    };
    hold(&place);
    work(&place);
}

#[test]
fn the_read_only_profile_keeps_the_workspace_as_it_is() {
    let Some(place) = Place::new("read-only", false) else {
        return skip("no folder outside of the temporary ones can be written");
    };
    let read_only = "[policy]\nprofile = 'read-only'\n";
    fs::write(place.home.join("policy.toml"), read_only).unwrap();
    assert_eq!(place.works("cat f"), "f\n");
    for script in ["echo x > f", "touch new", "rm f", "git commit --allow-empty -m x"] {
        place.refused(script);
    }
    assert_eq!(fs::read_to_string(place.home.join("ws/f")).unwrap(), "f\n");
}

#[test]
fn without_a_network_nothing_is_reached() {
    let Some(place) = Place::new("network", false) else {
        return skip("no folder outside of the temporary ones can be written");
    };
    let (open, shut) =
        (TcpListener::bind("127.0.0.1:0").unwrap(), TcpListener::bind("127.0.0.1:0").unwrap());
    let ports = [&open, &shut].map(|it| it.local_addr().unwrap().port());
    let connect = |port: u16| {
        let script = format!("exec 3<>/dev/tcp/127.0.0.1/{port}");
        place.exec(&[], &["bash", "-c", &script])
    };
    let policy = |ports: &str| {
        let text = format!(
            "[policy]\nprofile = 'workspace-write'\n[policy.sandbox]\nnetwork = 'none'\n{ports}"
        );
        fs::write(place.home.join("policy.toml"), text).unwrap();
    };
    assert!(connect(ports[0]).status.success(), "the network is open by default");
    policy("");
    assert!(!connect(ports[0]).status.success());
    policy(&format!("connect = [{}]\n", ports[0]));
    let run = connect(ports[0]);
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let run = connect(ports[1]);
    let said = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(!run.status.success() && said.contains("Permission denied"), "{said}");
}

#[test]
fn what_is_wrong_is_said() {
    let env = TestEnv::new(bins());
    let run = env.stablehand("policy").args(["exec", "--", "true"]).finish();
    assert_eq!(run.code, Some(64));
    assert!(run.stderr.contains("--profile workspace-write"), "{}", run.stderr);
    let args = ["exec", "--profile", "workspace-write", "--", "no-such-program"];
    let run = env.stablehand("policy").args(args).finish();
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("cannot run `no-such-program`"), "{}", run.stderr);
}
