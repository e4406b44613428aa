//! A fixed amount of work of the engine, on one thread, and a digest of every number that it computes. It compares two versions:
//! the digests show whether bits changed, a profiler counts instructions.
//!
//! `cargo build --release -p standoff-nn --example engine_digest` and then, for each of the jobs `fair`, `lenet`, `odd`, `attack`,
//! `bounds` and `proof`, `valgrind --tool=callgrind target/release/examples/engine_digest lenet`. Without a job it runs them all.
#![allow(clippy::print_stdout)]

use standoff_nn::certify::certify;
use standoff_nn::{Ask, Batch, Biases, Bounds, Engine, Loss, Model, Outcome, Region, Samples, Shape, StepKind, Steps};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const JOBS: [&str; 6] = ["fair", "lenet", "odd", "attack", "bounds", "proof"];

/// FNV-1a over the bits of numbers.
struct Digest(u64);

impl Digest {
    fn add(&mut self, values: &[f32]) {
        for byte in values.iter().flat_map(|v| v.to_le_bytes()) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

/// A network with its data: `groups` groups of different sizes, the last unit not full.
struct Case {
    engine: Engine,
    images: Vec<f32>,
    labels: Vec<u16>,
    ends: Vec<usize>,
}

impl Case {
    fn new(model: &Model, samples: usize) -> Result<Self> {
        let mut engine = Engine::new(model, 1)?;
        engine.set_weights(&model.initialise(Biases::Fair, 7))?;
        let (width, mut state) = (model.input().size(), 1u32);
        let images = (0..samples * width).map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 24) as f32
        });
        let images = images.collect();
        let labels = (0..samples).map(|i| (i * 7 % model.outputs()) as u16).collect();
        Ok(Self { engine, images, labels, ends: vec![samples / 3, samples / 3 + samples / 4, samples] })
    }

    fn batch(&self) -> Batch<'_> {
        let samples = Samples::Floats(&self.images);
        Batch { samples, labels: &self.labels, rows: None, ends: &self.ends, weights: None }
    }

    fn passes(&self, digest: &mut Digest) -> Result<()> {
        let mut out = Outcome::default();
        for ask in [Ask::Values, Ask::Gradients, Ask::InputGradients] {
            self.engine.pass(&self.batch(), Loss::CrossEntropy, ask, &mut out)?;
            digest.add(&out.losses);
            digest.add(&out.logits);
            out.gradients.iter().for_each(|g| digest.add(g));
            digest.add(&out.input_gradients);
        }
        Ok(())
    }

    fn attack(&self, digest: &mut Digest) -> Result<()> {
        let targets: Vec<u16> = self.labels.iter().map(|y| (y + 1) % 10).collect();
        for (kind, loss) in [(StepKind::Sign, Loss::CrossEntropy), (StepKind::Scaled, Loss::Margin(&targets))] {
            let steps = Steps { kind, size: 0.02, count: 3, eps: 0.1, clip: Some((0.0, 1.0)) };
            let mut moved = self.images.clone();
            self.engine.ascend(&self.batch(), loss, &steps, &mut moved)?;
            digest.add(&moved);
        }
        Ok(())
    }

    fn bounds(&self, digest: &mut Digest) -> Result<()> {
        let mut out = Bounds::default();
        for ask in [Ask::Values, Ask::Gradients, Ask::InputGradients] {
            self.engine.bounds(&self.batch(), Region::image(0.02), ask, &mut out)?;
            [&out.lower, &out.upper, &out.margins, &out.losses].into_iter().for_each(|v| digest.add(v));
            out.gradients.iter().for_each(|g| digest.add(g));
            digest.add(&out.input_gradients);
        }
        Ok(())
    }

    fn proof(&self, digest: &mut Digest) -> Result<()> {
        let proof = certify(&self.engine, &self.images, &self.labels, Region::image(0.001))?;
        digest.add(&[proof.count() as f32]);
        Ok(())
    }
}

fn preset(name: &str) -> Result<Model> {
    Ok(Model::preset(name, Shape::new(1, 28, 28), 10)?)
}

/// A convolution without pooling, pooling of side 3, an activation of its own, and odd numbers of everything.
fn odd() -> Result<Model> {
    let builder =
        Model::builder(Shape::new(2, 17, 19)).conv(3, 4).relu().tanh().conv(2, 7).maxpool(3).conv(2, 3).tanh();
    Ok(builder.maxpool(2).flatten().dense(13).relu().dense(10).build()?)
}

fn run(job: &str) -> Result<u64> {
    let mut digest = Digest(0xcbf2_9ce4_8422_2325);
    match job {
        "fair" => Case::new(&preset("fair-cnn")?, 1000)?.passes(&mut digest)?,
        "lenet" => Case::new(&preset("lenet")?, 150)?.passes(&mut digest)?,
        "odd" => Case::new(&odd()?, 500)?.passes(&mut digest)?,
        "attack" => Case::new(&preset("lenet")?, 75)?.attack(&mut digest)?,
        "bounds" => {
            Case::new(&preset("lenet")?, 75)?.bounds(&mut digest)?;
            Case::new(&preset("fair-cnn")?, 75)?.bounds(&mut digest)?;
            Case::new(&odd()?, 75)?.bounds(&mut digest)?;
        }
        "proof" => Case::new(&preset("lenet")?, 20)?.proof(&mut digest)?,
        _ => return Err(format!("unknown job `{job}`; the jobs are {}", JOBS.join(", ")).into()),
    }
    Ok(digest.0)
}

fn main() -> Result<()> {
    let named: Vec<String> = std::env::args().skip(1).collect();
    let jobs: Vec<&str> = if named.is_empty() { JOBS.to_vec() } else { named.iter().map(String::as_str).collect() };
    for job in jobs {
        println!("{job:<8} {:016x}", run(job)?);
    }
    Ok(())
}
