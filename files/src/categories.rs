//! One-hot attributes: groups of which a row has one attribute, and the changes that put another in its place.
//!
//! Changes are attributes of their own, which no row has and which may only be added. They follow those of the file,
//! one for each group and each two of its categories, and the weights of a change are those of its new category less
//! those of its old one. A difference of two floats is the sum of two floats, so that a network whose first layer has
//! at most twice as many terms computes exactly what the network computes on the changed rows.

use crate::{DenseMatrix, Pattern};

/// Changes that a graph may have.
const MOST_CHANGES: usize = 1 << 20;

/// A category of a group is replaced by another; `None` stands for none of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CategoryChange {
    /// The group.
    pub group: u32,
    /// The attribute that a row loses.
    pub old: Option<u32>,
    /// The attribute that it gets.
    pub new: Option<u32>,
}

/// Groups of attributes of which every row has one, or none where the graph has such rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Categories {
    /// The group of each attribute of the file, if it is in one.
    pub groups: Vec<Option<u32>>,
    changes: Vec<CategoryChange>,
    group_count: usize,
    /// Of a part of a graph: does some row of the whole graph have none of the group?
    lacked: Option<Vec<bool>>,
    /// What each row has of each group.
    current: Vec<Option<u32>>,
}

impl Categories {
    /// The categories of a graph by the group of each of its attributes: any number, negative where it is in none.
    ///
    /// # Errors
    /// What is wrong with the groups, or the row that has two categories of one, with a remedy.
    pub fn new(attributes: &Pattern, stated: &[i64]) -> Result<Categories, (String, String)> {
        Categories::of_part(attributes, stated, None)
    }

    /// The same of a part of a graph; `lacked` says for each group whether some row of the whole graph has none of it.
    ///
    /// # Errors
    /// As [`new`](Self::new), or if a row has none of a group of which all have one.
    pub fn of_part(
        attributes: &Pattern,
        stated: &[i64],
        lacked: Option<Vec<bool>>,
    ) -> Result<Categories, (String, String)> {
        if stated.len() != attributes.columns {
            return Err((
                format!("has {} numbers, but there are {} attributes", stated.len(), attributes.columns),
                "give the number of each attribute's group, or -1 for one that is in no group".into(),
            ));
        }
        let mut known: Vec<i64> = stated.iter().copied().filter(|group| *group >= 0).collect();
        known.sort_unstable();
        known.dedup();
        if known.is_empty() {
            return Err((
                "puts no attribute into a group".into(),
                "give attributes of one group the same number from 0 on, or leave it out".into(),
            ));
        }
        let group = |stated: &i64| known.binary_search(stated).ok().map(|group| group as u32);
        let groups: Vec<Option<u32>> = stated.iter().map(group).collect();
        let group_count = known.len();
        let mut current = vec![None; attributes.rows * group_count];
        for row in 0..attributes.rows {
            for &attribute in attributes.row(row) {
                let Some(group) = groups[attribute as usize] else { continue };
                let place = &mut current[row * group_count + group as usize];
                if let Some(before) = *place {
                    return Err((
                        format!(
                            "does not fit the attributes: row {row} has both {before} and {attribute} of group {}",
                            known[group as usize]
                        ),
                        "a row has one attribute of each group, or none: correct the groups, or the row".into(),
                    ));
                }
                *place = Some(attribute);
            }
        }
        let seen = |group: usize| (0..attributes.rows).any(|row| current[row * group_count + group].is_none());
        let contradicted = |lacked: &Vec<bool>| {
            lacked.len() != group_count || (0..group_count).any(|group| !lacked[group] && seen(group))
        };
        if lacked.as_ref().is_some_and(contradicted) {
            return Err((
                "and `attr_lacked` contradict each other".into(),
                "write the parts again with `gcnproof partition`".into(),
            ));
        }
        let mut changes = Vec::new();
        for group in 0..group_count {
            let member = |&(_, of): &(usize, &Option<u32>)| *of == Some(group as u32);
            let members = groups.iter().enumerate().filter(member).map(|(attribute, _)| Some(attribute as u32));
            let empty = lacked.as_ref().map_or_else(|| seen(group), |lacked| lacked[group]);
            let all: Vec<Option<u32>> = empty.then_some(None).into_iter().chain(members).collect();
            if all.len().saturating_mul(all.len()) > MOST_CHANGES - changes.len() {
                return Err((
                    format!("allows more than {MOST_CHANGES} changes of one category to another"),
                    "use smaller groups".into(),
                ));
            }
            for &old in &all {
                let others = all.iter().filter(|new| **new != old);
                changes.extend(others.map(|&new| CategoryChange { group: group as u32, old, new }));
            }
        }
        Ok(Categories { groups, changes, group_count, lacked, current })
    }

    /// Attributes of the file; changes have the numbers from there on.
    #[must_use]
    pub fn attributes(&self) -> usize {
        self.groups.len()
    }

    /// How many groups there are.
    #[must_use]
    pub fn group_count(&self) -> usize {
        self.group_count
    }

    /// The same of these rows, as a part of the graph.
    #[must_use]
    pub fn selected(&self, rows: &[u32]) -> Categories {
        let of_row = |&row: &u32| &self.current[row as usize * self.group_count..][..self.group_count];
        let current = rows.iter().flat_map(of_row).copied().collect();
        Categories { lacked: Some(self.lacked()), current, ..self.clone() }
    }

    /// Of a part of a graph: for each group, whether some row of the whole graph has none of it.
    #[must_use]
    pub fn stated_lacked(&self) -> Option<&[bool]> {
        self.lacked.as_deref()
    }

    /// For each group, whether some row has none of it; of a part of a graph, some row of the whole.
    #[must_use]
    pub fn lacked(&self) -> Vec<bool> {
        let mut lacked = vec![false; self.group_count];
        let without = self.changes.iter().filter(|change| change.old.is_none());
        without.for_each(|change| lacked[change.group as usize] = true);
        lacked
    }

    /// The rows that have none of some group, rising.
    pub(crate) fn incomplete(&self) -> Vec<usize> {
        let lacks = |(_, row): &(usize, &[Option<u32>])| row.contains(&None);
        self.current.chunks(self.group_count).enumerate().filter(lacks).map(|(row, _)| row).collect()
    }

    /// The changes, in the order of their numbers.
    #[must_use]
    pub fn changes(&self) -> &[CategoryChange] {
        &self.changes
    }

    /// The change that an attribute stands for; none if it is one of the file's.
    #[must_use]
    pub fn change(&self, attribute: u32) -> Option<CategoryChange> {
        self.changes.get((attribute as usize).checked_sub(self.attributes())?).copied()
    }

    /// What rows may have of each group, `None` where they may have none of it; without what is frozen, and without
    /// groups of which nothing can be changed.
    #[must_use]
    pub fn options(&self, frozen: &[bool]) -> Vec<Vec<Option<u32>>> {
        let mut options = vec![Vec::new(); self.group_count];
        let is_frozen = |of: &Option<u32>| of.is_some_and(|of| frozen.get(of as usize).copied().unwrap_or(false));
        for CategoryChange { group, old, .. } in self.changes.iter().filter(|change| !is_frozen(&change.old)) {
            let of_group = &mut options[*group as usize];
            // Changes of one category stand side by side.
            if of_group.last() != Some(old) {
                of_group.push(*old);
            }
        }
        options.retain(|of_group| of_group.len() > 1);
        options
    }

    /// Is this a change of a row, which has its old category?
    #[must_use]
    pub fn applies(&self, node: u32, attribute: u32) -> bool {
        self.change(attribute)
            .is_some_and(|change| self.current[node as usize * self.group_count + change.group as usize] == change.old)
    }

    /// Are these changes of the same group?
    #[must_use]
    pub fn exclude_each_other(&self, one: u32, other: u32) -> bool {
        one != other && self.change(one).zip(self.change(other)).is_some_and(|(x, y)| x.group == y.group)
    }

    /// The attributes of the file by name, then what the changes are called.
    pub(crate) fn names(&self, names: Option<Vec<String>>) -> Vec<String> {
        let mut names = names.unwrap_or_else(|| (0..self.attributes()).map(|number| number.to_string()).collect());
        let name = |of: Option<u32>| of.map_or("none", |of| names[of as usize].as_str());
        let changes: Vec<String> =
            self.changes.iter().map(|change| format!("{} → {}", name(change.old), name(change.new))).collect();
        names.extend(changes);
        names
    }

    /// First weights with those of the changes, term after term, and the number of terms: where differences of floats
    /// are not floats, as many terms again, with the operators of the first, hold what is missing. None if a difference
    /// is too large for a float.
    #[must_use]
    pub fn weights(&self, weight: &DenseMatrix, terms: usize) -> Option<(DenseMatrix, usize)> {
        let (inputs, outputs) = (self.attributes(), weight.columns);
        let (mut high, mut low) = (Vec::new(), Vec::new());
        for term in 0..terms {
            let row =
                |attribute: u32, unit: usize| weight.values[(term * inputs + attribute as usize) * outputs + unit];
            let of = |attribute: Option<u32>, unit: usize| attribute.map_or(0.0, |attribute| row(attribute, unit));
            high.extend_from_slice(&weight.values[term * inputs * outputs..][..inputs * outputs]);
            low.resize(low.len() + inputs * outputs, 0.0);
            for change in &self.changes {
                for unit in 0..outputs {
                    let (sum, rest) = difference(of(change.new, unit), of(change.old, unit));
                    high.push(sum);
                    low.push(rest);
                }
            }
        }
        if !high.iter().all(|value| value.is_finite()) {
            return None;
        }
        let exact = low.iter().all(|value| *value == 0.0);
        if !exact {
            high.extend(low);
        }
        let terms = if exact { terms } else { 2 * terms };
        let rows = terms * (inputs + self.changes.len());
        Some((DenseMatrix { rows, columns: outputs, values: high }, terms))
    }
}

/// `a − b` as the nearest float and what that leaves out, which is a float as well (D. Knuth, TAOCP 2, 4.2.2, theorem
/// B).
fn difference(a: f64, b: f64) -> (f64, f64) {
    let sum = a - b;
    let seen = sum - a;
    (sum, (a - (sum - seen)) - (b + seen))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(rows: &[&[u32]], columns: usize) -> Pattern {
        let offsets = std::iter::once(0).chain(rows.iter().scan(0, |end, row| {
            *end += row.len();
            Some(*end)
        }));
        Pattern { rows: rows.len(), columns, offsets: offsets.collect(), indices: rows.concat() }
    }

    #[test]
    fn changes_put_one_category_in_the_place_of_another() {
        let graph = pattern(&[&[0, 3], &[1, 2], &[1]], 5);
        let categories = Categories::new(&graph, &[7, 7, 9, 9, -1]).unwrap();
        // Two of the first group, and six of the second, which a row has none of.
        assert_eq!((categories.group_count(), categories.changes().len()), (2, 8));
        assert_eq!(categories.incomplete(), [2]);
        let of = |node: u32| (5..13).filter(|&at| categories.applies(node, at)).count();
        assert_eq!((of(0), of(1), of(2)), (3, 3, 3));
        assert!(!(0..5).any(|attribute| categories.applies(0, attribute)));
        assert!(categories.exclude_each_other(7, 9) && !categories.exclude_each_other(5, 7));
        assert_eq!(categories.names(None)[5..7], ["0 → 1", "1 → 0"]);
        assert_eq!(categories.options(&[]), [vec![Some(0), Some(1)], vec![None, Some(2), Some(3)]]);
        assert_eq!(categories.options(&[true, false, false, true]), [[None, Some(2)]]);
    }

    #[test]
    fn differences_are_exact() {
        let graph = pattern(&[&[0], &[1]], 2);
        let categories = Categories::new(&graph, &[0, 0]).unwrap();
        let weight = |values: Vec<f64>| DenseMatrix { rows: 2, columns: 1, values };
        let (values, terms) = categories.weights(&weight(vec![3.0, 0.5]), 1).unwrap();
        assert_eq!((values.values, terms), (vec![3.0, 0.5, -2.5, 2.5], 1));
        let (values, terms) = categories.weights(&weight(vec![1.0, 2f64.powi(-70)]), 1).unwrap();
        assert_eq!((values.rows, terms), (8, 2));
        assert_eq!(values.values, [1.0, 2f64.powi(-70), -1.0, 1.0, 0.0, 0.0, 2f64.powi(-70), -2f64.powi(-70)]);
        assert!(categories.weights(&weight(vec![f64::MAX, f64::MIN]), 1).is_none());
    }

    #[test]
    fn rows_with_two_of_a_group_are_refused() {
        let graph = pattern(&[&[0, 1]], 2);
        assert!(Categories::new(&graph, &[0, 0]).unwrap_err().0.contains("row 0 has both 0 and 1"));
        assert!(Categories::new(&graph, &[0]).unwrap_err().0.contains("1 numbers"));
        assert!(Categories::new(&graph, &[-1, -1]).unwrap_err().0.contains("no attribute"));
    }
}
