//! Whoever starts a run: it is told how far the run is and what there is to note, and says when to stop.

use std::path::Path;

use gcnproof::{Graph, Network};
use miette::Result;

/// The program around a run. All threads of the run share it.
pub trait Host: Send + Sync {
    /// Is the run to stop? Asked often, and by all threads.
    fn is_stopped(&self) -> bool;

    /// Stops the run: what is running finishes, and what is done is kept.
    fn stop(&self);

    /// A line for the user beside the results.
    fn note(&self, line: &str);

    /// Rows are computed from now on, so many with those that an interrupted run has left: there is something that an
    /// interruption must not lose.
    fn begin(&self, length: usize, before: usize) -> Box<dyn Progress>;

    /// The same for a stage of a run; when it is finished, the progress of the run counts again.
    fn stage(&self, length: usize, what: &'static str) -> Box<dyn Progress>;

    /// Works. A host that is told to stop and cannot wait calls `save` and ends the program in the middle of the work.
    fn guard(&self, work: Box<dyn FnOnce() + '_>, save: Box<dyn FnOnce() + Send + '_>) {
        drop(save);
        work();
    }

    /// The run is about this problem from now on. Both are shared, not copied.
    fn remember(&self, graph: &Graph, network: &Network);

    /// What the run is about, if that is known.
    fn remembered(&self) -> Option<(Graph, Network)>;

    /// Adds what the host knows to a folder that reproduces a contradiction, except for the file of results. Returns
    /// lines about it.
    ///
    /// # Errors
    /// If a file cannot be written.
    fn add_to_reproduction(&self, _folder: &Path, _results: Option<&Path>) -> Result<String> {
        Ok(String::new())
    }
}

/// How far a run or a stage of it is.
pub trait Progress: Send + Sync {
    /// One more is done.
    fn advance(&self);

    /// What there is to say of what is done.
    fn tell(&self, _message: String) {}

    /// It is over, or given up.
    fn finish(&self);
}
