//! Margins on a changed graph in plain floats, with a bound of their rounding errors beside each number: many times
//! faster than rounding every operation outward.

use std::collections::HashMap;

use crate::edges::changes::balls::{Balls, raised, relative};
use crate::edges::changes::span::Span;
use crate::edges::changes::stack::Stack;
use crate::edges::changes::world::World;

/// Adds `x` times some weights to values, and `error` times their sizes to radii.
fn add(value: &mut [f64], radius: &mut [f64], weights: &[f64], x: f64, error: f64) {
    for ((value, radius), &w) in value.iter_mut().zip(radius).zip(weights) {
        *value += x * w;
        *radius += error * w.abs();
    }
}

impl Stack {
    /// What a node sends in a layer whose pre-activations in the layer below are these.
    fn quick_message(&self, layer: usize, node: u32, world: &World, below: Option<Balls>) -> Balls {
        let of = &self.network.layers()[layer];
        let (terms, inputs, outputs) = (self.rules[layer].len(), of.inputs(), of.outputs());
        let mut sent = Balls::zeros(terms * outputs);
        let Balls { value, radius } = &mut sent;
        let mut send = |input: usize, x: f64, error: f64| {
            for k in 0..terms {
                let part = k * outputs..(k + 1) * outputs;
                add(&mut value[part.clone()], &mut radius[part], of.weight.row(k * inputs + input), x, error);
            }
        };
        match below {
            None => {
                let present = world.attributes(node);
                // 1, or what a row that is divided by its sum has.
                let (entry, error) = (self.graph.normalisation().entry(present.len()), relative(present.len()));
                present.iter().for_each(|&d| send(d as usize, entry, error * entry));
            }
            Some(below) => {
                let before = &self.network.layers()[layer - 1];
                let error = relative(inputs);
                for (unit, (&z, &off)) in below.value.iter().zip(&below.radius).enumerate() {
                    // What is surely not active sends nothing; what may be is not farther off than before.
                    let h = if before.is_linear(unit) { z } else { z.max(0.0) };
                    if h != 0.0 || before.is_linear(unit) || z + off > 0.0 || !off.is_finite() {
                        send(unit, h, off + error * h.abs());
                    }
                }
            }
        }
        sent.radius.iter_mut().for_each(|radius| *radius = raised(*radius));
        sent
    }

    /// The pre-activations of a node in a layer, from what nodes send there.
    fn quick_sums<'b>(&self, layer: usize, node: u32, world: &World, sent: impl Fn(u32) -> &'b Balls) -> Balls {
        let outputs = self.network.layers()[layer].outputs();
        let value = self.network.layers()[layer].bias.row(node as usize).to_vec();
        let mut size: Vec<f64> = value.iter().map(|b| b.abs()).collect();
        let mut sums = Balls { value, radius: vec![0.0; outputs] };
        let mut count = 1;
        self.each_entry(layer, node, world, |k, a, n| {
            count += 1;
            let from = sent(n);
            let part = k * outputs..(k + 1) * outputs;
            let messages = from.value[part.clone()].iter().zip(&from.radius[part]);
            let slots = sums.value.iter_mut().zip(&mut sums.radius).zip(&mut size);
            for (((value, radius), size), (m, off)) in slots.zip(messages) {
                let product = a * m;
                *value += product;
                *size += product.abs();
                *radius += a.abs() * off;
            }
        });
        let error = relative(count);
        sums.radius.iter_mut().zip(&size).for_each(|(radius, size)| *radius = raised(*radius + error * size));
        sums
    }

    /// What a node sends in a layer on the graph as it is.
    fn quick_sent(&self, layer: usize, node: u32) -> &Balls {
        self.quick[layer][node as usize].get_or_init(|| {
            let world = World::new(&self.graph, self.directed, &[]);
            let below =
                (layer > 0).then(|| self.quick_sums(layer - 1, node, &world, |n| self.quick_sent(layer - 1, n)));
            self.quick_message(layer, node, &world, below)
        })
    }

    /// Spans of the logits of a target on a changed graph.
    pub(crate) fn quick_logits(&self, target: u32, world: &World) -> Vec<Span> {
        let last = self.rules.len() - 1;
        let mut changed = Changed { stack: self, world, dirty: self.dirty(world, last), sent: HashMap::new() };
        let sums = changed.sums(last, target);
        (0..sums.value.len()).map(|class| sums.span(class)).collect()
    }
}

/// One changed graph. What is as before is taken from the graph as it is.
struct Changed<'a> {
    stack: &'a Stack,
    world: &'a World<'a>,
    dirty: Vec<Vec<u32>>,
    sent: HashMap<(usize, u32), Balls>,
}

impl Changed<'_> {
    fn sums(&mut self, layer: usize, node: u32) -> Balls {
        let (stack, world) = (self.stack, self.world);
        if !self.dirty[layer].is_empty() {
            let mut senders = Vec::new();
            stack.each_entry(layer, node, world, |_, _, n| senders.push(n));
            for n in senders {
                if self.dirty[layer].binary_search(&n).is_ok() && !self.sent.contains_key(&(layer, n)) {
                    let below = (layer > 0).then(|| self.sums(layer - 1, n));
                    self.sent.insert((layer, n), stack.quick_message(layer, n, world, below));
                }
            }
        }
        let sent = |n: u32| self.sent.get(&(layer, n)).unwrap_or_else(|| stack.quick_sent(layer, n));
        stack.quick_sums(layer, node, world, sent)
    }
}
