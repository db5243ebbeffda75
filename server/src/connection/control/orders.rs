//! What a connection has been told to do with its wire.

use crate::connection::handle::{Allowance, Cut};

/// How much may be written, and when to cut.
#[derive(Debug, Default)]
pub(super) struct Orders {
    /// Wire bytes that may still be written; without bound if there is none.
    allowance: Option<u64>,
    /// Wire bytes until the cut, and the cut.
    cut_after: Option<(u64, Cut)>,
    /// The cut that has to be carried out.
    cut: Option<Cut>,
}

impl Orders {
    pub(super) fn allow(&mut self, allowance: Allowance) {
        self.allowance = match allowance {
            Allowance::Unlimited => None,
            Allowance::Bytes(bytes) => Some(bytes),
        };
    }

    pub(super) fn cut_after(&mut self, bytes: u64, how: Cut) {
        self.cut_after = Some((bytes, how));
        self.spend(0);
    }

    /// The cut that has to be carried out, before anything else is written.
    pub(super) fn due_cut(&self) -> Option<Cut> {
        self.cut
    }

    pub(super) fn are_limiting(&self) -> bool {
        self.allowance.is_some() || self.cut_after.is_some()
    }

    /// Whether not even a FIN may leave.
    pub(super) fn stall(&self) -> bool {
        self.allowance == Some(0)
    }

    /// The most that may be written now.
    pub(super) fn room(&self) -> u64 {
        let until_cut = self.cut_after.map_or(u64::MAX, |(bytes, _)| bytes);
        self.allowance.unwrap_or(u64::MAX).min(until_cut)
    }

    /// Notes that this much of the room has been used. A cut that falls due meets no room, and the first one stands.
    pub(super) fn spend(&mut self, bytes: u64) {
        if let Some(allowance) = &mut self.allowance {
            *allowance -= bytes;
        }
        if let Some((until_cut, how)) = self.cut_after {
            if until_cut == bytes {
                self.cut_after = None;
                self.cut.get_or_insert(how);
            } else {
                self.cut_after = Some((until_cut - bytes, how));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smaller_bound_is_the_room() {
        let mut orders = Orders::default();
        assert_eq!(orders.room(), u64::MAX);
        orders.cut_after(10, Cut::Fin);
        assert_eq!(orders.room(), 10);
        orders.allow(Allowance::Bytes(4));
        assert_eq!(orders.room(), 4);
        orders.spend(4);
        assert_eq!((orders.room(), orders.stall(), orders.due_cut()), (0, true, None));
        orders.allow(Allowance::Unlimited);
        assert_eq!(orders.room(), 6);
        orders.spend(6);
        assert_eq!(orders.due_cut(), Some(Cut::Fin));
        assert!(!orders.are_limiting());
    }

    #[test]
    fn a_cut_after_nothing_is_due_and_the_first_due_stands() {
        let mut orders = Orders::default();
        orders.cut_after(0, Cut::Rst);
        orders.cut_after(0, Cut::Fin);
        assert_eq!(orders.due_cut(), Some(Cut::Rst));
    }
}
