//! Verification of networks in files: ONNX networks, VNN-LIB properties, and lists of instances in the layout of the verification
//! competition (VNN-COMP).

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use sha2::{Digest, Sha256};

use standoff_nn::Weights;
use standoff_nn::engine::communicator;
use standoff_nn::input;
use standoff_nn::model::onnx::OnnxModel;
use standoff_nn::verify::{Answer, Instance, OpGraph, Property, Verified, VerifySettings, verify, verify_with_proof};

use crate::error::{At, Error, Result, refuse};
use crate::files;
use crate::number::hexadecimal;

/// The largest network and the largest property.
const MAX_NETWORK: u64 = 1 << 30;
const MAX_PROPERTY: u64 = 256 << 20;

/// Reads the network of a file: see [`onnx`].
pub fn network(path: &Path) -> Result<OpGraph> {
    onnx(path)?.graph().at(|| files::name(path))
}

/// Reads the network of an ONNX file, also compressed by gzip, or of a safetensors file that standoff wrote.
pub fn onnx(path: &Path) -> Result<OnnxModel> {
    let bytes = bytes_of(path)?;
    if input::is_pickle(&bytes) {
        refuse!(
            Model,
            "{} is a pickle of PyTorch, which could run any code, so it is not opened; save it as ONNX:\n  \
             import torch\n  torch.onnx.export(model, example, \"model.onnx\", dynamo=False)",
            files::name(path)
        );
    }
    if path.extension().is_some_and(|e| e == "safetensors") {
        let read = || {
            let mut weights = Weights::from_bytes(&bytes)?;
            weights.for_pixels()?; // inputs are pixels from 0 to 1
            OnnxModel::of_model(&weights.model, &weights.parameters)
        };
        return read().at(|| files::name(path));
    }
    OnnxModel::from_bytes(&bytes).at(|| files::name(path))
}

/// Reads the property of a VNN-LIB file, also compressed by gzip.
pub fn property(path: &Path) -> Result<Property> {
    Property::from_vnnlib(&text_of(path)?).at(|| files::name(path))
}

fn bytes_of(path: &Path) -> Result<Vec<u8>> {
    input::read_plain_or_gzip(&existing(path), MAX_NETWORK).map_err(|e| files::unread(path, &e))
}

fn text_of(path: &Path) -> Result<String> {
    let bytes = input::read_plain_or_gzip(&existing(path), MAX_PROPERTY).map_err(|e| files::unread(path, &e))?;
    let Ok(text) = String::from_utf8(bytes) else { refuse!(File, "{} is not text", files::name(path)) };
    Ok(text)
}

/// The file, or the one with `.gz` behind its name if only that exists.
fn existing(path: &Path) -> PathBuf {
    let mut packed = path.as_os_str().to_owned();
    packed.push(".gz");
    if !path.exists() && Path::new(&packed).exists() { packed.into() } else { path.to_owned() }
}

/// The result of one instance.
#[derive(Debug, Clone)]
pub struct InstanceResult {
    /// Answer, bound and branches.
    pub found: Verified,
    /// Seconds, with reading the files.
    pub seconds: f64,
    /// The subject of the answer, if that is not the outputs of the file.
    pub note: Option<&'static str>,
}

/// Softmax keeps the order of numbers, but in `f32` it can make different numbers equal.
const LOGITS: &str = "the softmax at the end is left out: the answer is about the order of its inputs, the logits";

/// Verifies one property of one network, in files, with this many threads (0: all). A proof or a counter-example is written to the
/// file `proof`.
pub fn run(
    (model, rule): (&Path, &Path),
    settings: &VerifySettings,
    (threads, proof): (usize, Option<&Path>),
    stop: &AtomicBool,
) -> Result<InstanceResult> {
    let begun = Instant::now();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| Error::Setting(format!("cannot start {threads} threads: {error}")))?;
    let graph = network(model)?;
    let run = || {
        let (property, text) =
            if proof.is_some() { (None, text_of(rule)?) } else { (Some(property(rule)?), String::new()) };
        // The time of reading counts.
        let time = settings.time.map(|t| t.saturating_sub(begun.elapsed()));
        let settings = VerifySettings { time, ..settings.clone() };
        let found = match property {
            None => verify_with_proof((&bytes_of(model)?, &text), &settings, stop),
            Some(property) => verify(&graph, &property, &settings, stop).map(|found| (found, None)),
        };
        found.at(|| files::name(model))
    };
    let (found, text) = pool.install(run)?;
    if let (Some(path), Some(text)) = (proof, text) {
        files::replace(path, &text)?;
    }
    let note = graph.softmax_left_out.map(|_| LOGITS);
    Ok(InstanceResult { found, seconds: begun.elapsed().as_secs_f64(), note })
}

/// The head of `results.csv`.
const HEAD: &str = "onnx,vnnlib,limit,result,seconds,bound,branches,digest\n";

/// The line of a result, the counter-example, and the text for the user.
type Reported = (String, Option<String>, String);

/// Verifies the instances of a list that are `wanted`, by their place among the different ones, and writes `results.csv` after each of
/// them. Lines that the file has already are not repeated. Counter-examples are written beside it, in the form of the competition.
/// `describe` makes the text that `report` receives. Several ranks verify one instance each at a time, and the first writes.
pub fn run_list(
    (list, wanted): (&Path, &dyn Fn(usize) -> bool),
    folder: &Path,
    (settings, threads): (&VerifySettings, usize),
    stop: &AtomicBool,
    (describe, mut report): (impl Fn(&InstanceResult) -> String, impl FnMut(&str)),
) -> Result<String> {
    let world = communicator::world();
    let path = folder.join("results.csv");
    let text = if world.rank() == 0 && path.exists() { files::text(&path, "results")? } else { HEAD.to_owned() };
    let mut csv = communicator::text_of_first(&text)?;
    let all = distinct(list)?;
    let mut left: Vec<&(usize, Instance)> = Vec::new();
    for (n, one) in all.iter().enumerate().filter(|(n, _)| wanted(*n)) {
        match csv.lines().find(|line| line.starts_with(&one.1.key())) {
            Some(line) if line.ends_with(&digest(list, &one.1, settings)?) => {}
            Some(_) => refuse!(
                File,
                "{} has instance {} of another network, property or setting; name another --out",
                files::name(&path),
                n + 1
            ),
            None => left.push(one),
        }
    }
    for some in left.chunks(world.ranks()) {
        if communicator::any(stop.load(Ordering::Relaxed))? {
            break;
        }
        let own = match some.get(world.rank()) {
            Some((_, instance)) => verify_instance((list, instance), (settings, threads), stop, &describe)?,
            None => None,
        };
        let found = communicator::gather_text(&serde_json::to_string(&own)?)?;
        for ((i, _), text) in some.iter().zip(found) {
            let Some((line, example, text)) = serde_json::from_str::<Option<Reported>>(&text)? else { return Ok(csv) };
            csv += &line;
            if world.rank() == 0 {
                if let Some(example) = example {
                    files::replace(&folder.join(format!("{i}.counterexample")), example.as_bytes())?;
                }
                files::replace(&path, csv.as_bytes())?;
                report(&text);
            }
        }
    }
    Ok(csv)
}

/// The begin of the digest of the files and settings of an instance, without its time limit.
fn digest(list: &Path, instance: &Instance, settings: &VerifySettings) -> Result<String> {
    let base = list.parent().unwrap_or(Path::new("."));
    let settings = VerifySettings { time: None, ..settings.clone() };
    let mut hash = Sha256::new();
    hash.update(bytes_of(&base.join(&instance.network))?);
    hash.update(text_of(&base.join(&instance.property))?);
    hash.update(format!("{settings:?}"));
    Ok(hexadecimal(&hash.finalize())[..16].to_owned())
}

/// The digest of the files and settings of all instances of a list: shards of one list have the same.
pub fn digest_of_list(list: &Path, settings: &VerifySettings) -> Result<String> {
    let digests = distinct(list)?.iter().map(|(_, one)| digest(list, one, settings)).collect::<Result<Vec<_>>>()?;
    Ok(digests.concat())
}

/// The instances of a list, each once, with its place in the list.
pub fn distinct(list: &Path) -> Result<Vec<(usize, Instance)>> {
    Instance::list(&files::text(list, "a list of instances")?).at(|| files::name(list))
}

/// Writes the results of several folders into one. `interleave` puts the lines of all `results.csv` in order.
pub fn merge(
    out: &Path,
    interleave: impl FnOnce(&dyn Fn(&Path) -> Result<Vec<String>>) -> Result<Vec<String>>,
    folders: &[PathBuf],
) -> Result<String> {
    let lines = |folder: &Path| {
        let text = files::text(&folder.join("results.csv"), "results")?;
        Ok(text.lines().skip(1).map(|line| format!("{line}\n")).collect())
    };
    let csv = HEAD.to_owned() + &interleave(&lines)?.concat();
    for entry in folders.iter().flat_map(std::fs::read_dir).flatten().flatten() {
        if entry.path().extension().is_some_and(|e| e == "counterexample") {
            std::fs::copy(entry.path(), out.join(entry.file_name()))?;
        }
    }
    files::replace(&out.join("results.csv"), csv.as_bytes())?;
    Ok(csv)
}

/// Verifies an instance of a list; `None` if it was interrupted without an answer.
fn verify_instance(
    (list, instance): (&Path, &Instance),
    (settings, threads): (&VerifySettings, usize),
    stop: &AtomicBool,
    describe: impl Fn(&InstanceResult) -> String,
) -> Result<Option<Reported>> {
    let base = list.parent().unwrap_or(Path::new("."));
    let time = Some(settings.time.map_or(instance.limit, |t| t.min(instance.limit)));
    let own = VerifySettings { time, ..settings.clone() };
    let result = run((&base.join(&instance.network), &base.join(&instance.property)), &own, (threads, None), stop)?;
    let InstanceResult { found, seconds, .. } = &result;
    if stop.load(Ordering::Relaxed) && found.answer == Answer::Unknown {
        return Ok(None);
    }
    let (key, limit, word) = (instance.key(), instance.limit.as_secs_f64(), found.answer.word());
    let digest = digest(list, instance, settings)?;
    let line = format!("{key}{limit},{word},{seconds:.2},{:.6e},{},{digest}\n", found.bound, found.branches);
    let text = format!("{} {}: {}", instance.network, instance.property, describe(&result));
    Ok(Some((line, found.answer.counter_example(), text)))
}
