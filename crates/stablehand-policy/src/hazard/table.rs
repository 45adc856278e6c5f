//! Programs and the options of theirs that a wildcard covers.
//!
//! An option that is not here is not covered. Left out, or marked with `!`, are those that run a
//! program, write a file, change the system or read what to do from a file.

use super::{Operands, Row};
use crate::options::Order;

const fn row(names: &'static str, options: &'static [&'static str]) -> Row {
    Row { names, options, order: Order::Mixed, operands: Operands::Any }
}

const fn with(names: &'static str, operands: Operands, options: &'static [&'static str]) -> Row {
    Row { names, options, order: Order::Mixed, operands }
}

/// Options come first; from the first operand on the words are the script's own.
const fn script(names: &'static str, options: &'static [&'static str]) -> Row {
    Row { names, options, order: Order::First, operands: Operands::Script }
}

/// No option that writes is among the `--help` and `--version` of anything here.
const HELP: &str = "--help --version";

pub(super) const PROGRAMS: &[Row] = &[
    // Text and files.
    row(
        "ls dir vdir gls",
        &[
            "-1ABCDFGHLNQRSUXZabcdfghiklmnopqrstuvxyOe@%W -I: -T: -w: --all --almost-all \
        --author --escape --block-size= --ignore-backups --color[=] --directory --dired --classify[=] \
        --file-type --format= --full-time --group-directories-first --no-group --human-readable \
        --si --dereference-command-line --dereference-command-line-symlink-to-dir --dereference --hide= \
        --hyperlink[=] --indicator-style= --inode --ignore= --kibibytes --numeric-uid-gid --literal \
        --hide-control-chars --show-control-chars --quote-name --quoting-style= --reverse --recursive \
        --size --sort= --time= --time-style= --tabsize= --width= --context --zero",
            HELP,
        ],
    ),
    row(
        "cat tac gcat",
        &[
            "-AETbenstuvlrp -s: --number --number-nonblank --show-all --show-ends --show-nonprinting \
        --show-tabs --squeeze-blank --before --regex --separator=",
            HELP,
        ],
    ),
    row(
        "head ghead",
        &["-# -qvz -n: -c: --lines= --bytes= --quiet --silent --verbose --zero-terminated", HELP],
    ),
    row(
        "tail gtail",
        &[
            "-# -Ffqrvz -n: -c: -b: -s: --lines= --bytes= --follow[=] --retry --pid= --sleep-interval= \
        --max-unchanged-stats= --quiet --silent --verbose --zero-terminated",
            HELP,
        ],
    ),
    row("wc gwc", &["-Lclmw --bytes --chars --lines --max-line-length --words --total=", HELP]),
    row(
        "stat gstat",
        &["-Lfrsnqtx -c: --format= --printf= --dereference --file-system --terse --cached=", HELP],
    ),
    row(
        "du gdu",
        &[
            "-0DHLPSabcghklmnrsx -B: -I: -X: -d: -t: --all --apparent-size --block-size= --bytes --total \
        --dereference --dereference-args --max-depth= --exclude= --exclude-from= --human-readable --inodes \
        --count-links --no-dereference --null --one-file-system --separate-dirs --si --summarize \
        --threshold= --time[=] --time-style=",
            HELP,
        ],
    ),
    row(
        "df gdf",
        &[
            "-HPTabghikltvm -B: -x: --all --block-size= --human-readable --si --inodes --local --no-sync \
        --sync --portability --print-type --type= --exclude-type= --total --output[=]",
            HELP,
        ],
    ),
    row(
        "grep egrep fgrep zgrep ggrep rgrep",
        &[
            "-# -EFGHILPRSTUVZabchilnopqrsuvwxyz -A: -B: -C: -D: -d: -e: -f: -m: \
        --basic-regexp --extended-regexp --fixed-strings --perl-regexp --regexp= --file= --ignore-case \
        --no-ignore-case --invert-match --word-regexp --line-regexp --count --color[=] --colour[=] \
        --files-with-matches --files-without-match --max-count= --only-matching --quiet --silent \
        --no-messages --byte-offset --with-filename --no-filename --label= --line-number --initial-tab \
        --null --after-context= --before-context= --context[=] --group-separator= --no-group-separator --text \
        --binary-files= --devices= --directories= --exclude= --exclude-from= --exclude-dir= --include= \
        --recursive --dereference-recursive --line-buffered --binary --null-data",
            HELP,
        ],
    ),
    row(
        "rg",
        &[
            "-.0abcFHhIiLlNnopPqSsUuvwxV -A: -B: -C: -d: -E: -e: -f: -g: -j: -M: -m: -r: -T: -t: -z! \
        --after-context= --before-context= --context= --context-separator= --no-context-separator --colors= \
        --color= --column --no-column --count --count-matches --crlf --dfa-size-limit= --encoding= --engine= \
        --field-context-separator= --field-match-separator= --file= --files --files-with-matches \
        --files-without-match --fixed-strings --no-fixed-strings --follow --no-follow --glob= --iglob= \
        --glob-case-insensitive --heading --no-heading --hidden --no-hidden --ignore-case --ignore-file= \
        --include-zero --invert-match --json --line-buffered --block-buffered --line-number \
        --no-line-number --line-regexp --max-columns= --max-columns-preview --max-count= --max-depth= \
        --maxdepth= --max-filesize= --mmap --no-mmap --multiline --multiline-dotall --no-config --no-ignore \
        --no-ignore-dot --no-ignore-exclude --no-ignore-files --no-ignore-global --no-ignore-parent \
        --no-ignore-vcs --no-messages --no-ignore-messages --no-require-git --no-unicode --null --null-data \
        --one-file-system --only-matching --passthru --pcre2 --pretty --quiet --regex-size-limit= --regexp= \
        --replace= --smart-case --case-sensitive --sort= --sortr= --stats --no-stats --stop-on-nonmatch \
        --text --no-text --threads= --trim --type= --type-not= --type-add= --type-clear= --type-list \
        --unrestricted --vimgrep --with-filename --no-filename --word-regexp --byte-offset --binary \
        --path-separator= --pcre2-version --debug --trace",
            HELP,
        ],
    ),
    row(
        "fd fdfind",
        &[
            "-HIuSsigFaLlp01qVh -d: -t: -e: -E: -c: -j: -S: -o: -x! -X! --hidden --no-ignore --unrestricted \
        --case-sensitive --ignore-case --glob --regex --fixed-strings --absolute-path --list-details --follow \
        --full-path --max-depth= --min-depth= --exact-depth= --type= --extension= --exclude= --size= \
        --changed-within= --changed-before= --newer= --older= --owner= --color= --threads= --max-results= --quiet \
        --print0 --prune --strip-cwd-prefix --no-ignore-vcs --no-ignore-parent --one-file-system",
            HELP,
        ],
    ),
    row(
        "find gfind",
        &[
            "@H @L @P @amin= @anewer= @atime= @cmin= @cnewer= @ctime= @daystart @depth @d @x @X @E @s @empty \
        @executable @false @follow @fstype= @gid= @group= @ignore_readdir_race @ilname= @iname= @inum= @ipath= \
        @iregex= @iwholename= @links= @lname= @ls @maxdepth= @mindepth= @mmin= @mount @mtime= @name= @newer= \
        @neweraa= @newerat= @newercm= @newerct= @newerma= @newermm= @newermt= @nogroup @noleaf @not @nouser @o @or \
        @a @and @path= @perm= @print @print0 @printf= @prune @quit @readable @regex= @regextype= @samefile= @size= \
        @true @type= @uid= @user= @used= @warn @nowarn @wholename= @writable @xdev @xtype= @help @version \
        @delete! @exec! @execdir! @ok! @okdir! @fls! @fprint! @fprint0! @fprintf! @files0-from!",
        ],
    ),
    row(
        "cut gcut",
        &[
            "-Mnswz -b: -c: -d: -f: --bytes= --characters= --delimiter= --fields= --complement --only-delimited \
        --output-delimiter= --zero-terminated",
            HELP,
        ],
    ),
    with(
        "uniq guniq",
        Operands::AtMost(1),
        &[
            "-Dcdiuz -f: -s: -w: --count --repeated --all-repeated[=] --skip-fields= --group[=] \
        --ignore-case --skip-chars= --unique --zero-terminated --check-chars=",
            HELP,
        ],
    ),
    row("tr gtr", &["-Ccdstu --complement --delete --squeeze-repeats --truncate-set1", HELP]),
    row(
        "diff gdiff colordiff",
        &[
            "-# -BEHNPTZabcdefhinpqrstuvwy -C: -D: -F: -I: -L: -S: -U: -W: -X: -x: --brief --ed --expand-tabs \
        --ignore-all-space --ignore-blank-lines --ignore-case --ignore-file-name-case --ignore-space-change \
        --ignore-tab-expansion --ignore-trailing-space --initial-tab --left-column --minimal --new-file \
        --no-dereference --no-ignore-file-name-case --normal --rcs --recursive --report-identical-files \
        --show-c-function --side-by-side --speed-large-files --strip-trailing-cr --suppress-blank-empty \
        --suppress-common-lines --text --unidirectional-new-file --exclude= --exclude-from= --from-file= --to-file= \
        --horizon-lines= --ifdef= --ignore-matching-lines= --label= --line-format= --palette= \
        --show-function-line= --starting-file= --tabsize= --width= --color[=] --context[=] --unified[=] -l!",
            HELP,
        ],
    ),
    row(
        "cmp comm join paste",
        &[
            "-# -abcszivxl -n: -i: -j: -o: -e: -t: -d: -v: --bytes= --ignore-initial= --print-bytes --quiet --silent \
        --verbose --check-order --nocheck-order --output-delimiter= --total --zero-terminated --serial --delimiters= \
        --header --ignore-case",
            HELP,
        ],
    ),
    row("basename dirname", &["-az -s: --multiple --suffix= --zero", HELP]),
    row(
        "realpath readlink grealpath greadlink",
        &[
            "-LPefmnqsvz --canonicalize --canonicalize-existing --canonicalize-missing \
        --no-newline --logical --physical --quiet --silent --strip --no-symlinks --verbose --zero --relative-to= \
        --relative-base=",
            HELP,
        ],
    ),
    row("which type whereis", &["-afpPtsv -i --all --skip-alias --skip-functions", HELP]),
    row(
        "uname arch nproc whoami groups logname tty",
        &[
            "-aimnoprsv --all --kernel-name --nodename --kernel-release --kernel-version \
        --machine --processor --hardware-platform --operating-system --ignore= --silent --quiet",
            HELP,
        ],
    ),
    row("id", &["-GZagnpruzAFP --context --group --groups --name --real --user --zero", HELP]),
    with(
        "date gdate",
        Operands::If(is_format),
        &[
            "-uRj -d: -I? -r: -f:! -s:! --date= --iso-8601[=] --reference= --rfc-2822 --rfc-email --rfc-3339= \
        --utc --universal --set=! --file=!",
            HELP,
        ],
    ),
    with(
        "hostname domainname",
        Operands::AtMost(0),
        &[
            "-aAdfiIsy --alias --all-fqdns --all-ip-addresses --domain --fqdn --long --ip-address --short",
            HELP,
        ],
    ),
    with(
        "hostnamectl",
        Operands::If(|text| text == "status"),
        &["--static --pretty --transient --no-pager --json="],
    ),
    with("echo", Operands::Text, &[]),
    row("sleep", &["--help --version"]),
    row("true false pwd", &["-LP --logical --physical", HELP]),
    row(
        "sort gsort",
        &[
            "-MRVbcdfghimnrsuzC -k: -t: -S: -o:! -T:! --ignore-leading-blanks --dictionary-order --ignore-case \
        --general-numeric-sort --ignore-nonprinting --month-sort --human-numeric-sort --numeric-sort --random-sort \
        --random-source= --reverse --sort= --version-sort --batch-size= --check[=] --debug --key= --merge --stable \
        --buffer-size= --field-separator= --parallel= --unique --zero-terminated --output=! --temporary-directory=! \
        --compress-program=! --files0-from=!",
            HELP,
        ],
    ),
    row(
        "nl",
        &[
            "-p -b: -d: -f: -h: -i: -l: -n: -s: -v: -w: --body-numbering= --section-delimiter= --footer-numbering= \
        --header-numbering= --line-increment= --join-blank-lines= --number-format= --no-renumber \
        --number-separator= --starting-line-number= --number-width=",
            HELP,
        ],
    ),
    row(
        "column",
        &[
            "-JLVdenRtx -C: -c: -H: -i: -l: -N: -O: -o: -p: -r: -s: -T: -W: -E: --fillrows --json --keep-empty-lines --table \
        --table-noheadings --table-header-repeat --output-separator= --output-width= --separator= --table-columns= \
        --table-columns-limit= --table-hide= --table-name= --table-noextreme= --table-order= --table-right= \
        --table-truncate= --table-wrap= --tree= --tree-id= --tree-parent=",
            HELP,
        ],
    ),
    row(
        "tree",
        &[
            "-ACDFJNQSUXacdfghilnpqrstuvx -H: -I: -L: -P: -T: -o:! -R! --device --dirsfirst --du --filesfirst --fromfile --gitignore \
        --ignore-case --info --inodes --matchdirs --metafirst --nolinks --noreport --prune --si --charset= \
        --filelimit= --gitfile= --infofile= --sort[=] --timefmt=",
            HELP,
        ],
    ),
    row(
        "file",
        &[
            "-0EILNbhiklnprsv -F: -e: -P: --brief --dereference --no-dereference --mime --mime-type --mime-encoding --extension \
        --keep-going --list --no-buffer --no-pad --print0 --raw --special-files --exclude= --exclude-quiet= \
        --separator= --parameter= --apple -C! -m:! -z! -Z! -f:! --compile! --magic-file=! --uncompress!",
            HELP,
        ],
    ),
    row(
        "jq gojq jaq",
        &[
            "-CMRSVacehnrsj -L: -f: --ascii-output --color-output --monochrome-output --compact-output --exit-status \
        --join-output --null-input --raw-input --raw-output --raw-output0 --slurp --sort-keys --seq --stream \
        --stream-errors --tab --unbuffered --indent= --arg= --argjson= --slurpfile= --rawfile= --args --jsonargs \
        --from-file= --build-configuration -i!",
            HELP,
        ],
    ),
    row(
        "yq",
        &[
            "-CMPrejn -o: -p: -i! --colors --no-colors --prettyPrint --unwrapScalar --exit-status --null-input --tojson --output-format= --input-format= --inplace!",
            HELP,
        ],
    ),
    row(
        "md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum shasum sum",
        &[
            "-bctwzrsq -a: -l: --algorithm= --binary --check \
        --text --tag --zero --ignore-missing --quiet --status --strict --warn --length= --base64 --raw --untagged",
            HELP,
        ],
    ),
    row(
        "od hexdump hd strings",
        &[
            "-# -abcdfhilosvxCDX -w? -A: -j: -N: -n: -S: -t: -e: -s: --address-radix= --skip-bytes= --read-bytes= --format= \
        --output-duplicates --width[=] --all --bytes= --radix= --encoding=",
            HELP,
        ],
    ),
    with("xxd", Operands::AtMost(1), &["-abeEiuCh -c: -g: -l: -n: -o: -s: -r!"]),
    row(
        "seq fold fmt expand unexpand rev numfmt factor yes base32 base64",
        &[
            "-# -adisuwbt -f: -s: -w: -t: -g: -p: --format= --separator= --equal-width \
        --bytes --spaces --width= --tabs= --decode --ignore-garbage --wrap= --from= --to= --field= --padding=",
            HELP,
        ],
    ),
    row(
        "shuf",
        &[
            "-erz -i: -n: -o:! --echo --input-range= --head-count= --repeat --zero-terminated --output=!",
            HELP,
        ],
    ),
    row(
        "tee touch mkdir",
        &[
            "-aipcmv -m: -d: -r: -t: --append --ignore-interrupts --parents --mode= --verbose --no-create --date= --reference= --time=",
            HELP,
        ],
    ),
    row(
        "rm rmdir unlink cp mv ln install",
        &[
            "-abdfHiILlnPpRrsTuvxD -t: -S: -m: -o: -g: --archive --force --interactive[=] --link --no-clobber --dereference \
        --no-dereference --no-target-directory --parents --preserve[=] --recursive --dir --verbose --update[=] \
        --symbolic --symbolic-link --target-directory= --one-file-system --preserve-root[=] --no-preserve-root \
        --backup[=] --suffix= --sparse= --reflink[=] --relative --mode= --ignore-fail-on-non-empty --directory",
            HELP,
        ],
    ),
    row(
        "chmod chown chgrp",
        &[
            "-RcfvhHLP --recursive --changes --silent --quiet --verbose --reference= --preserve-root --no-preserve-root --dereference --no-dereference --from=",
            HELP,
        ],
    ),
    with(
        "split csplit",
        Operands::AtMost(1),
        &[
            "-edkqsxzun -a: -b: -C: -l: -n: -f: --bytes= --lines= --number= --suffix-length= --numeric-suffixes[=] --filter=!",
            HELP,
        ],
    ),
    row(
        "ps pgrep pidof lsof free uptime vmstat",
        &[
            "-AaefFjlLwxcdnpuiVhTmMNbgksStv -o: -p: -u: -C: -U: -g: -t: -G: --forest --no-headers --sort= --pid= --ppid= --user= --format= --full --list-name --list-full \
        --bytes --kilo --mega --giga --human --wide --total --pretty --since",
            HELP,
        ],
    ),
    row("printenv getconf locale tput", &["-0am --null --all-locales --charmaps", HELP]),
    Row { names: "printf", options: &["-v:!"], order: Order::First, operands: Operands::Any },
    with(
        "test",
        Operands::Test,
        &[
            "@b @c @d @e @f @g @h @G @k @L @N @O @p @r @s @S @t @u @w @x @z @n @a @o @eq @ne @lt @le @gt @ge @nt @ot @ef @v! @R!",
        ],
    ),
    row("expr", &[HELP]),
    with(
        "sed gsed",
        Operands::Sed,
        &[
            "-nErsuz -e: -f:! -i?! -I?! -l:! --expression= --quiet --silent --regexp-extended --separate --unbuffered --null-data \
        --zero-terminated --posix --sandbox --debug --file=! --in-place[=]!",
            HELP,
        ],
    ),
    with(
        "awk gawk mawk nawk",
        Operands::Awk,
        &[
            "-F: -v: -f:! -i:! -l:! -E:! -W:! --field-separator= --assign= --posix --traditional --re-interval",
        ],
    ),
    // Archives and transfer.
    with(
        "tar gtar bsdtar",
        Operands::Tar,
        &[
            "-ctxvzjJaprukmSOBhwWlnZi -f: -C:! -T:! -X: -I:! -F:! -P! -b: -H: -N: -K: -V: --create --list --extract --get --append --update \
        --diff --compare --verbose --gzip --bzip2 --xz --zstd --lzma --auto-compress --file= --exclude= \
        --exclude-from= --exclude-vcs --strip-components= --wildcards --no-wildcards --to-stdout --keep-old-files \
        --same-permissions --preserve-permissions --no-same-owner --no-same-permissions --numeric-owner --sort= \
        --mtime= --owner= --group= --mode= --format= --dereference --one-file-system --totals --directory=!",
            HELP,
        ],
    ),
    row(
        "zip",
        &[
            "-# -rqvjyuDmXl -x: -i: -T! --recurse-paths --quiet --verbose --junk-paths --exclude= --symlinks",
        ],
    ),
    row("unzip zipinfo", &["-lvtpqnjCLZazhsmMTu -x: -d:! -o!"]),
    row(
        "gzip gunzip zcat bzip2 bunzip2 bzcat xz unxz xzcat zstd zstdcat",
        &[
            "-# -cdfhklnNqrtvzkT -S: --stdout --decompress --keep --list --quiet --recursive --test --verbose --fast --best --force",
            HELP,
        ],
    ),
    with("curl", Operands::If(not_file), &[super::net::CURL]),
    with("wget", Operands::If(not_file), &[super::net::WGET]),
    row("ssh", &[super::net::SSH]),
    row("scp sftp", &[super::net::SCP]),
    row("rsync", &[super::net::RSYNC]),
    row(
        "dig nslookup host whois ping ping6 traceroute nc ncat netcat telnet ftp mosh",
        &["-46nqvzuUtkdbRrOf -c: -i: -w: -W: -s: -p: -t: -m: -l! -e! +"],
    ),
    // Builds and languages.
    with(
        "make gmake ninja",
        Operands::If(no_assignment),
        &[
            "-BbdeiknpqrRsStvw -j? -l? -O? -W: -o: --always-make --jobs[=] --keep-going --no-keep-going --stop --dry-run \
        --just-print --silent --quiet --question --touch --print-data-base --no-builtin-rules --no-builtin-variables \
        --output-sync[=] --load-average[=] --print-directory --no-print-directory --warn-undefined-variables --trace \
        --debug[=] -f:! -C:! -I:! -E:! --eval=!",
            HELP,
        ],
    ),
    script("python python2 python3 pypy pypy3", &["-bBdEhIOPqsSuvVx -W: -X: -c:! -m:! -i!", HELP]),
    script(
        "node nodejs",
        &[
            "-vh -c --check --trace-warnings --no-warnings --enable-source-maps --stack-trace-limit= --max-old-space-size= \
        --test! --watch!",
            HELP,
        ],
    ),
    script(
        "perl ruby lua luajit php tclsh wish osascript jshell ghci irb gdb lldb expect deno bun psql sqlite3 mysql",
        &["--version"],
    ),
    Row {
        names: "cargo",
        options: &[
            "-qvVh -p: -F: -j: --quiet --verbose --release --all --workspace --package= --exclude= --all-targets \
        --lib --bins --bin= --examples --example= --tests --test= --benches --bench= --features= --all-features \
        --no-default-features --no-run --no-fail-fast --jobs= --keep-going --profile= --locked --offline --frozen \
        --message-format= --color= --doc --open! --no-deps --check --fix --allow-dirty --allow-staged --depth= \
        --prefix= --invert= --edges= --duplicates --list --dry-run --timings[=] +!",
            HELP,
        ],
        order: Order::Mixed,
        operands: Operands::AfterDashes,
    },
    row(
        "go",
        &[
            "@v @race @count= @run= @bench= @benchmem @short @timeout= @cover @json @tags= @failfast @parallel= @cpu= @a @n @x @p= @m @u @mod= \
        @trimpath @list= @fuzz= @fuzztime= @shuffle= @vet= @benchtime= @f= @deps @test @e @json @versions @find @work \
        @exec=! @toolexec=! @o=! @C=! @overlay=! @modfile=! @vettool=! @pkgdir=! @ldflags=! @gcflags=! @asmflags=! @gccgoflags=! @coverprofile=! @cpuprofile=! @memprofile=! @trace=! @outputdir=!",
        ],
    ),
    Row {
        names: "npm pnpm yarn",
        options: &[
            "-gDPEOswyfdqv -w: --silent --quiet --verbose --global --save --save-dev --save-exact --save-optional --save-peer --no-save --no-audit \
        --no-fund --legacy-peer-deps --prefer-offline --offline --frozen-lockfile --json --long --parseable \
        --depth= --production --omit= --include= --workspace= --workspaces --if-present --dry-run --yes --force \
        --ignore-scripts --recursive --filter= --loglevel= --all",
        ],
        order: Order::Mixed,
        operands: Operands::AfterDashes,
    },
    row(
        "pip pip3 uv",
        &[
            "-qvU -r: -c: --quiet --verbose --upgrade --user --requirement= --constraint= --no-deps --no-cache-dir --pre --dry-run \
        --outdated --format= --disable-pip-version-check --no-input --progress-bar= --break-system-packages",
            HELP,
        ],
    ),
    row(
        "docker podman nerdctl",
        &[
            "-adfiqtl -n: -s --all --filter= --format= --last= --no-trunc --quiet --size --tail= --since= --until= --timestamps --follow --no-stream --latest --services",
            HELP,
        ],
    ),
    row(
        "kubectl",
        &[
            "-Aw -n: -l: -o: -c: -f:! --all-namespaces --namespace= --selector= --output= --container= --tail= --since= --previous --watch --show-labels --context=! --kubeconfig=! --server=!",
        ],
    ),
    row(
        "openssl",
        &[
            "@in= @noout @text @subject @issuer @dates @fingerprint @serial @sha256 @sha1 @md5 @hex @base64 @d @e @inform= @outform=",
        ],
    ),
    row(
        "less more most",
        &[
            "-eEFfgiIMmNnqRrSsuVwXX -j: -x: --help --version --RAW-CONTROL-CHARS --chop-long-lines --quit-if-one-screen --no-init +! -o:! -O:! -k:! -K:! -t:! -T:!",
        ],
    ),
    row(
        "man",
        &[
            "-afhkKwWsu -s: -S: -e: -L: --all --where --whatis --apropos --sections= --locale= -P:! -H?! -C:! -M:! -l! --html[=]! -p:! -T?! --pager=!",
        ],
    ),
    row(
        "sysctl",
        &["-aAbeNnqr --all --values --names --ignore --quiet -w! -p?! --write! --load[=]!"],
    ),
    row("cd pushd", &["-LPe@ -#"]),
    row("read", &["-ers -d: -i: -n: -N: -p: -t: -u: -a:"]),
    row("export readonly declare typeset local unset", &["-aAfFgilnprtuxv"]),
    row("getopts wait", &["-fn -p:!"]),
];

/// Builtins and programs whose every argument is a hazard.
pub(super) const NOTHING: &[&str] = &[
    "eval",
    "source",
    ".",
    "alias",
    "hash",
    "enable",
    "bind",
    "complete",
    "mapfile",
    "readarray",
    "exec",
    "let",
    "set",
    "shopt",
    "trap",
    "vi",
    "vim",
    "nvim",
    "ex",
    "view",
    "ed",
    "emacs",
    "nano",
    "pico",
    "git-shell",
];

/// `date +%s`; any other operand sets the clock.
fn is_format(text: &str) -> bool {
    text.starts_with('+')
}

fn not_file(text: &str) -> bool {
    !text.to_ascii_lowercase().starts_with("file:") && !text.starts_with('@')
}

fn no_assignment(text: &str) -> bool {
    !text.contains('=')
}
