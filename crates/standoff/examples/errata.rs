//! Demonstrates each erratum of docs/errata.md: `cargo run --release --example errata`, or one of them: `-- E7`.
#![allow(clippy::print_stdout)]

use standoff::gap::{Ask, Gauge, Side};
use standoff::inner::{Accelerated, Regulariser, Stop};
use standoff::oracle::{Limits, Oracle};
use standoff::outer::FrankWolfe;
use standoff::plan::{self, Outer, Statement};
use standoff::{Choice, Constants, Error, Game, Need, Point, Set, Settings, solve, zoo};

type Demonstration = fn() -> Result<(), Error>;

fn main() -> Result<(), Error> {
    let all: [(&str, &str, Demonstration); 13] = [
        ("E1", "quadratic growth is mu, not 4 mu: the printed outer step cycles", e1),
        ("E2", "f_lambda is (L22 + lambda)-smooth: the printed inner step divides by zero", e2),
        ("E3", "the printed restart length does not halve the gap", e3),
        ("E4", "one letter for two radii: lambda must come from Y's", e4),
        ("E5", "one letter for two gaps: Frank-Wolfe's count needs Delta_g", e5),
        ("E6", "two values for one tolerance", e6),
        ("E7", "the Frank-Wolfe step must be clipped, and normalised", e7),
        ("E8", "the total of y-gradients is eps^-3.5, not eps^-0.5", e8),
        ("E9", "the best iterate is not the last", e9),
        ("E10", "the example's value function is |x|, with one equilibrium", e10),
        ("E11", "three first-order equilibria, not one", e11),
        ("E12", "the imitation game is smooth only where the loop is stable", e12),
        ("E15", "none of the constants is needed", e15),
    ];
    let wanted: Vec<String> = std::env::args().skip(1).map(|a| a.to_uppercase()).collect();
    for (name, title, demonstrate) in all {
        if wanted.is_empty() || wanted.iter().any(|w| w == name) {
            println!("{name}  {title}");
            demonstrate()?;
        }
    }
    Ok(())
}

fn e1() -> Result<(), Error> {
    let mut i = zoo::printed_step(0.5)?;
    let corrected = Choice { constants: i.constants, ..Choice::named("multistep") };
    let printed = Choice { as_printed: true, ..corrected.clone() };
    for (label, method) in [("printed, 1/(L11 + L12^2/(2 mu))", printed), ("corrected, 1/(L11 + L12^2/mu)", corrected)]
    {
        let end = solve(&mut i.game, &i.start, &Settings { method, max_iterations: 1000, ..Settings::eps(1e-6) })?;
        println!(
            "    {label}: {} after {} steps, X = {:.3}",
            end.reason.name(),
            end.iterations,
            end.certificate.x.upper
        );
    }
    Ok(())
}

fn e2() -> Result<(), Error> {
    let c = zoo::abs().constants.unwrap_or_default();
    for (label, as_printed) in [("printed, 1/L22", true), ("corrected", false)] {
        let mut i = zoo::abs();
        let method = Choice { as_printed, ..Choice::named("regularised").with(c) };
        let end = solve(&mut i.game, &i.start, &Settings { method, max_gradients: 100_000, ..Settings::eps(1e-1) })?;
        println!("    abs, L22 = 0, {label}: {}, max(X, Y) = {:.3}", end.reason.name(), end.certificate.epsilon());
    }
    Ok(())
}

/// `-(curvature/2) y^2` on a long interval.
struct Parabola {
    x_set: Set<f64>,
    y_set: Set<f64>,
    curvature: f64,
}

impl Game for Parabola {
    type Real = f64;
    fn x_set(&self) -> &Set<f64> {
        &self.x_set
    }
    fn y_set(&self) -> &Set<f64> {
        &self.y_set
    }
    fn fix(&mut self, _x: &[f64], _need: Need) {}
    fn value(&mut self, y: &[f64]) -> f64 {
        -0.5 * self.curvature * y[0] * y[0]
    }
    fn grad_x(&mut self, y: &[f64], out: &mut [f64]) -> f64 {
        out[0] = 0.0;
        self.value(y)
    }
    fn grad_y(&mut self, y: &[f64], out: &mut [f64]) -> f64 {
        out[0] = -self.curvature * y[0];
        self.value(y)
    }
}

fn e3() -> Result<(), Error> {
    // L22 = lambda: f_lambda has curvature 2 lambda, the printed step 1/lambda overshoots to -y, and N = 2.
    let lambda = 0.1;
    let mut game = Parabola { x_set: Set::free(1), y_set: Set::interval(-9.0, 9.0)?, curvature: lambda };
    let regulariser = Regulariser { lambda, centre: vec![0.0] };
    for (label, smooth) in [("printed, from L22", lambda), ("corrected, from L22 + lambda", 2.0 * lambda)] {
        let ratio = (8.0 * smooth / lambda).sqrt();
        let n = if label.starts_with('p') { ratio.floor() } else { ratio.ceil() } as u64;
        let mut f = Oracle::new(&mut game, Limits::default());
        f.at(&[0.0], Need::Gradients);
        let mut y = [1.0];
        let before = -regulariser.value(f.value(&y), &y);
        // A zero count of steps still makes one epoch, as printed: floor(K/N) + 1.
        let mut epoch = Accelerated::new(1.0 / smooth, n, Stop::Steps(0), 1);
        epoch.leave_the_set = true;
        let _ = epoch.run(&mut f, &mut y, &regulariser);
        let after = -regulariser.value(f.value(&y), &y);
        println!("    {label}: N = {n}, the gap becomes {:.3} of itself in one epoch (promised: 0.5)", after / before);
    }
    Ok(())
}

/// A game's constants, complete, for the plans below.
fn sample() -> Constants {
    Constants {
        l11: 1.0,
        l12: 2.0,
        l22: 1.0,
        mu: 0.0,
        delta_g: Some(1.0),
        delta: Some(1.0),
        g_max: Some(1.0),
        radius_x: Some(10.0),
        radius_y: Some(0.5),
        estimated: false,
    }
}

fn e4() -> Result<(), Error> {
    for (label, radius_y) in [("Y's radius", 0.5), ("X's radius in its place", 10.0)] {
        let c = Constants { radius_y: Some(radius_y), ..sample() };
        let p = plan::algorithm2(&c, 1e-2, Statement::Corrected, Outer::Projected)?;
        println!("    {label} {radius_y}: lambda = {:.2e}, x-gradients {:.1e}", p.lambda, p.grad_x());
    }
    Ok(())
}

fn e5() -> Result<(), Error> {
    // A start whose y is the exact answer has inner gap 0: read so, the count promises that no step is needed.
    for (label, delta_g) in [("read as the inner gap, 0", 0.0), ("read as Delta_g, 1", 1.0)] {
        let c = Constants { delta_g: Some(delta_g), ..sample() };
        let p = plan::algorithm2(&c, 1e-2, Statement::Corrected, Outer::FrankWolfe)?;
        println!("    Delta {label}: {:.1e} Frank-Wolfe steps promised", p.outer);
    }
    Ok(())
}

fn e6() -> Result<(), Error> {
    let (l, eps) = (2.0_f64, 1e-2_f64);
    for (r, g_max) in [(1.0_f64, 1.0_f64), (3.0, 5.0), (1e-6, 1.0)] {
        let (r_bar, l_bar) = (r.max(1.0), l.max(g_max).max(1.0));
        let first = l * eps * eps / (64.0 * r * (g_max + l * r).powi(2));
        let second = l * eps * eps / (64.0 * r_bar.powi(3) * l_bar.powi(2));
        println!("    R = {r}, g_max = {g_max}: delta = {first:.2e} or {second:.2e}; ||e|| <= 1 needs delta <= 1");
    }
    Ok(())
}

/// `x (1 + y) - 5 y^2`: the answer to any x is y = x/10, so a y of 0.9 is off, within the error the proof allows.
struct Tilt {
    x_set: Set<f64>,
    y_set: Set<f64>,
    x: f64,
}

impl Game for Tilt {
    type Real = f64;
    fn x_set(&self) -> &Set<f64> {
        &self.x_set
    }
    fn y_set(&self) -> &Set<f64> {
        &self.y_set
    }
    fn fix(&mut self, x: &[f64], _need: Need) {
        self.x = x[0];
    }
    fn value(&mut self, y: &[f64]) -> f64 {
        self.x * (1.0 + y[0]) - 5.0 * y[0] * y[0]
    }
    fn grad_x(&mut self, y: &[f64], out: &mut [f64]) -> f64 {
        out[0] = 1.0 + y[0];
        self.value(y)
    }
    fn grad_y(&mut self, y: &[f64], out: &mut [f64]) -> f64 {
        out[0] = self.x - 10.0 * y[0];
        self.value(y)
    }
}

fn e7() -> Result<(), Error> {
    // ||grad g|| = |1 + x/10| <= 1.1 and ||e|| = 0.9 <= 1, so the step X/L~ = 1.9/1.1 is what the paper allows.
    let mut game = Tilt { x_set: Set::interval(-1.0, 1.0)?, y_set: Set::interval(-1.0, 1.0)?, x: 0.0 };
    for clip in [false, true] {
        let mut z = Point::new(&[0.0], &[0.9]);
        let mut step = FrankWolfe::new(1.1, 1.0, 1);
        step.clip = clip;
        step.run(&mut Oracle::new(&mut game, Limits::default()), &mut z);
        let label = if clip { "clipped" } else { "printed" };
        println!("    {label}: x = 0 moves to {:.3}; X is [-1, 1]", z.x[0]);
    }
    // Free X: the printed direction is s = -grad with X = ||grad||, so that X s/L = -||grad|| grad/L.
    let (mut printed, mut corrected) = (3.0_f64, 3.0_f64);
    for _ in 0..4 {
        printed -= printed.abs() * printed; // h = x^2/2, L = 1
        corrected -= corrected;
    }
    println!("    free X, x^2/2 from 3, four steps: printed {printed:.1e}, normalised {corrected:.1}");
    Ok(())
}

fn e8() -> Result<(), Error> {
    let count = |eps| plan::algorithm2(&sample(), eps, Statement::Corrected, Outer::Projected);
    let (a, b) = (count(1e-4)?, count(1e-5)?);
    println!("    x-gradients grow like eps^-{:.2}", (b.grad_x() / a.grad_x()).log10());
    println!("    y-gradients, per outer step, like eps^-{:.2}", (b.inner / a.inner).log10());
    println!("    y-gradients, in total, like eps^-{:.2}", (b.grad_y() / a.grad_y()).log10());
    Ok(())
}

fn e9() -> Result<(), Error> {
    // Equal steps for both players go round in circles: the last pair is as good as its place on the circle.
    let mut i = zoo::kink();
    let method = Choice { constants: i.constants, ..Choice::named("gda") };
    let settings = Settings { method, max_iterations: 400, ..Settings::eps(1e-4) };
    let mut trace = standoff::Trace::default();
    let mut built = settings.method.build(&i.game, &settings)?;
    standoff::solve_with(&mut i.game, &i.start, built.as_mut(), &settings, &mut trace)?;
    let gap = |r: &standoff::Record| r.certificate.epsilon();
    let best = trace.records.iter().min_by(|a, b| gap(a).total_cmp(&gap(b)));
    if let (Some(best), Some(last)) = (best, trace.records.last()) {
        println!(
            "    best pair at step {}: {:.3}; last, step {}: {:.3}",
            best.iteration,
            gap(best),
            last.iteration,
            gap(last)
        );
    }
    Ok(())
}

/// X and Y at a point of a zoo game.
fn certify(i: &mut zoo::Instance, x: f64, y: f64) -> (f64, f64) {
    let (mut gx, mut gy) = ([0.0], [0.0]);
    i.game.fix(&[x], Need::Gradients);
    i.game.grad_x(&[y], &mut gx);
    i.game.grad_y(&[y], &mut gy);
    let mut gauge = Gauge::new(1.0);
    let gx = gauge.measure(i.game.x_set(), &[x], &gx, Side::Min, Ask::Exact).upper;
    let gy = gauge.measure(i.game.y_set(), &[y], &gy, Side::Max, Ask::Exact).upper;
    (gx, gy)
}

fn e10() -> Result<(), Error> {
    let mut i = zoo::abs();
    for (x, y) in [(0.0, 0.5), (0.0, 1.0), (0.5, 1.0), (-1.0, 0.0)] {
        let (gx, gy) = certify(&mut i, x, y);
        println!("    ({x}, {y}): X = {gx:.2}, Y = {gy:.2}");
    }
    Ok(())
}

fn e11() -> Result<(), Error> {
    let mut i = zoo::second_order();
    for (x, y) in [(0.0, 0.0), (-1.0, 2.0), (1.0, -2.0), (1.0, 2.0)] {
        let (gx, gy) = certify(&mut i, x, y);
        println!("    ({x}, {y}): X = {gx:.2}, Y = {gy:.2}");
    }
    i.game.fix(&[-1.0], Need::Values);
    println!(
        "    yet f(-1, 2) = {:.2} < f(-1, 1.9) = {:.2}: not of second order",
        i.game.value(&[2.0]),
        i.game.value(&[1.9])
    );
    Ok(())
}

fn e12() -> Result<(), Error> {
    // x' = 1.1 x + 0.5 u, u = -k x: stable for 0.2 < k < 4.2.
    let (system, _) = zoo::lqr::scalar_system()?;
    let one = system.sigma0().clone();
    for k in [1.0, 0.3, 0.21, 0.201, 0.1] {
        let cost = system.cost(&one.scale(k), &one, &one);
        println!("    k = {k}: closed loop {:.4}, cost {cost:.1}", 1.1 - 0.5 * k);
    }
    Ok(())
}

fn e15() -> Result<(), Error> {
    let mut i = zoo::kink();
    let end = solve(&mut i.game, &i.start, &Settings::eps(1e-6))?;
    println!("    auto on kink, no constants: {} to 1e-6 with {} gradients", end.reason.name(), end.calls.gradients());
    Ok(())
}
