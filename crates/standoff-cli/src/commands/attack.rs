//! `standoff attack`: how far a network's answers can be turned by small changes of its images, between what attacks find and what is
//! proven.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use anyhow::{Result, bail};
use clap::{Args, ValueHint};
use standoff_nn::attack::Protocol;
use standoff_nn::robust::Certified;
use standoff_nn::{Engine, Region};

use crate::Exit;
use crate::attack::images::{Images, Part, Split};
use crate::attack::measure::{Bench, Measured};
use crate::attack::network::Network;
use crate::attack::picture::{self, Sheet};
use crate::attack::plan::{Distance, Levels, Rules, Wish};
use crate::attack::progress::Watch;
use crate::attack::proof_file::ProofFile;
use crate::attack::report::Report;
use crate::attack::{npy, proof_file, table};
use crate::files;
use crate::interrupt;
use crate::number::{plural, short};
use crate::parse;
use crate::screen::Screen;
use crate::training::folder;
use crate::training::lock::RunLock;

const AFTER: &str = "\
The answer is a bracket: attacks show how much accuracy is left at most, interval bounds prove
how much is left at least. An image counts as fallen once its stored form alone, evaluated
afresh, is misclassified and inside the ball.

Attacks: fgsm, pgd, targeted, apgd-ce, apgd-margin, apgd-dlr, apgd-t, smooth, square, random.
A number is the budget: pgd40 has 40 steps, pgd100x10 also 10 restarts, apgd-t50x9 goes for 9
classes, square1000 asks 1,000 times. PGD has options: pgd40:step=0.01,start=clean,loss=margin.

Examples:
  standoff attack model.safetensors --limit 500
  standoff attack model.safetensors --eps 0.2,0.3,0.4 --protocol paper
  standoff attack model.safetensors --eps 8/255 --grid search --out runs/attack
  standoff attack model.safetensors --norm l2 --eps 1.5 --attacks pgd100x10,square5000
  standoff attack model.safetensors --data fashion --classes 0,4,6 --pictures fallen.png";

/// The arguments of `standoff attack`.
#[derive(Debug, Args)]
#[command(after_help = AFTER)]
pub(crate) struct AttackArgs {
    /// The network: from standoff, or PyTorch's tensors of a network that has a name
    #[arg(value_name = "MODEL.safetensors", value_hint = ValueHint::FilePath, required_unless_present = "model")]
    file: Option<PathBuf>,

    /// The same, as an option
    #[arg(short, long, value_name = "MODEL.safetensors", value_hint = ValueHint::FilePath, conflicts_with = "file")]
    model: Option<PathBuf>,

    /// Its layers, where the file does not say: lenet, fair-cnn, logistic, mlp, or a model file [default: found out]
    #[arg(long, value_name = "NAME|FILE.toml")]
    network: Option<String>,

    /// A dataset of images, or a folder with IDX files
    #[arg(short, long, value_name = "NAME|FOLDER", default_value = "mnist", value_hint = ValueHint::AnyPath)]
    data: String,

    /// Which of its images
    #[arg(long, default_value = "test")]
    split: Split,

    /// Only images of these classes
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',')]
    classes: Option<Vec<u8>>,

    /// Only the first N images
    #[arg(long, value_name = "N", value_parser = parse::count, allow_negative_numbers = true)]
    limit: Option<u64>,

    /// The largest change, of pixels from 0 to 1; several are measured one after the other
    #[arg(
        short, long, value_name = "LIST", value_delimiter = ',', default_value = "0.3", allow_hyphen_values = true,
        value_parser = parse::number
    )]
    eps: Vec<f64>,

    /// Whose evaluation
    #[arg(long, default_value = "standard")]
    protocol: Rules,

    /// These attacks instead of the protocol's own
    #[arg(short, long, alias = "attack", value_name = "LIST", value_delimiter = ',')]
    attacks: Option<Vec<String>>,

    /// How a change is measured [default: linf]
    #[arg(long)]
    norm: Option<Distance>,

    /// How attacked images are stored [default: float; paper: truncate]
    #[arg(long)]
    grid: Option<Levels>,

    /// Attack only what still stands and is not proven to: faster, but what an attack does alone is not known
    #[arg(long)]
    chain: bool,

    /// Decides every random number
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,

    /// Threads; they change no result [default: all]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    threads: usize,

    /// Draw some fallen images, what was added to them, and the originals
    #[arg(long, value_name = "FILE.png", value_hint = ValueHint::FilePath)]
    pictures: Option<PathBuf>,

    /// Save the worst image found of every image, from 0 to 1, a row each; for several eps, a file each
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
    let (report, planned) = carry_out(args, &*interrupt::flag()?, None, screen)?;
    show(&report, args, planned, screen)
}

/// Attacks, keeps what came out, and says how many eps were planned. Ctrl-C and the deadline end it with what there is.
pub(crate) fn carry_out(
    args: &AttackArgs,
    stop: &AtomicBool,
    deadline: Option<Instant>,
    screen: &mut Screen,
) -> Result<(Report, usize)> {
    let Some(path) = args.file.as_ref().or(args.model.as_ref()) else {
        bail!("no model is given; name its file");
    };
    if args.limit == Some(0) {
        bail!("--limit is 0; at least one image is needed");
    }
    // What is quickly known to be wrong is said before anything large is read.
    if !path.exists() {
        files::tensors(path)?;
    }
    let part = Part::find(&args.data, args.split)?;
    let protocols = args.wish().protocols(part.shape())?;
    let network = Network::load(path, args.network.as_deref(), part.shape())?;
    let images = part.choose(&network, args.classes.as_deref(), args.limit)?;
    let mut engine = Engine::new(&network.model, args.threads)?;
    engine.set_weights(&network.parameters)?;
    if let Some(file) = &args.proof_file {
        proof_file::check(path, file, &args.eps, &network, &engine)?;
    }
    let shelf = Shelf::new(args, &network.sha256)?;
    network.notes.iter().chain(&images.notes).for_each(|text| screen.note(text));
    let bench = Bench { engine: &engine, images: &images, seed: args.seed, stop, deadline };
    let mut report = Report {
        model: path.display().to_string(),
        images: images.about.clone(),
        protocol: args.protocol.name(),
        norm: protocols[0].ball.norm.name(),
        grid: protocols[0].ball.grid.name(),
        chained: args.chain,
        seed: args.seed,
        blocks: Vec::new(),
        interrupted: false,
        seconds: 0.0,
    };
    let sheets = measure(&bench, &protocols, &shelf, &mut report, screen)?;
    shelf.report(&report)?;
    if !shelf.pictures(&sheets, (images.rows, images.cols))? {
        screen.note("no image fell: there is no picture to draw");
    }
    Ok((report, protocols.len()))
}

/// Every eps, until Ctrl-C: figures into the report, images onto the shelf.
fn measure(
    bench: &Bench<'_>,
    protocols: &[Protocol],
    shelf: &Shelf<'_>,
    report: &mut Report,
    screen: &Screen,
) -> Result<Vec<Sheet>> {
    let begun = Instant::now();
    let watch = Watch::new(screen, protocols, bench.images.names.len());
    let mut sheets = Vec::new();
    for (i, protocol) in protocols.iter().enumerate() {
        let Measured { mut block, worst, sheet, proof, interrupted } = bench.measure(i, protocol, &watch)?;
        let several = protocols.len() > 1;
        shelf.images(&worst, bench.images.labels.len(), several.then_some(protocol.ball.eps))?;
        if let (Some(proven), Some(proof)) = (&mut block.certified, &proof) {
            proven.file = shelf.proof(proof, bench.images, protocol.ball.eps)?;
        }
        report.blocks.push(block);
        sheets.push(sheet);
        if interrupted {
            report.interrupted = true;
            break;
        }
    }
    report.seconds = begun.elapsed().as_secs_f64();
    Ok(sheets)
}

/// Prints what was measured, and how it ended.
fn show(report: &Report, args: &AttackArgs, planned: usize, screen: &mut Screen) -> Result<Exit> {
    if args.json {
        for warning in report.blocks.iter().flat_map(|block| &block.warnings) {
            screen.warn(warning);
        }
        screen.result(&format!("{:#}\n", report.json()))?;
    } else {
        screen.result(&table::render(report, screen.width()))?;
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

/// Says what the proof file holds, or that there is none.
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

/// An attack that is not typed: the protocol's own, on a dataset's test images.
#[derive(Debug, Clone)]
pub(crate) struct Order<'a> {
    pub(crate) model: &'a Path,
    pub(crate) data: &'a str,
    pub(crate) limit: Option<u64>,
    pub(crate) eps: &'a [f64],
    pub(crate) protocol: Rules,
    pub(crate) threads: usize,
    pub(crate) out: &'a Path,
}

impl AttackArgs {
    pub(crate) fn of(order: &Order<'_>) -> Self {
        Self {
            file: Some(order.model.to_owned()),
            model: None,
            network: None,
            data: order.data.to_owned(),
            split: Split::Test,
            classes: None,
            limit: order.limit,
            eps: order.eps.to_vec(),
            protocol: order.protocol,
            attacks: None,
            norm: None,
            grid: None,
            chain: false,
            seed: 0,
            threads: order.threads,
            pictures: None,
            save: None,
            proof_file: None,
            out: Some(order.out.to_owned()),
            force: true,
            json: false,
        }
    }

    fn wish(&self) -> Wish<'_> {
        Wish {
            rules: self.protocol,
            eps: &self.eps,
            attacks: self.attacks.as_deref(),
            norm: self.norm,
            grid: self.grid,
            chain: self.chain,
        }
    }
}

/// Where files go.
struct Shelf<'a> {
    folder: Option<&'a Path>,
    /// Held while files go there.
    _lock: Option<RunLock>,
    pictures: Vec<PathBuf>,
    images: Vec<PathBuf>,
    /// The proof file, and the digest of the model.
    proof: Option<(&'a Path, &'a str)>,
}

impl<'a> Shelf<'a> {
    /// Refuses places that cannot be written before hours of work, not after.
    fn new(args: &'a AttackArgs, model: &'a str) -> Result<Self> {
        let folder = args.out.as_deref();
        let lock = folder.map(|folder| folder::new(Some(folder), folder::ATTACK, args.force)).transpose()?;
        let both = |named: &Option<PathBuf>, usual: &str| -> Vec<PathBuf> {
            named.iter().cloned().chain(folder.map(|folder| folder.join(usual))).collect()
        };
        for path in [&args.pictures, &args.save, &args.proof_file].into_iter().flatten() {
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
            pictures: both(&args.pictures, "pictures.png"),
            images: both(&args.save, "adversarial.npy"),
            proof: args.proof_file.as_deref().map(|path| (path, model)),
        })
    }

    /// Writes the proof file, if one is asked for.
    fn proof(&self, proof: &Certified, images: &Images, eps: f64) -> Result<Option<ProofFile>> {
        let Some((path, model)) = self.proof else { return Ok(None) };
        let proven = proof.proven_images(&images.pixels, &images.labels, &images.places);
        proof_file::write(path, model, Region::image_within(eps), &proven)?;
        let of = images.labels.len();
        Ok(Some(ProofFile { path: path.display().to_string(), images: proven.len(), of, eps }))
    }

    /// Saves attacked images; the eps is put into the name where there are several.
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
        files::replace(&folder.join("images.csv"), report.images_csv().as_bytes())
    }

    /// Draws the pictures, if there is something to show; false if not.
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
