//! What a stream is told from outside: to be silent, to go on, to end.

use crate::faults::verb::How;

/// How a stream is to behave. It obeys once it has sent all that was due, and at once where a fault keeps it silent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Order {
    /// As always; ends a silence, also a fault's.
    #[default]
    Go,
    /// Silence on an open connection, keep-alives too.
    Stall,
    /// It ends. No later order changes that.
    End(End),
}

/// How a stream is ended from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// As a fault would close it.
    Close(How),
    /// Cleanly, after `stream.resync` (SSE-8).
    Resync,
}

/// The words that stand for the orders.
const WORDS: [(&str, Order); 6] = [
    ("fin", Order::End(End::Close(How::Fin))),
    ("abort", Order::End(End::Close(How::Abort))),
    ("rst", Order::End(End::Close(How::Rst))),
    ("stall", Order::Stall),
    ("release", Order::Go),
    ("resync", Order::End(End::Resync)),
];

impl Order {
    /// The words that [`Order::parse`] knows.
    pub(crate) const WORDS: [&'static str; 6] = {
        let mut words = [""; 6];
        let mut at = 0;
        while at < words.len() {
            words[at] = WORDS[at].0;
            at += 1;
        }
        words
    };

    /// The order that `word` stands for.
    pub(crate) fn parse(word: &str) -> Option<Self> {
        WORDS.iter().find(|(known, _)| *known == word).map(|(_, order)| *order)
    }

    /// The end that it asks for, if it does.
    pub(crate) fn end(self) -> Option<End> {
        match self {
            Self::End(end) => Some(end),
            Self::Go | Self::Stall => None,
        }
    }
}

impl End {
    /// Who ended the stream, and how, as its `stream_close` tells it.
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Self::Close(How::Fin) => "control: told to end, fin",
            Self::Close(How::Abort) => "control: told to end, abort",
            Self::Close(How::Rst) => "control: told to end, rst",
            Self::Resync => "control: told to end, stream.resync",
        }
    }
}
