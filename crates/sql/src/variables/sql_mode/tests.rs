use super::*;

#[test]
fn combinations_are_read_back_with_what_they_stand_for() {
    let ansi = "REAL_AS_FLOAT,PIPES_AS_CONCAT,ANSI_QUOTES,IGNORE_SPACE,ONLY_FULL_GROUP_BY,ANSI";
    assert_eq!(from_names("ansi").as_deref(), Ok(ansi));
    assert_eq!(from_number(1 << 18).as_deref(), Some(ansi));
    let traditional = "STRICT_TRANS_TABLES,STRICT_ALL_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,\
                       TRADITIONAL,NO_ENGINE_SUBSTITUTION";
    assert_eq!(from_names("Traditional").as_deref(), Ok(traditional));
}

#[test]
fn names_come_in_the_order_of_their_bits() {
    assert_eq!(
        from_names("NO_ZERO_DATE,ansi_quotes,,NO_ZERO_DATE  ").as_deref(),
        Ok("ANSI_QUOTES,NO_ZERO_DATE")
    );
    assert_eq!(from_names("").as_deref(), Ok(""));
    assert_eq!(from_number(4 | 1 << 31).as_deref(), Some("ANSI_QUOTES,PAD_CHAR_TO_FULL_LENGTH"));
    assert_eq!(from_number(0).as_deref(), Some(""));
}

#[test]
fn what_is_no_mode_is_refused() {
    assert_eq!(from_names("ANSI,NO_AUTO_CREATE_USER,x"), Err("NO_AUTO_CREATE_USER"));
    assert_eq!(from_names("ANSI, NO_ZERO_DATE"), Err(" NO_ZERO_DATE"));
    assert_eq!(from_names("4"), Err("4"));
    assert_eq!(from_number(16), None);
    assert_eq!(from_number(1 << 33), None);
}
