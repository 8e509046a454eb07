//! The places of some nodes of a graph in a list of them. Large graphs have hash tables instead of arrays of one number
//! for each node, which would be made anew for every few targets, or be kept by every thread.

/// Graphs with at most so many nodes have arrays of one number for each node: these are found faster.
const SMALL: usize = 1 << 16;

/// Slots of an empty table.
const FEW: usize = 1 << 10;

/// A node without a place.
const NONE: u32 = u32::MAX;

/// Spreads ids that lie close to each other, or are multiples of a power of two: 2^32 divided by the golden ratio.
const FACTOR: u32 = 0x9e37_79b9;

/// Where the nodes of a list stand in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Places {
    /// Every node of the graph stands at its own number.
    #[default]
    Own,
    /// The place of each node of the graph.
    Array(Vec<u32>),
    /// Nodes and their places, by the first slot that is free from that of the node's hash on.
    Table(Vec<[u32; 2]>),
}

impl Places {
    /// Those of a list of different nodes of a graph with `count` nodes.
    pub fn of(nodes: &[u32], count: usize) -> Places {
        if nodes.len() == count && nodes.iter().enumerate().all(|(at, &node)| at == node as usize) {
            return Places::Own;
        }
        if count <= SMALL || nodes.len() > count / 8 {
            let mut places = vec![NONE; count];
            for (at, &node) in nodes.iter().enumerate() {
                places[node as usize] = at as u32;
            }
            return Places::Array(places);
        }
        let mut slots = vec![[NONE; 2]; (2 * nodes.len()).next_power_of_two().max(2)];
        for (at, &node) in nodes.iter().enumerate() {
            let mut slot = home(node, slots.len());
            while slots[slot][1] != NONE {
                slot = (slot + 1) & (slots.len() - 1);
            }
            slots[slot] = [node, at as u32];
        }
        Places::Table(slots)
    }

    /// The place of a node.
    ///
    /// # Panics
    /// If it is not in the list, unless the place of another list is asked for by mistake.
    #[inline]
    pub fn get(&self, node: usize) -> usize {
        match self {
            Places::Own => node,
            Places::Array(places) => places[node] as usize,
            Places::Table(slots) => {
                let mut slot = home(node as u32, slots.len());
                while slots[slot][0] != node as u32 {
                    assert_ne!(slots[slot][1], NONE, "node {node} is not in the list");
                    slot = (slot + 1) & (slots.len() - 1);
                }
                slots[slot][1] as usize
            }
        }
    }
}

/// The first slot of a node in a table whose length is a power of two, 2 or more.
#[inline]
fn home(node: u32, slots: usize) -> usize {
    (node.wrapping_mul(FACTOR) >> (32 - slots.trailing_zeros())) as usize
}

/// Numbers nodes in the order in which they are met, round after round.
#[derive(Clone, Debug, Default)]
pub struct Numbering {
    slots: Vec<Slot>,
    /// Is there a slot for every node of the graph?
    direct: bool,
    round: u32,
    count: u32,
}

/// A node and its number in a round.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    round: u32,
    node: u32,
    number: u32,
}

impl Numbering {
    /// Forgets all numbers, for a graph with so many nodes.
    pub fn begin(&mut self, nodes: usize) {
        let direct = nodes <= SMALL;
        if self.direct != direct || self.slots.is_empty() || direct && self.slots.len() != nodes {
            *self =
                Numbering { slots: vec![Slot::default(); if direct { nodes } else { FEW }], direct, ..Self::default() };
        }
        self.count = 0;
        self.round = self.round.checked_add(1).unwrap_or_else(|| {
            self.slots.fill(Slot::default());
            1
        });
    }

    /// The number of a node, and whether it is a new one.
    #[inline]
    pub fn number(&mut self, node: u32) -> (u32, bool) {
        let at = self.slot(node);
        let slot = &mut self.slots[at];
        if slot.round == self.round {
            return (slot.number, false);
        }
        let number = self.count;
        *slot = Slot { round: self.round, node, number };
        self.count += 1;
        if !self.direct && 2 * self.count as usize > self.slots.len() {
            self.grow();
        }
        (number, true)
    }

    /// The number of a node, if it has one.
    #[inline]
    pub fn get(&self, node: u32) -> Option<u32> {
        let slot = &self.slots[self.slot(node)];
        (slot.round == self.round).then_some(slot.number)
    }

    /// The slot of a node, or the one that it would get.
    #[inline]
    fn slot(&self, node: u32) -> usize {
        if self.direct {
            return node as usize;
        }
        let mut at = home(node, self.slots.len());
        while self.slots[at].round == self.round && self.slots[at].node != node {
            at = (at + 1) & (self.slots.len() - 1);
        }
        at
    }

    fn grow(&mut self) {
        let length = 2 * self.slots.len();
        let before = std::mem::replace(&mut self.slots, vec![Slot::default(); length]);
        for slot in before.into_iter().filter(|slot| slot.round == self.round) {
            let at = self.slot(slot.node);
            self.slots[at] = slot;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{NONE, Numbering, Places, SMALL};

    #[test]
    fn places_are_those_in_the_list_in_every_form() {
        let nodes: Vec<u32> = (0..500).map(|i| i * 64 + i % 7).collect();
        for count in [nodes.len() * 64 + 7, 8 * SMALL] {
            let places = Places::of(&nodes, count);
            assert_eq!(matches!(places, Places::Table(_)), count > SMALL);
            nodes.iter().enumerate().for_each(|(at, &node)| assert_eq!(places.get(node as usize), at));
        }
        assert_eq!(Places::of(&[0, 1, 2], 3), Places::Own);
        assert!(matches!(Places::of(&[2, 0], 3), Places::Array(places) if places == [1, NONE, 0]));
        let one = Places::of(&[7], 8 * SMALL);
        assert_eq!(one.get(7), 0);
    }

    #[test]
    #[should_panic(expected = "not in the list")]
    fn a_node_outside_a_table_is_no_other_node() {
        Places::of(&[7, 9], 8 * SMALL).get(8);
    }

    #[test]
    fn numbers_follow_the_order_of_first_meeting_and_are_forgotten() {
        for nodes in [5000, 8 * SMALL] {
            let mut numbering = Numbering::default();
            for round in 0..3 {
                numbering.begin(nodes);
                for i in 0..2000u32 {
                    let node = i.wrapping_mul(4099) % 5000;
                    assert_eq!(numbering.number(node), (i, true), "round {round}");
                    assert_eq!(numbering.number(node), (i, false));
                }
                assert_eq!(numbering.get(4099), Some(1));
                let free = (0..5000).find(|&node| (0..2000u32).all(|i| i.wrapping_mul(4099) % 5000 != node));
                assert_eq!(free.and_then(|node| numbering.get(node)), None);
            }
        }
    }
}
