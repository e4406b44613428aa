//! Prints the start, the constants and the data of a zoo game as TOML, and writes its larger arrays as CSV files into a folder.
//!
//! `cargo run --release -p standoff --example zoo_data -- quadmax examples/zoo` made the numbers of `examples/zoo/quadmax.toml`.
#![allow(clippy::print_stdout)]
use std::error::Error;
use std::path::Path;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use standoff::zoo::{self, Instance};

/// Arrays with more numbers than this are written as CSV files.
const MOST_INLINE: usize = 50;

/// The stream of random numbers that the zoo draws its data from.
struct Stream(ChaCha8Rng);

impl Stream {
    fn unit(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) as f64 + 0.5) * 0.5_f64.powi(53)
    }

    fn normal(&mut self) -> f64 {
        let (u, v) = (self.unit(), self.unit());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }

    fn normals(&mut self, n: usize, deviation: f64) -> Vec<f64> {
        (0..n).map(|_| deviation * self.normal()).collect()
    }

    fn uniforms(&mut self, n: usize, lower: f64, upper: f64) -> Vec<f64> {
        (0..n).map(|_| lower + (upper - lower) * self.unit()).collect()
    }

    /// A symmetric matrix: a normal one plus its transpose.
    fn symmetric(&mut self, n: usize, deviation: f64) -> Vec<f64> {
        let g = self.normals(n * n, deviation);
        (0..n * n).map(|at| g[at] + g[at % n * n + at / n]).collect()
    }

    /// Samples of `dro`, each times its label.
    fn samples(&mut self, n: usize, d: usize) -> Vec<f64> {
        let hidden = self.normals(d, 1.0);
        let mut rows = Vec::new();
        for _ in 0..n {
            let sample = self.normals(d, 1.0);
            let side = standoff::ops::dot(&sample, &hidden) + 0.5 * self.normal();
            rows.extend(sample.iter().map(|v| v * side.signum()));
        }
        rows
    }
}

/// A matrix with this many columns, or a vector when `cols` is 0.
struct Array {
    name: &'static str,
    cols: usize,
    values: Vec<f64>,
}

fn matrix(name: &'static str, cols: usize, values: Vec<f64>) -> Array {
    Array { name, cols, values }
}

fn vector(name: &'static str, values: Vec<f64>) -> Array {
    Array { name, cols: 0, values }
}

/// The data of a random game, with the parameters of its zoo entry; empty for the other games.
fn data(name: &str) -> Vec<Array> {
    let mut random = Stream(ChaCha8Rng::seed_from_u64(1));
    let root = |n: f64| n.sqrt();
    match name {
        "matrix" => vec![matrix("A", 7, random.normals(35, 1.0))],
        "matrix-50" => vec![matrix("A", 50, random.normals(2500, 1.0))],
        "dro" | "dro-regularised" => vec![matrix("Z", 5, random.samples(30, 5))],
        "dro-200" => vec![matrix("Z", 20, random.samples(200, 20))],
        "pl-sine" => {
            let b = random.normals(100, 0.5 / root(10.0));
            vec![matrix("B", 10, b), vector("w", random.uniforms(10, 0.2, 1.0))]
        }
        "pl-least-squares" => {
            let scale = 1.0 / root(12.0);
            let (c, d) = (random.normals(72, scale), random.normals(30, scale));
            vec![matrix("C", 12, c), matrix("D", 5, d), vector("w", random.uniforms(5, 0.2, 1.0))]
        }
        "rank-deficient" => {
            let h = random.symmetric(6, root(0.5) / root(6.0));
            let (b, c) = (random.normals(48, 1.0 / root(8.0)), random.normals(32, 1.0 / root(8.0)));
            let (p, q) = (random.normals(6, 1.0 / root(6.0)), random.normals(8, 1.0 / root(8.0)));
            vec![matrix("H", 6, h), matrix("B", 8, b), matrix("C", 8, c), vector("p", p), vector("q", q)]
        }
        "quadmax" => {
            let scale = 1.0 / root(10.0);
            let (mut h, mut b, mut c) = (Vec::new(), Vec::new(), Vec::new());
            for _ in 0..6 {
                h.extend(random.symmetric(10, scale / root(2.0)));
                b.extend(random.normals(10, scale));
                c.push(random.normal());
            }
            vec![matrix("H", 10, h), matrix("B", 10, b), vector("c", c)]
        }
        _ => Vec::new(),
    }
}

fn list(values: &[f64]) -> String {
    let numbers: Vec<String> = values.iter().map(|v| format!("{v:?}")).collect();
    format!("[{}]", numbers.join(", "))
}

fn print_instance(instance: &Instance) {
    println!("# start of x: {}\n# start of y: {}", list(&instance.start.x), list(&instance.start.y));
    let Some(c) = instance.constants else { return };
    println!("[constants]\nL11 = {:?}\nL12 = {:?}\nL22 = {:?}\nmu = {:?}", c.l11, c.l12, c.l22, c.mu);
    let optional = [
        ("delta_g", c.delta_g),
        ("delta", c.delta),
        ("g_max", c.g_max),
        ("radius_x", c.radius_x),
        ("radius_y", c.radius_y),
    ];
    for (key, value) in optional {
        if let Some(value) = value {
            println!("{key} = {value:?}");
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, folder] = &arguments[..] else { return Err("give the name of a zoo game and a folder".into()) };
    let entry = zoo::find(name).ok_or("no zoo game has this name")?;
    print_instance(&(entry.make)());
    for (index, array) in data(name).iter().enumerate() {
        if index == 0 {
            println!("[data]");
        }
        let rows: Vec<String> = array.values.chunks(array.cols.max(1)).map(list).collect();
        if array.cols == 0 {
            println!("{} = {}", array.name, list(&array.values));
        } else if array.values.len() <= MOST_INLINE {
            println!("{} = [\n  {},\n]", array.name, rows.join(",\n  "));
        } else {
            // Both games have the same data.
            let owner = if name == "dro-regularised" { "dro" } else { name };
            let file = format!("{owner}-{}.csv", array.name.to_lowercase());
            let text: String = rows.iter().map(|row| format!("{}\n", row.trim_matches(['[', ']']))).collect();
            std::fs::write(Path::new(folder).join(&file), text)?;
            println!("{} = {{ file = \"{file}\" }}", array.name);
        }
    }
    Ok(())
}
