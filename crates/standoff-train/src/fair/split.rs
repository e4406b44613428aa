//! The splits of a table: which rows a run learns from, and which it is tested on.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use standoff_nn::data::Sheet;

use super::config::FairConfig;
use super::task::FairTask;
use crate::data::table::SplitId;
use crate::error::Result;

/// The split of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SplitRecord {
    /// The seed that assigned the rows.
    pub seed: u64,
    /// The fold, counted from 0; 0 without folds.
    #[serde(default)]
    pub fold: usize,
    /// Training rows.
    pub train: usize,
    /// Test rows.
    pub test: usize,
}

/// More splits than this are not kept in memory: runs of a seed follow each other.
const KEPT: usize = 4;

/// A table whose runs have splits of their own. The last splits are kept.
#[derive(Debug)]
pub(super) struct SplitSource {
    pub(super) sheet: Sheet,
    pub(super) config: FairConfig,
    /// The groups that do not decide, the same for every split.
    pub(super) unjudged: Vec<usize>,
    kept: Mutex<VecDeque<(SplitId, Arc<FairTask>)>>,
}

impl SplitSource {
    pub(super) fn new(sheet: Sheet, config: FairConfig, unjudged: Vec<usize>) -> Self {
        Self { sheet, config, unjudged, kept: Mutex::default() }
    }

    /// The task of a split. It is built once for the runs of a seed that follow each other.
    pub(super) fn task(&self, id: SplitId) -> Result<Arc<FairTask>> {
        // The lock is held while a split is made: others of the same seed wait for it instead of making it too.
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, task)) = kept.iter().find(|(own, _)| *own == id) {
            return Ok(task.clone());
        }
        let mut task = FairTask::of_split(&self.config, &self.sheet, id)?;
        task.unjudged.clone_from(&self.unjudged);
        let task = Arc::new(task);
        kept.push_back((id, task.clone()));
        if kept.len() > KEPT {
            kept.pop_front();
        }
        Ok(task)
    }
}
