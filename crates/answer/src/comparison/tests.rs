//! Comparisons of runs that are made up.

use super::*;
use crate::CONFIDENCE;

type Parts<'a> = &'a [(Part, f64)];

/// A run that took what its account says.
fn run(parts: Parts<'_>) -> TimedRun {
    let mut account = [0.0; Part::ALL.len()];
    for (part, ms) in parts {
        account[Part::ALL.iter().position(|other| other == part).unwrap()] += ms;
    }
    TimedRun { seed: 1, plt_ms: Some(account.iter().sum()), account: Some(account) }
}

fn transfer(ms: f64) -> TimedRun {
    run(&[(Part::Transfer, ms)])
}

const FAILED: TimedRun = TimedRun { seed: 1, plt_ms: None, account: None };

fn contender(name: &str, runs: &[TimedRun]) -> Contender {
    let protocol = name.split(' ').next().unwrap().to_owned();
    let runs = runs.iter().zip(1..).map(|(run, seed)| TimedRun { seed, ..*run }).collect();
    Contender { name: name.to_owned(), protocol, runs }
}

fn exact(contenders: &[Contender]) -> Comparison {
    Comparison::of(contenders, None, CONFIDENCE).unwrap()
}

fn reason(contenders: &[Contender]) -> String {
    exact(contenders).reason.unwrap()
}

fn base() -> Contender {
    let parts = [(Part::WaitingForConnection, 405.0), (Part::Handshakes, 360.0), (Part::Transfer, 133.0)];
    contender("h1 IW 3", &[run(&parts)])
}

#[test]
fn the_winner_is_explained_against_the_baseline() {
    let parts = [
        (Part::WaitingForConnection, 200.0),
        (Part::Handshakes, 200.0),
        (Part::Transfer, 133.0),
        (Part::LossRecovery, 53.0),
    ];
    assert_eq!(
        reason(&[base(), contender("h2 IW 10", &[run(&parts)])]),
        "h2 IW 10 saves 312 ms against h1 IW 3: 205 ms less waiting for a connection and 160 ms less in handshakes, \
         against 53 ms more in loss recovery."
    );
}

#[test]
fn a_baseline_that_wins_is_explained_against_another_protocol() {
    let (sibling, h2) = (contender("h1 IW 10", &[transfer(900.0)]), contender("h2 IW 3", &[transfer(950.0)]));
    let said = reason(&[base(), sibling.clone(), h2]);
    assert!(said.contains("against h2 IW 3, the best of another protocol: "), "{said}");
    let said = reason(&[base(), sibling]);
    assert!(said.contains("against h1 IW 10, the next best: "), "{said}");
}

#[test]
fn alone_or_without_accounts_there_is_no_reason() {
    assert_eq!(exact(&[base()]).reason, None);
    assert_eq!(exact(&[contender("h1", &[FAILED]), contender("h2", &[transfer(5.0)])]).reason, None);
    let unaccounted = TimedRun { account: None, ..transfer(20.0) };
    assert_eq!(exact(&[base(), contender("h2", &[unaccounted])]).reason, None);
    let nothing = exact(&[contender("h1", &[FAILED])]);
    assert_eq!((nothing.fastest, nothing.best, nothing.reason), (None, None, None));
    assert_eq!(nothing.verdict, "No run was completed: nothing can be compared.");
}

#[test]
fn what_chance_may_explain_is_said() {
    let handshakes = |ms: f64| run(&[(Part::Handshakes, ms)]);
    let of = |name: &str, times: [f64; 7]| contender(name, &times.map(handshakes));
    let base = of("h1 IW 3", [710.0, 640.0, 720.0, 780.0, 700.0, 715.0, 705.0]);
    let h2 = of("h2 IW 3", [700.0, 790.0, 690.0, 630.0, 760.0, 650.0, 710.0]);
    let compared = Comparison::of(&[base, h2], Some(&mut Draws::new(1)), CONFIDENCE).unwrap();
    assert_eq!(
        (compared.fastest, compared.best, compared.rivals),
        (Some(1), None, vec![0]),
        "no star stands on chance"
    );
    assert!(
        compared.verdict.starts_with("No clear winner: h2 IW 3 has the least median; against h1 IW 3 no difference")
    );
    assert_eq!(
        compared.reason.unwrap(),
        "In the median runs h2 IW 3 saves 10 ms against h1 IW 3, which chance alone may explain, all of it in handshakes."
    );
    assert!(compared.variants[1].effect.as_ref().unwrap().starts_with("no difference that 7 runs could show"));
    assert_eq!(compared.variants[1].ranks.unwrap().pairs, 7);
}

#[test]
fn of_equals_nothing_is_claimed() {
    let same = Contender { name: "h2".to_owned(), protocol: "h2".to_owned(), ..base() };
    assert_eq!(reason(&[base(), same]), "h1 IW 3 and h2 take equally long to the millisecond, part by part.");
    let other = contender("h2 IW 3", &[run(&[(Part::Handshakes, 300.0), (Part::Transfer, 598.0)])]);
    assert_eq!(
        reason(&[base(), other]),
        "h1 IW 3 and h2 IW 3 take equally long to the millisecond: 465 ms less in transfer, against 405 ms more waiting \
         for a connection and 60 ms more in handshakes."
    );
}

#[test]
fn a_winner_that_is_slower_won_by_completing() {
    let base = contender("h1", &[transfer(100.0), FAILED]);
    let h2 = contender("h2", &[transfer(300.0), transfer(310.0)]);
    let said = reason(&[base, h2]);
    assert_eq!(said, "h2 is ahead because 2 of 2 of its runs were completed, against 1 of 2 of h1.");
}

#[test]
fn what_cannot_differ_cancels() {
    let slow = run(&[(Part::Transfer, 600.0), (Part::Server, 500.0), (Part::PageItself, 100.0)]);
    // Through other objects: 464 ms less on the server, 494 ms more in the page itself.
    let fast = run(&[(Part::Transfer, 400.0), (Part::Server, 36.0), (Part::PageItself, 594.0)]);
    assert_eq!(
        reason(&[contender("h1", &[slow]), contender("h2", &[fast])]),
        "h2 saves 170 ms against h1: 200 ms less in transfer, against 30 ms more because another object came last."
    );
}

#[test]
fn parts_that_are_nothing_by_themselves_are_not_named() {
    let of = |name: &str, each: f64, server: f64| {
        let mut parts: Vec<(Part, f64)> = Part::ALL.map(|part| (part, each)).to_vec();
        parts.push((Part::Server, server));
        contender(name, &[run(&parts)])
    };
    let slow = of("h1", 20.0, 0.0);
    // 140 and 139.3 are shown as 140 and 139.
    let said = reason(&[slow.clone(), of("h2", 19.9, 0.0)]);
    assert_eq!(said, "h2 saves 1 ms against h1, spread over several parts.");
    let said = reason(&[slow, of("h3", 19.7, -9.7)]);
    assert_eq!(said, "h3 saves 12 ms against h1: 10 ms less because another object came last and 2 ms less elsewhere.");
}

#[test]
fn the_account_is_the_median_run_s() {
    for (times, middle) in [
        (&[5.0][..], &[5.0][..]),
        (&[9.0, 1.0, 5.0], &[5.0]),
        (&[1.0, 9.0, 5.0, 2.0], &[2.0, 5.0]),
        (&[], &[]),
        (&[4.0, 4.0], &[4.0, 4.0]),
    ] {
        let mut runs: Vec<TimedRun> = times.iter().map(|ms| transfer(*ms)).collect();
        runs.push(FAILED);
        let alone = &exact(&[contender("h1", &runs)]).variants[0];
        assert_eq!((alone.completed, alone.runs), (times.len(), times.len() + 1));
        let median = (!middle.is_empty()).then(|| middle.iter().sum::<f64>() / middle.len() as f64);
        assert_eq!((alone.median_ms, alone.account.map(|account| account.iter().sum())), (median, median));
        assert_eq!(alone.middle.map(|at| times[at]), middle.first().copied());
    }
}

#[test]
fn only_seeds_under_which_both_completed_are_compared() {
    let base = contender("h1", &[transfer(100.0), transfer(200.0), FAILED]);
    let h2 = contender("h2", &[FAILED, transfer(100.0), transfer(1.0)]);
    let compared = exact(&[base.clone(), h2]);
    assert_eq!(compared.variants[1].gain.unwrap().ratio, 2.0);
    // Of as many completed runs the least median: 50.5 ms.
    assert_eq!(compared.best, Some(1));
    let short = contender("h2", &[transfer(1.0)]);
    assert_eq!(Comparison::of(&[base, short], None, CONFIDENCE), Err(NotPairs { baseline: 3, variant: 1 }));
}

/// Comparisons of these variants, each with so many ms under each seed.
fn random(variants: &[(&str, [f64; 8])]) -> Comparison {
    let contenders: Vec<Contender> = variants.iter().map(|(name, ms)| contender(name, &ms.map(transfer))).collect();
    Comparison::of(&contenders, Some(&mut Draws::new(1)), CONFIDENCE).unwrap()
}

/// Loads of about 1 s, by this factor.
fn loads(factor: f64) -> [f64; 8] {
    [1000.0, 1003.0, 998.0, 1010.0, 994.0, 1001.0, 1005.0, 990.0].map(|ms| ms * factor)
}

/// The same about the same middle, in another order.
fn shuffled(factor: f64) -> [f64; 8] {
    [1005.0, 990.0, 1003.0, 1000.0, 1010.0, 994.0, 998.0, 1001.0].map(|ms| ms * factor)
}

#[test]
fn the_best_is_clearly_faster_than_every_other() {
    let compared = random(&[("h1", loads(1.0)), ("h2", loads(0.8)), ("spdy", loads(0.9))]);
    assert_eq!((compared.best, compared.rivals.len()), (Some(1), 0));
    assert!(compared.verdict.starts_with("Best: h2, against h1 1.25 times as fast"), "{}", compared.verdict);
    let compared = random(&[("h1", loads(0.8)), ("h2", loads(1.0))]);
    assert_eq!((compared.best, compared.verdict.as_str()), (Some(0), "Best: h1, the baseline."));
}

#[test]
fn of_two_that_are_not_apart_none_is_best() {
    let compared = random(&[("h1", loads(1.0)), ("h2", loads(0.8)), ("spdy", shuffled(0.8))]);
    assert_eq!((compared.fastest, compared.best, &compared.rivals), (Some(1), None, &vec![2]));
    let begin = "Better than h1: h2 and spdy, which are not clearly apart; h2 is 1.25 times as fast";
    assert!(compared.verdict.starts_with(begin), "{}", compared.verdict);
    let compared = random(&[("h1", shuffled(1.0)), ("h2", loads(1.1)), ("spdy", loads(1.0))]);
    assert_eq!((compared.best, &compared.rivals), (None, &vec![2]));
    let said = "No clear winner: h1, the baseline, has the least median, but is not clearly faster than spdy.";
    assert_eq!(compared.verdict, said);
}

#[test]
fn what_is_within_a_percent_hardly_matters_however_clear_it_is() {
    let said = "It hardly matters here: every variant is within 1 % of h1.";
    let compared = random(&[("h1", loads(1.0)), ("h2", loads(0.995)), ("spdy", loads(1.004))]);
    assert!(compared.variants[1].gain.unwrap().is_clear());
    assert_eq!((compared.is_alike, compared.best, compared.verdict.as_str()), (true, None, said));
    assert!(!random(&[("h1", loads(1.0)), ("h2", loads(0.995)), ("spdy", loads(1.02))]).is_alike);
    let exact = exact(&[contender("h1", &[transfer(1000.0)]), contender("h2", &[transfer(1009.0)])]);
    assert_eq!((exact.is_alike, exact.best, exact.verdict.as_str()), (true, None, said));
    let failed = contender("h2", &[FAILED]);
    assert!(!Comparison::of(&[contender("h1", &[transfer(1000.0)]), failed], None, CONFIDENCE).unwrap().is_alike);
}

#[test]
fn without_chance_equals_are_best_together() {
    let of = |name: &str, ms: f64| contender(name, &[transfer(ms)]);
    let compared = exact(&[of("h1", 1000.0), of("h2", 500.0), of("spdy", 500.0)]);
    assert_eq!(compared.verdict, "Best: h2, against h1 2.00 times as fast: 500 ms of 1,000 ms saved; so is spdy.");
    assert_eq!((compared.best, compared.equals, compared.rivals), (Some(1), vec![2], vec![]));
}

#[test]
fn who_loads_alike_under_every_seed_is_no_rival() {
    let loads = |factor: f64| std::array::from_fn(|at| (1000.0 + 3.0 * at as f64) * factor);
    let compared = random(&[("recorded", loads(0.5)), ("h1", loads(1.0)), ("h2", loads(0.5))]);
    assert_eq!((compared.best, compared.equals, compared.rivals), (Some(0), vec![2], vec![]));
    assert_eq!(compared.verdict, "Best: recorded, the baseline; so is h2.");
}
