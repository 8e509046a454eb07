//! The schedule: which loss is minimised when, and when a stage has converged.
//!
//! | loss | stages |
//! |---|---|
//! | CE | CE |
//! | RCE | CE for a while, RCE |
//! | RH | CE for a while, RH |
//! | RH-U | CE for a while, RH until it has converged or for a quarter of the iterations, RH-U |

use serde::{Deserialize, Serialize};

use super::losses::Loss;
use super::settings::Settings;

/// How much of the running mean of the loss one iteration replaces.
const SHARE: f64 = 0.02;

/// What counts as progress, relative to the best mean so far.
const PROGRESS: f64 = 0.002;

/// One stage: a loss, and how many iterations it has at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage {
    /// What is minimised.
    pub loss: Loss,
    /// For how long at most.
    pub iterations: usize,
    /// Ends early when the loss no longer falls.
    pub may_converge: bool,
}

/// The stages of a run.
pub fn stages(settings: &Settings) -> Vec<Stage> {
    let stage = |loss, iterations, may_converge| Stage { loss, iterations, may_converge };
    let first = stage(Loss::Ce, settings.warm_up, false);
    let last = stage(settings.loss, settings.epochs, settings.patience > 0);
    match settings.loss {
        Loss::Ce => vec![last],
        Loss::Rce | Loss::Rh => vec![first, last],
        Loss::RhU => vec![first, stage(Loss::Rh, settings.epochs / 4, true), last],
    }
}

/// Where a run stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Iterations done, over all stages.
    pub iteration: usize,
    /// Stage at work.
    pub stage: usize,
    /// Iterations done in it.
    pub in_stage: usize,
    /// Running mean of its loss.
    mean: f64,
    /// The smallest mean so far.
    best: f64,
    /// Iterations since then.
    stale: usize,
}

impl Progress {
    /// The stage to work on; `None` when the run is over. Empty stages are passed over.
    pub fn current(&mut self, stages: &[Stage], patience: usize) -> Option<Stage> {
        loop {
            let stage = *stages.get(self.stage)?;
            let converged = stage.may_converge && self.stale >= patience.max(1);
            if self.in_stage < stage.iterations && !converged {
                return Some(stage);
            }
            *self = Progress { iteration: self.iteration, stage: self.stage + 1, ..Progress::default() };
        }
    }

    /// Counts an iteration.
    pub fn count(&mut self, loss: f64) {
        self.mean = if self.in_stage == 0 { loss } else { self.mean + SHARE * (loss - self.mean) };
        self.iteration += 1;
        self.in_stage += 1;
        if self.in_stage == 1 || self.mean < self.best * (1.0 - PROGRESS) {
            self.best = self.mean;
            self.stale = 0;
        } else {
            self.stale += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(loss: Loss, patience: usize, value: impl Fn(usize) -> f64) -> Vec<(Loss, usize)> {
        let settings = Settings { warm_up: 3, epochs: 500, patience, ..Settings::new(loss, 1) };
        let stages = stages(&settings);
        let (mut progress, mut done) = (Progress::default(), Vec::<(Loss, usize)>::new());
        while let Some(stage) = progress.current(&stages, patience) {
            match done.last_mut() {
                Some(last) if last.0 == stage.loss => last.1 += 1,
                _ => done.push((stage.loss, 1)),
            }
            progress.count(value(progress.iteration));
        }
        done
    }

    #[test]
    fn stages_follow_each_other() {
        assert_eq!(run(Loss::Ce, 0, |_| 1.0), [(Loss::Ce, 500)]);
        assert_eq!(run(Loss::Rh, 0, |_| 1.0), [(Loss::Ce, 3), (Loss::Rh, 500)]);
    }

    #[test]
    fn a_stage_that_no_longer_falls_ends() {
        let flat = run(Loss::RhU, 20, |_| 1.0);
        assert_eq!(flat, [(Loss::Ce, 3), (Loss::Rh, 21), (Loss::RhU, 21)]);
        let falling = run(Loss::Rce, 20, |i| 1000.0 * 0.99f64.powi(i as i32));
        assert_eq!(falling, [(Loss::Ce, 3), (Loss::Rce, 500)]);
    }
}
