//! Gives memory back to the system: what is in a file anyway, and what the allocator keeps.
//!
//! Starting touches megabytes of a large program that the hours after it do not need: text, constants,
//! relocations. The kernel would take them back when memory is short; until then they count as ours.

/// Gives back what the process has touched of its program and libraries, and what is free in its heap.
/// To be called after a large step by a process that lives on for long.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "only the loader knows which addresses these are")]
pub fn give_back() {
    use nix::libc::{
        MADV_DONTNEED, PF_W, PT_LOAD, c_int, c_void, dl_iterate_phdr, dl_phdr_info, madvise,
    };
    use nix::unistd::{SysconfVar, sysconf};

    unsafe extern "C" fn one_object(
        about: *mut dl_phdr_info,
        _: usize,
        page: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader passes one valid entry, with as many headers as it says.
        let (base, headers) = unsafe {
            let about = &*about;
            let count = usize::from(about.dlpi_phnum);
            (about.dlpi_addr, std::slice::from_raw_parts(about.dlpi_phdr, count))
        };
        for header in headers.iter().filter(|it| it.p_type == PT_LOAD && it.p_flags & PF_W == 0) {
            let from = usize::try_from(base + header.p_vaddr);
            let (Ok(from), Ok(length)) = (from, usize::try_from(header.p_memsz)) else { continue };
            let into_page = from & (page as usize - 1);
            let start = (from - into_page) as *mut c_void;
            // SAFETY: a private mapping of a file that was never writable. Dropping its pages loses
            // nothing: the next access reads them from the file again.
            unsafe { madvise(start, into_page + length, MADV_DONTNEED) };
        }
        0
    }

    let Ok(Some(page)) = sysconf(SysconfVar::PAGE_SIZE) else { return };
    // SAFETY: the callback takes what the loader gives, and the third argument as a number.
    unsafe { dl_iterate_phdr(Some(one_object), page as *mut c_void) };
    #[cfg(target_env = "gnu")]
    // SAFETY: it looks at nothing but the allocator's own lists, under their locks.
    let _whether = unsafe { nix::libc::malloc_trim(0) };
}

#[cfg(not(target_os = "linux"))]
pub fn give_back() {}

/// From here on a large block of memory goes back to the system when it is freed. By itself the C
/// library stops doing so with the first such block, and keeps up to 32 MiB of each size.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "a setting of the C library")]
pub fn return_large_blocks() {
    // SAFETY: it sets a number that every later allocation may have.
    unsafe { nix::libc::mallopt(nix::libc::M_MMAP_THRESHOLD, 256 << 10) };
}

/// Nothing to do: only glibc has the habit.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn return_large_blocks() {}
