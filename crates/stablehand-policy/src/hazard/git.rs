//! The commands of `git`: which options a wildcard covers.
//!
//! A command that is not here may be an alias or a program of that name. Options that run a program,
//! write a file that is named by them, or read another repository's settings are left out.

use super::{Operands, Row};
use crate::options::Order;

/// Options before the command.
pub(super) const GLOBAL: &[&str] =
    &["-pPvh -c:! -C:! --no-pager --paginate --no-optional-locks --no-replace-objects \
     --literal-pathspecs --glob-pathspecs --noglob-pathspecs --icase-pathspecs --version --help \
     --no-advice --html-path --man-path --info-path --git-dir=! --work-tree=! --namespace=! \
     --exec-path[=]! --config-env=! --attr-source=! --super-prefix=! --bare!"];

/// How differences are shown.
const DIFF: &str = "-pusabwRz -U? -M? -C? -B? -D -l? -S: -G: -O:! -X? --patch --no-patch --unified= \
    --raw --patch-with-raw --patch-with-stat --stat[=] --stat-width= --stat-count= \
    --stat-name-width= --stat-graph-width= --numstat --shortstat --dirstat[=] --cumulative \
    --compact-summary --summary --name-only --name-status --submodule[=] --color[=] --no-color \
    --color-moved[=] --no-color-moved --color-moved-ws= --word-diff[=] --word-diff-regex= \
    --color-words[=] --no-renames --renames --rename-empty --no-rename-empty --check \
    --ws-error-highlight= --full-index --binary --abbrev[=] --no-abbrev --break-rewrites[=] \
    --find-renames[=] --find-copies[=] --find-copies-harder --irreversible-delete --diff-filter= \
    --find-object= --pickaxe-all --pickaxe-regex --relative[=] --no-relative --text \
    --ignore-cr-at-eol --ignore-space-at-eol --ignore-space-change --ignore-all-space \
    --ignore-blank-lines --ignore-matching-lines= --inter-hunk-context= --function-context -W \
    --exit-code --quiet --no-ext-diff --no-textconv --ignore-submodules[=] --src-prefix= \
    --dst-prefix= --no-prefix --default-prefix --line-prefix= --ita-invisible-in-index --minimal \
    --patience --histogram --diff-algorithm= --anchored= --indent-heuristic --no-indent-heuristic \
    --output=! --output-indicator-new= --output-indicator-old= --output-indicator-context= \
    --ext-diff! --textconv!";

/// Which commits are shown, and how.
const LOG: &str = "-# -n: -iEFPqgtcmrh -L: --oneline --graph --no-graph --all --branches[=] --tags[=] \
    --remotes[=] --glob= --exclude= --decorate[=] --no-decorate --decorate-refs= \
    --decorate-refs-exclude= --clear-decorations --source --use-mailmap --mailmap --no-mailmap \
    --no-use-mailmap --follow --full-diff --log-size --max-count= --skip= --since= --after= \
    --until= --before= --since-as-filter= --author= --committer= --grep= --grep-reflog= --all-match \
    --invert-grep --regexp-ignore-case --basic-regexp --extended-regexp --fixed-strings \
    --perl-regexp --remove-empty --merges --no-merges --min-parents= --max-parents= \
    --no-min-parents --no-max-parents --first-parent --exclude-first-parent-only --not --reflog \
    --alternate-refs --ignore-missing --cherry-mark --cherry-pick --cherry --left-only \
    --right-only --left-right --walk-reflogs --merge --boundary --simplify-by-decoration \
    --show-pulls --full-history --dense --sparse --simplify-merges --ancestry-path[=] \
    --date-order --author-date-order --topo-order --reverse --no-walk[=] --do-walk --pretty[=] \
    --format= --abbrev-commit --no-abbrev-commit --encoding= --expand-tabs[=] --no-expand-tabs \
    --notes[=] --no-notes --show-notes[=] --show-signature! --relative-date --date= --parents \
    --children --show-linear-break[=] --cc --combined-all-paths --diff-merges= --no-diff-merges \
    --remerge-diff --dd --objects --count --header --timestamp --quiet --bisect --stdin \
    --disk-usage[=] --no-commit-header --commit-header --help";

/// How references are listed.
const LIST: &str = "--list --all --remotes --verbose --sort= --format= --contains= \
    --no-contains= --merged= --no-merged= --points-at= --column[=] --no-column --color[=] --no-color \
    --abbrev[=] --no-abbrev --ignore-case --omit-empty --show-current --help";

const fn row(names: &'static str, options: &'static [&'static str]) -> Row {
    Row { names, options, order: Order::Mixed, operands: Operands::Any }
}

const fn fetches(names: &'static str, options: &'static [&'static str]) -> Row {
    Row { names, options, order: Order::Mixed, operands: Operands::If(no_helper) }
}

/// `ext::sh -c …` and other addresses that name a helper program.
fn no_helper(text: &str) -> bool {
    !text.contains("::") && !text.starts_with("ext:")
}

pub(super) const COMMANDS: &[Row] = &[
    row("log", &[LOG, DIFF]),
    row("show whatchanged", &[LOG, DIFF]),
    row("rev-list", &[LOG]),
    row("shortlog", &["-nse -w? --numbered --summary --email --committer --group=", LOG]),
    row("diff", &["-# --cached --staged --merge-base --base --ours --theirs -h -q --cc -c", DIFF]),
    row(
        "diff-tree diff-index diff-files",
        &[
            "-rtmsvzcq --cached --root --no-commit-id --stdin --merge-base --pretty[=] --format= --always --cc",
            DIFF,
        ],
    ),
    row(
        "status",
        &["-svbz -u? -M? --short --branch --show-stash --porcelain[=] --long --verbose \
        --untracked-files[=] --ignore-submodules[=] --ignored[=] --column[=] --no-column --ahead-behind \
        --no-ahead-behind --renames --no-renames --find-renames[=] --null --no-short --help"],
    ),
    row(
        "blame annotate",
        &["-bcefhklnpstw -C? -M? -L: -S: --root --show-stats --date= --first-parent \
        --porcelain --line-porcelain --incremental --show-name --show-number --show-email \
        --color-lines --color-by-age --progress --no-progress --abbrev[=] --ignore-rev= \
        --ignore-revs-file= --reverse --since= --encoding= --score-debug --minimal --help"],
    ),
    row(
        "rev-parse",
        &["-q --verify --quiet --short[=] --abbrev-ref[=] --symbolic \
        --symbolic-full-name --all --branches[=] --tags[=] --remotes[=] --glob= --exclude= \
        --show-toplevel --show-prefix --show-cdup --show-superproject-working-tree --git-dir \
        --absolute-git-dir --git-common-dir --git-path= --is-inside-git-dir --is-inside-work-tree \
        --is-bare-repository --is-shallow-repository --shared-index-path --show-object-format[=] \
        --show-ref-format --path-format= --revs-only --no-revs --flags --no-flags --not --sq \
        --disambiguate= --since= --until= --default= --local-env-vars --end-of-options --help"],
    ),
    row(
        "ls-files",
        &["-cdmoiskutvfrz -x: -X: --cached --deleted --modified --others --ignored \
        --stage --unmerged --killed --directory --no-empty-directory --eol --deduplicate --exclude= \
        --exclude-from= --exclude-per-directory= --exclude-standard --error-unmatch --with-tree= \
        --full-name --recurse-submodules --abbrev[=] --debug --sparse --format= --help"],
    ),
    row(
        "ls-tree",
        &[
            "-dlrtz --long --name-only --name-status --object-only --full-name --full-tree --abbrev[=] --format= --help",
        ],
    ),
    row(
        "cat-file",
        &[
            "-epst --batch[=] --batch-check[=] --batch-all-objects --buffer --unordered --allow-unknown-type --follow-symlinks --use-mailmap",
        ],
    ),
    row(
        "grep",
        &["-# -acEFGPHIiLlnopqrvwWhz -A: -B: -C: -e: -f: -m: -O?! --text --count --column \
        --extended-regexp --basic-regexp --fixed-strings --perl-regexp --ignore-case --invert-match \
        --word-regexp --line-number --files-with-matches --files-without-match --name-only --null \
        --only-matching --quiet --cached --untracked --no-exclude-standard --exclude-standard \
        --recurse-submodules --recursive --no-recursive --max-depth= --max-count= --threads= \
        --full-name --break --heading --show-function --function-context --context= \
        --after-context= --before-context= --color[=] --no-color --all-match --and --or --not \
        --no-textconv --help"],
    ),
    row(
        "describe",
        &[
            "--all --always --contains --debug --exact-match --first-parent --long --tags --candidates= --match= --exclude= --abbrev[=] --help",
        ],
    ),
    row(
        "name-rev",
        &[
            "--all --always --name-only --tags --undefined --no-undefined --refs= --exclude= --annotate-stdin --stdin",
        ],
    ),
    row("merge-base", &["-a --all --octopus --independent --is-ancestor --fork-point --help"]),
    row("for-each-ref", &["--count= --shell --perl --python --tcl", LIST]),
    row(
        "show-ref",
        &[
            "-dsq --head --branches --heads --tags --dereference --hash[=] --verify --exists --abbrev[=] --quiet",
        ],
    ),
    row("symbolic-ref", &["-q --quiet --short --recurse --no-recurse -d! --delete! -m:!"]),
    row("count-objects", &["-vH --verbose --human-readable"]),
    row("cherry", &["-v --abbrev[=]"]),
    row(
        "check-ignore check-attr",
        &["-qvnza --quiet --verbose --stdin --non-matching --no-index --all --cached"],
    ),
    row("var version", &["-l --build-options"]),
    row("branch", &["-ailqrv", LIST]),
    row("tag", &["-il -n?", LIST]),
    fetches("remote", &["-vn --verbose --all --push"]),
    row("reflog", &[LOG, DIFF]),
    Row {
        names: "config",
        options: &["-lz --get --get-all --get-regexp --get-urlmatch --list --show-origin \
        --show-scope --name-only --null --local --global --system --worktree --includes \
        --no-includes --bool --int --path --type= --default="],
        order: Order::Mixed,
        operands: Operands::WithOption(&[
            "get",
            "get-all",
            "get-regexp",
            "get-urlmatch",
            "l",
            "list",
        ]),
    },
    row(
        "add stage",
        &[
            "-AfnNuv --all --no-all --force --dry-run --intent-to-add --update --verbose --refresh --renormalize --sparse --ignore-errors --ignore-missing --chmod=",
        ],
    ),
    row(
        "commit",
        &[
            "-apqsvz -m: -C: -F: -t:! -S?! --all --amend --no-edit --message= --author= --date= --quiet \
        --verbose --signoff --no-signoff --dry-run --short --branch --porcelain --long --null --only \
        --include --allow-empty --allow-empty-message --fixup= --squash= --reset-author --file= \
        --reuse-message= --trailer= --cleanup= --status --no-status --no-gpg-sign --no-post-rewrite \
        --untracked-files[=] -u? -n! --no-verify! --gpg-sign[=]!",
        ],
    ),
    row(
        "checkout",
        &[
            "-dflmqt23 -b: -B: --detach --force --merge --quiet --track[=] --no-track --guess --no-guess \
        --ours --theirs --conflict= --orphan= --progress --no-progress --overlay --no-overlay \
        --ignore-other-worktrees --no-recurse-submodules",
        ],
    ),
    row(
        "switch",
        &[
            "-dfmqt -c: -C: --detach --force --discard-changes --merge --quiet --track[=] --no-track --guess --no-guess --create= --force-create= --orphan= --conflict= --progress --no-progress",
        ],
    ),
    row(
        "restore",
        &[
            "-SWmq23 -s: --staged --worktree --source= --merge --quiet --ours --theirs --conflict= --progress --no-progress --overlay --no-overlay --ignore-unmerged",
        ],
    ),
    row(
        "reset",
        &[
            "-qN --hard --soft --mixed --merge --keep --quiet --intent-to-add --no-refresh --refresh",
        ],
    ),
    row("rm", &["-fnqr --cached --dry-run --force --quiet --sparse --ignore-unmatch"]),
    row("mv", &["-fknv --dry-run --force --verbose --sparse"]),
    row("clean", &["-dfnqxX -e: --force --dry-run --quiet --exclude="]),
    row(
        "stash",
        &[
            "-akpqu -m: --all --include-untracked --no-include-untracked --only-untracked --keep-index --no-keep-index --quiet --message= --staged --index",
            DIFF,
        ],
    ),
    row(
        "merge",
        &[
            "-nqv -m: -s:! -X: --abort --continue --quit --ff --no-ff --ff-only --commit --no-commit --squash \
        --no-squash --edit! --no-edit --message= --stat --no-stat --log[=] --quiet --verbose \
        --allow-unrelated-histories --autostash --no-autostash --signoff --strategy-option= --progress --no-progress --into-name=",
        ],
    ),
    row(
        "rebase",
        &[
            "-fmqrv -X: -C: --abort --continue --skip --quit --onto= --root --keep-base --autostash --no-autostash \
        --autosquash --no-autosquash --fork-point --no-fork-point --quiet --verbose --stat --no-stat \
        --ff --no-ff --force-rebase --rebase-merges[=] --update-refs --signoff --merge --apply \
        --empty= --strategy-option= --show-current-patch",
        ],
    ),
    row(
        "cherry-pick revert",
        &[
            "-nsx -m: -X: --abort --continue --skip --quit --no-commit --commit --no-edit --mainline= --signoff --ff --allow-empty --strategy-option= --empty=",
        ],
    ),
    row(
        "init",
        &["-q -b: --quiet --bare --initial-branch= --object-format= --ref-format= --shared[=]"],
    ),
    row(
        "worktree",
        &[
            "-dfnqv -b: -B: --detach --force --checkout --no-checkout --lock --reason= --porcelain --verbose --expire= --dry-run --quiet --track --no-track --guess-remote",
        ],
    ),
    fetches(
        "push",
        &["-dfnquv46 -o: --all --branches --atomic --delete --dry-run --follow-tags --force \
        --force-with-lease[=] --force-if-includes --mirror --porcelain --progress --no-progress \
        --prune --quiet --set-upstream --tags --no-tags --thin --verbose --ipv4 --ipv6 --push-option= \
        --signed[=]! --repo=! --exec=! --receive-pack=!"],
    ),
    fetches(
        "fetch",
        &["-afkmnpPqtuv46 -j: --all --append --atomic --depth= --deepen= --shallow-since= \
        --shallow-exclude= --unshallow --dry-run --force --keep --multiple --prune --prune-tags \
        --tags --no-tags --quiet --verbose --progress --no-progress --jobs= --ipv4 --ipv6 --refetch \
        --porcelain --filter= --set-upstream --recurse-submodules[=] --no-recurse-submodules \
        --update-head-ok --no-auto-gc --no-auto-maintenance --refmap= --upload-pack=!"],
    ),
    fetches(
        "pull",
        &[
            "-afkpqrtv46 -j: -X: --all --append --depth= --deepen= --unshallow --dry-run --force --prune \
        --tags --no-tags --quiet --verbose --progress --no-progress --jobs= --ipv4 --ipv6 --rebase[=] \
        --no-rebase --ff --no-ff --ff-only --commit --no-commit --no-edit --stat --no-stat --squash \
        --no-squash --autostash --no-autostash --allow-unrelated-histories --strategy-option= \
        --set-upstream --recurse-submodules[=] --no-recurse-submodules --upload-pack=!",
        ],
    ),
    fetches(
        "clone",
        &[
            "-nqvls46 -b: -o: -j: -u:! -c:! --bare --mirror --branch= --depth= --single-branch --no-single-branch \
        --no-tags --tags --no-checkout --quiet --verbose --progress --origin= --jobs= --filter= \
        --sparse --shallow-since= --shallow-exclude= --no-hardlinks --local --no-local --shared \
        --ipv4 --ipv6 --upload-pack=! --template=! --config=! --reference=!",
        ],
    ),
    fetches(
        "ls-remote",
        &[
            "-hbtq -o: --branches --heads --tags --refs --quiet --exit-code --get-url --symref --sort= --upload-pack=! --exec=!",
        ],
    ),
];
