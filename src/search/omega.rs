//! `Ω` above representation 2 in a branch of the search: what the layered master suggests, priced over all flips.

use crate::cascade::Pair;
use crate::certifier::Workspace;
use crate::dual::Located;
use crate::selection::Flip;

use super::deep::LayeredMaster;
use super::master::Lines;
use super::prover::Prover;
use super::tree::Branch;

/// Layered masters solved per branch.
const MASTERS: usize = 6;

impl Prover<'_, '_> {
    /// Leaves the best `Ω` in the workspace's multipliers, and the backward pass at it. `known` are flips to start with.
    pub(super) fn best_omega(
        &mut self,
        (branch, at): (&Branch, usize),
        global: usize,
        known: &[Flip],
        pairs: &mut [Pair],
        workspace: &mut Workspace,
    ) -> Option<(usize, usize)> {
        let certifier = self.certifier;
        let gcn = certifier.gcn();
        let field = certifier.problem().field(&branch.restriction);
        let objective = [(self.reference, 1.0), (pairs[at].class, -1.0)];
        let Workspace { slice, hidden, local_bounds, multipliers, .. } = workspace;
        let lines = (&objective[..], &multipliers.signs[..]);
        let mut master = LayeredMaster::new((gcn, slice), hidden, local_bounds, lines, global, Lines::Both);
        known.iter().for_each(|&flip| master.add(&field, &workspace.slice, flip));
        let mut best = f64::NEG_INFINITY;
        for round in 0..MASTERS {
            let value = master.solve(&field, &workspace.slice);
            self.masters += 1;
            let slopes = master.slopes();
            let Workspace { slice, hidden, local_bounds, backward, relaxed, multipliers, .. } = workspace;
            let mut omega: Vec<Vec<f64>> = local_bounds[1..].iter().map(|layer| vec![0.0; layer.lower.len()]).collect();
            let mut signs = multipliers.signs.clone();
            signs.iter_mut().for_each(|sign| sign.beta = slopes.beta(sign.place));
            backward.run_with(gcn, slice, Located::Slice(local_bounds), &objective, |l, unit, (a, ..)| {
                match signs.iter().find(|sign| sign.place == (l, unit)) {
                    Some(sign) => Some(if sign.active { a - sign.beta } else { sign.beta }),
                    None => {
                        let chosen = slopes.omega((l, unit), a)?;
                        omega[l - 3][unit] = chosen;
                        Some(a * chosen)
                    }
                }
            });
            let coefficients = backward.coefficients().0.iter().enumerate();
            let weights: Vec<f64> = coefficients.map(|(unit, &a)| slopes.weight(unit, a)).collect();
            relaxed.mixed(backward, hidden, &weights);
            let bound = {
                // A comparison with NaN is false, but the first Ω is better than none.
                if round == 0 {
                    multipliers.omega.clone_from(&omega);
                    multipliers.signs.clone_from(&signs);
                }
                certifier.worst(workspace, &branch.restriction).lower()
            };
            if bound > best {
                best = bound;
                workspace.multipliers.omega = omega;
                workspace.multipliers.signs = signs;
            }
            if std::env::var("TELL").is_ok() && branch.origin.is_none() {
                eprintln!("  master {round}: value {value} bound {bound}");
            }
            let selected: Vec<Flip> = workspace.selection.flips().iter().map(|loss| loss.flip).collect();
            let attack = branch.restriction.made.iter().chain(&selected).copied().collect();
            certifier.try_flips(self.reference, at, pairs, attack, workspace);
            let new: Vec<Flip> = selected.into_iter().filter(|flip| !master.knows(*flip)).collect();
            if new.is_empty() || best > self.cutoff(&pairs[at]) || value - best <= 1e-9 * (1.0 + best.abs()) {
                break;
            }
            for flip in new {
                self.remember(flip);
                master.add(&field, &workspace.slice, flip);
            }
        }
        let Workspace { slice, local_bounds, backward, multipliers, .. } = workspace;
        multipliers.played.clone_from(&multipliers.omega);
        let lines = (&multipliers.omega[..], &multipliers.signs[..]);
        backward.run_signed(gcn, slice, Located::Slice(local_bounds), &objective, lines);
        let from = std::env::var("FROM").ok().and_then(|v| v.parse().ok()).unwrap_or(3);
        master.loosest(from).map(|l| l.1)
    }
}
