//! Passes over several ranks, here threads with an engine each: the bits are those of one process.

use std::sync::{Arc, Barrier, Mutex};

use standoff_nn::attack::{
    Attack, Ensemble, Judge, LabelledImages, MaskingReport, PartOfSet, Protocol, Run, ensemble, masking_report,
};
use standoff_nn::certify::{Certified, certify};
use standoff_nn::engine::Draw;
use standoff_nn::engine::communicator::Communicator;
use standoff_nn::{
    Ask, Batch, Biases, Bounds, Engine, Error, Loss, Model, Outcome, Region, Samples, Shape, StepKind, Steps,
};

/// Words that the ranks exchange, by sender.
#[derive(Debug)]
struct Board {
    sent: Mutex<Vec<(Vec<u32>, Vec<usize>)>>,
    barrier: Barrier,
}

#[derive(Debug)]
struct ThreadRank {
    rank: usize,
    ranks: usize,
    board: Arc<Board>,
}

impl ThreadRank {
    /// Sends words with their counts, and reads those of every rank.
    fn exchange(&self, own: &[u32], counts: &[usize], read: impl FnOnce(&[(Vec<u32>, Vec<usize>)])) {
        self.board.sent.lock().unwrap()[self.rank] = (own.to_vec(), counts.to_vec());
        self.board.barrier.wait();
        read(&self.board.sent.lock().unwrap());
        self.board.barrier.wait();
    }
}

impl Communicator for ThreadRank {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.ranks
    }

    fn all_gather(&self, own: &[u32], all: &mut [u32], counts: &[usize]) -> Result<(), Error> {
        assert_eq!((own.len(), all.len()), (counts[self.rank], counts.iter().sum()));
        self.exchange(own, counts, |sent| {
            assert!(sent.iter().all(|(_, theirs)| theirs == counts), "ranks disagree about lengths");
            all.copy_from_slice(&sent.iter().flat_map(|(words, _)| words.clone()).collect::<Vec<_>>());
        });
        Ok(())
    }

    fn all_to_all(&self, own: &[u32], counts: &[usize], all: &mut [u32], received: &[usize]) -> Result<(), Error> {
        assert_eq!((own.len(), all.len()), (counts.iter().sum(), received.iter().sum()));
        self.exchange(own, counts, |sent| {
            let mut words = Vec::new();
            for (from, (theirs, counts)) in sent.iter().enumerate() {
                let start: usize = counts[..self.rank].iter().sum();
                assert_eq!(counts[self.rank], received[from]);
                words.extend_from_slice(&theirs[start..start + counts[self.rank]]);
            }
            all.copy_from_slice(&words);
        });
        Ok(())
    }
}

/// The results of all ranks for the same calls.
fn on_ranks<T: Send>(ranks: usize, work: impl Fn(Arc<dyn Communicator>) -> T + Sync) -> Vec<T> {
    let board = Arc::new(Board { sent: Mutex::new(vec![Default::default(); ranks]), barrier: Barrier::new(ranks) });
    std::thread::scope(|scope| {
        let start = |rank| {
            let own = Arc::new(ThreadRank { rank, ranks, board: Arc::clone(&board) });
            let work = &work;
            scope.spawn(move || work(own))
        };
        let all: Vec<_> = (0..ranks).map(start).collect();
        all.into_iter().map(|thread| thread.join().expect("no rank panics")).collect()
    })
}

const IMAGE: Shape = Shape::new(1, 28, 28);

fn pixels(n: usize) -> Vec<f32> {
    (0..n * IMAGE.size()).map(|i| ((i * 2_654_435_761_usize) >> 7 & 255) as f32 / 255.0).collect()
}

/// Everything that an engine computes for a batch.
#[derive(Debug, PartialEq)]
struct Everything {
    passes: Vec<Outcome>,
    moved: Vec<f32>,
    bounds: Vec<Bounds>,
}

fn everything(engine: &Engine, data: &[f32], ends: &[usize]) -> Everything {
    let n = *ends.last().unwrap();
    let labels: Vec<u16> = (0..n).map(|i| (i % engine.model().outputs()) as u16).collect();
    let batch = Batch { samples: Samples::Floats(data), labels: &labels, rows: None, ends, weights: None };
    let asks = [Ask::Values, Ask::Gradients, Ask::InputGradients];
    let pass = |ask| {
        let mut out = Outcome::default();
        engine.pass(&batch, Loss::CrossEntropy, ask, &mut out).unwrap();
        out
    };
    let bounds = |ask| {
        let mut out = Bounds::default();
        engine.bounds(&batch, Region::image(0.05), ask, &mut out).unwrap();
        out
    };
    let steps = Steps { kind: StepKind::Sign, size: 0.02, count: 3, eps: 0.05, clip: Some((0.0, 1.0)) };
    let mut moved = data.to_vec();
    engine.ascend(&batch, Loss::Cw, &steps, &mut moved).unwrap();
    Everything { passes: asks.map(pass).into(), moved, bounds: asks.map(bounds).into() }
}

fn engine(name: &str, threads: usize) -> Engine {
    let model = Model::preset(name, IMAGE, 3).unwrap();
    let mut engine = Engine::new(&model, threads).unwrap();
    engine.set_weights(&model.initialise(Biases::Fair, 1)).unwrap();
    engine
}

#[test]
fn any_number_of_ranks_and_threads_gives_the_bits_of_one_process() {
    // Groups of one leaf, of none, of many, and with a last leaf that is not full; then fewer leaves than ranks.
    let batches: [&[usize]; 4] = [&[20, 20, 415, 700], &[5], &[31, 64], &[513, 600]];
    for (name, batches) in [("fair-cnn", &batches[..]), ("lenet", &batches[2..])] {
        let alone = engine(name, 1);
        for ends in batches {
            let data = pixels(*ends.last().unwrap());
            let want = everything(&alone, &data, ends);
            for ranks in 2..=5 {
                let found = on_ranks(ranks, |own| {
                    let engine = engine(name, 1 + own.rank() % 2).over(own);
                    everything(&engine, &data, ends)
                });
                assert!(found.iter().all(|each| *each == want), "{name}, {ends:?}, {ranks} ranks");
            }
        }
    }
}

#[test]
fn an_error_of_one_rank_is_the_same_error_on_all() {
    let mut data = pixels(300);
    data[299 * IMAGE.size() + 3] = f32::NAN;
    data[270 * IMAGE.size() + 7] = f32::NAN;
    let labels = vec![0; 300];
    let batch = Batch { samples: Samples::Floats(&data), labels: &labels, rows: None, ends: &[300], weights: None };
    let run = |engine: &Engine| {
        let mut out = Outcome::default();
        engine.pass(&batch, Loss::CrossEntropy, Ask::Gradients, &mut out).expect_err("a pixel is NaN")
    };
    let want = run(&engine("fair-cnn", 1));
    assert!(want.to_string().contains("row 270"), "{want}");
    for ranks in [2, 3, 8] {
        let found = on_ranks(ranks, |own| run(&engine("fair-cnn", 1).over(own)));
        assert_eq!(found, vec![want.clone(); ranks]);
    }
}

#[test]
fn training_passes_with_batch_statistics_have_the_bits_of_one_process() {
    let text = "input = [1, 28, 28]\nlayers = [\"conv(3, 4, stride=2)\", \"batchnorm\", \"relu\", \"conv(3, 5, stride=2)\", \"batchnorm\", \
                \"relu\", \"dropout(0.1)\", \"globalavgpool\", \"dense(3)\"]";
    let model = Model::from_toml(text).unwrap();
    let start = model.initialise(Biases::Fair, 1);
    // Fewer leaves than ranks, leaves that are not full, and many.
    for n in [5, 64, 300, 601] {
        let (data, labels) = (pixels(n), (0..n).map(|i| (i % 3) as u16).collect::<Vec<_>>());
        let train = |mut engine: Engine| {
            engine.set_weights(&start).unwrap();
            let ends = [n];
            let batch =
                Batch { samples: Samples::Floats(&data), labels: &labels, rows: None, ends: &ends, weights: None };
            let mut out = Outcome::default();
            let draw = Draw { seed: 1, step: 2 };
            engine.train(&batch, Loss::CrossEntropy, (Ask::Gradients, draw), &mut out).unwrap();
            out
        };
        let want = train(Engine::new(&model, 1).unwrap());
        for ranks in 2..=5 {
            let found = on_ranks(ranks, |own| train(Engine::new(&model, 1 + own.rank() % 2).unwrap().over(own)));
            assert!(found.iter().all(|each| *each == want), "{n} samples, {ranks} ranks");
        }
    }
}

/// Images, and labels that an untrained network gives about every second of them.
fn labelled(engine: &Engine, n: usize) -> (Vec<f32>, Vec<u16>) {
    let data = pixels(n);
    let labels = vec![0; n];
    let batch = Batch { samples: Samples::Floats(&data), labels: &labels, rows: None, ends: &[n], weights: None };
    let mut out = Outcome::default();
    engine.pass(&batch, Loss::CrossEntropy, Ask::Values, &mut out).unwrap();
    let wrong = |(i, right): (usize, &u16)| if i % 7 == 3 { (right + 1) % 3 } else { *right };
    (data, out.predictions.iter().enumerate().map(wrong).collect())
}

fn attacked(engine: &Engine, images: LabelledImages<'_>, judge: Judge) -> (Ensemble, MaskingReport, Certified) {
    let attacks = ["fgsm", "pgd3x2", "apgd-t3x1", "square10"].map(|name| Attack::named(name).unwrap());
    let protocol = Protocol { attacks: attacks.to_vec(), judge, ..Protocol::standard(0.01) };
    let found = ensemble(engine, images, &protocol, &Run::new(5)).unwrap();
    let figures = masking_report(engine, images, &protocol.ball, &found, &Run::new(5)).unwrap();
    let proof = certify(engine, images.images, images.labels, Region::image(0.0001)).unwrap();
    (found, figures, proof)
}

#[test]
fn attacks_on_any_number_of_ranks_have_the_result_of_one_process() {
    let alone = engine("fair-cnn", 1);
    for (n, judge) in [(45, Judge::Every), (45, Judge::Worst), (3, Judge::Worst)] {
        let (data, labels) = labelled(&alone, n);
        let images = LabelledImages { images: &data, labels: &labels };
        let want = attacked(&alone, images, judge);
        let broken = want.0.fallen_to.iter().flatten().count();
        assert!(n == 3 || (broken > 0 && want.0.left() > 0 && want.2.count() > 0), "{broken} of {n}: too easy a case");
        for ranks in [2, 3, 5] {
            let found =
                on_ranks(ranks, |own| attacked(&engine("fair-cnn", 1 + own.rank() % 2).over(own), images, judge));
            found.iter().for_each(|each| assert!(*each == want, "{n} images, {ranks} ranks, {judge:?}"));
        }
    }
}

#[test]
fn an_attack_that_fails_on_one_rank_fails_on_all() {
    let (mut data, labels) = labelled(&engine("fair-cnn", 1), 20);
    // An image of the last rank.
    data[19 * IMAGE.size() + 3] = f32::NAN;
    let images = LabelledImages { images: &data, labels: &labels };
    let run = |engine: Engine| {
        let protocol = Protocol { attacks: vec![Attack::named("pgd2").unwrap()], ..Protocol::standard(0.1) };
        ensemble(&engine, images, &protocol, &Run::new(5)).expect_err("a pixel is no number").to_string()
    };
    let want = run(engine("fair-cnn", 1));
    let found = on_ranks(3, |own| run(engine("fair-cnn", 1).over(own)));
    assert_eq!(found, vec![want; 3]);
}

#[test]
fn images_of_a_part_have_the_results_of_the_whole_set() {
    let engine = engine("fair-cnn", 1);
    let (data, labels) = labelled(&engine, 30);
    let width = IMAGE.size();
    // The published protocol divides gradients by the size of a part of the whole set.
    for protocol in [Protocol { judge: Judge::Worst, ..Protocol::standard(0.05) }, Protocol::paper(0.05)] {
        let mut attacks = ["pgd3x2", "square10", "random5"].map(|name| Attack::named(name).unwrap()).to_vec();
        attacks.truncate(if protocol.judge == Judge::Last { 1 } else { 3 });
        let protocol = Protocol { attacks, ..protocol };
        let whole =
            ensemble(&engine, LabelledImages { images: &data, labels: &labels }, &protocol, &Run::new(5)).unwrap();
        let places: Vec<u32> = vec![4, 11, 18, 25];
        let of = |i: &u32| data[*i as usize * width..][..width].to_vec();
        let (some, own): (Vec<f32>, Vec<u16>) =
            (places.iter().flat_map(of).collect(), places.iter().map(|i| labels[*i as usize]).collect());
        let run = Run { part: Some(PartOfSet { places: &places, of: 30 }), ..Run::new(5) };
        let part = LabelledImages { images: &some, labels: &own };
        let found = ensemble(&engine, part, &protocol, &run).unwrap();
        for (i, place) in places.iter().map(|p| *p as usize).enumerate() {
            assert_eq!(found.images[i * width..][..width], whole.images[place * width..][..width], "image {place}");
            assert_eq!((found.margins[i], found.fallen_to[i]), (whole.margins[place], whole.fallen_to[place]));
        }
        let other = ensemble(&engine, part, &protocol, &Run::new(5)).unwrap();
        assert!(protocol.judge == Judge::Last || other.images != found.images, "random numbers depend on the place");
        let short = Run { part: Some(PartOfSet { places: &places[1..], of: 30 }), ..Run::new(5) };
        assert!(ensemble(&engine, part, &protocol, &short).is_err());
    }
}
