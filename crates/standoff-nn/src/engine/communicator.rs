//! Processes that compute one pass together: what the engine needs of them, and the implementation for one process.

use crate::Error;
use std::cell::Cell;
use std::fmt::Debug;
use std::sync::{Arc, PoisonError, RwLock};

/// The ranks of one computation. Every rank makes the same calls in the same order; each returns when all ranks have made it.
pub trait Communicator: Debug + Send + Sync {
    /// The number of this process, from 0.
    fn rank(&self) -> usize;

    /// Number of processes.
    fn ranks(&self) -> usize;

    /// `all` receives `counts[r]` words from each rank r, in the order of the ranks; `own` holds those of this rank.
    fn all_gather(&self, own: &[u32], all: &mut [u32], counts: &[usize]) -> Result<(), Error>;

    /// Sends `counts[r]` words of `own` to each rank r; `all` receives `received[r]` words from each, in the order of the ranks.
    fn all_to_all(&self, own: &[u32], counts: &[usize], all: &mut [u32], received: &[usize]) -> Result<(), Error>;
}

/// One process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OneProcess;

impl Communicator for OneProcess {
    fn rank(&self) -> usize {
        0
    }

    fn ranks(&self) -> usize {
        1
    }

    fn all_gather(&self, own: &[u32], all: &mut [u32], _counts: &[usize]) -> Result<(), Error> {
        all.copy_from_slice(own);
        Ok(())
    }

    fn all_to_all(&self, own: &[u32], _counts: &[usize], all: &mut [u32], _received: &[usize]) -> Result<(), Error> {
        all.copy_from_slice(own);
        Ok(())
    }
}

/// The ranks that this process belongs to; `None` for one process.
static WORLD: RwLock<Option<Arc<dyn Communicator>>> = RwLock::new(None);

/// The ranks of engines that are made from now on. One process until [`set_world`].
///
/// ```
/// use standoff_nn::engine::communicator::{any, world};
///
/// assert_eq!((world().rank(), world().ranks()), (0, 1));
/// assert!(any(true)?);
/// # Ok::<(), standoff_nn::Error>(())
/// ```
pub fn world() -> Arc<dyn Communicator> {
    several().unwrap_or_else(|| Arc::new(OneProcess))
}

/// The ranks, if this process is one of several.
fn several() -> Option<Arc<dyn Communicator>> {
    let world = WORLD.read().unwrap_or_else(PoisonError::into_inner).clone();
    world.filter(|world| world.ranks() > 1 && !is_alone())
}

thread_local! {
    /// True while this thread computes without the other ranks.
    static ALONE: Cell<bool> = const { Cell::new(false) };
}

/// True inside [`alone`].
pub(super) fn is_alone() -> bool {
    ALONE.get()
}

/// Does a part of the common work without the other ranks: passes of the calling thread, and its flags, are those of one process.
///
/// ```
/// use standoff_nn::engine::communicator::{alone, any};
///
/// assert!(alone(|| any(true))?);
/// # Ok::<(), standoff_nn::Error>(())
/// ```
pub fn alone<T>(work: impl FnOnce() -> T) -> T {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            ALONE.set(self.0);
        }
    }
    let _restore = Restore(ALONE.replace(true));
    work()
}

/// Makes this process one of several ranks, or a process of its own again (`None`). Call it before engines are made.
pub fn set_world(world: Option<Arc<dyn Communicator>>) {
    *WORLD.write().unwrap_or_else(PoisonError::into_inner) = world;
}

/// True on every rank if the flag is set on any. It keeps ranks together where a clock or a signal decides.
pub fn any(flag: bool) -> Result<bool, Error> {
    let Some(world) = several() else { return Ok(flag) };
    let mut all = vec![0; world.ranks()];
    world.all_gather(&[u32::from(flag)], &mut all, &vec![1; world.ranks()])?;
    Ok(all.contains(&1))
}

/// The text of every rank, in their order.
pub fn gather_text(own: &str) -> Result<Vec<String>, Error> {
    several().map_or_else(|| Ok(vec![own.to_owned()]), |world| texts(&*world, own))
}

/// The text of rank 0, on every rank.
pub fn text_of_first(own: &str) -> Result<String, Error> {
    let own = if world().rank() == 0 { own } else { "" };
    Ok(gather_text(own)?.swap_remove(0))
}

/// The words of every rank, in the order of the ranks; each may have another number of them. An error of any rank is an error of all.
pub(crate) fn gather_words(world: &dyn Communicator, own: Result<Vec<u32>, Error>) -> Result<Vec<Vec<u32>>, Error> {
    let (failed, own) = match own {
        Ok(own) => (None, own),
        Err(error) => (Some(error), Vec::new()),
    };
    let mut lengths = vec![0; 2 * world.ranks()];
    let long = |_| Error::Mismatch(format!("{} words are too many for another rank", own.len()));
    let length = u32::try_from(own.len()).map_err(long)?;
    world.all_gather(&[length, u32::from(failed.is_some())], &mut lengths, &vec![2; world.ranks()])?;
    if lengths.chunks_exact(2).any(|rank| rank[1] == 1) {
        return Err(first_error(world, failed.as_ref())?);
    }
    let counts: Vec<usize> = lengths.chunks_exact(2).map(|rank| rank[0] as usize).collect();
    let mut all = vec![0; counts.iter().sum()];
    world.all_gather(&own, &mut all, &counts)?;
    let mut rest = &all[..];
    let words = |n: &usize| {
        let (mine, others) = rest.split_at(*n);
        rest = others;
        mine.to_vec()
    };
    Ok(counts.iter().map(words).collect())
}

/// The error of the first rank that has one.
pub(super) fn first_error(world: &dyn Communicator, own: Option<&Error>) -> Result<Error, Error> {
    let text = match own {
        None => String::new(),
        Some(Error::NonFinite(what)) => format!("n{what}"),
        Some(error) => format!("m{error}"),
    };
    let all = texts(world, &text)?;
    let first = all.iter().find(|text| !text.is_empty()).map_or("", String::as_str);
    Ok(match first.strip_prefix('n') {
        Some(what) => Error::NonFinite(what.to_owned()),
        None => Error::Mismatch(first.strip_prefix('m').unwrap_or(first).to_owned()),
    })
}

/// One byte a word: such texts are short.
fn texts(world: &dyn Communicator, own: &str) -> Result<Vec<String>, Error> {
    let mut lengths = vec![0; world.ranks()];
    let long = |_| Error::Mismatch("a text for another rank is too long".into());
    world.all_gather(&[u32::try_from(own.len()).map_err(long)?], &mut lengths, &vec![1; world.ranks()])?;
    let counts: Vec<usize> = lengths.iter().map(|n| *n as usize).collect();
    let mut all = vec![0; counts.iter().sum()];
    let own: Vec<u32> = own.bytes().map(u32::from).collect();
    world.all_gather(&own, &mut all, &counts)?;
    let mut rest = &all[..];
    let text = |n: &usize| {
        let (mine, others) = rest.split_at(*n);
        rest = others;
        let bytes: Vec<u8> = mine.iter().map(|b| *b as u8).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    Ok(counts.iter().map(text).collect())
}
