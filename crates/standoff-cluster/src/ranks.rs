//! The ranks of `mpirun -n N`. With the feature `mpi` they share every pass of the engine; without it several ranks are refused.

use sha2::{Digest, Sha256};
use standoff_nn::engine::communicator;
use standoff_train::attack::AttackConfig;
use standoff_train::attack::images::Images;
use standoff_train::error::{Error, Result};

/// Variables with the number of ranks, of Open MPI, of MPICH and its relatives, and of Slurm's PMI.
const SIZES: [&str; 3] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS"];

/// The commands that run on several ranks.
pub const COMMANDS: [&str; 4] = ["fair", "robust", "attack", "verify-net"];

/// The number of ranks that a launcher started.
fn launched() -> usize {
    SIZES.iter().filter_map(|name| std::env::var(name).ok()?.parse().ok()).max().unwrap_or(1)
}

/// True on ranks that write nothing.
pub fn follows() -> bool {
    communicator::world().rank() > 0
}

/// True if there are several ranks.
pub fn are_several() -> bool {
    communicator::world().ranks() > 1
}

/// Refuses ranks that have different inputs: their results would be mixed. Every rank calls it, with named descriptions of its own.
pub fn agree(own: &[(&str, String)]) -> Result<()> {
    if !are_several() {
        return Ok(());
    }
    for (name, text) in own {
        let all = communicator::gather_text(text)?;
        if let Some(rank) = all.iter().position(|other| *other != all[0]) {
            return Err(Error::Setting(format!("rank {rank} has another {name} than rank 0; give all ranks the same")));
        }
    }
    Ok(())
}

/// Refuses ranks that attack different models or images, or in another way.
pub fn agree_on_attack(config: &AttackConfig, model: &str, images: &Images) -> Result<()> {
    if !are_several() {
        return Ok(());
    }
    let mut sum = Sha256::new();
    images.pixels.iter().for_each(|v| sum.update(v.to_le_bytes()));
    images.labels.iter().for_each(|v| sum.update(v.to_le_bytes()));
    let described = AttackConfig { model: "".into(), threads: 0, data: String::new(), ..config.clone() };
    agree(&[
        ("version of standoff", env!("CARGO_PKG_VERSION").to_owned()),
        ("model", model.to_owned()),
        ("set of images", format!("{:?}", sum.finalize())),
        ("attack", format!("{described:?}")),
    ])
}

/// Ends the common part: what this process computes from now on, it computes alone.
pub fn part() {
    communicator::set_world(None);
}

/// The membership of this process in the ranks; the last thing that a process drops.
#[derive(Default)]
pub struct Membership {
    #[cfg(feature = "mpi")]
    mpi: Option<crate::mpi::Session>,
}

impl Membership {
    /// Joins the ranks, if a launcher started several.
    pub fn join() -> std::result::Result<Self, String> {
        if launched() < 2 {
            return Ok(Self::default());
        }
        #[cfg(feature = "mpi")]
        {
            let (session, world) = crate::mpi::join()?;
            communicator::set_world(Some(world));
            Ok(Self { mpi: Some(session) })
        }
        #[cfg(not(feature = "mpi"))]
        Err("several ranks were started, and this standoff was built without MPI; build it with `--features mpi` (it needs \
             libopenmpi-dev), or divide the work with --shard"
            .to_owned())
    }

    /// Leaves the ranks. An error of one ends all: the others would wait for it.
    pub fn leave(self, code: u8) {
        #[cfg(feature = "mpi")]
        if let Some(session) = self.mpi {
            session.leave(code);
        }
        let _ = code;
    }
}
