//! The same seed gives the same bits, whatever else is in the batch and however many threads there are.

use crate::{Case, attacks, small};
use standoff_nn::attack::{Attack, Ball, Grid, Judge, LabelledImages, Protocol, Run, attack, ensemble};
use standoff_nn::certify::certify;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

#[test]
fn one_and_two_threads_find_the_same_bits() {
    let model = small(5);
    let (one, two) = (Case::new(&model, 150, 1), Case::new(&model, 150, 2));
    for ball in [Ball::linf(0.02), Ball::l2(0.1).stored(Grid::Search), Ball::l1(0.6)] {
        let protocol = Protocol { attacks: attacks(), ball, judge: Judge::Worst };
        let a = ensemble(&one.engine, one.labelled(), &protocol, &Run::new(9)).unwrap();
        let b = ensemble(&two.engine, two.labelled(), &protocol, &Run::new(9)).unwrap();
        assert!(a.left() > 0 && a.left() < 150, "{} left", a.left());
        assert_eq!(a, b);
    }
}

#[test]
fn what_happens_to_an_image_does_not_depend_on_the_others() {
    let case = Case::new(&small(5), 90, 1);
    let ball = Ball::linf(0.02);
    for attack in attacks() {
        let name = attack.name();
        let run = Run::new(9);
        let all = standoff_nn::attack::attack(&case.engine, case.labelled(), &attack, &ball, &run).unwrap();
        // The first few alone.
        let few = LabelledImages { images: &case.images[..11 * 64], labels: &case.labels[..11] };
        let few = standoff_nn::attack::attack(&case.engine, few, &attack, &ball, &run).unwrap();
        assert_eq!(few.images, all.images[..11 * 64], "{name}");
        assert_eq!(few.fallen_to, all.fallen_to[..11], "{name}");
        // After another attack, which leaves a part of them.
        let attacks = vec![Attack::named("pgd3:loss=margin").unwrap(), attack];
        let protocol = Protocol { attacks, ball, judge: Judge::Worst };
        let after = ensemble(&case.engine, case.labelled(), &protocol, &run).unwrap();
        let second = &after.attacks[1];
        let tried: Vec<usize> = (0..90).filter(|&i| second.tried[i]).collect();
        assert!(tried.len() > 5 && tried.len() < 90, "{name}: {} were tried", tried.len());
        let same = tried.iter().all(|&i| second.fallen[i] != all.stands(i));
        assert!(same, "{name}");
    }
}

#[test]
fn another_seed_finds_other_images() {
    let case = Case::new(&small(5), 20, 1);
    for name in ["pgd9", "apgd-ce9", "apgd-t9x2", "smooth9", "square9", "random9"] {
        let found = |seed| {
            let attack = Attack::named(name).unwrap();
            standoff_nn::attack::attack(&case.engine, case.labelled(), &attack, &Ball::linf(0.005), &Run::new(seed))
                .unwrap()
        };
        assert_ne!(found(1).images, found(2).images, "{name}");
    }
}

#[test]
fn a_stop_flag_ends_the_attack_with_what_was_found() {
    let case = Case::new(&small(5), 20, 1);
    let (stop, told) = (AtomicBool::new(false), AtomicUsize::new(0));
    let progress = |p: standoff_nn::attack::Progress<'_>| {
        assert!((0.0..=1.0).contains(&p.done) && p.standing <= 20 && p.of == 2);
        if told.fetch_add(1, Ordering::Relaxed) == 30 {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let run = Run { stop: Some(&stop), progress: Some(&progress), ..Run::new(1) };
    let attacks = ["square100", "pgd100"].map(|n| Attack::named(n).unwrap()).to_vec();
    let protocol = Protocol { attacks, ball: Ball::linf(0.001), judge: Judge::Worst };
    let found = ensemble(&case.engine, case.labelled(), &protocol, &run).unwrap();
    assert!(found.interrupted && found.attacks.len() == 1);
    assert_eq!(told.load(Ordering::Relaxed), 31);
    let whole = attack(&case.engine, case.labelled(), &Attack::Fgsm, &Ball::linf(0.001), &Run::new(1)).unwrap();
    assert!(!whole.interrupted);
}

#[test]
fn what_is_proven_is_spared_and_nothing_else_changes() {
    let case = Case::new(&small(5), 90, 1);
    let ball = Ball::linf(0.01);
    let region = ball.region().expect("a ball inside [0, 1]");
    let proven = certify(&case.engine, &case.images, &case.labels, region).unwrap().certified;
    for judge in [Judge::Worst, Judge::Every] {
        let protocol = Protocol { attacks: attacks(), ball, judge };
        let all = ensemble(&case.engine, case.labelled(), &protocol, &Run::new(9)).unwrap();
        let told = AtomicUsize::new(0);
        let progress = |p: standoff_nn::attack::Progress<'_>| told.store(p.standing, Ordering::Relaxed);
        let run = Run { proven: Some(&proven), progress: Some(&progress), ..Run::new(9) };
        let rest = ensemble(&case.engine, case.labelled(), &protocol, &run).unwrap();
        assert_eq!((&rest.fallen_to, &rest.natural), (&all.fallen_to, &all.natural));
        let tried = |i: usize| rest.attacks.iter().any(|found| found.tried[i]);
        let spared = (0..90).filter(|&i| proven[i]).count();
        assert!(spared > 5 && all.left() > spared && all.left() < 90, "{spared} proven, {} left", all.left());
        for i in 0..90 {
            assert_eq!(tried(i), !proven[i], "image {i}");
            let span = i * 64..(i + 1) * 64;
            let same = if proven[i] { &case.images } else { &all.images };
            assert_eq!(rest.images[span.clone()], same[span], "image {i}");
        }
        assert!(rest.cost().gradients < all.cost().gradients);
        // The proven ones count as standing.
        assert!(told.load(Ordering::Relaxed) >= all.left(), "{told:?} were said to stand");
    }
    // Answers for other images are refused; of images that may leave the ball or [0, 1] nothing is known.
    let run = Run { proven: Some(&proven[1..]), ..Run::new(9) };
    let protocol = Protocol { attacks: attacks(), ball, judge: Judge::Worst };
    assert!(ensemble(&case.engine, case.labelled(), &protocol, &run).unwrap_err().to_string().contains("89 answers"));
    assert!(Protocol::paper(0.01).ball.region().is_none() && Ball { clip: None, ..ball }.region().is_none());
}
