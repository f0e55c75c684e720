//! One rule each, on the smallest page that shows it.

use super::load::*;
use super::{Value, instant, needs, node, slice, url};
use crate::page::{Needed, Why};
use serde_json::json;

#[test]
fn a_script_that_a_script_writes_stops_the_parser() {
    let document = "<script>1</script><p>";
    let inline = end_of(document, "<script>") + 1;
    let load = Load::of(document).happens(vec![
        slice("RunTask", 20_000, 3_000, Value::Null),
        slice("ParseHTML", 20_000, 3_000, json!({"frame": "F"})),
        evaluated("", 1, inline, 21_000, 1_500),
        slice("ParseHTML", 21_500, 500, json!({"frame": "F"})),
        sent_by("w.js", 21_700, "Script", "blocking", script()),
    ]);
    let file = load.fetch("w.js", "script", 30_000).runs("w.js", 40_000).parse(50_000).graph();
    assert!(before(&file, last_piece(&file)).contains(&run("w.js")), "{file:#?}");
    let [first, ..] = &needs(&file, &run("w.js"))[..] else { panic!() };
    assert!(first.0.starts_with("run inline") && first.2 == Some(Why::Parser), "{first:?}");
}

#[test]
fn the_parser_waits_for_a_script_that_is_missing() {
    let load = Load::of("<script src=m.js></script><p>").scanned("m.js", "Script", "blocking", "<script src=m.js>");
    let file = load.fetch("m.js", "script", 30_000).parse(40_000).graph();
    assert!(needs(&file, last_piece(&file)).contains(&node("/m.js", None, Why::Fetched)));
}

#[test]
fn a_script_whose_host_does_not_exist_stops_the_parser_until_that_is_known() {
    const SCRIPT: &str = "https://gone.test/m.js";
    let document = "<script src=https://gone.test/m.js></script><p>";
    let load = Load::of(document).scanned(SCRIPT, "Script", "blocking", "<script src=https://gone.test/m.js>");
    let file = load.fetch(SCRIPT, "script", 30_000).parse(40_000).graph();
    assert!(SCRIPT.starts_with(GONE) && file.hosts["gone.test"].name_error.is_some(), "{file:#?}");
    assert!(needs(&file, last_piece(&file)).contains(&node(SCRIPT, None, Why::Fetched)));
    assert_eq!(needed(&file, SCRIPT), Some(Needed::WhenFound));
}

#[test]
fn an_async_script_runs_after_the_parser_has_come_to_its_tag() {
    let document = "<p><script async src=a.js></script><p>";
    let tag = "<script async src=a.js>";
    let load = Load::of(document).scanned("a.js", "Script", "potentially_blocking", tag);
    let file = load.fetch("a.js", "script", 20_000).parse(30_000).runs("a.js", 40_000).graph();
    let all = needs(&file, &run("a.js"));
    let piece = &all.iter().find(|(_, _, why)| *why == Some(Why::Parser)).unwrap().0;
    let piece = piece.replace("of /", "of https://a.test/");
    assert!(needs(&file, &piece).contains(&node("/", Some(end_of(document, tag) as u64), Why::Markup)), "{all:?}");
    assert_ne!(piece, last_piece(&file), "not for the rest of the document");
}

#[test]
fn scripts_whose_async_is_false_run_in_the_order_in_which_they_were_inserted() {
    let document = "<script>1</script>";
    let inserting = |load: Load| {
        load.happens(vec![
            slice("RunTask", 20_000, 3_000, Value::Null),
            slice("ParseHTML", 20_000, 3_000, json!({"frame": "F"})),
            evaluated("", 1, end_of(document, "<script>") + 1, 21_000, 1_500),
            sent_by("a.js", 21_500, "Script", "non_blocking", script()),
            sent_by("b.js", 21_600, "Script", "non_blocking", script()),
        ])
    };
    // The second is there first, and yet runs later.
    let load = inserting(Load::of(document)).fetch("b.js", "script", 30_000).fetch("a.js", "script", 40_000);
    let file = load.runs("a.js", 50_000).runs("b.js", 60_000).graph();
    assert!(needs(&file, &run("b.js")).contains(&node("run /a.js", None, Why::Order)));
    let load = inserting(Load::of(document)).fetch("b.js", "script", 30_000).fetch("a.js", "script", 40_000);
    let file = load.runs("b.js", 50_000).runs("a.js", 60_000).graph();
    let waits = |path| needs(&file, &run(path)).iter().any(|(_, _, why)| *why == Some(Why::Order));
    assert!(!waits("a.js") && !waits("b.js"), "each when it is there");
}

#[test]
fn a_preloaded_script_runs_where_its_element_says_and_holds_up_the_load_event() {
    let document =
        "<link rel=preload as=script href=p.js><link rel=preload as=script href=q.js><script defer src=p.js>";
    let load = ["p.js", "q.js"].into_iter().fold(Load::of(document), |load, path| {
        let mut initiator = place(document, &format!("<link rel=preload as=script href={path}>"));
        initiator["isLinkPreload"] = true.into();
        load.happens(vec![sent_by(path, 14_500, "Script", "non_blocking", initiator)])
    });
    let load = load.fetch("p.js", "script", 20_000).fetch("q.js", "script", 22_000);
    let file = load.parse(30_000).runs("p.js", 40_000).graph();
    assert_eq!(needs(&file, &run("p.js"))[0].2, Some(Why::Order));
    assert_eq!((needed(&file, "p.js"), needed(&file, "q.js")), (Some(Needed::WhenFound), Some(Needed::Never)));
}

#[test]
fn modules_run_in_their_order_with_what_they_import() {
    let document =
        "<script type=module>1</script><link rel=modulepreload href=n.js><script type=module src=m.js></script>";
    let inline = end_of(document, "<script type=module>") + 1;
    let caller =
        json!({"type": "script", "fetchType": "script", "url": url(""), "lineNumber": 0, "columnNumber": inline});
    let mut hint = place(document, "<link rel=modulepreload href=n.js>");
    hint["isLinkPreload"] = true.into();
    let compiled = |path, column: usize, at| {
        let data = json!({"url": url(path), "lineNumber": 1, "columnNumber": column});
        vec![slice("RunTask", at, 100, Value::Null), slice("v8.compileModule", at, 50, data)]
    };
    let mut load = Load::of(document).happens(vec![sent_by("n.js", 14_400, "Script", "non_blocking", hint)]).scanned(
        "m.js",
        "Script",
        "non_blocking",
        "<script type=module src=m.js>",
    );
    load.texts.push(("m.js", "import { n } from './n.js';"));
    let load = load
        .parse(20_000)
        .happens(vec![slice(
            "v8.compileModule",
            21_000,
            50,
            json!({"url": url(""), "lineNumber": 1, "columnNumber": inline}),
        )])
        .happens(vec![
            slice("RunTask", 27_000, 500, Value::Null),
            sent_by("i.js", 27_100, "Script", "non_blocking", caller),
        ])
        .fetch("n.js", "script", 30_000)
        .fetch("m.js", "script", 32_000)
        .fetch("i.js", "script", 34_000);
    let load = load
        .happens(compiled("n.js", 1, 35_000))
        .happens(compiled("m.js", 1, 36_000))
        .happens(compiled("i.js", 1, 37_000));
    let module = |at| vec![slice("RunTask", at, 900, Value::Null), slice("v8.evaluateModule", at, 800, Value::Null)];
    let file = load.happens(module(40_000)).happens(module(50_000)).graph();
    let first = format!("run module of {}", url(""));
    assert!(needs(&file, &first).contains(&node("/i.js", None, Why::Import)), "{file:#?}");
    let found = needs(&file, "i.js");
    assert_eq!(found[0], node("/", Some(end_of(document, "1</script>") as u64), Why::Markup));
    let second = needs(&file, &run("m.js"));
    assert_eq!(second[0], node("run module of /", None, Why::Order));
    assert!(second.contains(&node("/n.js", None, Why::Import)), "{second:?}");
    assert_eq!(needed(&file, "n.js"), Some(Needed::WhenFound));
}

#[test]
fn scripts_wait_for_the_ends_of_redirects() {
    let mut load = Load::of("<link rel=stylesheet href=s.css><script>1</script>");
    let inline = end_of(load.document, "<script>") + 1;
    load.fetched.extend([("s.css", "stylesheet", "7"), ("t.css", "stylesheet", "7")]);
    let mut found =
        sent_by("s.css", 14_500, "Stylesheet", "blocking", place(load.document, "<link rel=stylesheet href=s.css>"));
    found["args"]["data"]["requestId"] = "7".into();
    let load = load.happens(vec![found]).parse(20_000).happens(vec![evaluated("", 1, inline, 22_000, 1_000)]);
    let file = load.graph();
    assert_eq!(needs(&file, "t.css")[0].2, Some(Why::Redirect));
    let inline = file.compute.iter().find(|node| node.name.starts_with("run inline")).unwrap().name.clone();
    assert!(needs(&file, &inline).contains(&node("/t.css", None, Why::StyleSheet)));
}

#[test]
fn a_worker_waits_for_what_it_imports_and_holds_nothing_up() {
    let mut load = Load::of("<p>").parse(20_000);
    load.fetched.extend([("w.js", "script", "w"), ("part.js", "script", "part.js"), ("d.json", "fetch", "d.json")]);
    let mut events = vec![
        json!({"name": "thread_name", "ph": "M", "pid": 1, "tid": 9, "args": {"name": "DedicatedWorker thread"}}),
        slice("RunTask", 30_000, 20_000, Value::Null),
        evaluated("w.js", 1, 1, 30_000, 20_000),
        sent_by("part.js", 31_000, "Other", "", json!({"type": "script", "fetchType": ""})),
        instant("ResourceFinish", 40_000, json!({"requestId": "part.js"})),
        evaluated("part.js", 1, 1, 41_000, 1_000),
        sent_by("d.json", 45_000, "Other", "", json!({"type": "script", "fetchType": "fetch"})),
    ];
    events.iter_mut().for_each(|event| event["tid"] = 9.into());
    let file = load.happens(events).graph();
    assert!(before(&file, &url("d.json")).contains(&run("part.js")), "{file:#?}");
    assert!(before(&file, &run("part.js")).contains(&run("w.js")));
    assert!(needs(&file, &run("part.js")).contains(&node("/part.js", None, Why::Fetched)));
    assert_eq!(["w.js", "part.js", "d.json"].map(|path| needed(&file, path)), [Some(Needed::Never); 3]);
    let on_worker: Vec<_> = file.compute.iter().filter(|node| node.ms > 0.0 && !node.main_thread).collect();
    assert_eq!(on_worker.len(), 3, "{on_worker:?}");
}

#[test]
fn a_picture_waits_for_its_element_and_a_lazy_one_for_the_layout() {
    let document = "<link rel=stylesheet href=s.css><body><i class=a></i><p class=b><img loading=lazy src=l.png></p>";
    let mut load = Load::of(document).scanned("s.css", "Stylesheet", "blocking", "<link rel=stylesheet href=s.css>");
    load.texts.push(("s.css", ".b { background: url(b.png) } .c { background: url(c.png) }"));
    let by_sheet = json!({"type": "parser", "url": url("s.css"), "lineNumber": 0, "columnNumber": 0});
    let load = load.fetch("s.css", "stylesheet", 20_000).parse(30_000).happens(vec![
        slice("RunTask", 40_000, 5_000, Value::Null),
        slice("UpdateLayoutTree", 40_000, 3_000, Value::Null),
        sent_by("b.png", 41_000, "Image", "", by_sheet),
        slice("RunMicrotasks", 44_000, 500, Value::Null),
        sent_by("l.png", 44_100, "Image", "", json!({"type": "other"})),
    ]);
    let file = load.fetch("b.png", "image", 50_000).fetch("l.png", "image", 52_000).graph();
    let byte_of = |path: &str| {
        let pieces = before(&file, &url(path)).into_iter().filter(|name| name.starts_with("parse"));
        pieces.flat_map(|piece| needs(&file, &piece)).filter_map(|(_, byte, _)| byte).max()
    };
    assert_eq!(byte_of("b.png"), Some(end_of(document, "<p class=b>") as u64), "{file:#?}");
    let lazy = needs(&file, "l.png");
    assert_eq!(lazy[0], node("/", Some(end_of(document, "src=l.png>") as u64), Why::Markup));
    assert!(lazy.iter().any(|(name, _, why)| name.starts_with("render") && *why == Some(Why::Style)), "{lazy:?}");
    assert_eq!(needed(&file, "l.png"), Some(Needed::WhenArriving), "it holds up the load event once it arrives");
}

#[test]
fn the_load_event_is_the_one_that_the_trace_marks() {
    let called = |at: u64, kind: &str| {
        let mut events = vec![slice("RunTask", at, 3_000, Value::Null)];
        events.push(slice("EventDispatch", at + 1_000, 1_000, json!({"type": kind})));
        events.push(slice(
            "FunctionCall",
            at + 1_100,
            800,
            json!({"frame": "F", "url": url(""), "lineNumber": 1, "columnNumber": 1}),
        ));
        events
    };
    let tag = "<img src=i.png>";
    let load =
        Load::of("<img src=i.png>").scanned("i.png", "Image", "", tag).parse(20_000).fetch("i.png", "image", 30_000);
    let load = load.happens(called(40_000, "load")).happens(called(50_000, "load")).happens(vec![
        instant("loadEventStart", 50_500, json!({"frame": "F"})),
        sent_by("late.png", 51_500, "Image", "", json!({"type": "script"})),
        instant("MarkLoad", 52_500, json!({"frame": "F"})),
    ]);
    let file = load.fetch("late.png", "image", 60_000).graph();
    let handler = file.compute.iter().find(|node| node.name.starts_with("event")).unwrap().name.clone();
    assert!(needs(&file, &handler).contains(&node("/i.png", None, Why::Event)));
    assert!(before(&file, &url("late.png")).contains(&"load event".to_owned()));
    assert!(needs(&file, "load event").contains(&node("/i.png", None, Why::Event)));
    assert_eq!(needed(&file, "late.png"), Some(Needed::Never));
}

#[test]
fn a_timer_that_fires_again_counts_from_where_it_fired() {
    let document = "<script>1</script>";
    let fired = |at: u64| {
        vec![
            slice("RunTask", at, 1_000, Value::Null),
            slice("TimerFire", at, 1_000, json!({"timerId": 3, "frame": "F"})),
        ]
    };
    let load = Load::of(document).parse(20_000).happens(vec![
        evaluated("", 1, end_of(document, "<script>") + 1, 21_000, 1_000),
        instant("TimerInstall", 21_500, json!({"timerId": 3, "timeout": 40.0, "frame": "F"})),
    ]);
    let file = load.happens(fired(62_000)).happens(fired(102_000)).graph();
    let timers: Vec<_> = file.compute.iter().filter(|node| node.name.starts_with("timer")).collect();
    let [first, second] = timers[..] else { panic!("{file:#?}") };
    let [need] = &second.needs.as_ref().unwrap()[..] else { panic!() };
    assert_eq!((&need.node, need.timer_ms), (&first.name, 40.0));
}

#[test]
fn computing_is_what_the_clock_says_not_the_processor() {
    let mut task = slice("RunTask", 30_000, 8_000, Value::Null);
    task["tdur"] = 2_000.into();
    let took = |load: Load| -> f64 { load.graph().compute.iter().map(|node| node.ms).sum() };
    let before = took(Load::of("<p>").parse(20_000));
    let after = took(Load::of("<p>").parse(20_000).happens(vec![task]));
    assert_eq!(after - before, 8.0, "others had the processor for 6 ms of it");
}

#[test]
fn the_load_waits_for_what_listens_to_the_end_of_parsing() {
    let dispatched = |frame: &str, at: u64| {
        vec![
            slice("RunTask", at, 3_000, Value::Null),
            slice("EventDispatch", at, 3_000, json!({"type": "DOMContentLoaded"})),
            slice("FunctionCall", at + 100, 2_000, json!({"frame": frame})),
        ]
    };
    let load = Load::of("<body><p>").parse(20_000);
    let file = load.happens(dispatched("F", 27_000)).happens(dispatched("G", 31_000)).graph();
    let events: Vec<_> =
        file.compute.iter().filter(|node| node.name.starts_with("event")).map(|node| node.needed).collect();
    assert_eq!(events, [Some(Needed::Always), None], "another frame's are no part of it");
}

#[test]
fn a_frame_that_a_script_makes_waits_for_the_place_where_it_began_to_load() {
    let of_frame = |mut event: Value, thread: u64| {
        event["tid"] = thread.into();
        event
    };
    let loads = |at: u64| instant("FrameStartedLoading", at, Value::Null);
    let named = |mut event: Value| {
        event["args"]["frame"] = "G".into();
        event
    };
    let mut sent = sent_by("g.html", 60_500, "Document", "", Value::Null);
    sent["args"]["data"]["frame"] = "G".into();
    let committed = slice("CommitLoad", 61_000, 1, json!({"frame": "G", "url": url("g.html")}));
    let load = Load::of("<script src=a.js></script>").scanned("a.js", "Script", "blocking", "<script src=a.js>");
    let mut load = load.fetch("a.js", "script", 20_000).runs("a.js", 22_000).parse(26_000).happens(vec![
        instant("TimerInstall", 23_000, json!({"timerId": 1, "timeout": 20.0})),
        slice("RunTask", 43_000, 3_000, Value::Null),
        slice("TimerFire", 43_000, 3_000, json!({"timerId": 1})),
        // Its function stands in the script, which has run long ago.
        slice("FunctionCall", 43_000, 2_900, json!({"url": url("a.js")})),
        named(loads(44_500)),
        of_frame(slice("RunTask", 60_000, 3_000, Value::Null), 9),
        of_frame(named(loads(60_200)), 9),
        of_frame(sent, 9),
        of_frame(committed, 9),
    ]);
    load.fetched.push(("g.html", "document", "g.html"));
    let file = load.graph();
    let timer = file.compute.iter().find(|node| node.kind.as_deref() == Some("timer")).unwrap();
    assert_eq!(needs(&file, "g.html"), [node(&timer.name, None, Why::Script)], "{file:#?}");
    let frame = file.objects.iter().find(|object| object.url == url("g.html")).unwrap();
    // A tenth is of the parser's task, and too short for a node.
    assert_eq!(frame.needs.as_ref().unwrap()[0].ms, 1.6, "where in the timer's callback it was made");
}

#[test]
fn what_import_asks_for_holds_up_no_load_event_as_inserted_scripts_do() {
    let asked = |priority: &str| {
        let load = Load::of("<script src=a.js></script>").scanned("a.js", "Script", "blocking", "<script src=a.js>");
        let mut sent = sent_by("b.js", 22_500, "Script", "non_blocking", script());
        sent["args"]["data"]["priority"] = priority.into();
        let call = slice("FunctionCall", 22_100, 1_000, json!({"url": url("a.js")}));
        let load = load.fetch("a.js", "script", 20_000).runs("a.js", 22_000).happens(vec![call, sent]);
        let file = load.parse(26_000).fetch("b.js", "script", 40_000).runs("b.js", 42_000).graph();
        let ran = file.compute.iter().find(|node| node.name == run("b.js")).unwrap().needed;
        (needed(&file, "b.js"), ran)
    };
    assert_eq!(asked("High"), (Some(Needed::Never), None));
    assert_eq!(asked("Low"), (Some(Needed::WhenFound), Some(Needed::WhenFound)));
}

#[test]
fn what_was_painted_lazily_waits_in_the_way_of_the_load_event_only_as_it_arrives() {
    let painted = |loading: &str| {
        let image = json!({"url": url("i.png"), "loadingAttribute": loading, "isCSS": false});
        let load = Load::of("<script src=a.js></script>").scanned("a.js", "Script", "blocking", "<script src=a.js>");
        let sent = sent_by("i.png", 22_500, "Image", "", json!({"type": "script", "fetchType": "img"}));
        let load = load.fetch("a.js", "script", 20_000).runs("a.js", 22_000).happens(vec![sent]);
        let load = load
            .parse(26_000)
            .fetch("i.png", "image", 40_000)
            .happens(vec![slice("RunTask", 50_000, 1_000, Value::Null), slice("PaintImage", 50_200, 100, image)]);
        needed(&load.graph(), "i.png")
    };
    assert_eq!(painted("lazy"), Some(Needed::WhenArriving), "a script has made it");
    assert_eq!(painted("eager"), Some(Needed::WhenFound));
}
