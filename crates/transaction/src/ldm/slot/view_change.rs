//! What a view change leaves to do in a slot: `takeover` carries on what is undecided, `handover` what is open.

pub(in crate::ldm) mod handover;
pub(in crate::ldm) mod takeover;
