//! Work on many things, shared among the cores, with the results in order.
//!
//! For what is long enough for a person to wait, a folder of ten thousand logs or the list of them;
//! what is short is done here and now.

/// So many things are worth a thread.
const A_THREAD: usize = 1000;

/// More would wait for each other, in the file system or for memory.
const THREADS: usize = 4;

/// Does the work on each of some parts of a list.
pub fn in_parts<T: Sync, R: Send>(items: &[T], work: impl Fn(&[T]) -> R + Sync) -> Vec<R> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = (items.len() / A_THREAD).clamp(1, cores.min(THREADS));
    let work = &work;
    std::thread::scope(|scope| {
        let mut parts = items.chunks(items.len().div_ceil(threads).max(1));
        let own = parts.next().unwrap_or_default();
        let spawn =
            |part| (part, std::thread::Builder::new().spawn_scoped(scope, move || work(part)));
        let others: Vec<_> = parts.map(spawn).collect();
        let mut results = vec![work(own)];
        for (part, other) in others {
            // Where there is no thread to be had, this one does it.
            results.push(match other.map(std::thread::ScopedJoinHandle::join) {
                Ok(Ok(result)) => result,
                _ => work(part),
            });
        }
        results
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_done_once_and_in_order() {
        for many in [0, 1, 999, 1000, 5003] {
            let items: Vec<usize> = (0..many).collect();
            let parts = in_parts(&items, <[usize]>::to_vec);
            assert_eq!(parts.concat(), items, "{many}");
        }
    }
}
