//! Slots are found by their numbers and are small, and a primary that leads no more keeps what is open.

use super::*;

#[test]
fn slots_are_found_by_their_numbers() {
    let here = [SlotId(3), SlotId(7), SlotId(8)];
    let mut slots = Slots::new(here.map(Slot::new).into());
    for id in (0..20).map(SlotId) {
        let expected = here.contains(&id).then_some(id);
        assert_eq!(slots.get(id).map(|slot| slot.id), expected);
        assert_eq!(slots.get_mut(id).map(|slot| slot.id), expected);
    }
    assert!(slots.iter().map(|slot| slot.id).eq(here));
    assert!(Slots::default().get(SlotId(0)).is_none());
}

/// A module may have a hundred slots, most of them idle.
#[test]
fn an_empty_slot_takes_about_a_kilobyte() {
    assert!(size_of::<Slot>() <= 1_200, "{} bytes", size_of::<Slot>());
}

#[test]
fn a_primary_that_leads_no_more_keeps_what_is_open() {
    let mut role = Role::default();
    role.lead(true);
    assert!(matches!(role, Role::Primary));
    role.lead(false);
    assert!(matches!(role, Role::SteppingDown(_)));
    role.lead(true);
    assert!(matches!(role, Role::Returning(_)) && role.is_primary());
    assert!(role.let_go().is_some() && matches!(role, Role::Primary));
    role.lead(false);
    role.lead(false);
    assert!(role.hand_out().is_some());
    assert!(role.let_go().is_some() && matches!(role, Role::Backup));
    role.lead(false);
    assert!(role.let_go().is_none() && matches!(role, Role::Backup));
}
