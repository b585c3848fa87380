//! The stepping thread's part while SMs run ahead: it runs the memory system and its own crew, and
//! hands over what passes between the memory system and all crews, cycle by cycle.
//!
//! In a cycle the memory system needs what SMs sent in the one before, and SMs need what came of
//! the memory system in the one before. So crews are granted a cycle before the stepping thread
//! runs its own SMs in the one before it: with as much to do each, none waits for another.

use crate::crew::{Crew, Step};
use crate::mail::{Inbox, Mail};
use crate::workers::Called;
use warploom_base::Cycle;
use warploom_sm::{Arrival, Flags, Outgoing};

/// The far end of SMs' links.
pub(crate) trait FarEnd {
    /// An SM ran in the last cycle and has not taken so many replies.
    fn note_waiting(&mut self, sm: usize, replies: u32);

    /// Takes what an SM sent in the last cycle.
    fn take(&mut self, sm: usize, sent: &Outgoing);

    /// Runs a cycle. `give`: what comes of it for an SM, by number.
    fn cycle(&mut self, now: Cycle, give: impl FnMut(usize, Arrival));
}

/// The leading thread.
pub(crate) struct Lead<'a, 'c> {
    step: Step<'a>,
    own: &'a mut Crew,
    mail: &'a Mail,
    called: &'a Called<'c>,
    /// By SM: the thread that runs it.
    homes: &'a [usize],
    /// By thread: what comes for its SMs.
    coming: &'a mut [Inbox],
}

impl<'a, 'c> Lead<'a, 'c> {
    pub fn new(
        step: Step<'a>,
        (own, mail): (&'a mut Crew, &'a Mail),
        called: &'a Called<'c>,
        homes: &'a [usize],
        coming: &'a mut [Inbox],
    ) -> Self {
        Self {
            step,
            own,
            mail,
            called,
            homes,
            coming,
        }
    }

    /// By thread.
    fn mails(&self) -> impl Iterator<Item = &'a Mail> + use<'a, 'c> {
        std::iter::once(self.mail).chain(self.called.mails())
    }

    /// All crews have run cycle `now`: the far end gets what they sent, SMs in order. Returns what
    /// any of them has. Nothing of a crew that has come to grief.
    pub fn collect(&mut self, now: Cycle, far: &mut impl FarEnd) -> Flags {
        let mut flags = Flags::default();
        for mail in self.mails().filter(|mail| mail.done() > now) {
            let out = mail.outbox(now);
            flags |= out.flags;
            for &(number, waiting) in &out.ran {
                far.note_waiting(number as usize, waiting);
            }
            out.posted
                .for_each(|number, packet| far.take(number, packet));
        }
        flags
    }

    /// Cycle `now` of the far end; then crews may run the one after it, if it is not the last.
    pub fn run_far_end(&mut self, now: Cycle, far: &mut impl FarEnd) {
        let mails = self.mails();
        let Self { homes, coming, .. } = self;
        far.cycle(now, |sm, arrival| {
            coming[homes[sm]].push((sm as u32, arrival));
        });
        let next = now + 1;
        for (mail, coming) in mails.zip(&mut **coming) {
            if !coming.is_empty() {
                // What is in the box has been read.
                std::mem::swap(&mut *mail.inbox(next), coming);
            }
            if next < self.step.to {
                mail.grant(next + 1);
            }
        }
    }

    /// Cycle `now` of the thread's own SMs.
    pub fn run_own(&mut self, now: Cycle) {
        self.own.run_ahead(now, self.step.memory, self.mail);
        self.mail.has_run(now + 1);
    }
}
