//! What all class pairs share on a path: the neighbours of the target with their states, anchors and reaches
//! (docs/math.md §18.2).

use crate::edges::ground::Ground;
use crate::edges::problem::EdgeProblem;
use crate::edges::reach::{Item, Reach};
use crate::edges::rule::Rule;
use crate::problem::pace::Pace;

/// A neighbour `n` of a neighbour `m` of the target.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) node: u32,
    pub(crate) edge: u32,
    /// Can the edge be removed?
    pub(crate) free: bool,
    /// Free edges at `n` but this one.
    pub(crate) others: usize,
    /// The free edge between `n` and the target, if there is one: it is among them.
    pub(crate) to_target: bool,
}

/// `m` with so many of its edges removed, and nothing else changed but that the target has its own: all anchors but for
/// the target's message.
#[derive(Debug)]
pub(crate) struct State {
    /// `a(d_m − r, d_n)`, by link.
    pub(crate) entry: Vec<f64>,
    /// `a(d_m − r, d_n − k) − a(d_m − r, d_n)` for `k = 1, 2, …`, link after link.
    gains: Vec<f64>,
    starts: Vec<usize>,
    /// The anchor without the message of the target, and the size of what was summed.
    pub(crate) z: Vec<f64>,
    pub(crate) size: Vec<f64>,
    pub(crate) reach: Reach,
}

impl State {
    /// The gains of a link.
    pub(crate) fn gains(&self, link: usize) -> &[f64] {
        &self.gains[self.starts[link]..self.starts[link + 1]]
    }
}

/// A node, and how many edges it has left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NodeLeft(pub(crate) u32, pub(crate) usize);

/// A neighbour of the target.
#[derive(Debug)]
pub(crate) struct Around {
    pub(crate) node: u32,
    pub(crate) edge: u32,
    /// Can it be cut from the target?
    pub(crate) free: bool,
    /// All its neighbours but the target.
    pub(crate) links: Vec<Link>,
    /// By the number of edges removed at it, that to the target being kept.
    pub(crate) states: Vec<State>,
    /// How many of its neighbours one removed edge can touch.
    pub(crate) touched: usize,
    /// How many of its neighbours have a free edge to the target.
    pub(crate) to_target: usize,
}

/// The target itself, by the number of edges removed at it.
#[derive(Debug)]
pub(crate) struct Center {
    /// `a(d_t − r_t, d_m)`, by neighbour.
    pub(crate) entry: Vec<f64>,
    pub(crate) gains: Vec<Vec<f64>>,
    pub(crate) z: Vec<f64>,
    pub(crate) size: Vec<f64>,
    pub(crate) reach: Reach,
}

/// All of that.
#[derive(Debug)]
pub(crate) struct Scene<'a> {
    pub(crate) problem: &'a EdgeProblem,
    /// The clock that everything made from this scene looks at.
    pub(crate) pace: &'a Pace,
    pub(crate) ground: Ground<'a>,
    pub(crate) around: Vec<Around>,
    /// Empty if the target sends nothing to itself in the second layer.
    pub(crate) centers: Vec<Center>,
    /// `R_t`: most edges that may be removed at the target.
    pub(crate) most: usize,
    pub(crate) center_touched: usize,
    /// For every node, the neighbours of the target (by place) that have it as a link (by place).
    pub(crate) seen: Vec<Vec<(u32, u32)>>,
    /// The place of a neighbour of the target.
    pub(crate) place: Vec<u32>,
}

impl<'a> Scene<'a> {
    /// `None` if it is late before all is there.
    pub(crate) fn new(problem: &'a EdgeProblem, ground: Ground<'a>, pace: &'a Pace) -> Option<Scene<'a>> {
        let target = ground.target;
        let most = (ground.cap[0] as usize).min(ground.free_at[0] as usize).min(ground.budget);
        let mut scene = Scene {
            problem,
            pace,
            around: Vec::new(),
            centers: Vec::new(),
            most,
            center_touched: 1,
            seen: vec![Vec::new(); target.middle],
            place: vec![u32::MAX; target.near],
            ground,
        };
        let left: Vec<u32> = target.at[0].iter().copied().filter(|&e| !scene.ground.gone[e as usize]).collect();
        let mut mark = vec![u32::MAX; target.ids.len()];
        for (at, &edge) in left.iter().enumerate() {
            let node = target.across(edge, 0);
            scene.place[node as usize] = at as u32;
            let around = scene.neighbour(node, edge, &mut mark)?;
            for (link, of) in around.links.iter().enumerate() {
                scene.seen[of.node as usize].push((at as u32, link as u32));
            }
            scene.around.push(around);
        }
        scene.center_touched = scene.touched(&left, 0, &mut mark);
        let second = problem.second();
        if second.iter().any(|rule| rule.own(target.looped[0]) == 1) {
            let work = 8 * scene.around.len() * problem.messages().width;
            let center = |removed: usize| (!pace.is_late_for(work)).then(|| scene.center(removed));
            scene.centers = (0..=most).map(center).collect::<Option<Vec<Center>>>()?;
        }
        Some(scene)
    }

    /// The size of a node for the rule of the first layer when so many edges are left at it.
    fn size(&self, node: u32, left: usize) -> usize {
        left + self.problem.rule().own(self.ground.target.looped[node as usize])
    }

    /// The entry of the first layer between nodes with so many edges left.
    pub(crate) fn entry(&self, receiver: NodeLeft, sender: NodeLeft) -> f64 {
        self.problem.rule().entry(self.size(receiver.0, receiver.1), self.size(sender.0, sender.1))
    }

    /// The entry of a term of the second layer between the target and a neighbour, so many edges being left at both.
    pub(crate) fn received(&self, rule: &Rule, at_target: usize, NodeLeft(node, at_node): NodeLeft) -> f64 {
        let looped = &self.ground.target.looped;
        let size = |own: usize, left: usize| if left == 0 { 0 } else { left + own };
        rule.entry(size(rule.own(looped[0]), at_target), size(rule.own(looped[node as usize]), at_node))
    }

    /// Edges left at a node.
    pub(crate) fn left(&self, node: u32) -> usize {
        self.ground.degree[node as usize] as usize
    }

    /// 2 if a free edge joins two of the nodes that these edges of a node lead to (the target left out), else 1.
    fn touched(&self, edges: &[u32], node: u32, mark: &mut [u32]) -> usize {
        let target = self.ground.target;
        let ends = || edges.iter().map(|&edge| target.across(edge, node)).filter(|&end| end != 0);
        ends().for_each(|end| mark[end as usize] = node);
        let joined = ends().any(|end| {
            let mut at = target.at[end as usize].iter();
            at.any(|&edge| self.ground.free[edge as usize] && mark[target.across(edge, end) as usize] == node)
        });
        ends().for_each(|end| mark[end as usize] = u32::MAX);
        if joined { 2 } else { 1 }
    }

    fn neighbour(&self, node: u32, edge: u32, mark: &mut [u32]) -> Option<Around> {
        let (target, ground) = (self.ground.target, &self.ground);
        let left = target.at[node as usize].iter().copied().filter(|&e| !ground.gone[e as usize] && e != edge);
        let left: Vec<u32> = left.collect();
        let link = |&edge: &u32| {
            let n = target.across(edge, node);
            let free = ground.free[edge as usize];
            let to_target = (n as usize) < target.near
                && target.at[n as usize].iter().any(|&e| target.across(e, n) == 0 && ground.free[e as usize]);
            let others = ground.free_at[n as usize] as usize - usize::from(free);
            Link { node: n, edge, free, others, to_target }
        };
        let links: Vec<Link> = left.iter().map(link).collect();
        let free = ground.free[edge as usize];
        let other_free = links.iter().filter(|link| link.free).count();
        let most = (ground.cap[node as usize] as usize).min(other_free).min(ground.budget);
        let mut around = Around {
            node,
            edge,
            free,
            touched: self.touched(&left, node, mark),
            to_target: links.iter().filter(|link| link.to_target).count(),
            links,
            states: Vec::new(),
        };
        // Messages, gains and reaches of a state; and the ends of the links' edges, which were looked at above.
        let work = around.links.len() * (8 * self.problem.messages().width + ground.budget.min(64));
        let state = |removed: usize| (!self.pace.is_late_for(work)).then(|| self.state(&around, removed));
        around.states = (0..=most).map(state).collect::<Option<Vec<State>>>()?;
        Some(around)
    }

    /// The messages that a node gets from itself.
    fn own(&self, node: u32, left: usize) -> (Vec<f64>, Vec<f64>) {
        let (problem, target) = (self.problem, self.ground.target);
        let (messages, id) = (problem.messages(), target.ids[node as usize]);
        let (mut z, mut size) = (messages.own(id).to_vec(), messages.own_size(id).to_vec());
        if !problem.rule().is_identity() {
            let a = problem.rule().own_entry(left, target.looped[node as usize]);
            self.add(a, node, &mut z, &mut size);
        }
        (z, size)
    }

    /// Adds `a Y_n`, and its size.
    #[inline]
    pub(crate) fn add(&self, a: f64, node: u32, z: &mut [f64], size: &mut [f64]) {
        if a == 0.0 {
            return;
        }
        let (messages, id) = (self.problem.messages(), self.ground.target.ids[node as usize]);
        z.iter_mut().zip(messages.sent(id)).for_each(|(z, y)| *z += a * y);
        size.iter_mut().zip(messages.sent_size(id)).for_each(|(size, y)| *size += a.abs() * y);
    }

    /// What a node's entry gains when 1, 2, … edges are removed elsewhere at the sender.
    fn gains(&self, receiver: NodeLeft, sender: u32, before: f64, most: usize) -> impl Iterator<Item = f64> + '_ {
        let most = if self.problem.rule().reads_sender() { most } else { 0 };
        (1..=most).map(move |k| self.entry(receiver, NodeLeft(sender, self.left(sender) - k)) - before)
    }

    fn state(&self, of: &Around, removed: usize) -> State {
        let ground = &self.ground;
        let left = self.left(of.node) - removed;
        let (mut z, mut size) = self.own(of.node, left);
        let (mut entry, mut gains, mut starts) = (Vec::with_capacity(of.links.len()), Vec::new(), vec![0]);
        let mut items = Vec::with_capacity(of.links.len());
        for link in &of.links {
            let a = self.entry(NodeLeft(of.node, left), NodeLeft(link.node, self.left(link.node)));
            self.add(a, link.node, &mut z, &mut size);
            let most = (ground.cap[link.node as usize] as usize).min(link.others).min(ground.budget - removed);
            let start = gains.len();
            gains.extend(self.gains(NodeLeft(of.node, left), link.node, a, most));
            items.push(self.item(link.node, if link.free { a } else { 0.0 }, &gains[start..]));
            starts.push(gains.len());
            entry.push(a);
        }
        let most = 2 * (ground.budget - removed) + self.most;
        let reach = Reach::new(self.problem.messages(), &items, removed, most);
        State { entry, gains, starts, z, size, reach }
    }

    fn item(&self, node: u32, cut: f64, gains: &[f64]) -> Item {
        // Per removal; the roundings of difference, quotient and product are allowed for.
        let rate = gains.iter().enumerate().map(|(k, gain)| gain / (k + 1) as f64).fold(0.0, f64::max);
        let slack = 1.0 + 16.0 * f64::EPSILON;
        let id = self.ground.target.ids[node as usize];
        Item { id, cut: cut * slack, rate: rate * slack, cap: gains.len() }
    }

    fn center(&self, removed: usize) -> Center {
        let ground = &self.ground;
        let left = self.left(0) - removed;
        let (mut z, mut size) = self.own(0, left);
        let (mut entry, mut gains, mut items) = (Vec::new(), Vec::new(), Vec::new());
        let budget = ground.budget - removed;
        for of in &self.around {
            let a = self.entry(NodeLeft(0, left), NodeLeft(of.node, self.left(of.node)));
            self.add(a, of.node, &mut z, &mut size);
            let most = (of.states.len() - 1).min(budget);
            let gain: Vec<f64> = self.gains(NodeLeft(0, left), of.node, a, most).collect();
            items.push(self.item(of.node, if of.free { a } else { 0.0 }, &gain));
            gains.push(gain);
            entry.push(a);
        }
        let reach = Reach::new(self.problem.messages(), &items, removed, 2 * budget);
        Center { entry, gains, z, size, reach }
    }
}
