//! The engine's side of the comparison with PyTorch: reads jobs from stdin, writes results as JSON to stdout.
//! `bench/run.sh` runs it; `bench/README.md` describes the jobs and the protocol.

use safetensors::SafeTensors;
use standoff::Set;
use standoff_nn::engine::Draw;
use standoff_nn::model::weights::{Metadata, Tensor, encode};
use standoff_nn::{Ask, Batch, Engine, Isa, Loss, Model, Outcome, Samples, Shape, StepKind, Steps, Weights};
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;
/// The result of a check: vectors by name.
type Found = Vec<(&'static str, Vec<f32>)>;

const THREADS: usize = 2;
/// Adam steps per run, and images of each group per step.
const STEPS: usize = 30;
const OF_GROUP: usize = 200;

/// A sign-gradient attack: ball of this radius, steps of this size.
struct Attack {
    radius: f32,
    step: f32,
    iterations: usize,
}
const ROBUST: Attack = Attack { radius: 0.4, step: 0.1, iterations: 11 };
const GENERAL: Attack = Attack { radius: 8.0 / 255.0, step: 2.0 / 255.0, iterations: 10 };
const PGD: Attack = Attack { radius: 0.3, step: 0.01, iterations: 40 };

/// A network, its data, and the buffers of its passes.
struct Work {
    engine: Engine,
    start: Vec<f32>,
    bytes: Vec<u8>,
    labels: Vec<u16>,
    targets: Vec<u16>,
    /// The attacked images, and the clean ones.
    moved: Vec<f32>,
    clean: Vec<f32>,
    gathered: Vec<f32>,
    out: Outcome,
}

impl Work {
    fn open(folder: &Path, job: &str) -> Result<Self> {
        let (model, data) = match job {
            "fair-pass" | "fair-adam" => ("fair-cnn", "fair"),
            "robust-same" | "robust-step" => ("lenet", "robust"),
            "pgd40" => ("lenet", "pgd"),
            "logistic-pass" => ("logistic", "fair"),
            _ if job.starts_with("resnet8-") => ("resnet8", "colour"),
            _ if job.starts_with("cnn7-") => ("cnn7", "colour"),
            _ if job.starts_with("dm-large-") => ("dm-large", "digits"),
            _ => return Err(format!("unknown job {job}").into()),
        };
        let model_file = folder.join(format!("{model}.safetensors"));
        let model = match std::fs::read_to_string(folder.join(format!("{model}.toml"))) {
            Ok(text) => Model::from_toml(&text)?,
            Err(_) => Model::preset(model, Shape::new(1, 28, 28), 10)?,
        };
        let start = Weights::load_for(&model, &model_file)?.parameters;
        let mut engine = Engine::new(&model, THREADS)?;
        engine.set_weights(&start)?;
        let file = std::fs::read(folder.join(format!("{data}.safetensors")))?;
        let file = SafeTensors::deserialize(&file)?;
        let wide = |name: &str| -> Vec<u16> {
            file.tensor(name).map_or(Vec::new(), |t| t.data().iter().map(|&b| b.into()).collect())
        };
        let bytes = file.tensor("images")?.data().to_vec();
        let clean: Vec<f32> =
            if data == "fair" { Vec::new() } else { bytes.iter().map(|&b| f32::from(b) / 255.0).collect() };
        let (labels, targets) = (wide("labels"), wide("targets"));
        Ok(Self {
            engine,
            start,
            bytes,
            labels,
            targets,
            moved: clean.clone(),
            clean,
            gathered: Vec::new(),
            out: Outcome::default(),
        })
    }

    /// Forward and backward over all images: three groups, a gradient of each.
    fn whole_pass(&mut self) -> Result<()> {
        let n = self.labels.len();
        let samples = Samples::Bytes { data: &self.bytes, scale: 255.0 };
        let ends = [n / 3, 2 * n / 3, n];
        let batch = Batch { samples, labels: &self.labels, rows: None, ends: &ends, weights: None };
        Ok(self.engine.pass(&batch, Loss::CrossEntropy, Ask::Gradients, &mut self.out)?)
    }

    /// Runs Adam from the start, with group weights from the losses. Returns the seconds per step, and the parameters.
    fn adam(&mut self, steps: usize) -> Result<(f64, Vec<f32>)> {
        let (mut x, set) = (self.start.clone(), Set::simplex(3, 1.0)?);
        let (mut m, mut v) = (vec![0.0f32; x.len()], vec![0.0f32; x.len()]);
        let mut rows = Vec::with_capacity(3 * OF_GROUP);
        let group = self.labels.len() / 3;
        let clock = Instant::now();
        for k in 0..steps {
            rows.clear();
            for g in 0..3 {
                rows.extend((0..OF_GROUP).map(|i| (g * group + k * OF_GROUP + i) as u32));
            }
            self.engine.set_weights(&x)?;
            let samples = Samples::Bytes { data: &self.bytes, scale: 255.0 };
            let ends = [OF_GROUP, 2 * OF_GROUP, 3 * OF_GROUP];
            let batch = Batch { samples, labels: &self.labels, rows: Some(&rows), ends: &ends, weights: None };
            self.engine.pass(&batch, Loss::CrossEntropy, Ask::Gradients, &mut self.out)?;
            let mut t: Vec<f64> = self.out.group_losses.iter().map(|l| l / 0.1).collect();
            set.project(&mut t);
            let [a, b, c] = [t[0] as f32, t[1] as f32, t[2] as f32];
            let [ga, gb, gc] = [&self.out.gradients[0], &self.out.gradients[1], &self.out.gradients[2]];
            let power = k as i32 + 1;
            let rate = 1e-4 / (1.0 - 0.9f64.powi(power));
            let (rate, bias) = (rate as f32, (1.0 - 0.999f64.powi(power)).sqrt().recip() as f32);
            for i in 0..x.len() {
                let g = a * ga[i] + b * gb[i] + c * gc[i];
                m[i] += 0.1 * (g - m[i]);
                v[i] = 0.999 * v[i] + 0.001 * g * g;
                x[i] -= rate * m[i] / (v[i].sqrt() * bias + 1e-8);
            }
        }
        let seconds = clock.elapsed().as_secs_f64() / steps as f64;
        self.engine.set_weights(&self.start)?;
        Ok((seconds, x))
    }

    /// Gradients of the attacked loss with respect to the current images.
    fn slopes(&mut self, rows: &[u32]) -> Result<()> {
        let samples = Samples::Floats(&self.moved);
        let ends = [rows.len()];
        let batch = Batch { samples, labels: &self.labels, rows: Some(rows), ends: &ends, weights: None };
        let targets: Vec<u16>;
        let loss = if self.targets.is_empty() {
            Loss::CrossEntropy
        } else {
            targets = rows.iter().map(|&r| self.targets[r as usize]).collect();
            Loss::Margin(&targets)
        };
        Ok(self.engine.pass(&batch, loss, Ask::InputGradients, &mut self.out)?)
    }

    fn attack(&mut self, attack: &Attack, rows: &[u32]) -> Result<()> {
        self.moved.copy_from_slice(&self.clean);
        let (samples, ends) = (Samples::Floats(&self.clean), [rows.len()]);
        let batch = Batch { samples, labels: &self.labels, rows: Some(rows), ends: &ends, weights: None };
        let targets: Vec<u16>;
        let loss = if self.targets.is_empty() {
            Loss::CrossEntropy
        } else {
            targets = rows.iter().map(|&r| self.targets[r as usize]).collect();
            Loss::Margin(&targets)
        };
        let Attack { radius: eps, step: size, iterations: count } = *attack;
        let steps = Steps { kind: StepKind::Sign, size, count, eps, clip: Some((0.0, 1.0)) };
        let width = self.engine.model().input().size();
        let pixels = |row: u32| row as usize * width..(row as usize + 1) * width;
        self.gathered.clear();
        rows.iter().for_each(|&row| self.gathered.extend_from_slice(&self.clean[pixels(row)]));
        self.engine.ascend(&batch, loss, &steps, &mut self.gathered)?;
        for (&row, moved) in rows.iter().zip(self.gathered.chunks_exact(width)) {
            self.moved[pixels(row)].copy_from_slice(moved);
        }
        Ok(())
    }

    /// A pass over the attacked images of these rows; the loss is their mean.
    fn moved_pass(&mut self, rows: &[u32], ask: Ask) -> Result<()> {
        let samples = Samples::Floats(&self.moved);
        let ends = [rows.len()];
        let batch = Batch { samples, labels: &self.labels, rows: Some(rows), ends: &ends, weights: None };
        Ok(self.engine.pass(&batch, Loss::CrossEntropy, ask, &mut self.out)?)
    }

    /// The pass of a training step, with the statistics of the batch.
    fn trained_pass(&mut self) -> Result<()> {
        let (samples, ends) = (Samples::Floats(&self.moved), [self.labels.len()]);
        let batch = Batch { samples, labels: &self.labels, rows: None, ends: &ends, weights: None };
        Ok(self.engine.train(&batch, Loss::CrossEntropy, (Ask::Gradients, Draw::default()), &mut self.out)?)
    }

    /// The gradient in the weights of the first convolution.
    fn first_gradient(&self, name: &'static str) -> Result<Found> {
        let views = self.engine.model().views();
        let first = views.iter().find(|view| view.name == "conv1.weight").ok_or("no conv1")?;
        Ok(vec![(name, self.out.gradients[0][first.range.clone()].to_vec())])
    }

    /// The training pass after an attack: over all images, or the losses of all and the gradient of the largest of each ten.
    fn train(&mut self, worst: bool) -> Result<()> {
        let all = self.all();
        if !worst {
            return self.moved_pass(&all, Ask::Gradients);
        }
        self.moved_pass(&all, Ask::Values)?;
        let mut winners = Vec::with_capacity(all.len() / 10);
        for (image, losses) in self.out.losses.chunks_exact(10).enumerate() {
            let best = (1..10).fold(0, |best, j| if losses[j] > losses[best] { j } else { best });
            winners.push((image * 10 + best) as u32);
        }
        self.moved_pass(&winners, Ask::Gradients)
    }

    fn all(&self) -> Vec<u32> {
        (0..self.labels.len() as u32).collect()
    }

    /// Runs a job once. Returns the seconds if they are not those of the whole call.
    fn run(&mut self, job: &str) -> Result<Option<f64>> {
        match job {
            "fair-adam" => return Ok(Some(self.adam(STEPS)?.0)),
            "robust-same" => {
                self.attack(&ROBUST, &self.all())?;
                self.train(false)?;
            }
            "robust-step" => {
                let rows = self.all().into_iter().filter(|&r| self.targets[r as usize] != self.labels[r as usize]);
                self.attack(&ROBUST, &rows.collect::<Vec<u32>>())?;
                self.train(true)?;
            }
            "pgd40" => {
                self.attack(&PGD, &self.all())?;
                self.moved_pass(&self.all(), Ask::Values)?;
            }
            _ if job.ends_with("-forward") => self.moved_pass(&self.all(), Ask::Values)?,
            _ if job.ends_with("-gradient") => self.moved_pass(&self.all(), Ask::Gradients)?,
            _ if job.ends_with("-train") => self.trained_pass()?,
            _ if job.ends_with("-pgd10") => self.attack(&GENERAL, &self.all())?,
            _ => self.whole_pass()?,
        }
        Ok(None)
    }

    fn check(&mut self, job: &str) -> Result<Found> {
        let all = self.all();
        match job {
            "fair-adam" => {
                let change = self.adam(5)?.1.iter().zip(&self.start).map(|(a, b)| a - b).collect();
                Ok(vec![("change", change)])
            }
            "robust-same" | "robust-step" => {
                self.moved.copy_from_slice(&self.clean);
                self.slopes(&all)?;
                let slope = self.out.input_gradients.clone();
                self.train(job == "robust-step")?;
                let gradient = self.out.gradients[0].clone();
                self.attack(&ROBUST, &all)?;
                Ok(vec![("slope", slope), ("attacked images", self.moved.clone()), ("gradient", gradient)])
            }
            "pgd40" => {
                self.attack(&Attack { iterations: 3, ..PGD }, &all)?;
                Ok(vec![("attacked images", self.moved.clone())])
            }
            _ if job.ends_with("-forward") => {
                self.moved_pass(&all, Ask::Values)?;
                Ok(vec![("logits", self.out.logits.clone())])
            }
            _ if job.ends_with("-gradient") => {
                self.moved_pass(&all, Ask::Gradients)?;
                self.first_gradient("gradient")
            }
            _ if job.ends_with("-train") => {
                self.trained_pass()?;
                self.first_gradient("training gradient")
            }
            _ if job.ends_with("-pgd10") => {
                self.attack(&Attack { iterations: 3, ..GENERAL }, &all)?;
                Ok(vec![("attacked images", self.moved.clone())])
            }
            _ => {
                self.whole_pass()?;
                let losses = self.out.group_losses.iter().map(|&l| l as f32).collect();
                let g = &self.out.gradients;
                let mean = (0..self.start.len()).map(|i| (g[0][i] + g[1][i] + g[2][i]) / 3.0).collect();
                Ok(vec![("losses", losses), ("gradient", mean)])
            }
        }
    }
}

/// The version, the level of this process, and the peak of one thread with each level of the machine.
fn about() -> Result<String> {
    let (version, model) = (env!("CARGO_PKG_VERSION"), Model::preset("logistic", Shape::new(1, 28, 28), 10)?);
    let own = Engine::new(&model, THREADS)?.isa().name();
    let mut peaks = Vec::new();
    for isa in Isa::all() {
        let peak = Engine::with_isa(&model, 1, isa)?.peak(Duration::from_millis(100));
        peaks.push(format!(r#""{}": {:.1}"#, isa.name(), peak / 1e9));
    }
    let peaks = peaks.join(", ");
    Ok(format!(
        r#"{{"name": "standoff", "version": "{version}", "threads": {THREADS}, "isa": "{own}", "peaks": {{{peaks}}}}}"#
    ))
}

fn answer(folder: &Path, work: &mut Option<(String, Work)>, words: &[&str]) -> Result<String> {
    let job = match words {
        ["about"] => return about(),
        ["memory"] => return Ok(format!(r#"{{"peak_mb": {}}}"#, peak_megabytes()?)),
        ["variants", _] => return Ok(r#"{"variants": ["all"]}"#.into()),
        ["check", job] | ["time", job, _, _] => *job,
        _ => return Err("want about, memory, variants JOB, check JOB or time JOB VARIANT REPEATS".into()),
    };
    if work.as_ref().is_none_or(|(open, _)| open != job) {
        *work = Some((job.to_owned(), Work::open(folder, job)?));
    }
    let Some((_, work)) = work else { return Err("no job".into()) };
    if words[0] == "check" {
        let found = work.check(job)?;
        let sides: Vec<[usize; 1]> = found.iter().map(|(_, values)| [values.len()]).collect();
        let tensors: Vec<Tensor<'_>> =
            found.iter().zip(&sides).map(|((name, values), shape)| Tensor { name, shape, values }).collect();
        let bytes = encode(&tensors, &Metadata::new());
        std::fs::write(folder.join(format!("check-{job}-standoff.safetensors")), bytes)?;
        return Ok("{}".into());
    }
    let mut seconds = Vec::new();
    for _ in 0..words[3].parse::<usize>()? {
        let clock = Instant::now();
        let own = work.run(job)?;
        seconds.push(own.unwrap_or_else(|| clock.elapsed().as_secs_f64()).to_string());
    }
    Ok(format!(r#"{{"seconds": [{}]}}"#, seconds.join(", ")))
}

/// The peak memory of this process, from Linux; an error on other systems.
fn peak_megabytes() -> Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no VmHWM")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<f64>()? / 1024.0)
}

fn main() -> Result<()> {
    let folder = PathBuf::from(std::env::args().nth(1).ok_or("usage: bench_engine FOLDER")?);
    let mut work = None;
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let reply = answer(&folder, &mut work, &words)?;
        let mut out = std::io::stdout().lock();
        writeln!(out, "{reply}")?;
        out.flush()?;
    }
    Ok(())
}
