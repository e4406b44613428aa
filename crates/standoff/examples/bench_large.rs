//! The solver's part of `bench/large.py`: times gradients of a formula with a large matrix. `bench_large GAME.toml`
//! reads requests from standard input and writes one line for each: `threads N` sets the number of threads, `time N`
//! prints the seconds of each of N gradients in x, `bits` a checksum of the value and both gradients.

use std::error::Error;
use std::fs::File;
use std::io::{BufRead, Write};
use std::path::Path;
use std::time::Instant;

use standoff::formula::FormulaGame;
use standoff::{Game, Need, Point};

/// A game that alternates between two points, so that nothing is cached.
struct Bench {
    game: FormulaGame,
    points: [Point<f64>; 2],
    turn: usize,
    out: Point<f64>,
}

impl Bench {
    fn new(path: &Path) -> Result<Self, Box<dyn Error>> {
        let folder = path.parent().unwrap_or(Path::new(""));
        let mut open = |name: &str| match File::open(folder.join(name)) {
            Ok(file) => Ok(Box::new(file) as Box<dyn std::io::Read>),
            Err(error) => Err(error.to_string()),
        };
        let game = FormulaGame::from_readers(&std::fs::read_to_string(path)?, &mut open)?;
        let start = game.start();
        let moved = |v: &[f64], by: f64| v.iter().enumerate().map(|(i, v)| v + by * (i as f64).cos()).collect();
        let at = |by: f64| Point { x: moved(&start.x, by), y: moved(&start.y, by) };
        let points = [at(0.01), at(0.02)];
        Ok(Self { game, points, turn: 0, out: start })
    }

    fn gradient_x(&mut self) -> f64 {
        self.turn = 1 - self.turn;
        let z = &self.points[self.turn];
        self.game.fix(&z.x, Need::Gradients);
        self.game.grad_x(&z.y, &mut self.out.x)
    }

    fn seconds(&mut self, count: usize) -> Vec<f64> {
        let one = |_| {
            let begun = Instant::now();
            self.gradient_x();
            begun.elapsed().as_secs_f64()
        };
        (0..count).map(one).collect()
    }

    /// FNV-1a over the bits of the value and both gradients.
    fn bits(&mut self) -> u64 {
        self.turn = 1;
        let value = self.gradient_x();
        self.game.grad_y(&self.points[0].y, &mut self.out.y);
        let numbers = [value].into_iter().chain(self.out.x.iter().copied()).chain(self.out.y.iter().copied());
        numbers.fold(0xcbf2_9ce4_8422_2325, |hash, v| (hash ^ v.to_bits()).wrapping_mul(0x100_0000_01b3))
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("give a game file")?;
    let mut bench = Bench::new(Path::new(&path))?;
    let mut answer = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        match line.split_whitespace().collect::<Vec<_>>()[..] {
            ["threads", n] => {
                bench.game.set_threads(n.parse()?)?;
                writeln!(answer, "{}", bench.game.threads())?;
            }
            ["time", n] => writeln!(answer, "{:?}", bench.seconds(n.parse()?))?,
            ["bits"] => writeln!(answer, "{:016x}", bench.bits())?,
            _ => return Err(format!("unknown request: {line}").into()),
        }
        answer.flush()?;
    }
    Ok(())
}
