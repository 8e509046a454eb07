//! What the flips of a row lose at most, unit by unit: bounds of several leaves can be added before any flip is looked
//! at.

use crate::number::{Down, RowSlopes, Up};

/// Not below what the flips of a row lose.
#[derive(Clone)]
pub(crate) struct RowBound {
    /// By norm of the attribute's weights.
    pub(crate) norm: Up,
    /// By rise of what is sent, unit by unit.
    rises: Vec<Up>,
    /// By fall.
    falls: Vec<Up>,
}

impl RowBound {
    /// The bound of a row of which no flip loses anything.
    pub(crate) fn of_none(&self) -> RowBound {
        let none = vec![Up::ZERO; self.rises.len()];
        RowBound { norm: Up::ZERO, rises: none.clone(), falls: none }
    }

    /// Bytes that it takes.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<RowBound>() + 2 * size_of_val(&*self.rises)
    }

    /// From slopes: a rise of `x` loses at most `−plus·x`, a fall `minus·x`.
    pub(super) fn new(norm: Up, plus: &[Down], minus: &[Up]) -> RowBound {
        RowBound {
            norm,
            rises: plus.iter().map(|&plus| (-plus).positive_part()).collect(),
            falls: minus.iter().map(|minus| minus.positive_part()).collect(),
        }
    }

    /// The same divided by a positive number.
    pub(crate) fn over(mut self, whole: Down) -> RowBound {
        self.norm = self.norm.over(whole);
        self.each().for_each(|x| *x = x.over(whole));
        self
    }

    /// Not below both.
    pub(crate) fn raise(&mut self, other: &RowBound) {
        self.norm = self.norm.most(other.norm);
        self.rises.iter_mut().zip(&other.rises).for_each(|(x, y)| *x = x.most(*y));
        self.falls.iter_mut().zip(&other.falls).for_each(|(x, y)| *x = x.most(*y));
    }

    /// Adds a multiple of another, which must not be negative.
    pub(crate) fn add(&mut self, other: &RowBound, factor: Up) {
        self.norm = self.norm.plus(other.norm.times_up(factor));
        self.rises.iter_mut().zip(&other.rises).for_each(|(x, y)| *x = x.plus(y.times_up(factor)));
        self.falls.iter_mut().zip(&other.falls).for_each(|(x, y)| *x = x.plus(y.times_up(factor)));
    }

    /// Slopes by which flips lose what the bound says, for attributes whose weights have no norm above `largest`.
    pub(super) fn slopes(&self, largest: Up) -> RowSlopes {
        let plus: Vec<Down> = self.rises.iter().map(|&rise| -rise).collect();
        RowSlopes::new(&plus, &self.falls, largest)
    }

    fn each(&mut self) -> impl Iterator<Item = &mut Up> {
        self.rises.iter_mut().chain(&mut self.falls)
    }
}
