//! Wrappers and how they read their arguments.

/// A program that runs the command in its arguments.
pub(super) struct Wrapper {
    /// Its names, with blanks between them.
    names: &'static str,
    /// Subcommands before the inner command, each with its alternatives: `exec|x`.
    pub(super) subs: &'static [&'static str],
    /// Lists in the notation of `options`.
    pub(super) options: &'static [&'static str],
    /// Options whose value is text for a shell.
    pub(super) texts: &'static [&'static str],
    /// Options whose value is a sign that stands for words of the input.
    pub(super) replaces: &'static [&'static str],
    /// Operands before the inner command.
    pub(super) operands: usize,
    /// Whether options are read behind these operands too.
    pub(super) again: bool,
    pub(super) then: Then,
    pub(super) bare: Bare,
}

/// What follows options and operands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    /// A command.
    Command,
    /// Assignments, then a command.
    Assignments,
    /// A command that is given more words from its input.
    MoreWords,
    /// Words that are joined and given to a shell.
    Text,
    /// Operands; the command stands behind `--`.
    AfterDashes,
    /// Operands only.
    Nothing,
}

/// What runs where no command is given.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Bare {
    Nothing,
    Shell,
    Echo,
}

/// The rows of a program.
pub(super) fn of(base: &str) -> impl Iterator<Item = &'static Wrapper> {
    let name =
        if base.starts_with("ld-linux") || base.starts_with("ld-musl") { "ld.so" } else { base };
    WRAPPERS.iter().filter(move |row| row.names.split(' ').any(|known| known == name))
}

const fn plain(names: &'static str, options: &'static [&'static str]) -> Wrapper {
    Wrapper {
        names,
        subs: &[],
        options,
        texts: &[],
        replaces: &[],
        operands: 0,
        again: false,
        then: Then::Command,
        bare: Bare::Nothing,
    }
}

const fn sub(
    names: &'static str,
    subs: &'static [&'static str],
    options: &'static [&'static str],
) -> Wrapper {
    Wrapper { subs, ..plain(names, options) }
}

const NPM: &str = "-qsyg -p: -w: -c: --yes --no --no-install --quiet --silent --package= --workspace= --workspaces --call= --offline \
    --prefer-offline --ignore-existing --prefix=! --recursive -r --parallel --filter= --loglevel=";
const UV: &str = "-qvU -p: --with= --with-requirements= --with-editable= --python= --no-project --isolated --frozen --locked --no-sync \
    --extra= --all-extras --group= --only-group= --no-group= --dev --no-dev --all-groups --no-default-groups --quiet --verbose \
    --offline --no-cache --from= --refresh --upgrade --directory=! --project=! --package= --all-packages --exact --no-env-file \
    --env-file=! --index-url=! --index=! --default-index=! -i:!";
const DOCKER: &str = "-ditPq -a: -c: -e: -h: -l: -m: -p: -u: -v:! -w: -n: -f: -T --detach --interactive --tty --rm --init --privileged! --publish-all --quiet \
    --read-only --name= --env= --env-file=! --hostname= --label= --memory= --publish= --user= --volume=! --mount=! \
    --workdir= --network=! --net=! --pid=! --ipc=! --cpus= --cap-add=! --cap-drop= --device=! --security-opt=! --add-host=! \
    --dns=! --gpus= --platform= --pull= --restart= --shm-size= --ulimit= --tmpfs= --group-add= --userns=! --volumes-from=! \
    --stop-signal= --stop-timeout= --log-driver= --log-opt= --expose= --link= --ip= --detach-keys= --no-deps --build \
    --service-ports --index= --file= --project-name= --profile= --context=! -H:! --host=! --config=!";
const GIT: &[&str] = &[
    "-pP -c:! -C:! --no-pager --paginate --no-optional-locks --no-replace-objects --literal-pathspecs --git-dir=! --work-tree=! \
     --namespace=! --exec-path[=]! --config-env=! --bare --recursive --quiet -q",
];

const WRAPPERS: &[Wrapper] = &[
    // Privileges and surroundings.
    Wrapper {
        then: Then::Assignments,
        ..plain(
            "sudo",
            &[
                "-AEHnPSbkN -C:! -D: -g: -h: -p: -R:! -r: -t: -T: -u: -U: --non-interactive --preserve-env[=] --set-home --stdin --background \
            --user= --group= --chdir= --prompt= --host= --close-from= --command-timeout= --askpass --reset-timestamp --chroot=!",
            ],
        )
    },
    plain("doas", &["-nL -u: -C:!"]),
    Wrapper {
        texts: &["c", "command", "session-command"],
        operands: 99,
        then: Then::Nothing,
        again: true,
        bare: Bare::Shell,
        ..plain(
            "su",
            &[
                "-flmpP -c: -g: -G: -s:! -w: --command= --session-command= --login --preserve-environment --group= --supp-group= --shell=! --pty --fast",
            ],
        )
    },
    Wrapper {
        then: Then::Assignments,
        ..plain(
            "env genv",
            &[
                "-i0v -u: -C: --ignore-environment --null --debug --unset= --chdir= --list-signal-handling",
            ],
        )
    },
    plain(
        "nohup builtin noglob nocorrect busybox toybox linux32 linux64 fakeroot eatmydata dbus-run-session unbuffer",
        &["-v"],
    ),
    plain("nice", &["-# -n: --adjustment="]),
    plain("ionice", &["-t -c: -n: --ignore --class= --classdata="]),
    Wrapper {
        operands: 1,
        ..plain(
            "timeout gtimeout",
            &["-fpv -k: -s: --foreground --preserve-status --verbose --kill-after= --signal="],
        )
    },
    // To the shell `time` is no command but a word before one, with its assignments.
    Wrapper {
        then: Then::Assignments,
        ..plain(
            "time gtime",
            &["-pvaqV -f: -o:! --portability --verbose --quiet --format= --append --output=!"],
        )
    },
    plain("stdbuf", &["-i: -o: -e: --input= --output= --error="]),
    plain("setsid", &["-cfw --ctty --fork --wait"]),
    Wrapper { operands: 1, ..plain("taskset", &["-ac --all-tasks --cpu-list"]) },
    Wrapper {
        operands: 1,
        ..plain(
            "chrt",
            &[
                "-abfiorRv -T: -P: -D: --all-tasks --batch --fifo --idle --other --rr --reset-on-fork --verbose",
            ],
        )
    },
    plain(
        "prlimit",
        &[
            "-cdefilmnqrstuvxy? -o: --output= --noheadings --raw --verbose --as[=] --core[=] --cpu[=] --data[=] --fsize[=] --memlock[=] --nofile[=] \
        --nproc[=] --stack[=] --locks[=] --msgqueue[=] --nice[=] --rss[=] --rtprio[=] --rttime[=] --sigpending[=]",
        ],
    ),
    plain(
        "setpriv",
        &[
            "--nnp --no-new-privs --clear-groups --keep-groups --init-groups --reset-env --ambient-caps= --inh-caps= --bounding-set= \
        --ruid= --euid= --rgid= --egid= --reuid= --regid= --groups= --securebits= --pdeathsig= --selinux-label= --apparmor-profile=",
        ],
    ),
    plain("command", &["-p"]),
    plain("exec", &["-cl -a:"]),
    plain("caffeinate", &["-dimsu -t:"]),
    plain(
        "numactl",
        &["-l -C: -N: -m: -i: --localalloc --cpunodebind= --membind= --physcpubind= --interleave="],
    ),
    plain(
        "ld.so",
        &[
            "--inhibit-cache --library-path= --argv0= --preload=! --audit=! --inhibit-rpath= --glibc-hwcaps-prepend= --glibc-hwcaps-mask=",
        ],
    ),
    // Watchers and debuggers.
    plain(
        "strace ltrace",
        &[
            "-cCdDfFiknqrtTvwxyYzZ -a: -A -e: -E: -I: -b: -o:! -O: -p: -P: -s: -S: -u: -U: -X: --follow-forks --summary-only --summary",
        ],
    ),
    plain(
        "valgrind",
        &[
            "-qv --quiet --verbose --tool= --leak-check= --track-origins= --error-exitcode= --show-leak-kinds= --trace-children= --num-callers=",
        ],
    ),
    sub(
        "perf",
        &["stat|record|trace"],
        &["-adgvq -e: -r: -F: -o:! --repeat= --event= --call-graph= --all-cpus --quiet --verbose"],
    ),
    Wrapper {
        then: Then::Text,
        ..plain(
            "watch",
            &[
                "-bcdegptrwx -n: --beep --color --differences[=] --errexit --chgexit --no-title --precise --interval=",
            ],
        )
    },
    plain("entr", &["-acdnprz"]),
    Wrapper {
        operands: 1,
        texts: &["c", "command"],
        again: true,
        ..plain(
            "flock",
            &[
                "-sxuenoFv -w: -E: -c: --shared --exclusive --unlock --nonblock --nb --close --no-fork --verbose --timeout= --wait= --conflict-exit-code= --command=",
            ],
        )
    },
    Wrapper {
        operands: 1,
        texts: &["c", "command"],
        again: true,
        bare: Bare::Shell,
        ..plain(
            "script",
            &[
                "-aefqrkF -c: -t? -T:! -B:! -I:! -O:! -o: -E: -m: --command= --append --return --flush --force --quiet --echo=",
            ],
        )
    },
    // More words.
    Wrapper {
        then: Then::MoreWords,
        replaces: &["I", "J", "i", "replace"],
        bare: Bare::Echo,
        ..plain(
            "xargs gxargs",
            &[
                "-0rtpxo -a:! -d: -E: -I:! -L: -n: -P: -s: -J:! -R: -S: -i?! -e? -l? --null --no-run-if-empty --verbose --interactive --exit --open-tty \
            --arg-file=! --delimiter= --max-args= --max-procs= --max-lines[=] --max-chars= --replace[=]! --eof[=] --show-limits",
            ],
        )
    },
    // Other machines.
    Wrapper {
        operands: 1,
        again: true,
        then: Then::Text,
        ..plain("ssh", &[super::super::hazard::net::SSH])
    },
    Wrapper {
        operands: 1,
        then: Then::Command,
        ..sub("docker podman nerdctl", &["run|create"], &[DOCKER])
    },
    Wrapper {
        operands: 1,
        then: Then::Command,
        ..sub("docker podman nerdctl", &["exec"], &[DOCKER])
    },
    Wrapper {
        operands: 1,
        then: Then::Command,
        ..sub("docker podman nerdctl", &["container", "run|create|exec"], &[DOCKER])
    },
    Wrapper {
        operands: 1,
        then: Then::Command,
        ..sub("docker podman nerdctl", &["compose", "run|exec"], &[DOCKER])
    },
    Wrapper {
        operands: 1,
        then: Then::Command,
        ..sub("docker-compose podman-compose", &["run|exec"], &[DOCKER])
    },
    Wrapper {
        then: Then::AfterDashes,
        ..sub(
            "kubectl oc",
            &["exec|run|debug"],
            &[
                "-itq -n: -c: --stdin --tty --quiet --rm --namespace= --container= --context=! --kubeconfig=! --image= --restart=",
            ],
        )
    },
    // Package managers and environments.
    Wrapper { texts: &["c", "call"], ..plain("npx bunx pnpx", &[NPM]) },
    Wrapper {
        texts: &["c", "call", "shell-mode"],
        ..sub("npm pnpm yarn", &["exec|x|dlx|node"], &[NPM])
    },
    sub("bun", &["x"], &["--bun --silent"]),
    plain("uvx", &[UV]),
    sub("uv", &["run"], &[UV]),
    sub("uv", &["tool", "run"], &[UV]),
    sub("pipx", &["run"], &["-q --quiet --spec= --python= --no-cache --pip-args=!"]),
    sub(
        "poetry pipenv pdm hatch rye bundle rbenv pyenv asdf opam",
        &["run|exec"],
        &["-qvn --quiet --no-interaction --no-ansi --keep-file-descriptors"],
    ),
    sub(
        "conda mamba micromamba",
        &["run"],
        &[
            "-vq -n: -p: --name= --prefix= --no-capture-output --live-stream --cwd=! -s --debug-wrapper-scripts",
        ],
    ),
    Wrapper {
        texts: &["c", "command"],
        then: Then::AfterDashes,
        bare: Bare::Shell,
        ..sub(
            "mise rtx",
            &["exec|x"],
            &["-qvy -c: -j: -C:! --command= --jobs= --quiet --yes --raw"],
        )
    },
    Wrapper { operands: 1, ..sub("direnv", &["exec"], &[]) },
    Wrapper {
        then: Then::Nothing,
        texts: &["run", "command"],
        bare: Bare::Shell,
        operands: 99,
        again: true,
        ..plain("nix-shell", &["--pure --packages -p --run= --command= -q -I:!"])
    },
    // Commands of git.
    sub("git", &["bisect", "run"], GIT),
    Wrapper { then: Then::Text, ..sub("git", &["submodule", "foreach"], GIT) },
    Wrapper {
        then: Then::Nothing,
        texts: &["x", "exec"],
        operands: 99,
        again: true,
        ..sub(
            "git",
            &["rebase"],
            &[
                "-x: --exec= -pPfmqrviknS -X: -C:! -c:! -s: --no-pager --onto= --root --interactive --autosquash --no-autosquash --autostash --no-autostash --abort --continue --skip --quit --keep-base --quiet --verbose --stat --no-stat --ff --no-ff --force-rebase --rebase-merges[=] --update-refs --signoff --merge --apply --empty= --strategy= --strategy-option= --fork-point --no-fork-point --show-current-patch --edit-todo --no-verify --verify --git-dir=! --work-tree=! --reschedule-failed-exec",
            ],
        )
    },
    Wrapper {
        then: Then::Nothing,
        texts: &["x", "extcmd"],
        operands: 99,
        again: true,
        ..sub(
            "git",
            &["difftool"],
            &[
                "-x: --extcmd= -pPydg -t: --no-prompt --prompt --dir-diff --gui --no-gui --tool= --cached --staged --no-pager -C:! -c:!",
            ],
        )
    },
];
