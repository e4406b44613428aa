//! Certificates of games with mini-batches are on all data, also in the middle of training.

mod common;

use common::{Stream, conv, model, weights};
use standoff::methods::{Reply, Train};
use standoff::outer::{AdamOptions, Recipe, Schedule};
use standoff::{Certificate, Error, Game, Point, Record, Settings, Training, certify, solve_with};
use standoff_nn::Layer::{Dense, Flatten, MaxPool, Relu};
use standoff_nn::data::{Batching, Dataset, Order};
use standoff_nn::fair::{FairMethod, GroupGame, MethodParameters};
use standoff_nn::interval::{IntervalGame, IntervalOptions};
use standoff_nn::robust::{Objective, Options, RobustGame, Start, Targets, TrainingAttack};
use standoff_nn::{Model, Ramp, Shape, StepKind};
use std::sync::Arc;

const CLASSES: usize = 3;

fn small() -> Model {
    model((1, 8, 8), &[conv(2, 4), Relu, MaxPool(2), Flatten, Dense(CLASSES)])
}

fn data() -> Arc<Dataset> {
    let mut stream = Stream::new(7);
    let pixels = (0..45 * 64).map(|_| stream.signed().abs()).collect();
    let labels: Vec<u16> = (0..45).map(|i| i % 3).collect();
    let data = Dataset::floats(pixels, Shape::new(1, 8, 8), labels).and_then(|data| data.grouped_by_label(3));
    Arc::new(data.expect("a dataset"))
}

const BALANCED: Batching = Batching::Balanced { size: 12, order: Order::Shuffled(3) };
const SIZED: Batching = Batching::Size { size: 12, order: Order::Shuffled(3) };

/// Trains on mini-batches, and after every step measures there and on the game over all data. Returns the last record and its point.
fn compare<G: Game<Real = f32> + 'static>(mut small: G, mut whole: G, y: &[f32], reply: Reply) -> (Record, Point<f32>) {
    let x = weights(&self::small(), &mut Stream::new(2));
    let recipe = Recipe::adam(AdamOptions::default(), Schedule::new(&[(9, 0.01)]).expect("a schedule"));
    let method = Train::new(&small, reply, &recipe).expect("linear in y");
    let mut training = Training::new(&mut small, &Point::new(&x, y), Box::new(method)).expect("a finite start");
    let mut last = None;
    for step in 0..7 {
        training.step().expect("finite");
        let record = training.measure(0.0).expect("finite");
        let point = training.measured().clone();
        assert_eq!(point.y.len(), whole.y_set().dim());
        let want = certify(&mut whole, &point, 1.0);
        same(&record.certificate, &want, step);
        assert_eq!(record.value, value(&mut whole, &point));
        last = Some((record, point));
    }
    let (record, point) = last.expect("steps were made");
    drop(training);
    // The function `certify` too is on all data, whatever batch the game was left at.
    small.resample(4);
    let again = certify(&mut small, &point, 1.0);
    assert_eq!(again, certify(&mut whole, &point, 1.0));
    (record, point)
}

/// The loop measures with other bounds than `certify`: each upper bound must be above the other's lower bound.
fn same(measured: &Certificate, certified: &Certificate, step: usize) {
    for (a, b) in [(measured.x, certified.x), (measured.y, certified.y)] {
        let room = 1e-6 * (1.0 + b.upper);
        assert!(a.lower <= b.upper + room && b.lower <= a.upper + room, "step {step}: {a:?} and {b:?}");
        assert!((a.upper - b.upper).abs() <= room, "step {step}: {a:?} and {b:?}");
    }
}

fn value<G: Game<Real = f32>>(game: &mut G, point: &Point<f32>) -> f64 {
    game.whole();
    game.fix(&point.x, standoff::Need::Values);
    game.value(&point.y)
}

#[test]
fn a_certificate_of_the_fair_game_in_the_middle_of_training_is_on_all_data() {
    let game = |batching| GroupGame::new(&small(), data(), batching, 1).expect("a game");
    let third = [1.0 / 3.0; CLASSES];
    for lambda in [0.0, 0.1] {
        compare(game(BALANCED), game(Batching::Whole), &third, Reply::Exact { lambda });
    }
    let tail = |batching| game(batching).tail(0.3).expect("a share");
    compare(tail(BALANCED), tail(Batching::Whole), &[1.0], Reply::Held);
    let parameters = MethodParameters { lambda: 0.0, accelerated: false, dro_rate: 0.1, tilt: 1.0, share: 0.5 };
    let corners = |batching| FairMethod::Minmax.game(game(batching), &parameters).expect("a game");
    compare(corners(BALANCED), corners(Batching::Whole), &third, FairMethod::Minmax.reply(&parameters));
}

fn robust(objective: Objective, batching: Batching) -> RobustGame {
    let start = if objective == Objective::Madry { Start::Random { radius: 0.1 } } else { Start::Clean };
    let published = TrainingAttack::published(0.1);
    let attack = TrainingAttack { steps: 3, kind: StepKind::Sign, start, ramp: Ramp::over(20), ..published };
    RobustGame::new(&small(), data(), &Options { objective, attack, batching, seed: 4 }, 1).expect("a game")
}

#[test]
fn a_certificate_of_the_robust_game_in_the_middle_of_training_is_on_all_data() {
    let paper = Objective::Paper { targets: Targets::All };
    for objective in [paper, Objective::Madry, Objective::Trades { beta: 1.0 }, Objective::Natural] {
        let game = |batching| robust(objective, batching);
        let centre = game(SIZED).y_set().centre();
        let (record, point) = compare(game(SIZED), game(Batching::Whole), &centre, Reply::Exact { lambda: 0.0 });
        let (mut batched, mut whole) = (game(SIZED), game(Batching::Whole));
        batched.resample(2);
        let rows = batched.rows().to_vec();
        let measured = batched.measure(&point.x, 0.0).expect("finite");
        assert_eq!(measured, whole.measure(&point.x, 0.0).expect("finite"), "{objective:?}");
        assert_eq!((measured.accuracy.images, measured.value), (45, record.value));
        assert_eq!(batched.rows(), rows, "back at its mini-batch");
    }
}

#[test]
fn a_certificate_of_the_interval_game_in_the_middle_of_training_is_on_all_data() {
    let game = |batching| {
        let options = IntervalOptions::image(0.05, Ramp::over(20), batching);
        IntervalGame::new(&small(), data(), &options, 1).expect("a game")
    };
    let (record, point) = compare(game(SIZED), game(Batching::Whole), &[1.0], Reply::Exact { lambda: 0.0 });
    let (mut batched, mut whole) = (game(SIZED), game(Batching::Whole));
    batched.resample(2);
    let measured = batched.measure(&point.x).expect("finite");
    assert_eq!(measured, whole.measure(&point.x).expect("finite"));
    assert_eq!((measured.images, measured.value), (45, record.value));
    assert_eq!(batched.rows().len(), 12, "back at its mini-batch");
}

#[test]
fn a_game_whose_y_depends_on_the_batch_is_refused_by_solve() {
    let mut game = robust(Objective::Paper { targets: Targets::All }, SIZED);
    let start = Point::new(&weights(&small(), &mut Stream::new(2)), &game.y_set().centre());
    let recipe = Recipe::descent(Schedule::new(&[(3, 0.01)]).expect("a schedule"));
    let mut train = Train::new(&game, Reply::Exact { lambda: 0.0 }, &recipe).expect("linear in y");
    let refused = solve_with(&mut game, &start, &mut train, &Settings::default(), &mut ());
    let Err(error @ Error::Unsuitable { .. }) = refused else { unreachable!("it must be refused") };
    assert!(error.to_string().contains("135 entries on all the data and 36 on a mini-batch"), "{error}");
}
