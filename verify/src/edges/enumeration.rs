//! Brute force: the margin after every admissible set of changes.

use super::instance::EdgeInstance;

/// The smallest margin.
#[derive(Clone, Debug, PartialEq)]
pub struct Worst {
    /// The margin, in plain f64.
    pub margin: f64,
    /// A set of changes that attains it.
    pub made: Vec<bool>,
    /// How many sets were tried: all admissible ones.
    pub count: usize,
}

/// Tries every admissible set.
pub fn worst(instance: &EdgeInstance) -> Worst {
    let none = vec![false; instance.changes.len()];
    let mut worst = Worst { margin: instance.forward(&none), made: none.clone(), count: 1 };
    add(instance, 0, &mut none.clone(), &mut worst);
    worst
}

/// All sets that add changes from `first` on. A part of an admissible set is admissible.
fn add(instance: &EdgeInstance, first: usize, made: &mut Vec<bool>, worst: &mut Worst) {
    for change in first..made.len() {
        made[change] = true;
        if instance.admits(made) {
            worst.count += 1;
            let margin = instance.forward(made);
            if margin < worst.margin {
                (worst.margin, worst.made) = (margin, made.clone());
            }
            add(instance, change + 1, made, worst);
        }
        made[change] = false;
    }
}
