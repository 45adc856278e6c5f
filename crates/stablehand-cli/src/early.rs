//! Gives the loader's pages back in a keeper, before the standard library starts and wants more.
//!
//! The loader looks at all relocations of a large program, three megabytes with the libraries; a keeper
//! is never to need more than that. Only glibc passes the arguments to such a function.

use std::ffi::{CStr, c_char, c_int};

#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn(c_int, *const *const c_char) = before_main;

extern "C" fn before_main(count: c_int, arguments: *const *const c_char) {
    if count < 2 {
        return;
    }
    // SAFETY: there are that many arguments, and they are as C has them.
    let first = unsafe { CStr::from_ptr(*arguments.add(1)) };
    if first.to_bytes() == crate::env::KEEPER.as_bytes() {
        stablehand::pages::give_back();
    }
}
