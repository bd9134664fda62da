//! Applies a function to many items on all processors, with the result of a sequential loop.
//!
//! Threads live for one call: a thread pool would not survive a fork, and waiting for it would block
//! forever. Invariant: the results are those of a sequential loop, and the error is that of the first
//! item that fails.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, Scope, ScopedJoinHandle};

/// The minimum number of items per thread: for fewer, starting a thread costs more than it saves.
const WORTH_A_THREAD: usize = 32;

/// The maximum number of threads; more would only wait for the disk.
const MAX_THREADS: usize = 16;

/// Applies `work` to each item. Calls `tick` on the calling thread with the number of items done.
pub(crate) fn try_map<T: Sync, R: Send, E: Send>(
    items: &[T],
    tick: &mut dyn FnMut(usize),
    work: impl Fn(&T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    if items.len() < 2 * WORTH_A_THREAD {
        let done = |(index, item)| work(item).inspect(|_| tick(index + 1));
        return items.iter().enumerate().map(done).collect();
    }
    let queue = Queue {
        next: AtomicUsize::new(0),
        done: AtomicUsize::new(0),
        failed: AtomicUsize::new(items.len()),
    };
    let mut done = thread::scope(|scope| {
        let helpers: Vec<_> =
            (1..threads(items.len())).map_while(|_| helper(scope, &queue, items, &work)).collect();
        let mut done = queue.run(items, &work, tick);
        for helper in helpers {
            done.extend(helper.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        done
    });
    done.sort_unstable_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

fn threads(items: usize) -> usize {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    processors.min(MAX_THREADS).min(items / WORTH_A_THREAD)
}

type Done<R, E> = Vec<(usize, Result<R, E>)>;

/// Starts another thread. Returns `None` if the system cannot start one; the existing threads then process
/// all items.
fn helper<'scope, 'env, T: Sync, R: Send + 'scope, E: Send + 'scope>(
    scope: &'scope Scope<'scope, 'env>,
    queue: &'env Queue,
    items: &'env [T],
    work: &'env (impl Fn(&T) -> Result<R, E> + Sync),
) -> Option<ScopedJoinHandle<'scope, Done<R, E>>> {
    thread::Builder::new().spawn_scoped(scope, move || queue.run(items, work, &mut |_| ())).ok()
}

struct Queue {
    next: AtomicUsize,
    done: AtomicUsize,
    /// The first item that has failed so far. Items are taken in order, so that all items before it
    /// will be finished, and later ones need not be started.
    failed: AtomicUsize,
}

impl Queue {
    fn run<T, R, E>(
        &self,
        items: &[T],
        work: &impl Fn(&T) -> Result<R, E>,
        tick: &mut dyn FnMut(usize),
    ) -> Done<R, E> {
        let mut done = Vec::new();
        loop {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index) else { return done };
            if index > self.failed.load(Ordering::Relaxed) {
                return done;
            }
            let result = work(item);
            if result.is_err() {
                self.failed.fetch_min(index, Ordering::Relaxed);
            }
            done.push((index, result));
            tick(self.done.fetch_add(1, Ordering::Relaxed) + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_order_and_first_error_wins() {
        let items: Vec<usize> = (0..10_000).collect();
        let double = |item: &usize| Ok::<_, usize>(item * 2);
        let doubled = try_map(&items, &mut |_| (), double).unwrap();
        assert!(doubled.iter().enumerate().all(|(index, value)| *value == index * 2));
        for _ in 0..50 {
            let odd = try_map(&items, &mut |_| (), |item| {
                if item % 7 == 3 && *item > 100 { Err(*item) } else { Ok(*item) }
            });
            assert_eq!(odd, Err(101));
        }
    }

    #[test]
    fn every_item_is_processed_once() {
        let items: Vec<AtomicUsize> = (0..1000).map(|_| AtomicUsize::new(0)).collect();
        let add = |item: &AtomicUsize| Ok::<_, ()>(item.fetch_add(1, Ordering::Relaxed));
        try_map(&items, &mut |_| (), add).unwrap();
        assert!(items.iter().all(|item| item.load(Ordering::Relaxed) == 1));
    }

    #[test]
    fn panic_reaches_the_caller() {
        let items: Vec<usize> = (0..1000).collect();
        let result = std::panic::catch_unwind(|| {
            try_map(&items, &mut |_| (), |item| {
                assert!(*item != 500, "as expected");
                Ok::<_, ()>(())
            })
        });
        assert!(result.is_err());
    }
}
