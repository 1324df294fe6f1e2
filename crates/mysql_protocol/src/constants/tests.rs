use super::*;

#[test]
fn flags_name_themselves() {
    let status = StatusFlags::AUTOCOMMIT | StatusFlags::from_bits(1 << 15);
    assert_eq!(format!("{status:?}"), "{AUTOCOMMIT, 0x8000}");
    assert!(status.contains(StatusFlags::AUTOCOMMIT));
    assert!(!status.contains(StatusFlags::AUTOCOMMIT | StatusFlags::IN_TRANSACTION));
}

#[test]
fn what_we_do_not_speak_is_not_offered() {
    for refused in [
        Capabilities::COMPRESS,
        Capabilities::ZSTD_COMPRESSION_ALGORITHM,
        Capabilities::LOCAL_FILES,
        Capabilities::SESSION_TRACK,
        Capabilities::OPTIONAL_RESULTSET_METADATA,
        Capabilities::MULTI_FACTOR_AUTHENTICATION,
        Capabilities::SSL,
    ] {
        assert_eq!(Capabilities::SERVER.intersection(refused), Capabilities::EMPTY, "{refused:?}");
    }
    assert!(Capabilities::SERVER.contains(Capabilities::CLIENT));
}

#[test]
fn column_types_know_their_bytes() {
    for &column_type in ColumnType::ALL {
        assert_eq!(ColumnType::from_byte(column_type.byte()), Some(column_type));
    }
    assert_eq!(ColumnType::from_byte(200), None);
}
