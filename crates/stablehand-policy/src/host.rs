//! Hosts: where an address leads, and which patterns cover that host.
//!
//! An address that a program may read in another way than we do is never certain: names in other
//! alphabets, a user name before the host, numbers that are addresses in disguise.

use super::path::Fit;
use super::wild;

/// Where an address may lead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Host {
    /// Names it may have, in lower case.
    pub(crate) names: Vec<String>,
    pub(crate) port: Option<String>,
    pub(crate) certain: bool,
}

impl Host {
    /// A host that nobody knows.
    pub(crate) fn unknown() -> Host {
        Host { names: Vec::new(), port: None, certain: false }
    }

    /// The host for a message.
    pub(crate) fn show(&self) -> String {
        self.names.first().cloned().unwrap_or_else(|| "an unknown host".to_owned())
    }

    /// The host of an address, with or without a scheme.
    pub(crate) fn of_url(url: &str) -> Host {
        let mut certain =
            url.is_ascii() && !url.contains(['\\', ' ', '\t', '\n', '\r']) && url.trim() == url;
        let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
        certain &=
            scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
        let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
        let mut names = Vec::new();
        let host = match authority.rsplit_once('@') {
            None => authority,
            Some((user, host)) => {
                // `https://good.example@evil.example/`: whoever reads it may take either.
                certain = false;
                names.push(user.split(':').next().unwrap_or(user).to_lowercase());
                host
            }
        };
        let mut found = Host::of_authority(host);
        found.certain &= certain;
        found.names.extend(names);
        found
    }

    /// The host of `host`, `host:port` or `[address]:port`.
    pub(crate) fn of_authority(text: &str) -> Host {
        let (name, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((address, rest)) => (address, rest.strip_prefix(':')),
            None => match text.rsplit_once(':') {
                Some((name, port)) if !name.contains(':') => (name, Some(port)),
                _ => (text, None),
            },
        };
        let mut name = name.to_lowercase();
        while name.ends_with('.') {
            name.pop();
        }
        let bracketed = text.starts_with('[');
        let plain = |c: char| {
            c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_') || (bracketed && c == ':')
        };
        let mut certain = !name.is_empty() && name.chars().all(plain) && !name.contains("..");
        let mut names = vec![name.clone()];
        if let Some(address) = disguised(&name) {
            certain &= address == name;
            if address != name {
                names.push(address);
            }
        }
        // A name in another alphabet looks like what it is not.
        if name.split('.').any(|label| label.starts_with("xn--")) {
            certain = certain && name.is_ascii();
        }
        let port = port.filter(|port| !port.is_empty()).map(str::to_owned);
        certain &= port.as_ref().is_none_or(|port| port.bytes().all(|b| b.is_ascii_digit()));
        Host { names, port, certain }
    }
}

/// The dotted form of an IPv4 address, however it is written: `2130706433`, `0x7f.1`, `0177.0.0.1`.
fn disguised(name: &str) -> Option<String> {
    let parts: Vec<&str> = name.split('.').collect();
    if parts.len() > 4 {
        return None;
    }
    let number = |part: &&str| -> Option<u64> {
        match part.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(if hex.is_empty() { "0" } else { hex }, 16).ok(),
            None if part.len() > 1 && part.starts_with('0') => u64::from_str_radix(part, 8).ok(),
            None => part.parse().ok(),
        }
    };
    let numbers: Vec<u64> = parts.iter().map(number).collect::<Option<_>>()?;
    let (last, first) = numbers.split_last()?;
    let room = 1u64 << (8 * (4 - first.len()));
    if *last >= room || first.iter().any(|byte| *byte > 255) {
        return None;
    }
    let mut address = *last;
    for (place, byte) in first.iter().enumerate() {
        address |= byte << (8 * (3 - place));
    }
    let byte = |shift: u32| (address >> shift) & 255;
    Some(format!("{}.{}.{}.{}", byte(24), byte(16), byte(8), byte(0)))
}

/// A pattern of hosts: `example.com`, `*.example.com`, `*`, with or without `:port`.
#[derive(Clone, Debug)]
pub(crate) struct HostPattern {
    name: String,
    port: Option<String>,
}

impl HostPattern {
    /// Reads a pattern, or says what is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<HostPattern, String> {
        if text.contains("://") || text.contains('/') {
            return Err(format!("`{text}` is an address; write the host alone"));
        }
        if !text.is_ascii() {
            return Err(format!("`{text}` has letters that are not ASCII; write the `xn--` form"));
        }
        let host = Host::of_authority(&text.replace('*', "x"));
        let (name, port) = match (host.port, text.rsplit_once(':')) {
            (Some(port), Some((name, _))) => (name, Some(port)),
            _ => (text, None),
        };
        let name = name.trim_matches(['[', ']']).trim_end_matches('.').to_lowercase();
        let star = name.strip_prefix("*.").unwrap_or(&name);
        if name.is_empty() || (star.contains('*') && name != "*" && name != "**") {
            return Err(format!(
                "`{text}` is no host; `*` can only stand alone or before the first dot"
            ));
        }
        Ok(HostPattern { name, port })
    }

    fn matches(&self, name: &str) -> bool {
        match self.name.as_str() {
            "*" | "**" => true,
            // `*.example.com` is what is below it, and not itself.
            pattern => wild::matches(&wild::parse(pattern), name),
        }
    }

    fn port_fits(&self, host: &Host) -> bool {
        self.port.is_none() || self.port == host.port
    }

    /// Whether it is certainly this host.
    pub(crate) fn covers(&self, host: &Host) -> bool {
        host.certain
            && !host.names.is_empty()
            && self.port_fits(host)
            && host.names.iter().all(|name| self.matches(name))
    }

    /// Whether it may be this host.
    pub(crate) fn may_cover(&self, host: &Host) -> Fit {
        let any = matches!(self.name.as_str(), "*" | "**") && self.port.is_none();
        if any || (self.port_fits(host) && host.names.iter().any(|name| self.matches(name))) {
            return Fit::Certain;
        }
        match host.certain {
            true => Fit::No,
            // A host of which nothing is known may be the one that the rule is about.
            false if host.names.is_empty() => Fit::Possible,
            false => Fit::Conceivable,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_found_and_doubted() {
        let table: &[(&str, &str, bool)] = &[
            ("https://example.com/a", "example.com", true),
            ("https://EXAMPLE.com./a", "example.com", true),
            ("https://example.com:8443/a?b#c", "example.com", true),
            ("example.com/path", "example.com", true),
            ("https://good.com@evil.com/", "evil.com", false),
            ("https://good.com\\@evil.com/", "good.com", false),
            ("https://ex\u{0430}mple.com/", "ex\u{0430}mple.com", false),
            ("http://2130706433/", "2130706433", false),
            ("http://127.0.0.1/", "127.0.0.1", true),
            ("http://0x7f.1/", "0x7f.1", false),
            ("http://[::1]:80/", "::1", true),
            ("http://", "", false),
        ];
        for (url, name, certain) in table {
            let host = Host::of_url(url);
            assert_eq!((host.show().as_str(), host.certain), (*name, *certain), "{url}");
        }
        assert!(Host::of_url("http://0x7f.1/").names.contains(&"127.0.0.1".to_owned()));
        assert!(Host::of_url("http://2130706433/").names.contains(&"127.0.0.1".to_owned()));
    }
}
