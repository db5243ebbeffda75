//! The strongly connected components of the parts of a schema.

/// Which parts lead to each other: those that do are in one component.
#[derive(Debug)]
pub(super) struct Components {
    /// The component of each part.
    pub of: Vec<usize>,
    /// The parts, each component after all that lead to it.
    callers_first: Vec<usize>,
}

impl Components {
    /// Kosaraju's algorithm, on explicit stacks since a chain of references may be long.
    pub(super) fn of(parts: usize, edges: impl Iterator<Item = (usize, usize)>) -> Self {
        let mut forward = vec![Vec::new(); parts];
        let mut backward = vec![Vec::new(); parts];
        for (from, to) in edges {
            forward[from].push(to);
            backward[to].push(from);
        }
        let mut seen = vec![false; parts];
        let mut finished = Vec::with_capacity(parts);
        for start in 0..parts {
            visit_from(start, &forward, &mut seen, &mut finished);
        }
        let mut seen = vec![false; parts];
        let mut of = vec![0; parts];
        let mut callers_first = Vec::with_capacity(parts);
        for &start in finished.iter().rev() {
            let known = callers_first.len();
            visit_from(start, &backward, &mut seen, &mut callers_first);
            for &part in &callers_first[known..] {
                of[part] = start;
            }
        }
        Self { of, callers_first }
    }

    /// The parts, each component before all that lead to it.
    pub(super) fn callees_first(&self) -> impl Iterator<Item = usize> {
        self.callers_first.iter().rev().copied()
    }
}

/// Depth-first from `start`; each part that was not seen before is appended once all beyond it are.
fn visit_from(start: usize, targets: &[Vec<usize>], seen: &mut [bool], finished: &mut Vec<usize>) {
    if std::mem::replace(&mut seen[start], true) {
        return;
    }
    let mut path = vec![(start, 0)];
    while let Some((part, next)) = path.last_mut() {
        if let Some(&target) = targets[*part].get(*next) {
            *next += 1;
            if !std::mem::replace(&mut seen[target], true) {
                path.push((target, 0));
            }
        } else {
            finished.push(*part);
            path.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_lead_to_each_other_are_one_component() {
        let edges = [(0, 1), (1, 2), (2, 1), (2, 3), (4, 4)];
        let components = Components::of(5, edges.into_iter());
        assert_eq!(components.of[1], components.of[2]);
        assert_ne!(components.of[0], components.of[1]);
        assert_ne!(components.of[2], components.of[3]);
        let order: Vec<_> = components.callees_first().collect();
        let place = |part| order.iter().position(|other| *other == part);
        assert!(place(3) < place(1) && place(3) < place(2) && place(1) < place(0) && place(2) < place(0));
    }
}
