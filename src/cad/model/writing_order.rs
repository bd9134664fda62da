//! The order in which nodes are written.
//!
//! The order is topological: of the nodes whose references are all written, the one with the
//! smallest id comes next. Nodes that already have this order are the common case and take one
//! pass.

use super::ir::Node;
use crate::cad::error::DocumentError;
use crate::interrupt::{Steps, polled};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The largest number of nodes that the message about a cycle shows.
const SHOWN: usize = 100;

/// Returns node indexes in writing order, without those for which `skip` is true. `last` comes
/// last.
pub(crate) fn order(
    nodes: &[Node<'_>],
    skip: impl Fn(usize) -> bool,
    last: Option<usize>,
) -> Result<Vec<usize>, DocumentError> {
    let wanted = |&node: &usize| !skip(node) && Some(node) != last;
    if is_ordered(nodes) {
        return Ok((0..nodes.len()).filter(wanted).chain(last).collect());
    }
    let sorted = sort(nodes);
    if sorted.len() < nodes.len() {
        return Err(cycle(nodes, &sorted));
    }
    // All nodes that depend on `last` are skipped, so moving it keeps the order valid.
    Ok(sorted.into_iter().filter(wanted).chain(last).collect())
}

/// Whether ids ascend and each node comes after those that it uses.
fn is_ordered(nodes: &[Node<'_>]) -> bool {
    let ascending = nodes.windows(2).all(|pair| pair[0].id < pair[1].id);
    ascending
        && nodes.iter().enumerate().all(|(i, node)| node.op.refs().iter().all(|&target| target < i))
}

/// Sorts nodes by Kahn's algorithm. Nodes on a cycle, and those that depend on one, are left out.
fn sort(nodes: &[Node<'_>]) -> Vec<usize> {
    let (mut waiting, dependents) = edges(nodes);
    let mut ready: BinaryHeap<_> = (0..nodes.len())
        .filter(|&node| waiting[node] == 0)
        .map(|node| Reverse((nodes[node].id, node)))
        .collect();
    let mut sorted = Vec::with_capacity(nodes.len());
    let mut steps = Steps::default();
    while let Some(Reverse((_, node))) = ready.pop() {
        steps.step();
        sorted.push(node);
        for &user in dependents.of(node) {
            waiting[user] -= 1;
            if waiting[user] == 0 {
                ready.push(Reverse((nodes[user].id, user)));
            }
        }
    }
    sorted
}

/// The nodes that use each node: those of node `i` are `list[starts[i]..starts[i + 1]]`.
struct Dependents {
    starts: Vec<usize>,
    list: Vec<usize>,
}

impl Dependents {
    fn of(&self, node: usize) -> &[usize] {
        &self.list[self.starts[node]..self.starts[node + 1]]
    }
}

/// Returns the number of references of each node, and the nodes that use it.
fn edges(nodes: &[Node<'_>]) -> (Vec<usize>, Dependents) {
    let waiting: Vec<_> = nodes.iter().map(|node| node.op.refs().len()).collect();
    let mut starts = vec![0; nodes.len() + 1];
    for &target in polled(nodes).flat_map(|node| node.op.refs()) {
        starts[target + 1] += 1;
    }
    for i in 0..nodes.len() {
        starts[i + 1] += starts[i];
    }
    let mut next = starts.clone();
    let mut list = vec![0; waiting.iter().sum()];
    for (user, node) in polled(nodes).enumerate() {
        for &target in node.op.refs() {
            list[next[target]] = user;
            next[target] += 1;
        }
    }
    (waiting, Dependents { starts, list })
}

/// The error about a cycle. To find one, starts at the unsorted node with the smallest id, and
/// follows the unsorted reference with the smallest id until a node repeats.
#[cold]
fn cycle(nodes: &[Node<'_>], sorted: &[usize]) -> DocumentError {
    let mut left = vec![true; nodes.len()];
    for &node in sorted {
        left[node] = false;
    }
    let smallest = |among: &mut dyn Iterator<Item = usize>| {
        among.filter(|&node| left[node]).min_by_key(|&node| nodes[node].id)
    };
    let mut path = Vec::new();
    let mut place = vec![None; nodes.len()];
    let mut next = smallest(&mut (0..nodes.len()));
    while let Some(node) = next.filter(|&node| place[node].is_none()) {
        place[node] = Some(path.len());
        path.push(node);
        next = smallest(&mut nodes[node].op.refs().iter().copied());
    }
    let start = next.and_then(|node| place[node]).unwrap_or(0);
    let ids: Vec<_> = path[start..].iter().map(|&node| nodes[node].id).collect();
    let first = ids.first().copied().unwrap_or_default();
    let shown: Vec<_> = ids.iter().take(SHOWN).map(u64::to_string).collect();
    let more = if ids.len() > SHOWN { " -> ..." } else { "" };
    let message = format!("cycle {}{more} -> {first}", shown.join(" -> "));
    DocumentError::new(format!("node {first}"), message)
}

/// Returns the nodes on a cycle, and those that depend on such a node.
pub(crate) fn nodes_with_cycles(nodes: &[Node<'_>]) -> Vec<usize> {
    let mut left = vec![true; nodes.len()];
    for node in sort(nodes) {
        left[node] = false;
    }
    (0..nodes.len()).filter(|&node| left[node]).collect()
}

/// Checks that references form no cycle.
pub(crate) fn check_acyclic(nodes: &[Node<'_>]) -> Result<(), DocumentError> {
    let backward = |(i, node): (usize, &Node<'_>)| node.op.refs().iter().all(|&target| target < i);
    if nodes.iter().enumerate().all(backward) {
        return Ok(());
    }
    let sorted = sort(nodes);
    if sorted.len() < nodes.len() { Err(cycle(nodes, &sorted)) } else { Ok(()) }
}

/// For each node, whether it uses `root` directly or indirectly.
pub(crate) fn dependents(nodes: &[Node<'_>], root: usize) -> Result<Vec<bool>, DocumentError> {
    let mut dependents = vec![false; nodes.len()];
    for node in order(nodes, |_| false, None)? {
        dependents[node] =
            nodes[node].op.refs().iter().any(|&target| target == root || dependents[target]);
    }
    Ok(dependents)
}
