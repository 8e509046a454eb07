//! Coarser pictures of a graph: groups of linked nodes become one.

/// A graph whose nodes and links have weights.
pub struct Level {
    /// The links of each node and their weights, by rising node.
    pub links: Vec<Vec<(u32, f64)>>,
    /// How many nodes of the finest level each one stands for.
    pub mass: Vec<f64>,
}

/// A picture of so few nodes is coarse enough.
const FEW: usize = 24;

impl Level {
    /// A coarser level, and for each node here the one that stands for it there; nothing if this is coarse enough.
    pub fn coarser(&self) -> Option<(Level, Vec<u32>)> {
        let nodes = self.mass.len();
        if nodes <= FEW {
            return None;
        }
        // Leaves choose first: otherwise a hub takes one of them, and the others stay alone.
        let mut order: Vec<u32> = (0..nodes as u32).collect();
        order.sort_by_key(|&node| (self.links[node as usize].len(), node));
        const NONE: u32 = u32::MAX;
        let mut parent = vec![NONE; nodes];
        let mut mass: Vec<f64> = Vec::new();
        for node in order {
            let at = node as usize;
            if parent[at] != NONE {
                continue;
            }
            let light = |&&(other, weight): &&(u32, f64)| weight / self.mass[other as usize];
            let free = self.links[at].iter().filter(|link| parent[link.0 as usize] == NONE);
            let partner = free.max_by(|x, y| light(x).total_cmp(&light(y)).then(y.0.cmp(&x.0))).map(|link| link.0);
            let lightest = || {
                let groups = self.links[at].iter().map(|link| parent[link.0 as usize]);
                groups.min_by(|x, y| mass[*x as usize].total_cmp(&mass[*y as usize]).then(x.cmp(y)))
            };
            let group = match partner {
                Some(partner) => {
                    mass.push(self.mass[partner as usize]);
                    parent[partner as usize] = mass.len() as u32 - 1;
                    mass.len() as u32 - 1
                }
                // All neighbours are taken: join the smallest of their groups.
                None => lightest().unwrap_or_else(|| {
                    mass.push(0.0);
                    mass.len() as u32 - 1
                }),
            };
            parent[at] = group;
            mass[group as usize] += self.mass[at];
        }
        // Whoever does not get much smaller is not worth another level.
        if 10 * mass.len() > 9 * nodes {
            return None;
        }
        let mut links = vec![Vec::new(); mass.len()];
        for (at, list) in self.links.iter().enumerate() {
            for &(other, weight) in list.iter().filter(|link| parent[link.0 as usize] != parent[at]) {
                links[parent[at] as usize].push((parent[other as usize], weight));
            }
        }
        for list in &mut links {
            list.sort_unstable_by_key(|link| link.0);
            list.dedup_by(|next, kept| {
                let same = next.0 == kept.0;
                kept.1 += if same { next.1 } else { 0.0 };
                same
            });
        }
        Some((Level { links, mass }, parent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_and_a_path_get_coarser_and_keep_their_mass() {
        let star: Vec<Vec<(u32, f64)>> =
            (0..100u32).map(|at| if at == 0 { (1..100).map(|n| (n, 1.0)).collect() } else { vec![(0, 1.0)] }).collect();
        let path = (0..100u32).map(|at| {
            [at.checked_sub(1), (at < 99).then_some(at + 1)].into_iter().flatten().map(|n| (n, 1.0)).collect()
        });
        for links in [star, path.collect()] {
            let (coarse, parent) = Level { links, mass: vec![1.0; 100] }.coarser().unwrap();
            assert!(coarse.mass.len() <= 51 && coarse.mass.iter().sum::<f64>() == 100.0, "{:?}", coarse.mass);
            assert!(parent.iter().all(|p| (*p as usize) < coarse.mass.len()));
        }
    }
}
