//! Groups of scalar regressions: `f(x, y) = sum_i y_i L_i(x)`, where `L_i` is the mean of `(<a, x> - b)^2 / 2` over the
//! rows of group i.

use standoff::{Game, Need, Oracle, Real, Set, oracle::Limits};

/// One row: a and b.
pub(crate) type Row = (Vec<f64>, f64);

pub(crate) struct Groups<R: Real> {
    x_set: Set<R>,
    y_set: Set<R>,
    groups: Vec<Vec<Row>>,
    /// One row of every group per step; `None` uses all rows.
    batches: bool,
    batch: Option<u64>,
    losses: Vec<f64>,
    gradients: Vec<Vec<f64>>,
}

impl<R: Real> Groups<R> {
    pub(crate) fn new(groups: Vec<Vec<Row>>, x_set: Set<R>) -> Self {
        let (n, m) = (x_set.dim(), groups.len());
        let y_set = Set::simplex(m, 1.0).unwrap();
        Self {
            x_set,
            y_set,
            groups,
            batches: false,
            batch: None,
            losses: vec![0.0; m],
            gradients: vec![vec![0.0; n]; m],
        }
    }

    /// Losses `(x - b)^2/2`, one for each b.
    pub(crate) fn parabolas(bs: &[f64], x_set: Set<R>) -> Self {
        Self::new(bs.iter().map(|b| vec![(vec![1.0], *b)]).collect(), x_set)
    }

    pub(crate) fn in_batches(mut self) -> Self {
        self.batches = true;
        self
    }
}

/// Three groups of rows in three dimensions, with numbers without a pattern.
pub(crate) fn wavy<R: Real>() -> Groups<R> {
    let entry = |k: usize| (1.3 * k as f64 + 0.4).sin();
    let row = |k: usize| ((0..3).map(|j| entry(7 * k + j)).collect(), 2.0 * entry(7 * k + 3));
    Groups::new((0..3).map(|g| (0..5).map(|k| row(5 * g + k)).collect()).collect(), Set::free(3)).in_batches()
}

pub(crate) fn oracle<G: Game>(game: &mut G) -> Oracle<'_, G> {
    Oracle::new(game, Limits::default())
}

impl<R: Real> Game for Groups<R> {
    type Real = R;

    fn x_set(&self) -> &Set<R> {
        &self.x_set
    }

    fn y_set(&self) -> &Set<R> {
        &self.y_set
    }

    fn fix(&mut self, x: &[R], _: Need) {
        for (i, group) in self.groups.iter().enumerate() {
            self.losses[i] = 0.0;
            self.gradients[i].fill(0.0);
            let rows = match self.batch {
                Some(step) => &group[step as usize % group.len()..][..1],
                None => &group[..],
            };
            for (a, b) in rows {
                let r = a.iter().zip(x).map(|(a, x)| a * x.to_f64()).sum::<f64>() - b;
                self.losses[i] += 0.5 * r * r / rows.len() as f64;
                self.gradients[i].iter_mut().zip(a).for_each(|(g, a)| *g += r * a / rows.len() as f64);
            }
        }
    }

    fn value(&mut self, y: &[R]) -> f64 {
        self.losses.iter().zip(y).map(|(l, y)| l * y.to_f64()).sum()
    }

    fn grad_x(&mut self, y: &[R], out: &mut [R]) -> f64 {
        for (j, o) in out.iter_mut().enumerate() {
            *o = R::from_f64(self.gradients.iter().zip(y).map(|(g, y)| g[j] * y.to_f64()).sum());
        }
        self.value(y)
    }

    fn grad_y(&mut self, y: &[R], out: &mut [R]) -> f64 {
        out.iter_mut().zip(&self.losses).for_each(|(o, l)| *o = R::from_f64(*l));
        self.value(y)
    }

    fn linear_in_y(&self) -> bool {
        true
    }

    fn resample(&mut self, step: u64) -> bool {
        let next = self.batches.then_some(step);
        std::mem::replace(&mut self.batch, next) != next
    }

    fn whole(&mut self) -> bool {
        self.batch.take().is_some()
    }
}
