use super::super::tests::{member, view};
use super::*;
use std::sync::Arc;
use stdx::Now;
use types::ViewNumber;

/// The log of data node 1 when it hears of a view, or time passes.
fn told(main: &mut MainModule, seconds: u64, in_sync: Option<&[u16]>) -> Vec<String> {
    let mut outputs: Outputs<Shared> = Outputs::default();
    main.now = Now { monotonic: Instant(0) + Duration::from_secs(seconds), ..Now::default() };
    if let Some(in_sync) = in_sync {
        let mut next = (*view(main.view.number.0 + 1)).clone();
        for group in &mut next.groups {
            group.in_sync = in_sync.iter().copied().map(NodeId).collect();
        }
        main.on_view(Arc::new(next), &mut outputs);
    }
    main.remind_who_is_alone(&mut outputs);
    let texts = outputs.events.into_iter().map(|event| event.message);
    texts.filter(|text| text.contains("node group")).collect()
}

#[test]
fn the_last_of_a_group_says_so_again_and_again() {
    let mut main = member(1);
    assert_eq!(told(&mut main, 1, Some(&[1, 2])), Vec::<String>::new());
    let alone = told(&mut main, 2, Some(&[1]));
    assert_eq!(alone.len(), 1, "{alone:?}");
    assert!(alone[0].starts_with("node group 0 keeps one replica only"), "{alone:?}");
    assert_eq!(main.view.number, ViewNumber(3));
    // Another view in which nothing of it changed.
    assert_eq!(told(&mut main, 3, Some(&[1])), Vec::<String>::new());
    assert_eq!(told(&mut main, 4, None), Vec::<String>::new());
    let due = main.deadline().expect("it will say so again");
    assert!(due <= Instant(0) + Duration::from_secs(2) + REPEAT);
    assert_eq!(told(&mut main, 303, None), alone);
    assert_eq!(told(&mut main, 400, None), Vec::<String>::new());
    assert_eq!(told(&mut main, 650, None), alone);
    assert_eq!(told(&mut main, 651, Some(&[1, 2])), ["node group 0 has more than one replica again"]);
    assert_eq!(told(&mut main, 2_000, None), Vec::<String>::new());
    // Somebody else is the last: that one says so.
    assert_eq!(told(&mut main, 2_001, Some(&[2])), Vec::<String>::new());
}
