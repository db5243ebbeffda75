//! Streams as bytes, and the frames that they are.

use proptest::prelude::*;

use super::*;

/// The frames of a stream that comes in these pieces, as `event|id|data`.
fn frames(pieces: &[&[u8]], defects: Defects) -> Vec<String> {
    let mut parser = Parser::new(defects);
    let mut found = Vec::new();
    let show = |frame: Frame| {
        let show = |part: Option<String>| part.unwrap_or_else(|| "-".to_owned());
        format!("{}|{}|{}", frame.event, show(frame.id), show(frame.data))
    };
    for piece in pieces {
        parser.feed(piece);
        while let Some(frame) = parser.next().unwrap() {
            found.push(show(frame));
        }
    }
    found.extend(parser.end().map(show));
    found
}

#[track_caller]
fn check(stream: &str, expected: &[&str]) {
    assert_eq!(frames(&[stream.as_bytes()], Defects::NONE), expected, "{stream:?}");
    let bytes: Vec<_> = stream.as_bytes().chunks(1).collect();
    assert_eq!(frames(&bytes, Defects::NONE), expected, "{stream:?}, byte by byte");
}

#[test]
fn c_sse_3_lines_end_at_lf_crlf_and_cr() {
    check("id: e1\nevent: x\ndata: {}\n\n", &["x|e1|{}"]);
    check("id: e1\r\nevent: x\r\ndata: {}\r\n\r\n", &["x|e1|{}"]);
    check("id: e1\revent: x\rdata: {}\r\rid: e2\revent: x\rdata: {}\r\r", &["x|e1|{}", "x|e2|{}"]);
    check("id: e1\nevent: x\ndata: {}\n\r\nid: e2\ndata: {}\r\n\n", &["x|e1|{}", "|e2|{}"]);
    check("data: a\r\r\n\ndata: b\n\n", &["|-|a", "|-|b"]);
}

#[test]
fn c_sse_3_other_separators_are_data() {
    let data = "a\u{2028}b\u{2029}c\u{85}d\u{b}e\u{c}f\u{1c}g";
    check(&format!("data: {data}\n\n"), &[&format!("|-|{data}")]);
}

#[test]
fn c_sse_3_one_leading_byte_order_mark_is_dropped() {
    check("\u{feff}id: e1\ndata: x\n\n", &["|e1|x"]);
    check("\u{feff}\u{feff}id: e1\ndata: x\n\n", &["|-|x"]);
    check("data: a\u{feff}b\n\n\u{feff}data: c\n\n", &["|-|a\u{feff}b"]);
}

#[test]
fn c_sse_5_fields() {
    check("event:x\ndata:{\"a\":\ndata\ndata: 1}\n\n", &["x|-|{\"a\":\n\n1}"]);
    check("data:   \"keep two blanks\"\n\n", &["|-|  \"keep two blanks\""]);
    check(": a comment\n:\n:data: x\n\ndata: y\n\n", &["|-|y"]);
    check("colour: red\ndata: x\nDATA: y\n data: z\n\n", &["|-|x"]);
    check("data\n\n", &["|-|"]);
}

#[test]
fn c_sse_5_a_frame_without_data_has_no_effect_but_its_id() {
    check("event: run.completed\n\n", &[]);
    check("id: e5\n\n", &["|e5|-"]);
    check("event: a\n\ndata: x\n\n", &["|-|x"]);
    check("retry: 500\n\n\n\n", &[]);
}

#[test]
fn c_sse_5_ids() {
    check("id: good\nid: ba\0d\ndata: x\n\n", &["|good|x"]);
    check("id: a\ndata: x\n\ndata: y\n\n", &["|a|x", "|-|y"]);
    check("id:\ndata: x\n\nid\ndata: y\n\n", &["||x", "||y"]);
}

#[test]
fn c_sse_6_what_is_incomplete_is_dropped() {
    check("data: a\n\nid: evt_12", &["|-|a"]);
    check("data: a\n\nid: e2\ndata: b\n", &["|-|a"]);
}

#[test]
fn c_sse_20_retry_is_digits_alone() {
    let retry = |stream: &str| {
        let mut parser = Parser::new(Defects::NONE);
        parser.feed(stream.as_bytes());
        while parser.next().unwrap().is_some() {}
        parser.retry()
    };
    assert_eq!(retry("retry: 250\n"), Some(Duration::from_millis(250)));
    for nonsense in
        ["retry: soon\n", "retry: -1\n", "retry:\n", "retry: 1.5\n", "retry: 99999999999999999999999\n"]
    {
        assert_eq!(retry(nonsense), None, "{nonsense:?}");
    }
}

const ROUGH: &str = "\u{feff}: hi\r\nid: e1\r\nevent: x\r\ndata: {\"m\":\r\ndata: \"€那🙂\"}\r\n\r\nid: e2\rdata:a\r\rdata: b\n\n";

#[test]
fn c_sse_4_every_split_gives_the_same_frames() {
    let expected = frames(&[ROUGH.as_bytes()], Defects::NONE);
    assert_eq!(expected.len(), 3);
    for at in 0..ROUGH.len() {
        let (before, after) = ROUGH.as_bytes().split_at(at);
        assert_eq!(frames(&[before, after], Defects::NONE), expected, "cut at {at}");
    }
}

proptest! {
    #[test]
    fn c_sse_4_any_splits_of_any_bytes_give_the_same_frames(
        parts in proptest::collection::vec("(data|id|event|retry|:|: |a|\u{2028}|€|\0|\u{feff}|\r|\n|\r\n){0,12}", 0..6),
        cuts in proptest::collection::vec(0usize..200, 0..8),
    ) {
        let stream = parts.concat().into_bytes();
        let mut cuts: Vec<_> = cuts.into_iter().filter(|cut| *cut < stream.len()).chain([0, stream.len()]).collect();
        cuts.sort_unstable();
        let pieces: Vec<_> = cuts.windows(2).map(|pair| &stream[pair[0]..pair[1]]).collect();
        prop_assert_eq!(frames(&pieces, Defects::NONE), frames(&[&stream], Defects::NONE));
    }

    #[test]
    fn no_bytes_break_the_parser(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        frames(&[&bytes], Defects::NONE);
    }
}

#[test]
fn c_sse_7_a_large_event_is_read_whole_in_small_pieces() {
    let data = "x".repeat(1 << 20);
    let stream = format!("id: e1\ndata: {data}\n\n");
    let pieces: Vec<_> = stream.as_bytes().chunks(1024).collect();
    assert_eq!(frames(&pieces, Defects::NONE), [format!("|e1|{data}")]);
    assert!(pieces.len() > 1000);
}

/// A mistake, the pieces of a stream that shows it, and what comes of it.
#[track_caller]
fn mistake(defect: Defect, pieces: &[&str], expected: &[&str]) {
    let pieces: Vec<_> = pieces.iter().map(|piece| piece.as_bytes()).collect();
    assert_eq!(frames(&pieces, defect.into()), expected, "{}", defect.name());
    assert_ne!(frames(&pieces, Defects::NONE), expected, "{} shows nothing", defect.name());
}

#[test]
fn mistakes_show() {
    mistake(Defect::SplitsAtUnicodeSeparators, &["data: a\u{2028}b\n\n"], &["|-|a"]);
    mistake(Defect::KnowsOnlyLf, &["data: a\r\rdata: b\n\n"], &["|-|a\r\rdata: b"]);
    mistake(Defect::KeepsByteOrderMark, &["\u{feff}id: e1\ndata: a\n\n"], &["|-|a"]);
    mistake(Defect::DropsEveryByteOrderMark, &["data: a\u{feff}b\n\n"], &["|-|ab"]);
    mistake(Defect::ForgetsCrBetweenReads, &["data: 1\r", "\ndata: 2\n\n"], &["|-|1", "|-|2"]);
    mistake(Defect::ParsesEachReadAlone, &["id: e1\nda", "ta: a\n\n"], &["|e1|-"]);
    mistake(Defect::KeepsLastDataLine, &["data: a\ndata: b\n\n"], &["|-|b"]);
    mistake(Defect::KeepsFirstDataLine, &["data: a\ndata: b\n\n"], &["|-|a"]);
    mistake(Defect::NeedsBlankAfterColon, &["id:e1\ndata: b\n\n"], &["|-|b"]);
    mistake(Defect::TakesCommentsForData, &["data: a\n: b\n\n"], &["|-|a\n b"]);
    mistake(Defect::DecodesFramesWithoutData, &["\n"], &["|-|-"]);
    mistake(Defect::BelievesFramesWithoutData, &["event: x\n\n"], &["x|-|-"]);
    mistake(Defect::TakesIdWithNul, &["id: go\0od\ndata: a\n\n"], &["|go|a"]);
    mistake(Defect::DispatchesUnfinishedFrame, &["id: evt_12"], &["|evt_12|-"]);
}

#[test]
fn a_character_in_two_reads_is_lost_when_each_is_decoded_alone() {
    let (before, after) = "data: €\n\n".as_bytes().split_at(7);
    assert_eq!(frames(&[before, after], Defects::NONE), ["|-|€"]);
    assert_eq!(
        frames(&[before, after], Defect::DecodesEachReadAlone.into()),
        ["|-|\u{fffd}\u{fffd}\u{fffd}"]
    );
}

#[test]
fn broken_streams_are_told() {
    for (defect, stream) in [
        (Defect::DiesOfUnknownFields, "colour: red\n".to_owned()),
        (Defect::LimitsLinesTo64Kib, "x".repeat(70_000)),
    ] {
        let mut parser = Parser::new(defect.into());
        parser.feed(stream.as_bytes());
        assert!(parser.next().is_err(), "{}", defect.name());
    }
}
