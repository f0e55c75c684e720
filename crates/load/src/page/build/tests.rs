use super::*;

fn page(json: &str) -> Result<Page, PageError> {
    PageFile::from_json(json.as_bytes())?.build()
}

#[test]
fn the_smallest_page_file_is_a_page() {
    let page = page(
        r#"{"objects": [{"url": "https://a.test/", "bytes": 12800}, {"url": "https://a.test/1", "bytes": 2600}]}"#,
    );
    let page = page.unwrap();
    assert_eq!((page.objects, page.hosts.len()), (2, 1));
    assert!(page.activities[0].needs.is_empty());
    assert_eq!(page.activities[1].needs[0].on, ActivityId(0));
    let sizes: Vec<_> = page.fetches().map(|(_, f)| (f.request.http1_len(), f.response.http1_len())).collect();
    assert_eq!(sizes, [(400, 250), (400, 250)]);
}

#[test]
fn stated_head_sizes_are_met_exactly_or_refused() {
    for size in [120, 150, 151, 152, 153, 154, 155, 156, 157, 158, 159, 160, 161, 162, 163, 164, 165, 166, 400, 2000] {
        let built = page(&format!(
            r#"{{"objects": [{{"url": "http://a.test/", "bytes": 1, "request_header_bytes": {size}}}]}}"#
        ));
        match built {
            Ok(page) => assert_eq!(page.fetches().next().unwrap().1.request.http1_len(), size),
            Err(error) => assert!(size < 167, "{error}"),
        }
    }
}

#[test]
fn all_heads_of_one_host_share_their_padding() {
    let page = page(
        r#"{"objects": [{"url": "http://a.test/", "bytes": 1}, {"url": "http://a.test/1", "bytes": 1},
            {"url": "http://b.test/", "bytes": 1}]}"#,
    )
    .unwrap();
    let cookies: Vec<_> = page.fetches().map(|(_, f)| f.request.fields.get(b"cookie").unwrap().to_vec()).collect();
    assert_eq!(cookies[0][..cookies[1].len()], cookies[1]);
    assert_ne!(cookies[0], cookies[2]);
}

#[test]
fn what_a_page_file_may_not_say_is_refused_with_its_place() {
    let message = |json: &str| page(json).unwrap_err().to_string();
    let object = |rest: &str| message(&format!(r#"{{"objects": [{{"url": "https://a.test/", "bytes": 1{rest}}}]}}"#));
    assert!(message("{").contains("not a page file"));
    assert!(message(r#"{"objects": []}"#).contains("no objects"));
    assert!(message(r#"{"objects": [{"url": "ftp://a/", "bytes": 1}]}"#).contains("object 0"));
    assert!(message(r#"{"objects": [{"url": "https://a.test/", "bytes": -1}]}"#).contains("not a page file"));
    assert!(object(r#", "colour": 1"#).contains("colour"));
    assert!(object(r#", "think_ms": -1"#).contains("think_ms is -1"));
    assert!(object(r#", "method": "get""#).contains("method"));
    assert!(object(r#", "status": 100"#).contains("status"));
    assert!(object(r#", "request_header_bytes": 20"#).contains("20, but"));
    assert!(object(r#", "request_header_bytes": 4000000"#).contains("32768"));
    let second = |rest: &str| {
        let root = r#"{"url": "https://a.test/", "bytes": 1}"#;
        message(&format!(r#"{{"objects": [{root}, {{"url": "https://a.test/1", "bytes": 1{rest}}}]}}"#))
    };
    assert!(second(r#", "needs": [{"node": "x"}]"#).contains("'x'"));
    assert!(second(r#", "needs": [{"node": "https://a.test/1"}]"#).contains("waits for itself"));
    assert!(object(r#", "needs": [{"node": "https://a.test/"}]"#).contains("cannot have needs"));
    assert!(object(r#", "think_ms": 120001"#).contains("patience"));
    let hosts = r#""hosts": {"a.test": {"served_by": "b.test"}, "b.test": {"served_by": "c.test"}}"#;
    let root = r#""objects": [{"url": "https://a.test/", "bytes": 1}]"#;
    let own = r#""hosts": {"a.test": {"served_by": "A.test"}, "b.test": {"served_by": "a.test"}}"#;
    assert!(page(&format!("{{{root}, {own}}}")).is_ok(), "a host may be said to be served by itself");
    let chain = message(&format!("{{{root}, {hosts}}}"));
    assert!(chain.contains("host 'a.test': served_by is 'b.test'") && chain.contains("name the same one"), "{chain}");
}

#[test]
fn two_objects_of_one_url_need_names() {
    let twice = |name: &str| {
        page(&format!(
            r#"{{"objects": [{{"url": "https://a.test/", "bytes": 1}}, {{"url": "https://a.test/", "bytes": 1{name}}}]}}"#
        ))
    };
    assert!(matches!(twice(""), Err(PageError::Duplicate(_))));
    assert!(twice(r#", "name": "again""#).is_ok());
}

#[test]
fn objects_of_one_path_are_told_apart_and_keep_the_size_of_their_heads() {
    let built = page(
        r#"{"objects": [{"url": "https://a.test/x", "bytes": 1}, {"url": "https://a.test/x", "bytes": 1, "name": "2"},
            {"url": "https://a.test/x?2", "bytes": 1}, {"url": "https://b.test/x", "bytes": 1},
            {"url": "https://a.test/x", "bytes": 1, "name": "3", "method": "HEAD"}]}"#,
    );
    let built = built.unwrap();
    let paths: Vec<_> = built.fetches().map(|(_, f)| String::from_utf8(f.request.path.to_vec()).unwrap()).collect();
    assert_eq!(paths, ["/x", "/x?2", "/x?2&2", "/x", "/x?3"]);
    assert!(built.fetches().all(|(_, f)| f.request.http1_len() == 400));
}

#[test]
fn the_root_is_always_needed() {
    let built = page(r#"{"objects": [{"url": "https://a.test/", "bytes": 1, "needed": false}]}"#).unwrap();
    assert_eq!(built.activities[0].needed, Needed::Always);
}

#[test]
fn a_cycle_is_found_wherever_it_is() {
    let error = page(
        r#"{"objects": [{"url": "https://a.test/", "bytes": 1},
            {"url": "https://a.test/1", "bytes": 1, "needs": [{"node": "think"}]}],
            "compute": [{"name": "think", "ms": 5, "needs": [{"node": "https://a.test/1", "on": "start"}]}]}"#,
    );
    assert!(matches!(error, Err(PageError::Cycle(_))));
}

#[test]
fn urls_are_split_as_browsers_do() {
    let split = |url| Url::split(url).map(|u| (u.secure, u.authority, u.target()));
    assert_eq!(split("https://a.test:443/x?y#z"), Some((true, "a.test", "/x?y".to_owned())));
    assert_eq!(split("HTTP://u:p@a.test:8080"), Some((false, "a.test:8080", "/".to_owned())));
    assert_eq!(split("http://a.test?q=1"), Some((false, "a.test", "/?q=1".to_owned())));
    for bad in ["data:image/png;base64,xyz", "https:///x", "a.test/x", "https://a test/", "https://a/\nx", "ws://a/"] {
        assert_eq!(split(bad), None, "{bad}");
    }
}
