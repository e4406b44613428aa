//! `standoff attack`: an upper bound by attacks and a proven lower bound on the accuracy under small changes of the images.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use anyhow::{Result, bail};
use clap::{Args, ValueHint};
use standoff_nn::attack::{Grid, Norm, Protocol};
use standoff_nn::certify::Certified;
use standoff_nn::{Engine, Region};
use standoff_train::attack::config::Rules;
use standoff_train::attack::images::{Images, Part, Split};
use standoff_train::attack::network::Network;
use standoff_train::attack::proof_file::ProofFile;
use standoff_train::attack::report::Report;
use standoff_train::attack::{AttackConfig, AttackEvaluation, AttackEvent, npy, proof_file};
use standoff_train::training::folder;
use standoff_train::training::lock::RunLock;

use crate::Exit;
use crate::attack::picture::{self, Sheet};
use crate::attack::progress::AttackBar;
use crate::attack::result::AttackResult;
use crate::attack::table;
use crate::files;
use crate::interrupt;
use crate::parse;
use crate::present::number::{plural, short};
use crate::present::screen::Screen;

const AFTER: &str = "\
The result is two bounds on the accuracy under attack: attacks give an upper bound, interval bounds
prove a lower bound. An image counts as broken if its stored form, evaluated again, is misclassified
and inside the ball.

Attacks: fgsm, pgd, targeted, apgd-ce, apgd-margin, apgd-dlr, apgd-t, smooth, square, random.
A number is the budget: pgd40 has 40 steps, pgd100x10 also 10 restarts, apgd-t50x9 targets 9
classes, square1000 makes 1,000 queries. PGD has options: pgd40:step=0.01,start=clean,loss=margin.

Examples:
  standoff attack model.safetensors --limit 500
  standoff attack model.safetensors --eps 0.2,0.3,0.4 --protocol paper
  standoff attack model.safetensors --eps 8/255 --grid search --out runs/attack
  standoff attack model.safetensors --norm l2 --eps 1.5 --attacks pgd100x10,square5000
  standoff attack model.safetensors --data fashion --classes 0,4,6 --pictures broken.png";

/// The arguments of `standoff attack`.
#[derive(Debug, Args)]
#[command(after_help = AFTER)]
pub(crate) struct AttackArgs {
    /// A model saved by standoff, or PyTorch weights of a preset (lenet, fair-cnn, ...)
    #[arg(value_name = "MODEL.safetensors", value_hint = ValueHint::FilePath, required_unless_present = "model")]
    file: Option<PathBuf>,

    /// The same, as an option
    #[arg(short, long, value_name = "MODEL.safetensors", value_hint = ValueHint::FilePath, conflicts_with = "file")]
    model: Option<PathBuf>,

    /// The layers, if the file does not contain them: lenet, fair-cnn, logistic, mlp, or a model file [default: detected]
    #[arg(long, value_name = "NAME|FILE.toml")]
    network: Option<String>,

    /// A dataset of images, or a folder with IDX files
    #[arg(short, long, value_name = "NAME|FOLDER", default_value = "mnist", value_hint = ValueHint::AnyPath)]
    data: String,

    /// The part of the dataset
    #[arg(long, default_value = "test", value_parser = parse::one_of::<Split>())]
    split: Split,

    /// Only images of these classes
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',')]
    classes: Option<Vec<u8>>,

    /// Only the first N images
    #[arg(long, value_name = "N", value_parser = parse::count, allow_negative_numbers = true)]
    limit: Option<u64>,

    /// The largest change of a pixel, on a scale from 0 to 1; each value of a list is evaluated
    #[arg(
        short, long, value_name = "LIST", value_delimiter = ',', default_value = "0.3", allow_hyphen_values = true,
        value_parser = parse::number
    )]
    eps: Vec<f64>,

    /// The evaluation protocol
    #[arg(long, default_value = "standard", value_parser = parse::one_of::<Rules>())]
    protocol: Rules,

    /// These attacks instead of the protocol's own
    #[arg(short, long, alias = "attack", value_name = "LIST", value_delimiter = ',')]
    attacks: Option<Vec<String>>,

    /// The norm of a change [default: linf]
    #[arg(long, value_parser = parse::one_of::<Norm>())]
    norm: Option<Norm>,

    /// Storage format of attacked images [default: float; paper: truncate]
    #[arg(long, value_parser = parse::one_of::<Grid>())]
    grid: Option<Grid>,

    /// Attack only images that no attack broke yet and that are not certified: faster, without a score of each attack alone
    #[arg(long)]
    chain: bool,

    /// The seed of all random numbers
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,

    /// Threads; the results are the same for any number [default: all]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    threads: usize,

    /// Draw some misclassified images, the changes, and the originals
    #[arg(long, value_name = "FILE.png", value_hint = ValueHint::FilePath)]
    pictures: Option<PathBuf>,

    /// Save the worst image found for every image, pixels from 0 to 1, one row each; one file per eps
    #[arg(long, value_name = "FILE.npy", value_hint = ValueHint::FilePath)]
    save: Option<PathBuf>,

    /// Write the proofs of the certified images to a JSON file, for one eps
    #[arg(long, value_name = "FILE.json", value_hint = ValueHint::FilePath)]
    proof_file: Option<PathBuf>,

    /// Keep results.json, results.csv, images.csv, pictures.png and adversarial.npy in a folder
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    out: Option<PathBuf>,

    /// Overwrite the attack in that folder
    #[arg(long, requires = "out")]
    force: bool,

    /// Print results as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &AttackArgs, screen: &mut Screen) -> Result<Exit> {
    let stop = interrupt::flag()?;
    let (report, planned) = carry_out(&args.config()?, &args.outputs(), (&stop, None), screen)?;
    show(&report, args, planned, screen)
}

/// Attacks, writes the files, and returns the number of planned eps. After Ctrl-C or the deadline it returns the partial result.
pub(crate) fn carry_out(
    config: &AttackConfig,
    outputs: &Outputs<'_>,
    (stop, deadline): (&AtomicBool, Option<Instant>),
    screen: &mut Screen,
) -> Result<(Report, usize)> {
    let path = &config.model;
    if config.limit == Some(0) {
        bail!("--limit is 0; at least one image is needed");
    }
    // Cheap checks come before large files are read.
    if !path.exists() {
        files::tensors(path)?;
    }
    let part = Part::find(&config.data, config.split)?;
    let protocols = config.protocols(part.shape())?;
    let network = Network::load(path, config.network.as_deref(), part.shape())?;
    let images = part.choose(&network, config.classes.as_deref(), config.limit)?;
    let mut engine = Engine::new(&network.model, config.threads)?;
    engine.set_weights(&network.parameters)?;
    if let Some(file) = outputs.proof {
        proof_file::check(path, file, &config.eps, &network, &engine)?;
    }
    let paths = OutputPaths::new(outputs, &network.sha256)?;
    network.notes.iter().chain(&images.notes).for_each(|text| screen.note(text));
    let mut report = Report {
        model: path.display().to_string(),
        images: images.about.clone(),
        protocol: config.protocol_name(),
        norm: protocols[0].ball.norm.name(),
        grid: protocols[0].ball.grid.name(),
        chained: config.chain,
        seed: config.seed,
        blocks: Vec::new(),
        interrupted: false,
        seconds: 0.0,
    };
    let bar = AttackBar::new(screen, &protocols, images.names.len());
    let observer = |event: AttackEvent<'_>| bar.show(event);
    let evaluation =
        AttackEvaluation { engine: &engine, images: &images, seed: config.seed, stop, deadline, observer: &observer };
    let sheets = measure(&evaluation, &protocols, &paths, &mut report)?;
    paths.report(&report)?;
    if !paths.pictures(&sheets, (images.rows, images.cols))? {
        screen.note("no image is misclassified under attack: no picture is written");
    }
    Ok((report, protocols.len()))
}

/// Evaluates every eps until Ctrl-C. Figures go into the report, images into files.
fn measure(
    evaluation: &AttackEvaluation<'_>,
    protocols: &[Protocol],
    paths: &OutputPaths<'_>,
    report: &mut Report,
) -> Result<Vec<Sheet>> {
    let begun = Instant::now();
    let images = evaluation.images;
    let mut sheets = Vec::new();
    for (i, protocol) in protocols.iter().enumerate() {
        let mut measured = evaluation.measure(i, protocol)?;
        let several = protocols.len() > 1;
        paths.images(&measured.worst, images.labels.len(), several.then_some(protocol.ball.eps))?;
        if let (Some(proven), Some(proof)) = (&mut measured.block.certified, &measured.proof) {
            proven.file = paths.proof(proof, images, protocol.ball.eps)?;
        }
        sheets.push(Sheet::of(images, &measured));
        report.blocks.push(measured.block);
        if measured.interrupted {
            report.interrupted = true;
            break;
        }
    }
    report.seconds = begun.elapsed().as_secs_f64();
    Ok(sheets)
}

/// Prints the result, and the reason if it is partial.
fn show(report: &Report, args: &AttackArgs, planned: usize, screen: &mut Screen) -> Result<Exit> {
    if args.json {
        for warning in report.blocks.iter().flat_map(|block| &block.warnings) {
            screen.warn(warning);
        }
        screen.result(&format!("{:#}\n", report.json()))?;
    } else {
        let result: AttackResult = serde_json::from_value(report.json())?;
        screen.result(&table::render(&result, screen))?;
    }
    show_proof(report, args, screen)?;
    if let Some(folder) = &args.out {
        screen.note(&format!("results.json, results.csv, images.csv and the images are in {}", files::name(folder)));
    }
    if !report.interrupted {
        return Ok(Exit::Done);
    }
    let last = report.blocks.last();
    let eps = last.map_or(String::new(), |block| short(block.eps));
    let attacks = plural(last.map_or(0, |block| block.attacks.len()) as u64, "attack");
    let finished = report.blocks.len() - 1;
    screen.note(&format!("interrupted: {finished} of {planned} eps finished, and {attacks} at eps {eps}"));
    Ok(Exit::Interrupted)
}

/// Prints a line about the proof file, or a warning if there is none.
fn show_proof(report: &Report, args: &AttackArgs, screen: &mut Screen) -> Result<()> {
    let Some(path) = &args.proof_file else { return Ok(()) };
    let proven = report.blocks.iter().find_map(|block| block.certified.as_ref()?.file.as_ref());
    match proven.map(ProofFile::line) {
        Some(line) if args.json => screen.note(&line),
        Some(line) => screen.result(&format!("{line}\n"))?,
        None => screen.warn(&format!("{} is not written: the proof was interrupted", files::name(path))),
    }
    Ok(())
}

impl AttackArgs {
    /// The evaluation that the arguments describe.
    fn config(&self) -> Result<AttackConfig> {
        let Some(model) = self.file.as_ref().or(self.model.as_ref()) else {
            bail!("no model is given; name its file");
        };
        Ok(AttackConfig {
            model: model.clone(),
            network: self.network.clone(),
            data: self.data.clone(),
            split: self.split,
            classes: self.classes.clone(),
            limit: self.limit,
            eps: self.eps.clone(),
            rules: self.protocol,
            attacks: self.attacks.clone(),
            norm: self.norm,
            grid: self.grid,
            chain: self.chain,
            seed: self.seed,
            threads: self.threads,
        })
    }

    fn outputs(&self) -> Outputs<'_> {
        Outputs {
            folder: self.out.as_deref(),
            force: self.force,
            pictures: self.pictures.as_deref(),
            images: self.save.as_deref(),
            proof: self.proof_file.as_deref(),
        }
    }
}

/// Requested output files.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Outputs<'a> {
    /// A folder for all of them.
    pub(crate) folder: Option<&'a Path>,
    /// Overwrite the attack in that folder.
    pub(crate) force: bool,
    pub(crate) pictures: Option<&'a Path>,
    pub(crate) images: Option<&'a Path>,
    pub(crate) proof: Option<&'a Path>,
}

/// Paths of the output files.
struct OutputPaths<'a> {
    folder: Option<&'a Path>,
    /// Held while files are written.
    _lock: Option<RunLock>,
    pictures: Vec<PathBuf>,
    images: Vec<PathBuf>,
    /// The proof file, and the digest of the model.
    proof: Option<(&'a Path, &'a str)>,
}

impl<'a> OutputPaths<'a> {
    /// Checks that the paths can be written, before the evaluation.
    fn new(outputs: &Outputs<'a>, model: &'a str) -> Result<Self> {
        let Outputs { folder, force, pictures, images, proof } = *outputs;
        let lock = folder.map(|folder| folder::new(Some(folder), folder::ATTACK, force)).transpose()?;
        let both = |named: Option<&Path>, usual: &str| -> Vec<PathBuf> {
            named.map(Path::to_owned).into_iter().chain(folder.map(|folder| folder.join(usual))).collect()
        };
        for path in [pictures, images, proof].into_iter().flatten() {
            let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
            if !parent.is_dir() {
                bail!("cannot write {}: there is no folder {}", files::name(path), files::name(parent));
            }
            if path.is_dir() {
                bail!("cannot write {}: it is a folder, name a file", files::name(path));
            }
        }
        Ok(Self {
            folder,
            _lock: lock.map(|(_, lock)| lock),
            pictures: both(pictures, "pictures.png"),
            images: both(images, "adversarial.npy"),
            proof: proof.map(|path| (path, model)),
        })
    }

    /// Writes the proof file, if requested.
    fn proof(&self, proof: &Certified, images: &Images, eps: f64) -> Result<Option<ProofFile>> {
        let Some((path, model)) = self.proof else { return Ok(None) };
        let proven = proof.proven_images(&images.pixels, &images.labels, &images.places);
        proof_file::write(path, model, Region::image_within(eps), &proven)?;
        let of = images.labels.len();
        Ok(Some(ProofFile { path: path.display().to_string(), images: proven.len(), of, eps }))
    }

    /// Saves attacked images; the file name contains the eps if there are several.
    fn images(&self, images: &[f32], rows: usize, eps: Option<f64>) -> Result<()> {
        if self.images.is_empty() {
            return Ok(());
        }
        let file = npy::matrix(images, rows);
        for path in &self.images {
            let path = match eps {
                None => path.clone(),
                Some(eps) => {
                    let (stem, kind) = (path.file_stem().unwrap_or_default(), path.extension().unwrap_or_default());
                    let (stem, kind) = (stem.to_string_lossy(), kind.to_string_lossy());
                    let dot = if kind.is_empty() { "" } else { "." };
                    path.with_file_name(format!("{stem}-{}{dot}{kind}", short(eps)))
                }
            };
            files::replace(&path, &file)?;
        }
        Ok(())
    }

    fn report(&self, report: &Report) -> Result<()> {
        let Some(folder) = self.folder else { return Ok(()) };
        files::replace(&folder.join("results.json"), format!("{:#}\n", report.json()).as_bytes())?;
        files::replace(&folder.join("results.csv"), report.csv().as_bytes())?;
        Ok(files::replace(&folder.join("images.csv"), report.images_csv().as_bytes())?)
    }

    /// Draws the pictures; false if no image is misclassified.
    fn pictures(&self, sheets: &[Sheet], size: (usize, usize)) -> Result<bool> {
        if self.pictures.is_empty() {
            return Ok(true);
        }
        let Some(file) = picture::file(sheets, size)? else { return Ok(false) };
        for path in &self.pictures {
            files::replace(path, &file)?;
        }
        Ok(true)
    }
}
