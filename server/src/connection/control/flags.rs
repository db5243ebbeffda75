//! The state of a connection that its task looks at before every write.

/// A snapshot of a connection's state, as bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::connection) struct Flags(pub(super) u16);

impl Flags {
    /// Writes have to ask the orders how much they may write.
    pub(in crate::connection) const LIMITED: Self = Self(1);
    /// A cut has to be carried out, before anything else is written.
    pub(in crate::connection) const CUT: Self = Self(1 << 1);
    /// Someone waits for a report.
    pub(super) const AWAITED: Self = Self(1 << 2);
    /// The connection is to end after the answer that it is at.
    pub(super) const FINISH: Self = Self(1 << 3);
    /// The last write met a full socket.
    pub(super) const BLOCKED: Self = Self(1 << 4);
    /// A write waits for an allowance.
    pub(super) const STALLED: Self = Self(1 << 5);
    /// The client is in the middle of a request: its body has not been read to the end.
    pub(super) const RECEIVING: Self = Self(1 << 6);
    pub(super) const CLOSED: Self = Self(1 << 7);
    /// Something is to be done with the next flush.
    pub(super) const LISTENED: Self = Self(1 << 8);

    pub(in crate::connection) const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(in crate::connection) const fn any_of(self, others: Self) -> bool {
        self.0 & others.0 != 0
    }
}
