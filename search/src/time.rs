//! Cost of certifying a candidate, relative to a value and both gradients.

use standoff::certify::{evidence, evidence_for};
use standoff::enclosure::{Precision, Slopes};
use standoff::formula::FormulaGame;
use standoff::{Game, Need, Point};
use std::time::Instant;

/// The smallest of some timings, in seconds.
fn seconds(mut work: impl FnMut(usize)) -> f64 {
    let mut least = f64::INFINITY;
    let mut spent = 0.0;
    for round in 0..200 {
        let start = Instant::now();
        work(round);
        let took = start.elapsed().as_secs_f64();
        least = if took < least { took } else { least };
        spent += took;
        if spent > 3.0 && round >= 4 {
            break;
        }
    }
    least
}

fn report(name: &str, game: &mut FormulaGame, point: &Point<f64>) {
    let (mut gx, mut gy) = (point.x.clone(), point.y.clone());
    let mut moved = point.x.clone();
    let gradient = seconds(|round| {
        // A game caches a point; changing the last digit avoids that.
        moved[0] = if round % 2 == 0 { point.x[0].next_up() } else { point.x[0] };
        game.fix(&moved, Need::Gradients);
        game.grad_x(&point.y, &mut gx);
        game.grad_y(&point.y, &mut gy);
    });
    let fast = seconds(|_| drop(game.enclose(point, Precision::Fast, &Slopes::default())));
    let double = seconds(|_| drop(game.enclose(point, Precision::Double, &Slopes::default())));
    // A goal that the cheaper enclosures reach.
    let candidate = seconds(|_| drop(evidence_for(game, point, 1.0, 1e300)));
    let whole = seconds(|_| drop(evidence(game, point, 1.0)));
    println!(
        "{name}: gradient {gradient:.2e} s; in gradients: fast enclosure {:.1}, candidate {:.1}, double enclosure {:.1}, certify {:.1}",
        fast / gradient,
        candidate / gradient,
        double / gradient,
        whole / gradient
    );
}

/// A matrix in NumPy's format.
fn npy(rows: usize, cols: usize, entry: impl Fn(usize) -> f64) -> Vec<u8> {
    let mut header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({rows}, {cols}), }}");
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut out = b"\x93NUMPY\x01\x00".to_vec();
    out.extend((header.len() as u16).to_le_bytes());
    out.extend(header.into_bytes());
    for i in 0..rows * cols {
        out.extend(entry(i).to_le_bytes());
    }
    out
}

/// Times the games in the files, then a logistic loss of `rows` samples with 200 features.
pub fn run(files: &[String], rows: usize) -> Result<(), String> {
    for file in files {
        let text = std::fs::read_to_string(file).map_err(|e| format!("{file}: {e}"))?;
        let folder = std::path::Path::new(file).parent().map(std::path::Path::to_path_buf).unwrap_or_default();
        let mut load = |name: &str| std::fs::read(folder.join(name)).map_err(|e| e.to_string());
        let mut game = FormulaGame::from_toml(&text, &mut load).map_err(|e| format!("{file}: {e}"))?;
        let point = game.start();
        report(file, &mut game, &point);
    }
    if rows > 0 {
        let text = "objective = \"mean(softplus(-(A @ (w + d)))) + 0.01*(w @ w) - d @ d\"\n[min.w]\ndim = 200\n[max.d]\ndim = 200\nset = { ball = { radius = 0.1 } }\n[data]\nA = \"A.npy\"\n";
        let bytes = npy(rows, 200, |i| ((i as f64) * 0.618_033_988_749_894_9).fract() - 0.45);
        let mut load = |_: &str| Ok(bytes.clone());
        let mut game = FormulaGame::from_toml(text, &mut load).map_err(|e| e.to_string())?;
        let point = Point::new(&[0.01; 200], &[0.005; 200]);
        report(&format!("logistic loss, {rows} x 200"), &mut game, &point);
    }
    Ok(())
}
