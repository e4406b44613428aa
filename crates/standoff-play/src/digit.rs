//! A drawn digit and the bundled network: its answer, the largest eps at which that is proven, the smallest at which an attack changes it.

use serde::Deserialize;
use serde_json::{Value, json};
use standoff_nn::attack::{Attack, Ball, Judge, LabelledImages, Protocol, Run, ensemble};
use standoff_nn::certify::{Certified, certify};
use standoff_nn::data::ImageSet;
use standoff_nn::{Ask, Batch, Engine, Error, Loss, Outcome, Region, Samples, Shape, Weights};
use standoff_train::bundled;

use crate::answer::Answer;

/// Rows and columns of an image.
const SIDE: usize = 28;
/// The largest eps on the page, and the steps from 0 to it that the search for a proof distinguishes.
const LARGEST_EPS: f64 = 0.5;
const STEPS: u32 = 500;
/// Searches for a smaller eps at which an attack succeeds.
const SEARCHES: usize = 6;
/// The network, and the test images.
const MODEL: &str = "models/ibp-lenet.safetensors";
const IMAGES: &str = "data/mnist/t10k-images-idx3-ubyte.gz";
const LABELS: &str = "data/mnist/t10k-labels-idx1-ubyte.gz";
/// The attacks: on the margin, on every class in turn, and without gradients.
const ATTACKS: [&str; 3] = ["apgd-margin100", "apgd-t30x9", "square500"];

/// An image, as the page sends it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DigitRequest {
    pixels: Vec<u8>,
    #[serde(default)]
    eps: f64,
}

impl DigitRequest {
    /// Reads the body of a request.
    pub(crate) fn read(body: &[u8]) -> Result<Self, Answer> {
        let request: Self = serde_json::from_slice(body)
            .map_err(|error| Answer::refusal(400, &format!("the request is not as expected: {error}")))?;
        if request.pixels.len() != SIDE * SIDE {
            let why = format!("got {} pixels, want {} from 0 to 255", request.pixels.len(), SIDE * SIDE);
            return Err(Answer::refusal(422, &why));
        }
        if !(request.eps >= 0.0 && request.eps <= LARGEST_EPS) {
            let why = format!("eps is {}: want a number from 0 to {LARGEST_EPS}", request.eps);
            return Err(Answer::refusal(422, &why));
        }
        Ok(request)
    }

    fn image(&self) -> Vec<f32> {
        self.pixels.iter().map(|byte| f32::from(*byte) / 255.0).collect()
    }
}

/// The network and the test images.
#[derive(Debug)]
pub(crate) struct Digits {
    engine: Engine,
    attacks: Vec<Attack>,
    test: Option<ImageSet>,
}

/// An image that an attack found, with its distance from the original and the network's answer.
struct Attacked {
    image: Vec<f32>,
    distance: f64,
    logits: Vec<f32>,
    answer: u16,
    broken: bool,
}

impl Digits {
    /// Reads the files inside the program.
    pub(crate) fn load() -> Result<Self, String> {
        let file = |name: &str| bundled::examples().find(|(path, _)| path.as_os_str() == name).map(|(_, bytes)| bytes);
        let bytes = file(MODEL).ok_or("this build has no network inside")?;
        let build = || -> Result<(Engine, Vec<Attack>), Error> {
            let mut weights = Weights::recognise(bytes, Shape::new(1, SIDE, SIDE), None)?;
            weights.for_pixels()?;
            let mut engine = Engine::new(&weights.model, 1)?;
            engine.set_weights(&weights.parameters)?;
            let attacks = ATTACKS.iter().map(|name| Attack::named(name)).collect::<Result<_, Error>>()?;
            Ok((engine, attacks))
        };
        let (engine, attacks) = build().map_err(|error| format!("the network inside cannot be used: {error}"))?;
        // Without the test images the page still has a canvas.
        let test = file(IMAGES).zip(file(LABELS)).and_then(|(i, l)| ImageSet::read((IMAGES, i), (LABELS, l)).ok());
        Ok(Self { engine, attacks, test: test.filter(|set| set.pixels() == SIDE * SIDE) })
    }

    /// Facts about the network.
    pub(crate) fn about(&self) -> Value {
        json!({
            "model": MODEL,
            "parameters": self.engine.model().size(),
            "images": self.test.as_ref().map_or(0, ImageSet::len),
            "attacks": ATTACKS,
            "largest": LARGEST_EPS,
        })
    }

    /// A test image and its label.
    pub(crate) fn sample(&self, number: usize) -> Option<(&[u8], u8)> {
        let set = self.test.as_ref().filter(|set| number < set.len())?;
        Some((set.image(number), set.labels[number]))
    }

    /// The answer of the network, the largest eps up to which it is proven, and the smallest one at which an attack changes it.
    pub(crate) fn bracket(&self, request: &DigitRequest) -> Result<Value, Error> {
        let image = request.image();
        let (logits, label) = self.logits(&image)?;
        let proven = self.proven(&image, label)?;
        let found = self.broken(&image, label, proven)?;
        Ok(json!({
            "answer": label,
            "chances": chances(&logits),
            "proven": proven,
            "broken": found.as_ref().map(|found| found.distance),
            "read_as": found.as_ref().map(|found| found.answer),
        }))
    }

    /// At one eps: the proven bounds of all margins `z_j - z_answer`, and the worst image that attacks find.
    pub(crate) fn attack(&self, request: &DigitRequest) -> Result<Value, Error> {
        let image = request.image();
        let (_, label) = self.logits(&image)?;
        let proof = self.prove(&image, label, request.eps)?;
        let found = self.attacked(&image, label, request.eps, self.attacks.clone())?;
        let reached: Vec<f32> = found.logits.iter().map(|z| z - found.logits[usize::from(label)]).collect();
        let byte = |v: &f32| (v * 255.0).round() as u8;
        Ok(json!({
            "eps": request.eps,
            "answer": label,
            "certified": proof.certified[0],
            "bounds": proof.margins,
            "broken": found.broken,
            "read_as": found.answer,
            "reached": reached,
            "picture": found.image.iter().map(byte).collect::<Vec<u8>>(),
        }))
    }

    /// The logits and the answer.
    fn logits(&self, image: &[f32]) -> Result<(Vec<f32>, u16), Error> {
        let batch = Batch { samples: Samples::Floats(image), labels: &[0], rows: None, ends: &[1], weights: None };
        let mut outcome = Outcome::default();
        self.engine.pass(&batch, Loss::Cw, Ask::Values, &mut outcome)?;
        Ok((outcome.logits, outcome.predictions[0]))
    }

    fn prove(&self, image: &[f32], label: u16, eps: f64) -> Result<Certified, Error> {
        certify(&self.engine, image, &[label], Region::image_within(eps))
    }

    /// The largest eps among the steps at which the answer is proven, by bisection; `None` if it is not even proven at 0. A proof holds
    /// for all smaller eps too.
    fn proven(&self, image: &[f32], label: u16) -> Result<Option<f64>, Error> {
        let eps = |step: u32| LARGEST_EPS * f64::from(step) / f64::from(STEPS);
        if !self.prove(image, label, 0.0)?.certified[0] {
            return Ok(None);
        }
        let (mut yes, mut no) = (0, STEPS + 1);
        while no - yes > 1 {
            let middle = yes.midpoint(no);
            if self.prove(image, label, eps(middle))?.certified[0] { yes = middle } else { no = middle }
        }
        Ok(Some(eps(yes)))
    }

    /// The closest image found whose answer is another one. An image at some distance is one for every larger eps too.
    fn broken(&self, image: &[f32], label: u16, proven: Option<f64>) -> Result<Option<Attacked>, Error> {
        let (mut safe, mut best) = (proven.unwrap_or(0.0), None::<Attacked>);
        for _ in 0..SEARCHES {
            let eps = best.as_ref().map_or(LARGEST_EPS, |found| f64::midpoint(safe, found.distance));
            let found = self.attacked(image, label, eps, self.attacks[..2].to_vec())?;
            if found.broken {
                best = Some(found);
            } else if best.is_none() {
                return Ok(None);
            } else {
                safe = eps;
            }
        }
        Ok(best)
    }

    fn attacked(&self, image: &[f32], label: u16, eps: f64, attacks: Vec<Attack>) -> Result<Attacked, Error> {
        let protocol = Protocol { attacks, ball: Ball::linf(eps), judge: Judge::Worst };
        let labelled = LabelledImages { images: image, labels: &[label] };
        let found = ensemble(&self.engine, labelled, &protocol, &Run::new(0))?;
        let (logits, answer) = self.logits(&found.images)?;
        let apart = image.iter().zip(&found.images).map(|(a, b)| f64::from((a - b).abs()));
        Ok(Attacked {
            distance: apart.fold(0.0, |most, d| if d > most { d } else { most }),
            broken: found.fallen_to[0].is_some(),
            image: found.images,
            logits,
            answer,
        })
    }
}

/// The softmax of the logits.
fn chances(logits: &[f32]) -> Vec<f64> {
    let most = logits.iter().fold(f64::NEG_INFINITY, |most, z| if f64::from(*z) > most { f64::from(*z) } else { most });
    let powers: Vec<f64> = logits.iter().map(|z| (f64::from(*z) - most).exp()).collect();
    let sum: f64 = powers.iter().sum();
    powers.iter().map(|p| p / sum).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(pixels: &[u8], eps: f64) -> DigitRequest {
        DigitRequest { pixels: pixels.to_vec(), eps }
    }

    #[test]
    fn proofs_end_where_attacks_may_begin() {
        let digits = Digits::load().expect("a network");
        let (mut brackets, mut closed) = (0, 0);
        for number in 0..6 {
            let (pixels, label) = digits.sample(number).expect("a test image");
            let bracket = digits.bracket(&request(pixels, 0.0)).expect("a bracket");
            let proven = bracket["proven"].as_f64().expect("proven at 0");
            brackets += usize::from(bracket["answer"] == label);
            let Some(broken) = bracket["broken"].as_f64() else { continue };
            assert!(proven < broken && broken <= LARGEST_EPS, "{bracket}");
            closed += 1;
            // The same at single eps: proven below, broken above, and never both.
            let below = digits.attack(&request(pixels, proven)).expect("figures");
            assert!(below["certified"] == true && below["broken"] == false);
            let above = digits.attack(&request(pixels, (broken + 0.02).min(LARGEST_EPS))).expect("figures");
            assert!(above["certified"] == false && above["broken"] == true && above["read_as"] != bracket["answer"]);
            // No attack gets above the proven bound of a margin.
            let (bounds, reached) =
                (above["bounds"].as_array().expect("ten"), above["reached"].as_array().expect("ten"));
            assert!(bounds.iter().zip(reached).all(|(b, r)| b.as_f64() >= r.as_f64()), "{above}");
        }
        assert!(brackets >= 5 && closed >= 3, "{brackets} {closed}");
    }

    #[test]
    fn hostile_images_are_refused() {
        let refused = |text: &str| DigitRequest::read(text.as_bytes()).expect_err(text).status;
        assert_eq!(refused("{\"pixels\":[]}"), 422);
        assert_eq!(refused("{\"pixels\":[256]}"), 400);
        assert_eq!(refused("{\"pixels\":[1e999]}"), 400);
        assert_eq!(refused("{\"eps\":0.1}"), 400);
        let pixels = vec!["0"; SIDE * SIDE].join(",");
        assert_eq!(refused(&format!("{{\"pixels\":[{pixels}],\"eps\":0.6}}")), 422);
        assert_eq!(refused(&format!("{{\"pixels\":[{pixels}],\"eps\":-1}}")), 422);
        assert!(DigitRequest::read(format!("{{\"pixels\":[{pixels}]}}").as_bytes()).is_ok());
    }

    #[test]
    fn black_and_white_images_have_a_bracket_too() {
        let digits = Digits::load().expect("a network");
        for pixel in [0, 255] {
            let bracket = digits.bracket(&request(&[pixel; SIDE * SIDE], 0.0)).expect("a bracket");
            assert!(bracket["answer"].as_u64().is_some_and(|answer| answer < 10), "{bracket}");
        }
    }
}
