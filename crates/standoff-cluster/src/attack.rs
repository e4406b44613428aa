//! An attack in parts: a shard attacks every N-th image, and a merge puts the results of all images together.
//!
//! Random numbers are functions of an image's place in the whole set, so every image has the result of one run.

use std::fs;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use standoff_nn::attack::{Attack, Cost, Ensemble, Found, MaskingSigns, PartOfSet, Protocol, Reach};
use standoff_nn::certify::Certified;
use standoff_train::attack::images::Images;
use standoff_train::attack::{AttackEvaluation, AttackedSet};
use standoff_train::document::DocumentFormat;
use standoff_train::error::{Error, Result};
use standoff_train::files;
use standoff_train::training::folder;

use crate::merge::Shards;
use crate::shard::{Shard, ShardRecord};

/// The format of the file with the images of a shard.
const FORMAT: DocumentFormat = DocumentFormat { name: "standoff-attacked", version: 1 };

/// The images of an attack.
#[derive(Debug, Clone, Copy, Default)]
pub enum AttackPart<'a> {
    /// All of them.
    #[default]
    Whole,
    /// Those of a shard.
    Shard(Shard),
    /// All, which shards have attacked.
    Merge(&'a Shards),
}

/// An attack on a part of the images.
pub struct AttackParts<'a> {
    part: AttackPart<'a>,
    /// Bytes of the model and of the whole set, for digests.
    described: [(&'static str, Vec<u8>); 2],
    /// The place of each image in the whole set, and the size of that set.
    places: Vec<u32>,
    of: usize,
    /// The results of this shard.
    done: Vec<SavedSet>,
    /// The results of all shards.
    read: Vec<SavedShard>,
}

impl<'a> AttackParts<'a> {
    /// The part, and its images. A merge refuses a model and images that are not those of the shards.
    pub fn new(part: AttackPart<'a>, model: &str, images: Images) -> Result<(Self, Images)> {
        let mut bytes = Vec::new();
        if !matches!(part, AttackPart::Whole) {
            images.pixels.iter().for_each(|v| bytes.extend(v.to_le_bytes()));
            images.labels.iter().for_each(|v| bytes.extend(v.to_le_bytes()));
        }
        let described = [("model", model.as_bytes().to_vec()), ("set of images", bytes)];
        let of = images.labels.len();
        let mut parts = Self { part, described, places: Vec::new(), of, done: Vec::new(), read: Vec::new() };
        match part {
            AttackPart::Whole => Ok((parts, images)),
            AttackPart::Shard(shard) => {
                parts.places = (0..of as u32).filter(|i| shard.owns(*i as usize)).collect();
                let images = parts.choose(images);
                Ok((parts, images))
            }
            AttackPart::Merge(shards) => {
                let mut own = ShardRecord::new(Shard::default(), "attack");
                parts.describe(&mut own);
                let differs = |(name, sum): &(&String, &String)| shards.record().digests.get(*name) != Some(*sum);
                if let Some((name, _)) = own.digests.iter().find(differs) {
                    return refused(format!("the shards have another {name}; give `merge` what the shards had"));
                }
                parts.read = shards.all.iter().map(|one| SavedShard::read(one, of)).collect::<Result<_>>()?;
                Ok((parts, images))
            }
        }
    }

    /// The images of the shard, and no others.
    fn choose(&self, images: Images) -> Images {
        let width = images.shape.size();
        let places = || self.places.iter().map(|&i| i as usize);
        Images {
            pixels: places().flat_map(|i| &images.pixels[i * width..(i + 1) * width]).copied().collect(),
            labels: places().map(|i| images.labels[i]).collect(),
            places: places().map(|i| images.places[i]).collect(),
            ..images
        }
    }

    /// The pieces of a shard: its images, by their places in the whole set.
    pub fn pieces(&self) -> Vec<String> {
        self.places.iter().map(ToString::to_string).collect()
    }

    /// Adds the digests of the model and of the whole set.
    pub fn describe(&self, record: &mut ShardRecord) {
        self.described.iter().for_each(|(name, bytes)| record.digest(name, bytes));
    }

    /// Attacks the images at the eps of that number, or reads what the shards found.
    pub fn attack(
        &mut self,
        evaluation: &AttackEvaluation<'_>,
        (number, protocol): (usize, &Protocol),
    ) -> Result<AttackedSet> {
        match self.part {
            AttackPart::Merge(_) => SavedSet::merged(&self.read, number, protocol),
            AttackPart::Whole => evaluation.attack(number, protocol),
            AttackPart::Shard(_) => {
                let part = PartOfSet { places: &self.places, of: self.of };
                let set = AttackEvaluation { part: Some(part), ..*evaluation }.attack(number, protocol)?;
                self.done.push(SavedSet::of(&set));
                Ok(set)
            }
        }
    }

    /// The seconds of all shards together; `None` if this is no merge.
    pub fn seconds(&self) -> Option<f64> {
        (!self.read.is_empty()).then(|| self.read.iter().map(|shard| shard.seconds).sum())
    }

    /// Writes the results of a shard.
    pub fn save(&mut self, out: &Path, seconds: f64) -> Result<()> {
        let eps = std::mem::take(&mut self.done);
        let document = FORMAT.stamp(serde_json::to_value(SavedShard { seconds, eps })?);
        files::replace(&out.join(folder::ATTACKED), format!("{document}\n").as_bytes())
    }
}

fn refused<T>(why: String) -> Result<T> {
    Err(Error::Folder(why))
}

/// Numbers as their bits, in base 64.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Bits(String);

impl Bits {
    fn of<const N: usize>(words: impl Iterator<Item = [u8; N]>) -> Self {
        Self(STANDARD.encode(words.flatten().collect::<Vec<u8>>()))
    }

    fn words<const N: usize>(&self) -> Vec<[u8; N]> {
        let bytes = STANDARD.decode(&self.0).unwrap_or_default();
        bytes.as_chunks().0.to_vec()
    }

    fn floats(&self) -> Vec<f32> {
        self.words().into_iter().map(f32::from_le_bytes).collect()
    }

    fn doubles(&self) -> Vec<f64> {
        self.words().into_iter().map(f64::from_le_bytes).collect()
    }
}

/// The file of a shard.
#[derive(Debug, Serialize, Deserialize)]
struct SavedShard {
    seconds: f64,
    eps: Vec<SavedSet>,
}

/// The results of the images of a shard at one eps.
#[derive(Debug, Serialize, Deserialize)]
struct SavedSet {
    natural: Vec<bool>,
    fallen_to: Vec<Option<usize>>,
    predictions: Vec<u16>,
    images: Bits,
    margins: Bits,
    attacks: Vec<SavedAttack>,
    certified: Option<(Vec<bool>, Bits)>,
    proof_seconds: f64,
    /// Random points, vanishing gradients, flat losses.
    signs: Option<[Vec<bool>; 3]>,
}

/// The result of one attack.
#[derive(Debug, Serialize, Deserialize)]
struct SavedAttack {
    name: String,
    tried: Vec<bool>,
    fallen: Vec<bool>,
    shares: Bits,
    left: usize,
    left_alone: Option<usize>,
    refused: usize,
    passes: [u64; 2],
    seconds: f64,
}

impl SavedShard {
    /// Reads the file of a shard of a set of this many images.
    fn read((out, record): &(std::path::PathBuf, ShardRecord), of: usize) -> Result<Self> {
        let path = out.join(folder::ATTACKED);
        let damaged = |why: &dyn std::fmt::Display| {
            Error::Folder(format!("cannot read {}: {why}; run its shard again", files::name(&path)))
        };
        let text = fs::read_to_string(&path).map_err(|e| damaged(&e))?;
        let document: serde_json::Value = serde_json::from_str(&text).map_err(|e| damaged(&e))?;
        FORMAT.check(&document)?;
        let own: Self = serde_json::from_value(document).map_err(|e| damaged(&e))?;
        let n = (0..of).filter(|i| record.shard.owns(*i)).count();
        if record.pieces.len() == n && own.eps.iter().all(|set| set.is_of(n)) {
            return Ok(own);
        }
        refused(format!("{} is damaged: want results of {n} images; run its shard again", files::name(&path)))
    }
}

impl SavedSet {
    /// True if there are results of this many images.
    fn is_of(&self, n: usize) -> bool {
        let whole = |len: usize, each: Option<usize>| each.map_or(len.is_multiple_of(n.max(1)), |each| len == n * each);
        let attack =
            |a: &SavedAttack| a.tried.len() == n && a.fallen.len() == n && whole(a.shares.doubles().len(), Some(1));
        self.natural.len() == n
            && self.fallen_to.len() == n
            && self.predictions.len() == n
            && whole(self.images.floats().len(), None)
            && whole(self.margins.floats().len(), Some(1))
            && self.attacks.iter().all(attack)
            && self.certified.as_ref().is_none_or(|(c, m)| c.len() == n && whole(m.doubles().len(), None))
            && self.signs.iter().flatten().all(|signs| signs.len() == n)
            && self.fallen_to.iter().flatten().all(|by| *by < self.attacks.len())
    }

    fn of(set: &AttackedSet) -> Self {
        let AttackedSet { result, predictions, proof, signs, seconds, .. } = set;
        let attack = |(found, seconds): (&Found, &f64)| SavedAttack {
            name: found.attack.name(),
            tried: found.tried.clone(),
            fallen: found.fallen.clone(),
            shares: Bits::of(found.shares.iter().map(|v| v.to_le_bytes())),
            left: found.left,
            left_alone: found.left_alone,
            refused: found.refused,
            passes: [found.cost.forward, found.cost.gradients],
            seconds: *seconds,
        };
        let bits = |list: &[f32]| Bits::of(list.iter().map(|v| v.to_le_bytes()));
        let proven =
            |each: &Certified| (each.certified.clone(), Bits::of(each.margins.iter().map(|v| v.to_le_bytes())));
        let three = |s: &MaskingSigns| [s.random.clone(), s.vanishing.clone(), s.flat.clone()];
        Self {
            natural: result.natural.clone(),
            fallen_to: result.fallen_to.clone(),
            predictions: predictions.clone(),
            images: bits(&result.images),
            margins: bits(&result.margins),
            attacks: result.attacks.iter().zip(seconds).map(attack).collect(),
            certified: proof.as_ref().map(|(each, _)| proven(each)),
            proof_seconds: proof.as_ref().map_or(0.0, |(_, seconds)| *seconds),
            signs: signs.as_ref().map(three),
        }
    }

    /// The results of all images at the eps of that number, in the order of one run.
    fn merged(shards: &[SavedShard], number: usize, protocol: &Protocol) -> Result<AttackedSet> {
        let names: Vec<String> = protocol.attacks.iter().map(Attack::name).collect();
        let fits = |set: &&SavedSet| set.attacks.iter().map(|a| &a.name).eq(&names);
        let sets: Option<Vec<&SavedSet>> = shards.iter().map(|s| s.eps.get(number).filter(fits)).collect();
        let Some(sets) = sets else { return refused("the shards have other attacks than their arguments".to_owned()) };
        let found = |(k, attack): (usize, &Attack)| SavedAttack::merged(&sets, k, *attack);
        let result = Ensemble {
            natural: weave(&sets, |set| set.natural.clone()),
            fallen_to: weave(&sets, |set| set.fallen_to.clone()),
            images: weave(&sets, |set| set.images.floats()),
            margins: weave(&sets, |set| set.margins.floats()),
            attacks: protocol.attacks.iter().enumerate().map(found).collect(),
            interrupted: false,
        };
        let proven = sets.iter().all(|set| set.certified.is_some()).then(|| Certified {
            certified: weave(&sets, |set| set.certified.as_ref().map_or(Vec::new(), |(flags, _)| flags.clone())),
            margins: weave(&sets, |set| set.certified.as_ref().map_or(Vec::new(), |(_, margins)| margins.doubles())),
        });
        let sign = |i: usize| weave(&sets, |set| set.signs.as_ref().map_or(Vec::new(), |s| s[i].clone()));
        let signed = sets.iter().all(|set| set.signs.is_some());
        Ok(AttackedSet {
            result,
            predictions: weave(&sets, |set| set.predictions.clone()),
            proof: proven.map(|each| (each, sets.iter().map(|set| set.proof_seconds).sum())),
            signs: signed.then(|| MaskingSigns { random: sign(0), vanishing: sign(1), flat: sign(2) }),
            seconds: (0..names.len()).map(|k| sets.iter().map(|set| set.attacks[k].seconds).sum()).collect(),
            interrupted: false,
        })
    }
}

impl SavedAttack {
    /// The attack of that number on all images.
    fn merged(sets: &[&SavedSet], k: usize, attack: Attack) -> Found {
        let all = || sets.iter().map(|set| &set.attacks[k]);
        let tried = weave(sets, |set| set.attacks[k].tried.clone());
        let fallen = weave(sets, |set| set.attacks[k].fallen.clone());
        let shares = weave(sets, |set| set.attacks[k].shares.doubles());
        let passes = |i: usize| all().map(|a| a.passes[i]).sum();
        Found {
            attack,
            reach: Reach::of(&shares, &tried, &fallen),
            left: all().map(|a| a.left).sum(),
            left_alone: all().map(|a| a.left_alone).sum(),
            refused: all().map(|a| a.refused).sum(),
            cost: Cost { forward: passes(0), gradients: passes(1) },
            tried,
            fallen,
            shares,
        }
    }
}

/// The entries of all images in the order of the whole set. Image i is in shard i modulo N; every image has the same number of entries.
fn weave<T: Clone>(sets: &[&SavedSet], entries: impl Fn(&SavedSet) -> Vec<T>) -> Vec<T> {
    let parts: Vec<Vec<T>> = sets.iter().map(|set| entries(set)).collect();
    let counts: Vec<usize> = sets.iter().map(|set| set.natural.len()).collect();
    let mut all = Vec::with_capacity(parts.iter().map(Vec::len).sum());
    for i in 0..counts.iter().sum() {
        let (shard, at) = (i % sets.len(), i / sets.len());
        let each = parts[shard].len() / counts[shard];
        all.extend_from_slice(&parts[shard][at * each..(at + 1) * each]);
    }
    all
}
