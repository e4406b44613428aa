//! The ranks of an MPI job.

use std::fmt;
use std::sync::Arc;

use ferrompi::{Mpi, ThreadLevel};
use standoff_nn::Error;
use standoff_nn::engine::communicator::Communicator;

/// MPI, until it is left.
pub(crate) struct Session {
    mpi: Mpi,
}

/// All processes of the job.
struct MpiRanks {
    world: ferrompi::Communicator,
    rank: usize,
    ranks: usize,
}

impl fmt::Debug for MpiRanks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {} of {}", self.rank, self.ranks)
    }
}

/// Starts MPI. The threads of a process call it one at a time.
pub(crate) fn join() -> Result<(Session, Arc<dyn Communicator>), String> {
    let failed = |e: ferrompi::Error| format!("MPI does not start: {e}");
    let mpi = Mpi::init_thread(ThreadLevel::Serialized).map_err(failed)?;
    if mpi.thread_level() < ThreadLevel::Serialized {
        return Err("this MPI library does not allow calls from several threads (MPI_THREAD_SERIALIZED)".to_owned());
    }
    let world = mpi.world();
    let number = |n: i32| usize::try_from(n).unwrap_or(0);
    let (rank, ranks) = (number(world.rank()), number(world.size()));
    Ok((Session { mpi }, Arc::new(MpiRanks { world, rank, ranks })))
}

impl Session {
    /// Waits for the other ranks; after an error it ends them.
    pub(crate) fn leave(self, code: u8) {
        if code == 2 {
            self.mpi.world().abort(i32::from(code));
        }
        drop(self.mpi);
    }
}

fn failed(error: &ferrompi::Error) -> Error {
    Error::Mismatch(format!("MPI: {error}"))
}

/// Counts and displacements, as MPI wants them.
fn layout(counts: &[usize]) -> Result<(Vec<i32>, Vec<i32>), Error> {
    let mut starts = Vec::with_capacity(counts.len());
    let mut all = 0usize;
    for n in counts {
        starts.push(all);
        all += n;
    }
    let narrow = |list: &[usize]| list.iter().map(|n| i32::try_from(*n)).collect::<Result<Vec<i32>, _>>();
    let long = |_| Error::Mismatch(format!("{all} words for one exchange of MPI, want at most {}", i32::MAX));
    Ok((narrow(counts).map_err(long)?, narrow(&starts).map_err(long)?))
}

impl Communicator for MpiRanks {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.ranks
    }

    fn all_gather(&self, own: &[u32], all: &mut [u32], counts: &[usize]) -> Result<(), Error> {
        let (counts, starts) = layout(counts)?;
        self.world.allgatherv(own, all, &counts, &starts).map_err(|e| failed(&e))
    }

    fn all_to_all(&self, own: &[u32], counts: &[usize], all: &mut [u32], received: &[usize]) -> Result<(), Error> {
        let ((counts, starts), (received, places)) = (layout(counts)?, layout(received)?);
        self.world.alltoallv(own, &counts, &starts, all, &received, &places).map_err(|e| failed(&e))
    }
}
