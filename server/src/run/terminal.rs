//! The terminal, as a shell has it: the command reads from it and is interrupted there, as if we weren't between.
//!
//! Only the foreground group of a terminal may read from it, and only that is sent Ctrl-C and Ctrl-Z. The command has
//! a group of its own, so the terminal is handed to it and taken back at the end.

use nix::sys::signal::{SigSet, SigmaskHow, Signal as Blocked};
use rustix::process::{Pid, Signal, getpgrp, kill_current_process_group, kill_process_group};
use rustix::termios::{tcgetpgrp, tcsetpgrp};

/// A terminal that was ours to hand over.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terminal {
    ours: Pid,
    theirs: Pid,
}

impl Terminal {
    /// Hands standard input to the group `theirs`, if that is a terminal and we have it.
    pub(super) fn hand_to(theirs: Pid) -> Option<Self> {
        let ours = getpgrp();
        let is_ours = tcgetpgrp(std::io::stdin()).is_ok_and(|group| group == ours);
        let terminal = is_ours.then_some(Self { ours, theirs })?;
        give_to(theirs);
        Some(terminal)
    }

    /// Takes it back from whoever has it now.
    pub(super) fn take_back(self) {
        if self.is_theirs() {
            give_to(self.ours);
        }
    }

    /// The command was stopped by the signal with that number: by Ctrl-Z, or since it wanted the terminal and had it not.
    pub(super) fn stopped(self, signal: i32) {
        let wanted_it = [Signal::TTIN, Signal::TTOU].iter().any(|early| early.as_raw() == signal);
        // It may have been early, or we have come back to the foreground since.
        if !(wanted_it && (self.is_theirs() || self.is_ours())) {
            self.take_back();
            // We stop as well, and go on when our shell says so. Without one, nobody stops.
            let _ = kill_current_process_group(Signal::TSTP);
        }
        if self.is_ours() {
            give_to(self.theirs);
        }
        let _ = kill_process_group(self.theirs, Signal::CONT);
    }

    fn is_ours(self) -> bool {
        tcgetpgrp(std::io::stdin()).is_ok_and(|group| group == self.ours)
    }

    fn is_theirs(self) -> bool {
        tcgetpgrp(std::io::stdin()).is_ok_and(|group| group == self.theirs)
    }
}

/// Makes `group` the foreground of our terminal. Who isn't is stopped for trying, unless he blocks the signal.
fn give_to(group: Pid) {
    let mut stop = SigSet::empty();
    stop.add(Blocked::SIGTTOU);
    let Ok(before) = stop.thread_swap_mask(SigmaskHow::SIG_BLOCK) else { return };
    // Where it fails, the terminal has gone; there is nothing left to hand over.
    let _ = tcsetpgrp(std::io::stdin(), group);
    let _ = before.thread_set_mask();
}
