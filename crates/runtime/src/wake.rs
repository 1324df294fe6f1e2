//! How a thread sleeps and how others wake it: epoll, and per thread one eventfd and one alarm.
//!
//! Invariant (no lost wake): a thread announces itself parked, *then* looks at its inboxes once more, *then* sleeps; a
//! sender publishes, *then* looks whether the receiver is parked. Sequentially consistent fences on both sides make it
//! impossible that the receiver misses the parcel and the sender misses the announcement. Only a parked thread costs
//! its waker a system call.
//!
//! The eventfd is registered edge-triggered and never read: each write is an edge of its own.
//!
//! The alarm is a timer descriptor, edge-triggered and never read as well. It is set only when a thread that goes to
//! sleep must wake earlier than it would already, and is never taken back. At worst it wakes the thread once for
//! nothing. A timeout of epoll's own would program the CPU's timer at each sleep and once more at each waking. Where
//! sleeps are short, that costs more than the sleep itself, above all in a virtual machine.

use rustix::event::{EventfdFlags, epoll, eventfd};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, Ordering, fence};
use stdx::Instant;

/// The subject of an epoll event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Token {
    Wake,
    /// Index into the thread's listeners.
    Listener(u32),
    /// Slot and generation of a client connection.
    Client(u32, u32),
    /// Slot and generation of a link.
    Link(u32, u32),
    /// Slot and generation of a link whose peer rang.
    Bell(u32, u32),
    /// Slot and generation of an accepted cluster connection that has not said hello.
    Stranger(u32, u32),
}

/// Generations are compared modulo this in tokens: a stale event would have to be 16 million connections old.
const GENERATION_MASK: u32 = 0x00ff_ffff;

impl Token {
    fn pack(self) -> u64 {
        let (tag, slot, generation) = match self {
            Self::Wake => (0, 0, 0),
            Self::Listener(index) => (1, index, 0),
            Self::Client(slot, generation) => (2, slot, generation),
            Self::Link(slot, generation) => (3, slot, generation),
            Self::Stranger(slot, generation) => (4, slot, generation),
            Self::Bell(slot, generation) => (5, slot, generation),
        };
        (tag << 56) | (u64::from(generation & GENERATION_MASK) << 32) | u64::from(slot)
    }

    #[expect(clippy::cast_possible_truncation, reason = "takes apart what `pack` put together")]
    fn unpack(word: u64) -> Self {
        let (slot, generation) = (word as u32, (word >> 32) as u32 & GENERATION_MASK);
        match word >> 56 {
            0 => Self::Wake,
            1 => Self::Listener(slot),
            2 => Self::Client(slot, generation),
            3 => Self::Link(slot, generation),
            4 => Self::Stranger(slot, generation),
            _ => Self::Bell(slot, generation),
        }
    }
}

/// Whether the generation of a token means this generation.
pub(crate) fn same_generation(token: u32, generation: u32) -> bool {
    token == generation & GENERATION_MASK
}

/// The readiness of a descriptor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Readiness {
    pub(crate) token: Token,
    pub(crate) readable: bool,
    pub(crate) writable: bool,
    /// The peer is gone or will send nothing more.
    pub(crate) hung_up: bool,
}

/// The token of the alarm's events: no other token is packed like this.
const ALARM: u64 = u64::MAX;

/// Most events taken at once: bounds a round.
const EVENTS_MAX: usize = 128;

/// How long to wait for events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wait {
    /// Not at all.
    Not,
    /// Until there is one, or until this time.
    Until(Option<Instant>),
}

/// One thread's epoll instance, and its alarm.
pub(crate) struct Poller {
    epoll: OwnedFd,
    alarm: OwnedFd,
    /// The time that the alarm is set to, until it is known to have rung.
    alarm_at: Option<Instant>,
}

impl Poller {
    /// For a thread that is going to be started.
    pub(crate) fn create() -> rustix::io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let alarm = timerfd_create(TimerfdClockId::Boottime, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?;
        let poller = Self { epoll, alarm, alarm_at: None };
        let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
        epoll::add(&poller.epoll, &poller.alarm, epoll::EventData::new_u64(ALARM), flags)?;
        Ok(poller)
    }

    /// Watches a descriptor for bytes and hang-up, edge-triggered: every edge must be followed by reading until less
    /// came than fits.
    pub(crate) fn watch(&self, descriptor: impl AsFd, token: Token) -> rustix::io::Result<()> {
        self.add(descriptor, token, epoll::EventFlags::IN | epoll::EventFlags::RDHUP | epoll::EventFlags::ET)
    }

    /// Watches a listener, level-triggered, so that a round may stop accepting before the queue is empty.
    pub(crate) fn watch_level(&self, descriptor: impl AsFd, token: Token) -> rustix::io::Result<()> {
        self.add(descriptor, token, epoll::EventFlags::IN)
    }

    /// Watches a socket that is being connected.
    pub(crate) fn watch_connecting(&self, descriptor: impl AsFd, token: Token) -> rustix::io::Result<()> {
        self.add(descriptor, token, Self::both())
    }

    fn add(&self, descriptor: impl AsFd, token: Token, flags: epoll::EventFlags) -> rustix::io::Result<()> {
        epoll::add(&self.epoll, descriptor, epoll::EventData::new_u64(token.pack()), flags)
    }

    /// Chooses whether a watched descriptor also reports that it can be written.
    pub(crate) fn set_writable_wanted(&self, descriptor: impl AsFd, token: Token, wanted: Wanted) {
        let flags = match wanted {
            Wanted::Yes => Self::both(),
            Wanted::No => epoll::EventFlags::IN | epoll::EventFlags::RDHUP | epoll::EventFlags::ET,
        };
        let result = epoll::modify(&self.epoll, descriptor, epoll::EventData::new_u64(token.pack()), flags);
        stdx::require!(result.is_ok(), "epoll refuses a descriptor that it watches");
    }

    /// Stops watching a descriptor that may not be watched.
    pub(crate) fn forget_quietly(&self, descriptor: impl AsFd) {
        let _ = epoll::delete(&self.epoll, descriptor);
    }

    fn both() -> epoll::EventFlags {
        epoll::EventFlags::IN | epoll::EventFlags::OUT | epoll::EventFlags::RDHUP | epoll::EventFlags::ET
    }

    /// Stops watching a descriptor that stays open.
    pub(crate) fn forget(&self, descriptor: impl AsFd) {
        let result = epoll::delete(&self.epoll, descriptor);
        stdx::require!(result.is_ok(), "epoll does not know a descriptor that it watches");
    }

    /// Takes events and appends them to `into`. May come back without any.
    pub(crate) fn take(&mut self, wait: Wait, into: &mut Vec<Readiness>) {
        const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
        let timeout = match wait {
            Wait::Not => Some(&AT_ONCE),
            Wait::Until(deadline) => {
                if let Some(deadline) = deadline {
                    self.set_alarm(deadline);
                }
                None
            }
        };
        let mut buffer = [const { MaybeUninit::uninit() }; EVENTS_MAX];
        let result = epoll::wait(&self.epoll, &mut buffer, timeout);
        stdx::require!(matches!(result, Ok(_) | Err(Errno::INTR)), "epoll: {:?}", result.err());
        let Ok((events, _)) = result else { return };
        for event in events {
            let (flags, data) = (event.flags, event.data);
            let ended = epoll::EventFlags::RDHUP | epoll::EventFlags::HUP | epoll::EventFlags::ERR;
            if data.u64() == ALARM {
                self.alarm_at = None;
                continue;
            }
            into.push(Readiness {
                token: Token::unpack(data.u64()),
                readable: flags.intersects(epoll::EventFlags::IN | ended),
                writable: flags.intersects(epoll::EventFlags::OUT | epoll::EventFlags::ERR),
                hung_up: flags.intersects(ended),
            });
        }
    }

    /// The next wait ends at this time or earlier.
    fn set_alarm(&mut self, at: Instant) {
        if self.alarm_at.is_some_and(|set| set <= at) {
            return;
        }
        self.alarm_at = Some(at);
        // Zero would silence it.
        let nanoseconds = at.0.max(1);
        let time = Timespec {
            tv_sec: i64::try_from(nanoseconds / 1_000_000_000).unwrap_or(i64::MAX),
            tv_nsec: i64::try_from(nanoseconds % 1_000_000_000).unwrap_or(0),
        };
        let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: time };
        let result = timerfd_settime(&self.alarm, TimerfdTimerFlags::ABSTIME, &once);
        stdx::require!(result.is_ok(), "the alarm cannot be set");
    }
}

/// Whether "can be written" is worth an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wanted {
    Yes,
    No,
}

/// The bell of one thread.
pub(crate) struct Waker {
    is_parked: AtomicBool,
    event: OwnedFd,
}

impl Waker {
    pub(crate) fn new() -> rustix::io::Result<Self> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { is_parked: AtomicBool::new(false), event })
    }

    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }

    /// Before sleeping: from here on others ring. The inboxes must be looked at once more after this.
    pub(crate) fn park(&self) {
        self.is_parked.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// After sleeping.
    pub(crate) fn unpark(&self) {
        self.is_parked.store(false, Ordering::Relaxed);
    }

    /// After publishing: rings if the thread sleeps; true if that took a system call.
    pub(crate) fn wake_if_parked(&self) -> bool {
        fence(Ordering::SeqCst);
        let wake = self.is_parked.load(Ordering::Relaxed) && self.is_parked.swap(false, Ordering::Relaxed);
        if wake {
            self.ring();
        }
        wake
    }

    /// Rings in any case.
    pub(crate) fn ring(&self) {
        // The counter cannot overflow in practice, and a full one has rung already.
        let _ = rustix::io::write(&self.event, &1_u64.to_ne_bytes());
    }
}
