//! Options of the programs that go to hosts; `network` reads hosts off the same lists.

/// Known options of `curl`. A wildcard covers those that only change how a page is fetched and shown.
pub(crate) const CURL: &str = "-01234 -N# -A: -b: -C: -e: -h: -H: -m: -r: -w: -X: -y: -Y: -z: -t: -Q: \
    -6aBfgGiIjkLlMnNpqRsSvVZ \
    --anyauth --append --basic --compressed --compressed-ssh --crlf --digest --fail --fail-early \
    --fail-with-body --get --globoff --head --http0.9 --http1.0 --http1.1 --http2 --http2-prior-knowledge \
    --http3 --http3-only --include --insecure --ipv4 --ipv6 --list-only --location --location-trusted \
    --manual --negotiate --no-buffer --no-clobber --no-keepalive --no-progress-meter --no-sessionid --ntlm \
    --parallel --parallel-immediate --path-as-is --post301 --post302 --post303 --progress-bar --raw \
    --retry-all-errors --retry-connrefused --show-error --no-silent --silent --ssl --ssl-reqd --sslv2 \
    --sslv3 --tcp-fastopen --tcp-nodelay --tlsv1 --tlsv1.0 --tlsv1.1 --tlsv1.2 --tlsv1.3 --tr-encoding \
    --use-ascii --verbose --version --disable --styled-output --no-styled-output --ignore-content-length \
    --junk-session-cookies --suppress-connect-headers --cert-status --ssl-no-revoke --no-alpn --no-npn \
    --cacert= --capath= --ciphers= --connect-timeout= --continue-at= --cookie= --curves= --expect100-timeout= \
    --happy-eyeballs-timeout-ms= --header= --help= --keepalive-time= --limit-rate= --max-filesize= \
    --max-redirs= --max-time= --noproxy= --oauth2-bearer= --parallel-max= --proto= --proto-default= \
    --proto-redir= --range= --rate= --referer= --request= --request-target= --retry= --retry-delay= \
    --retry-max-time= --speed-limit= --speed-time= --time-cond= --tls-max= --tls13-ciphers= --url= \
    --user-agent= --write-out= \
    -o:! -O! -J! -K:! -T:! -F:! -d:! -x:! -D:! -c:! -u:! -U:! -E:! -P:! --output=! --output-dir=! --remote-name! \
    --remote-name-all! --remote-header-name! --remote-time! --create-dirs! --remove-on-error! --config=! \
    --upload-file=! --form=! --form-string=! --data=! --data-ascii=! --data-binary=! --data-raw=! \
    --data-urlencode=! --json=! --url-query=! --proxy=! --preproxy=! --proxy1.0=! --socks4=! --socks4a=! \
    --socks5=! --socks5-hostname=! --proxytunnel! --proxy-header=! --proxy-user=! --proxy-insecure! \
    --proxy-anyauth! --proxy-basic! --proxy-digest! --proxy-ntlm! --proxy-negotiate! --resolve=! \
    --connect-to=! --dns-servers=! --doh-url=! --interface=! --local-port=! --unix-socket=! \
    --abstract-unix-socket=! --dump-header=! --cookie-jar=! --user=! --cert=! --key=! --pass=! --netrc! \
    --netrc-file=! --netrc-optional! --trace=! --trace-ascii=! --trace-time! --stderr=! --engine=! \
    --libcurl=! --next! --hsts=! --alt-svc=! --etag-save=! --etag-compare=! --mail-from=! --mail-rcpt=! \
    --quote=! --xattr!";

/// Known options of `wget`.
pub(crate) const WGET: &str = "-46bcdEFHhKkLmNpqrSvVx -n? -A: -B: -D: -I: -l: -Q: -R: -t: -T: -U: -w: -X: --quiet --verbose --no-verbose \
    --debug --spider --continue --timestamping --server-response --no-clobber --no-check-certificate --no-cache \
    --no-cookies --no-hsts --no-directories --no-host-directories --no-parent --no-proxy --recursive --mirror \
    --page-requisites --convert-links --adjust-extension --https-only --show-progress --inet4-only --inet6-only \
    --tries= --timeout= --dns-timeout= --connect-timeout= --read-timeout= --wait= --waitretry= --random-wait --limit-rate= \
    --quota= --level= --header= --user-agent= --referer= --max-redirect= --accept= --reject= --domains= \
    --exclude-domains= --progress= --secure-protocol= --ca-certificate= --ca-directory= --compression= \
    --content-disposition --trust-server-names --no-netrc --no-config --version --help \
    -O:! -o:! -a:! -P:! -i:! -e:! --output-document=! --output-file=! --append-output=! --directory-prefix=! --input-file=! \
    --execute=! --config=! --base=! --post-data=! --post-file=! --body-data=! --body-file=! --method=! --user=! --password=! \
    --http-user=! --http-password=! --load-cookies=! --save-cookies=! --save-headers! --use-askpass=! \
    --bind-address=! --warc-file=! --certificate=! --private-key=! --hsts-file=! --rejected-log=!";

/// Known options of `ssh`.
pub(crate) const SSH: &str = "-46aCGgNnqTtVvxyAfKkMsXY -b: -B: -c: -e: -I: -l: -m: -O: -p: -Q: -D:! -E:! -F:! -i:! -J:! -L:! -o:! -R:! -S:! -W:! -w:! -P:!";

/// Known options of `scp` and `sftp`.
pub(crate) const SCP: &str =
    "-346ABCOpqRrTvaN -c: -l: -P: -X: -b:! -D:! -F:! -i:! -J:! -o:! -S:! -s:!";

/// Known options of `rsync`.
pub(crate) const RSYNC: &str = "-abcdghHilLnopqrtuvWxzAEDNOPSUX468CkKIRmy --archive --verbose --quiet --compress --recursive --relative --update \
    --dry-run --links --perms --times --owner --group --checksum --human-readable --progress --stats --partial \
    --itemize-changes --exclude= --exclude-from= --include= --include-from= --bwlimit= --timeout= --contimeout= \
    --size-only --whole-file --one-file-system --numeric-ids --inplace --list-only --info= --port= --ipv4 --ipv6 \
    --max-size= --min-size= --no-perms --no-owner --no-group --version --help -B: -f: \
    -e:! -M:! -T:! --rsh=! --rsync-path=! --remote-option=! --daemon! --delete! --delete-after! --delete-before! \
    --log-file=! --files-from=! --password-file=! --config=! --temp-dir=! --backup-dir=! --compare-dest=! \
    --copy-dest=! --link-dest=! --write-batch=! --read-batch=! --only-write-batch=! --sockopts=! --address=!";
