//! Brings up the loopback of a fresh network namespace, where it is down and `ip` may be missing.
//!
//! Owns two ioctls. Then it becomes the program that it was given.
#![expect(clippy::print_stderr, reason = "a program for a script")]

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    use std::os::unix::process::CommandExt;
    if let Err(error) = linux::bring_up_loopback() {
        eprintln!("lo-up: cannot bring up the loopback: {error}");
        return std::process::ExitCode::FAILURE;
    }
    let mut args = std::env::args_os().skip(1);
    let Some(program) = args.next() else { return std::process::ExitCode::SUCCESS };
    let error = std::process::Command::new(&program).args(args).exec();
    eprintln!("lo-up: cannot start `{}`: {error}", program.display());
    std::process::ExitCode::from(127)
}

#[cfg(not(target_os = "linux"))]
fn main() -> std::process::ExitCode {
    eprintln!("lo-up: there are no network namespaces on this system");
    std::process::ExitCode::FAILURE
}

#[cfg(target_os = "linux")]
mod linux {
    use nix::libc::{IFF_UP, IFNAMSIZ, SIOCGIFFLAGS, SIOCSIFFLAGS, c_char, c_short, ifreq};
    use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
    use std::io;
    use std::os::fd::AsRawFd;

    nix::ioctl_read_bad!(get_flags, SIOCGIFFLAGS, ifreq);
    nix::ioctl_write_ptr_bad!(set_flags, SIOCSIFFLAGS, ifreq);

    #[expect(unsafe_code, reason = "interface flags are reached by ioctl only")]
    pub(super) fn bring_up_loopback() -> io::Result<()> {
        let any = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
        // SAFETY: the structure is plain data, for which zeroes are a value.
        let mut request: ifreq = unsafe { std::mem::zeroed() };
        let mut name = [0 as c_char; IFNAMSIZ];
        for (to, from) in name.iter_mut().zip(*b"lo") {
            *to = c_char::try_from(from).unwrap_or_default();
        }
        request.ifr_name = name;
        // SAFETY: the descriptor is open and the request is whole; the kernel writes the flags into it.
        unsafe { get_flags(any.as_raw_fd(), &raw mut request)? };
        // SAFETY: the call before has set this member.
        let flags = unsafe { request.ifr_ifru.ifru_flags };
        request.ifr_ifru.ifru_flags = flags | c_short::try_from(IFF_UP).unwrap_or_default();
        // SAFETY: as above; the kernel only reads it.
        unsafe { set_flags(any.as_raw_fd(), &raw const request)? };
        Ok(())
    }
}
