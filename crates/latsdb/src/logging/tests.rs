use super::*;
use std::io::Read;

#[test]
fn nobody_waits_for_a_pipe_that_is_not_read() {
    let (reader, writer) = rustix::pipe::pipe().expect("a pipe");
    let mut lines = Lines { output: File::from(writer), lost: 0 };
    let line = [b"x".repeat(99), b"\n".to_vec()].concat();
    while lines.lost < 10 {
        assert_eq!(lines.write(&line).expect("lost at worst"), line.len());
    }
    let mut reader = File::from(reader);
    let mut taken = vec![0; 32 * 1024];
    reader.read_exact(&mut taken).expect("lines");
    lines.write_all(b"the next\n").expect("there is room");
    assert_eq!(lines.lost, 0);
    drop(lines);
    let mut rest = String::new();
    reader.read_to_string(&mut rest).expect("text");
    assert!(rest.ends_with("(10 lines of the log were lost: nobody took them)\nthe next\n"), "{rest}");
}

#[test]
fn a_line_that_a_pipe_might_not_take_at_once_is_cut() {
    let (reader, writer) = rustix::pipe::pipe().expect("a pipe");
    let mut lines = Lines { output: File::from(writer), lost: 0 };
    lines.write_all(&b"x".repeat(10_000)).expect("there is room");
    drop(lines);
    let mut text = String::new();
    File::from(reader).read_to_string(&mut text).expect("text");
    assert_eq!(text.len(), WITHOUT_WAITING);
    assert!(text.ends_with("x\n"));
}
