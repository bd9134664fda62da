//! Applies a function to many items on several threads, with the result of a sequential loop.
//!
//! Threads live for one call: a thread pool would not survive a fork, and waiting for it would block
//! forever. Invariant: the results are those of a sequential loop, and the error is that of the first
//! item that fails.

use crate::interrupt::{self, Stopped};
use crate::{memory, reserve};
use std::cell::RefCell;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, Scope, ScopedJoinHandle};

/// The maximum number of threads; more would only wait for the disk or the memory.
pub(crate) const MAX_THREADS: usize = 16;

/// The environment variables that limit the threads of a call, the first one first. Dask, Ray and Spark set
/// the second one for tasks that have one processor.
const VARIABLES: [&str; 2] = ["COMPACTWIRE_THREADS", "OMP_NUM_THREADS"];

/// How many threads a call uses unless its caller decides, at most `useful`: the value of the first of
/// [`VARIABLES`] that is a number above 0, otherwise the number of processors; at most [`MAX_THREADS`].
pub(crate) fn default_threads(useful: usize) -> usize {
    if useful < 2 {
        // Counting the processors takes longer than the work: it reads several files of the system.
        return 1;
    }
    let processors = || thread::available_parallelism().map_or(1, usize::from);
    let mut values = VARIABLES.iter().filter_map(|name| limit(&std::env::var(name).ok()?));
    values.next().unwrap_or_else(processors).min(useful.min(MAX_THREADS))
}

/// The number of threads that the value of a variable allows. A list is for nested levels of threads; its
/// first number is that of the outermost level.
fn limit(value: &str) -> Option<usize> {
    value.split(',').next()?.trim().parse().ok().filter(|&threads| threads > 0)
}

/// Applies `work` to each item, on at most `threads` threads including the calling one. Calls `tick` on the
/// calling thread with the number of items done. If `tick` or `work` unwinds there, the other threads start
/// no further item; under [`interrupt::run`] they stop at their next poll.
pub(crate) fn try_map<T: Sync, R: Send, E: Send>(
    items: &[T],
    threads: usize,
    tick: &mut dyn FnMut(usize),
    work: impl Fn(&T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    if threads < 2 {
        let mut results = Vec::new();
        memory::require(results.try_reserve_exact(items.len()));
        for (index, item) in items.iter().enumerate() {
            results.push(work(item)?);
            tick(index + 1);
        }
        return Ok(results);
    }
    let queue = Queue {
        next: AtomicUsize::new(0),
        done: AtomicUsize::new(0),
        failed: AtomicUsize::new(items.len()),
        stop: Arc::default(),
    };
    let (mut lost, checked) = (None, interrupt::has_check());
    let mut done = thread::scope(|scope| {
        let helpers: Vec<_> =
            (1..threads).map_while(|_| helper(scope, &queue, items, &work, checked)).collect();
        let _stop = StopOnUnwind(&queue);
        let mut done = queue.run(items, &work, tick);
        for helper in helpers {
            match helper.join().unwrap_or_else(|panic| resume_unwind(panic)) {
                Ok(more) => {
                    memory::require(done.try_reserve(more.len()));
                    done.extend(more);
                }
                // The helper lacked memory or files: if the call were stopped, this thread would unwind.
                Err(stopped) => lost = Some(stopped),
            }
        }
        done
    });
    if let Some(stopped) = lost {
        resume_unwind(Box::new(stopped));
    }
    done.sort_unstable_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

type Done<R, E> = Vec<(usize, Result<R, E>)>;

thread_local! {
    /// Set when the call that this thread works for is stopped.
    static STOP: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// The check of the other threads, see [`interrupt::run`].
fn is_stopped() -> bool {
    STOP.with_borrow(|stop| stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed)))
}

/// Starts another thread. Returns `None` if the system cannot start one, or has little memory; the existing
/// threads then process all items.
fn helper<'scope, 'env, T: Sync, R: Send + 'scope, E: Send + 'scope>(
    scope: &'scope Scope<'scope, 'env>,
    queue: &'env Queue,
    items: &'env [T],
    work: &'env (impl Fn(&T) -> Result<R, E> + Sync),
    checked: bool,
) -> Option<ScopedJoinHandle<'scope, Result<Done<R, E>, Stopped>>> {
    let run = move || {
        STOP.set(Some(Arc::clone(&queue.stop)));
        let work = || queue.run(items, work, &mut |_| ());
        // Without a check, the calling thread does not stop without memory, and this one must not either.
        if checked { interrupt::run(is_stopped, work) } else { Ok(work()) }
    };
    let start = || thread::Builder::new().spawn_scoped(scope, run).ok();
    reserve::has_a_thread().then(start).flatten()
}

/// Stops the other threads if the calling thread unwinds.
struct StopOnUnwind<'a>(&'a Queue);

impl Drop for StopOnUnwind<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.next.store(usize::MAX / 2, Ordering::Relaxed);
            self.0.stop.store(true, Ordering::Relaxed);
        }
    }
}

struct Queue {
    next: AtomicUsize,
    done: AtomicUsize,
    /// The first item that has failed so far. Items are taken in order, so that all items before it
    /// will be finished, and later ones need not be started.
    failed: AtomicUsize,
    /// Whether the calling thread unwinds.
    stop: Arc<AtomicBool>,
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
            memory::push(&mut done, (index, result));
            tick(self.done.fetch_add(1, Ordering::Relaxed) + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    #[test]
    fn results_keep_order_and_first_error_wins() {
        let items: Vec<usize> = (0..10_000).collect();
        let double = |item: &usize| Ok::<_, usize>(item * 2);
        for threads in [1, 2, 7] {
            let doubled = try_map(&items, threads, &mut |_| (), double).unwrap();
            assert!(doubled.iter().enumerate().all(|(index, value)| *value == index * 2));
            for _ in 0..50 {
                let odd = try_map(&items, threads, &mut |_| (), |item| {
                    if item % 7 == 3 && *item > 100 { Err(*item) } else { Ok(*item) }
                });
                assert_eq!(odd, Err(101));
            }
        }
    }

    #[test]
    fn every_item_is_processed_once() {
        let items: Vec<AtomicUsize> = (0..1000).map(|_| AtomicUsize::new(0)).collect();
        let add = |item: &AtomicUsize| Ok::<_, ()>(item.fetch_add(1, Ordering::Relaxed));
        try_map(&items, 4, &mut |_| (), add).unwrap();
        assert!(items.iter().all(|item| item.load(Ordering::Relaxed) == 1));
    }

    #[test]
    fn two_threads_work_at_the_same_time() {
        let both = Barrier::new(2);
        let wait = |(): &()| Ok::<_, ()>(both.wait().is_leader());
        let leaders = try_map(&[(), ()], 2, &mut |_| (), wait).unwrap();
        assert_eq!(leaders.iter().filter(|leader| **leader).count(), 1);
    }

    #[test]
    fn panic_reaches_the_caller() {
        let items: Vec<usize> = (0..1000).collect();
        let result = std::panic::catch_unwind(|| {
            try_map(&items, 4, &mut |_| (), |item| {
                assert!(*item != 500, "as expected");
                Ok::<_, ()>(())
            })
        });
        assert!(result.is_err());
    }

    #[test]
    fn a_caller_that_unwinds_stops_the_other_threads() {
        let (both, done) = (Barrier::new(2), AtomicUsize::new(0));
        let items: Vec<usize> = (0..1_000_000).collect();
        let work = |item: &usize| {
            if *item < 2 {
                both.wait();
            }
            done.fetch_add(1, Ordering::Relaxed);
            thread::yield_now();
            Ok::<_, ()>(())
        };
        let mut tick = |_| resume_unwind(Box::new("stop"));
        let tick = std::panic::AssertUnwindSafe(|| try_map(&items, 2, &mut tick, work));
        assert!(std::panic::catch_unwind(tick).is_err());
        assert!(done.load(Ordering::Relaxed) < items.len());
    }

    #[test]
    fn other_threads_stop_within_an_item() {
        let both = Barrier::new(2);
        let caller = thread::current().id();
        let work = |(): &()| {
            both.wait();
            while thread::current().id() != caller {
                interrupt::poll();
            }
            Ok::<_, ()>(())
        };
        let mut tick = |_| resume_unwind(Box::new("stop"));
        let call = || try_map(&[(), ()], 2, &mut tick, work);
        let call = std::panic::AssertUnwindSafe(|| interrupt::run(|| false, call));
        assert!(std::panic::catch_unwind(call).is_err());
    }

    #[test]
    fn too_little_memory_in_another_thread_ends_the_call() {
        let both = Barrier::new(2);
        let caller = thread::current().id();
        let work = |(): &()| {
            both.wait();
            if thread::current().id() != caller {
                interrupt::out_of_memory();
            }
            Ok::<_, ()>(())
        };
        let call = || try_map(&[(), ()], 2, &mut |_| (), work);
        assert_eq!(interrupt::run(|| false, call), Err(Stopped::NoMemory));
    }

    #[test]
    fn no_more_threads_than_are_useful() {
        assert_eq!([0, 1].map(default_threads), [1, 1]);
        assert!([2, 5, usize::MAX].iter().all(|&useful| default_threads(useful) <= useful));
        assert!(default_threads(usize::MAX) <= MAX_THREADS);
    }

    #[test]
    fn a_variable_limits_the_threads_if_it_is_a_number_above_0() {
        for (value, threads) in [
            ("1", Some(1)),
            (" 4 ", Some(4)),
            ("2,1", Some(2)),
            ("0", None),
            ("", None),
            ("all", None),
        ] {
            assert_eq!(limit(value), threads, "{value}");
        }
    }
}
