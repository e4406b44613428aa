//! `standoff attack`: an upper bound by attacks and a proven lower bound on the accuracy under small changes of the images.

use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use clap::{Args, ValueHint};
use standoff_cluster::{AttackPart, AttackParts, ranks};
use standoff_nn::Engine;
use standoff_nn::attack::{Attack, Grid, LabelledImages, Norm, Progress, Protocol, Run, smallest_changes};
use standoff_train::attack::config::Rules;
use standoff_train::attack::images::{Images, Part, Split};
use standoff_train::attack::network::Network;
use standoff_train::attack::proof_file::ProofFile;
use standoff_train::attack::report::Report;
use standoff_train::attack::{AttackConfig, AttackEvaluation, AttackEvent, ProofMethod, proof_file};
use standoff_train::data::class::Class;
use standoff_train::document;

use super::merge::{self, ShardFlag};
use crate::attack_files::{OutputPaths, Outputs};
use crate::attack_progress::AttackBar;
use crate::progress::{Bars, Step};
use crate::screen::Screen;
use crate::{Exit, files, interrupt, parse};
use standoff_present::attack::picture::Sheet;
use standoff_present::attack::result::AttackResult;
use standoff_present::attack::smallest::SmallestTable;
use standoff_present::attack::table;
use standoff_present::number::{plural, short};

const AFTER: &str = "\
The result is two bounds on the accuracy under attack: attacks give an upper bound, interval bounds
prove a lower bound. An image counts as broken if its stored form, evaluated again, is misclassified
and inside the ball.

Attacks: fgsm, pgd, targeted, apgd-ce, apgd-margin, apgd-dlr, apgd-t, fab, smooth, square, random,
and the ensembles standard and autoattack.
A number is the budget: pgd40 has 40 steps, pgd100x10 also 10 restarts, apgd-t50x9 targets 9
classes, square1000 makes 1,000 queries. PGD has options: pgd40:step=0.01,start=clean,loss=margin.

Examples:
  standoff attack model.safetensors --limit 500
  standoff attack model.safetensors --eps 0.2,0.3,0.4 --protocol paper
  standoff attack model.safetensors --eps 8/255 --grid search --out runs/attack
  standoff attack model.safetensors --norm l2 --eps 1.5 --attacks pgd100x10,square5000
  standoff attack model.safetensors --minimal --norm l2 --limit 100 --eps 0.5,1,2
  standoff attack model.safetensors --data fashion --classes 0,4,6 --pictures broken.png";

/// The arguments of `standoff attack`.
#[derive(Debug, Args)]
#[command(after_help = AFTER)]
pub(crate) struct AttackArgs {
    /// A model saved by standoff, an ONNX file, or PyTorch weights of a preset (lenet, fair-cnn, ...)
    #[arg(value_name = "MODEL.safetensors", value_hint = ValueHint::FilePath, required_unless_present = "model")]
    file: Option<PathBuf>,

    /// The same, as an option
    #[arg(short, long, value_name = "MODEL.safetensors", value_hint = ValueHint::FilePath, conflicts_with = "file")]
    model: Option<PathBuf>,

    /// The layers, if the file does not contain them: lenet, fair-cnn, logistic, mlp, or a model file [default: detected]
    #[arg(long, value_name = "NAME|FILE.toml")]
    network: Option<String>,

    /// A dataset of images, a folder of images, or an .npz file
    #[arg(short, long, value_name = "NAME|FOLDER", default_value = "mnist", value_hint = ValueHint::AnyPath)]
    data: String,

    /// The part of the dataset
    #[arg(long, default_value = "test", value_parser = parse::one_of::<Split>())]
    split: Split,

    /// Only images of these classes, by number or by name (0,Coat,Shirt)
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    classes: Option<Vec<Class>>,

    /// Only the first N images
    #[arg(long, value_name = "N", value_parser = parse::count)]
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

    /// The method of the proofs; crown and complete also try the images that intervals leave open and no attack broke
    #[arg(long, default_value = "interval", value_parser = parse::one_of::<ProofMethod>())]
    bounds: ProofMethod,

    /// The smallest change of each image instead, by FAB and then these attacks in smaller balls [default: apgd-margin50]
    #[arg(long, conflicts_with_all = ["protocol", "grid", "chain", "bounds", "pictures", "proof_file", "out", "save", "shard"])]
    minimal: bool,

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

    /// Keep manifest.json, results.json, results.csv, images.csv, pictures.png and adversarial.npy in a folder
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    out: Option<PathBuf>,

    /// Overwrite the attack in that folder
    #[arg(long, requires = "out")]
    force: bool,

    #[command(flatten)]
    shard: ShardFlag,

    /// Print results as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &AttackArgs, screen: &mut Screen) -> Result<Exit> {
    if args.shard.shard.is_some() && args.out.is_none() {
        bail!("--shard needs a folder for its part; name one with --out");
    }
    run_part(args, args.shard.shard.map_or(AttackPart::Whole, AttackPart::Shard), screen)
}

/// Attacks all images or those of a shard, or merges shards.
pub(crate) fn run_part(args: &AttackArgs, part: AttackPart<'_>, screen: &mut Screen) -> Result<Exit> {
    let stop = interrupt::flag()?;
    if args.minimal {
        return smallest(&args.config()?, args.json, &stop, screen);
    }
    let (report, planned) = carry_out(&args.config()?, &args.outputs(part), (&stop, None), screen)?;
    if ranks::follows() {
        return Ok(if report.interrupted { Exit::Interrupted } else { Exit::Done });
    }
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
    let Loaded { protocols, network, images, engine } = load(config)?;
    config.bounds.check(&engine, outputs.proof.is_some())?;
    if let Some(file) = outputs.proof {
        proof_file::check(path, file, &config.eps, &network, &engine)?;
    }
    // A shard has the manifest of the whole set.
    let manifest = outputs.folder.map(|_| config.manifest(&network, &images)).transpose()?;
    let (mut parts, images) = AttackParts::new(outputs.part, &network.sha256, images)?;
    let paths = OutputPaths::new(outputs, &network.sha256)?;
    manifest.iter().zip(outputs.folder).try_for_each(|(manifest, folder)| manifest.save(folder))?;
    network.notes.iter().chain(&images.notes).for_each(|text| screen.note(text));
    let mut report = Report::begin(config, &images.about, &protocols[0]);
    let bar = AttackBar::new(screen, &protocols, images.names.len());
    let observer = |event: AttackEvent<'_>| bar.show(event);
    let evaluation = AttackEvaluation {
        network: &engine,
        engine: Some(&engine),
        images: &images,
        part: None,
        bounds: config.bounds,
        seed: config.seed,
        stop,
        deadline,
        observer: &observer,
    };
    let sheets = measure((&evaluation, &mut parts), &protocols, &paths, &mut report)?;
    paths.report(&report)?;
    if !paths.pictures(&sheets, images.shape)? {
        screen.note("no image is misclassified under attack: no picture is written");
    }
    if let (AttackPart::Shard(shard), Some(folder), false) = (outputs.part, outputs.folder, report.interrupted) {
        parts.save(folder, report.seconds)?;
        merge::finished((shard, "attack"), (folder, parts.pieces()), screen, |record| {
            parts.describe(record);
            Ok(())
        })?;
    }
    Ok((report, protocols.len()))
}

/// Input of an evaluation.
struct Loaded {
    protocols: Vec<Protocol>,
    network: Network,
    images: Images,
    engine: Engine,
}

fn load(config: &AttackConfig) -> Result<Loaded> {
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
    ranks::agree_on_attack(config, &network.sha256, &images)?;
    let mut engine = Engine::new(&network.model, config.threads)?;
    engine.set_weights(&network.parameters)?;
    Ok(Loaded { protocols, network, images, engine })
}

/// The smallest change of every image.
fn smallest(config: &AttackConfig, json: bool, stop: &AtomicBool, screen: &mut Screen) -> Result<Exit> {
    let Loaded { protocols, network, images, engine } = load(config)?;
    network.notes.iter().chain(&images.notes).for_each(|text| screen.note(text));
    let bars = RefCell::new(Bars::new(screen));
    let show = |p: Progress<'_>| {
        let text = format!("{} {:.0}%", p.attack, 100.0 * p.done);
        bars.borrow_mut().update(|| vec![Step { share: Some(p.done), text }]);
    };
    let run = Run { stop: Some(stop), progress: Some(&show), ..Run::new(config.seed) };
    let refine =
        if config.attacks.is_some() { protocols[0].attacks.clone() } else { vec![Attack::named("apgd-margin50")?] };
    let labelled = LabelledImages { images: &images.pixels, labels: &images.labels };
    let found = smallest_changes(&engine, labelled, &protocols[0].ball, &refine, &run)?;
    bars.borrow_mut().clear();
    let exit = if found.interrupted { Exit::Interrupted } else { Exit::Done };
    if ranks::follows() {
        return Ok(exit);
    }
    let (model, eps) = (config.model.display().to_string(), &config.eps);
    let table = SmallestTable {
        natural: &found.natural,
        distances: &found.distances,
        passes: [found.cost.forward, found.cost.gradients],
        interrupted: found.interrupted,
        model: &model,
        images: &images.about,
        places: &images.places,
        norm: protocols[0].ball.norm.name(),
        eps,
    };
    let json = json.then(|| format!("{:#}\n", document::SMALLEST.stamp(table.json())));
    screen.result(&json.unwrap_or_else(|| table.render(screen.view().width)))?;
    Ok(exit)
}

/// Evaluates every eps until Ctrl-C. Figures go into the report, images into files.
fn measure(
    (evaluation, parts): (&AttackEvaluation<'_>, &mut AttackParts<'_>),
    protocols: &[Protocol],
    paths: &OutputPaths<'_>,
    report: &mut Report,
) -> Result<Vec<Sheet>> {
    let begun = Instant::now();
    let images = evaluation.images;
    let mut sheets = Vec::new();
    for (i, protocol) in protocols.iter().enumerate() {
        let mut measured = evaluation.conclude(protocol, parts.attack(evaluation, (i, protocol))?);
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
    report.seconds = parts.seconds().unwrap_or(begun.elapsed().as_secs_f64());
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
        screen.result(&table::render(&result, screen.view()))?;
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
        let model = self.file.as_ref().or(self.model.as_ref()).context("no model is given; name its file")?;
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
            bounds: self.bounds,
            seed: self.seed,
            threads: self.threads,
        })
    }

    fn outputs<'a>(&'a self, part: AttackPart<'a>) -> Outputs<'a> {
        if ranks::follows() {
            return Outputs { part, ..Outputs::default() };
        }
        Outputs {
            part,
            folder: self.out.as_deref(),
            force: self.force,
            pictures: self.pictures.as_deref(),
            images: self.save.as_deref(),
            proof: self.proof_file.as_deref(),
        }
    }
}
