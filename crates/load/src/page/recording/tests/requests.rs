//! When requests leave, and what the first frame waits for.

use super::load::*;
use super::{Value, instant, slice, url};
use crate::page::{ComputeSpec, On};
use serde_json::json;

/// That the network service has a request, and when; 0.4 ms later it is sent.
fn responded(path: &str, at: u64, network: u64) -> Value {
    let timing =
        json!({"requestTime": network as f64 / 1e6, "dnsStart": -1, "sendStart": 0.4, "receiveHeadersEnd": 1.0});
    instant("ResourceReceiveResponse", at, json!({"requestId": path, "timing": timing}))
}

#[test]
fn fonts_that_are_asked_for_before_the_body_keep_the_first_frame_waiting_and_later_ones_do_not() {
    let page = "<link rel=preload as=font href=f><link rel=stylesheet href=s><body><p>";
    let preload = |mut load: Load, at: u64| {
        let mut initiator = place(load.document, "<link rel=preload as=font href=f>");
        initiator["isLinkPreload"] = true.into();
        load.events.push(sent_by("f", at, "Font", "non_blocking", initiator));
        load.fetch("f", "font", 60_000)
    };
    let drawn = |load: Load| {
        load.happens(vec![slice("RunTask", 50_000, 4_000, Value::Null), slice("Layout", 50_000, 4_000, Value::Null)])
            .graph()
    };
    let found = Load::of(page).scanned("s", "Stylesheet", "blocking", "<link rel=stylesheet href=s>");
    let found = found.fetch("s", "stylesheet", 18_000).parse(20_000);
    let file = drawn(preload(found, 14_600));
    let needs = |name: &str| -> Vec<(String, f64)> {
        let node = file.compute.iter().find(|node| node.name.starts_with(name)).expect(name);
        node.needs.iter().flatten().map(|need| (need.node.clone(), need.timer_ms)).collect()
    };
    let [gate, drawable] = ["fonts, or late", "frame without fonts"].map(str::to_owned);
    let parsed = file.documents[&url("")].body.clone();
    assert_eq!(needs("render"), [(drawable.clone(), 0.0), (gate.clone(), 0.0)]);
    assert_eq!(needs("fonts"), [(url("f"), 0.0)]);
    assert_eq!(needs(&drawable), [(url("s"), 0.0), (parsed.clone(), 0.0)]);
    let last = file.compute.iter().rfind(|node| node.name.starts_with("parse")).unwrap().name.clone();
    assert_eq!(needs(&gate), [("fonts".to_owned(), 0.0), (drawable, 100.0), (url(""), 1500.0), (last, 0.0)]);
    assert!(file.compute.iter().all(|node| node.any_need == (node.name == gate)));

    let found = Load::of(page).scanned("s", "Stylesheet", "blocking", "<link rel=stylesheet href=s>");
    let found = found.fetch("s", "stylesheet", 18_000).parse(20_000);
    let late = slice("FunctionCall", 40_000, 1_000, json!({"frame": "F"}));
    let sent = sent_by("f", 40_500, "Font", "non_blocking", script());
    let file =
        drawn(found.happens(vec![slice("RunTask", 40_000, 1_000, Value::Null), late, sent]).fetch("f", "font", 60_000));
    assert!(file.compute.iter().all(|node| node.name != "fonts"), "{:?}", file.compute);
}

#[test]
fn a_script_that_waits_for_the_first_frame_does_not_keep_it_waiting() {
    let page = "<link rel=preload as=font href=f><script src=a></script><body><script src=b></script><script defer src=d></script>";
    let load = Load::of(page).scanned("a", "Script", "blocking", "<script src=a>");
    let load = load.scanned("b", "Script", "blocking", "<script src=b>");
    let mut font = place(page, "<link rel=preload as=font href=f>");
    font["isLinkPreload"] = true.into();
    let load = load.happens(vec![sent_by("f", 14_600, "Font", "non_blocking", font)]);
    let load = load.fetch("f", "font", 17_000).fetch("a", "script", 18_000).runs("a", 20_000);
    let load = load.fetch("b", "script", 22_500).runs("b", 24_000);
    // An observer of the first script's, called by the first layout, preloads what the parser comes to later.
    let called = json!({"frame": "F", "url": url("a"), "lineNumber": 1, "columnNumber": 1});
    let mut preload = script();
    preload["isLinkPreload"] = true.into();
    let load = load.happens(vec![
        slice("RunTask", 30_000, 2_000, Value::Null),
        slice("Layout", 30_000, 2_000, Value::Null),
        slice("RunTask", 34_000, 2_000, Value::Null),
        slice("FunctionCall", 34_000, 2_000, called),
        sent_by("d", 34_500, "Script", "non_blocking", preload),
    ]);
    let file = load.fetch("d", "script", 60_000).parse(70_000).runs("d", 80_000).graph();
    let gate = file.compute.iter().find(|node| node.any_need).expect("a font was asked for before the body");
    assert!(gate.needs.iter().flatten().all(|need| need.node != run("d")), "{gate:?}");
    assert!(file.build().is_ok(), "nothing waits for itself");
}

#[test]
fn an_observer_waits_for_its_script_and_a_layout_whatever_else_its_task_does() {
    let page = "<script src=a></script><body><p>";
    let load = Load::of(page).scanned("a", "Script", "blocking", "<script src=a>");
    let load = load.fetch("a", "script", 18_000).runs("a", 20_000).parse(28_000);
    let called = json!({"frame": "F", "url": url("a"), "lineNumber": 1, "columnNumber": 1});
    let load = load.happens(vec![
        slice("RunTask", 34_000, 2_000, Value::Null),
        slice("Layout", 34_000, 2_000, Value::Null),
        slice("RunTask", 40_000, 6_000, Value::Null),
        slice("FunctionCall", 44_000, 2_000, called),
    ]);
    let file = load.graph();
    let named = |what: &str| file.compute.iter().find(|node| node.name.starts_with(what)).unwrap();
    let waits: Vec<&str> = named("callback").needs.iter().flatten().map(|need| &*need.node).collect();
    assert_eq!(waits, [&run("a"), &named("render").name]);
    let busy: Vec<f64> =
        file.compute.iter().rev().filter(|node| node.main_thread).take(2).map(|node| node.ms).collect();
    assert_eq!(busy, [2.0, 4.0], "what the task did before it called the observer stays");
}

#[test]
fn a_layout_before_the_body_keeps_no_later_one_waiting() {
    let page = "<link rel=stylesheet href=s><script src=a></script><body><p><script src=b></script>";
    let drawn = |at: u64| vec![slice("RunTask", at, 2_000, Value::Null), slice("Layout", at, 2_000, Value::Null)];
    let load = Load::of(page).scanned("s", "Stylesheet", "blocking", "<link rel=stylesheet href=s>");
    let load =
        load.scanned("a", "Script", "blocking", "<script src=a>").scanned("b", "Script", "blocking", "<script src=b>");
    let load = load.fetch("s", "stylesheet", 17_000).happens(drawn(18_000));
    let load = load.fetch("a", "script", 21_000).fetch("b", "script", 22_000).runs("a", 24_000);
    let load = load.parse(27_000).runs("b", 34_000);
    let file = load.happens(drawn(40_000)).graph();
    let layouts: Vec<&str> =
        file.compute.iter().map(|node| &*node.name).filter(|name| name.starts_with("render")).collect();
    assert_eq!(layouts.len(), 2);
    let before = before(&file, layouts[1]);
    assert!(before.contains(&url("s")) && !before.contains(&run("b")), "{before:?}");
}

#[test]
fn a_request_takes_as_long_as_it_took_to_the_network_unless_it_was_held_back() {
    let load = Load::of("<body><p>").parse(20_000);
    let asked = ["a", "b", "c", "d"].map(|path| sent_by(path, 30_500, "Image", "", script()));
    let mut events =
        vec![slice("RunTask", 30_000, 2_000, Value::Null), slice("FunctionCall", 30_000, 2_000, json!({"frame": "F"}))];
    events.extend(asked);
    events.push(slice("RunTask", 250_000, 3_000, Value::Null));
    let network = [("a", 31_500), ("b", 32_500), ("c", 33_500), ("d", 248_000)];
    events.extend(network.map(|(path, at)| responded(path, 250_500, at)));
    let mut load = load.happens(events);
    load.fetched.extend(["a", "b", "c", "d"].map(|path| (path, "image", path)));
    let file = load.graph();
    let took = ["a", "b", "c", "d"].map(|path| {
        let object = file.objects.iter().find(|object| object.url == url(path)).unwrap();
        object.needs.as_ref().unwrap()[0].ms
    });
    assert_eq!(took, [2.0, 3.0, 3.0, 3.0], "0.6 ms after the beginning of its node; the lower quartile is 2.4 ms");
}

#[test]
fn looking_up_the_host_belongs_to_no_request() {
    let mut response = responded("a", 250_500, 31_500);
    let timing = &mut response["args"]["data"]["timing"];
    (timing["dnsStart"], timing["connectStart"], timing["sendStart"]) = (0.into(), 20.into(), 80.into());
    let mut load = Load::of("<body><p>").parse(20_000).happens(vec![
        slice("RunTask", 30_000, 2_000, Value::Null),
        slice("FunctionCall", 30_000, 2_000, json!({"frame": "F"})),
        sent_by("a", 30_500, "Image", "", script()),
        slice("RunTask", 250_000, 3_000, Value::Null),
        response,
    ]);
    load.fetched.push(("a", "image", "a"));
    let file = load.graph();
    let object = file.objects.iter().find(|object| object.url == url("a")).unwrap();
    assert_eq!(object.needs.as_ref().unwrap()[0].ms, 1.6, "0.6 ms after the beginning of its node");
}

#[test]
fn a_font_that_a_style_needs_is_asked_for_when_the_task_is_over() {
    let load = Load::of("<body><p>text").parse(20_000);
    let style = json!({"type": "css", "url": url("")});
    let load = load.happens(vec![
        slice("RunTask", 30_000, 20_000, Value::Null),
        slice("UpdateLayoutTree", 30_000, 3_000, Value::Null),
        sent_by("f", 31_000, "Font", "non_blocking", style.clone()),
        sent_by("i", 32_000, "Image", "", style),
        slice("Layout", 34_000, 15_000, Value::Null),
    ]);
    let file = load.fetch("f", "font", 60_000).fetch("i", "image", 62_000).graph();
    let asked = |path: &str| {
        let object = file.objects.iter().find(|object| object.url == url(path)).unwrap();
        let need = object.needs.as_ref().unwrap().last().unwrap();
        assert_eq!(need.on, On::Start);
        need.ms
    };
    assert_eq!(asked("f") - asked("i"), 18.0, "an image is asked for at once");
}

#[test]
fn a_layout_of_a_picture_is_none_of_the_page() {
    let page = "<link rel=stylesheet href=s><body><p><script src=a></script>";
    let drawn = |at: u64, frame: &str| {
        vec![slice("RunTask", at, 2_000, Value::Null), slice("Layout", at, 2_000, json!({"frame": frame}))]
    };
    let first = |frame: &str| {
        let load = Load::of(page).scanned("s", "Stylesheet", "blocking", "<link rel=stylesheet href=s>");
        let load = load.scanned("a", "Script", "blocking", "<script src=a>").fetch("s", "stylesheet", 17_000);
        let load = load.parse(20_000).happens(drawn(28_000, frame)).fetch("a", "script", 31_000).runs("a", 34_000);
        let file = load.happens(drawn(40_000, "F")).graph();
        let last = file.compute.iter().rfind(|node| node.name.starts_with("render")).unwrap();
        before(&file, &last.name).contains(&run("a"))
    };
    assert!(first("F"), "the page has been drawn, and the script is what changed since");
    assert!(!first("P"), "the page is drawn for the first time");
}

#[test]
fn what_is_redirected_becomes_urgent_before_that() {
    let load = Load::of("<body><p><img src=i>").scanned("i", "Image", "non_blocking", "<img src=i>").parse(20_000);
    let mut load = load.happens(vec![
        slice("RunTask", 50_000, 4_000, Value::Null),
        slice("Layout", 50_000, 3_000, Value::Null),
        slice("ResourceChangePriority", 53_100, 7, json!({"requestId": "i", "priority": "VeryHigh"})),
        slice("RunTask", 70_000, 1_000, Value::Null),
        sent_by("j", 70_100, "Image", "non_blocking", json!({"type": "other"})),
    ]);
    load.fetched.extend([("i", "image", "i"), ("j", "image", "i")]);
    let file = load.graph();
    let raised: Vec<&str> =
        file.objects.iter().filter(|object| object.raised.is_some()).map(|object| &*object.url).collect();
    assert_eq!(raised, [url("i")]);
}

#[test]
fn a_later_layout_waits_for_the_fonts_that_have_come_since_the_one_before() {
    let drawn = |load: Load, at: u64| {
        load.happens(vec![slice("RunTask", at, 2_000, Value::Null), slice("Layout", at, 2_000, Value::Null)])
    };
    let asked = |path: &'static str, at: u64| {
        let sent = sent_by(path, at, "Font", "non_blocking", json!({"type": "css", "url": url("")}));
        vec![slice("RunTask", at - 100, 1_000, Value::Null), slice("Layout", at - 50, 900, Value::Null), sent]
    };
    let load = drawn(Load::of("<body><p>text").parse(20_000), 30_000);
    let load = load.happens(asked("f", 33_000)).fetch("f", "font", 40_000);
    let file = drawn(drawn(load, 50_000), 60_000).graph();
    let waits = |node: &ComputeSpec| node.needs.iter().flatten().any(|need| need.node == url("f"));
    let layouts: Vec<bool> = file.compute.iter().filter(|node| node.name.starts_with("render")).map(waits).collect();
    assert_eq!(layouts, [false, false, true, false]);
}

#[test]
fn how_long_arrivals_take_is_less_what_the_thread_did_meanwhile() {
    let came = |path: &str, network: u64, told: u64| {
        vec![
            slice("RunTask", told - 100, 1_000, Value::Null),
            instant("ResourceFinish", told, json!({"requestId": path, "finishTime": network as f64 / 1e6})),
        ]
    };
    let mut load = Load::of("<img src=a><img src=b><img src=c><img src=d>").parse(20_000);
    load.fetched.extend(["a", "b", "c", "d"].map(|path| (path, "image", path)));
    let load = load.happens(came("a", 40_000, 42_000)).happens(came("b", 50_000, 53_000));
    let load = load.happens(vec![slice("RunTask", 60_000, 30_000, Value::Null)]).happens(came("c", 65_000, 91_000));
    let load = load.happens(came("d", 66_000, 93_000));
    // They are told 2, 3, 26 and 27 ms later, 0.1 ms of it in tasks of their own; the last two also behind 25 and 25 ms.
    assert_eq!(load.graph().arrival_ms, 1.9);
}

#[test]
fn an_image_that_a_layout_finds_in_the_view_becomes_urgent_with_it() {
    let page = "<body><p><img src=i>";
    let load =
        Load::of(page).scanned("i", "Image", "non_blocking", "<img src=i>").fetch("i", "image", 90_000).parse(20_000);
    let raised =
        |class: &str, at: u64| slice("ResourceChangePriority", at, 7, json!({"requestId": "i", "priority": class}));
    let layout = vec![
        slice("RunTask", 50_000, 4_000, Value::Null),
        slice("Layout", 50_000, 3_000, Value::Null),
        raised("Low", 53_050),
        raised("VeryHigh", 53_100),
    ];
    let file = load.happens(layout).graph();
    let with = "priority of ".to_owned() + &url("i");
    let object = file.objects.iter().find(|object| object.url == url("i")).unwrap();
    let urgency = object.raised.as_ref().map(|raised| (raised.urgency.get(), raised.with.clone()));
    assert_eq!(urgency, Some((0, with.clone())));
    let node = file.compute.iter().find(|node| node.name == with).unwrap();
    let [need] = &node.needs.as_ref().unwrap()[..] else { panic!("{node:?}") };
    assert_eq!((need.on, need.ms), (On::Start, 0.1), "in the work behind the layout");
    assert!(need.node.starts_with("work"), "{need:?}");
    assert_eq!(file.build().unwrap().raises.len(), 1, "less urgent is not raised");
}

#[test]
fn a_later_layout_waits_for_the_first_change_since_the_one_before() {
    let drawn = |at: u64| vec![slice("RunTask", at, 2_000, Value::Null), slice("Layout", at, 2_000, Value::Null)];
    let called = |at: u64| {
        let call = slice("FunctionCall", at, 2_000, json!({"frame": "F"}));
        vec![slice("RunTask", at, 2_000, Value::Null), call]
    };
    let load = Load::of("<body><p>").parse(20_000).happens(drawn(30_000));
    let load = load.happens(called(40_000)).happens(called(43_000)).happens(drawn(50_000));
    let file = load.happens(called(60_000)).happens(drawn(70_000)).graph();
    let named =
        |what: &str| -> Vec<&ComputeSpec> { file.compute.iter().filter(|node| node.name.starts_with(what)).collect() };
    let calls: Vec<&str> = named("callback").iter().map(|node| &*node.name).collect();
    let waits: Vec<&str> = named("render")[1..].iter().map(|node| &*node.needs.as_ref().unwrap()[0].node).collect();
    assert_eq!(waits, [calls[0], calls[2]]);
}
