//! One thread's scratch for bounds, and the way of a leaf through the network: every linear map twice, on centres with W and on
//! radii with |W|; activations and pooling on both ends.

use super::super::plan::{Kind, Stage, sparse};
use super::weights::Weights;
use crate::Shape;
use crate::kernels::activation::{self, Activation};
use crate::kernels::interval_ends::{Centre, Pair, ToEnds};
use crate::kernels::interval_margin::Spread;
use crate::kernels::pooled_grad::{self, Terms};
use crate::kernels::{ConvShape, Isa, LANES, RunKernel, channels_last, conv, dense, pool, transpose};

/// What a leaf runs through.
pub(super) struct Net<'a> {
    pub weights: &'a Weights,
    pub stages: &'a [Stage],
    /// How many units of the scratch are in use.
    pub units: usize,
}

/// Everything a thread needs for up to so many units; nothing is allocated after it is built. Vectors are `[unit][entry][lane]`.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(super) isa: Isa,
    /// The samples.
    pub(super) x: Vec<f32>,
    /// First the ends of the box around each sample, then of the outputs of each stage.
    pub(super) ends: Vec<Pair>,
    /// Per linear stage, centre and radius of its input.
    pub(super) centred: Vec<Pair>,
    /// Per pooling, which of its inputs each end comes from.
    pub(super) winners: Vec<[Vec<u8>; 2]>,
    /// Gradients with respect to the ends of the output and of the input of a stage; they change places.
    pub(super) g: Pair,
    pub(super) next: Pair,
    /// One unit of a convolution before pooling: centre and radius, ends, or their gradients.
    pub(super) full: Pair,
    /// Per convolution whose gradient is dense, one unit's gradient of the output within its border.
    pub(super) bordered: Vec<Vec<f32>>,
    /// Per convolution whose gradient is sparse, that of W and |W| with channels last, and the gradients that are not zero.
    pub(super) channels_last_grad: Vec<Pair>,
    pub(super) terms: Vec<[Terms; 2]>,
    /// One unit with channels last.
    pub(super) channels_last: Vec<f32>,
    /// The gradient with respect to |W|, laid out as the parameters.
    pub(super) d_absolute: Vec<f32>,
    /// Activations and gradients with images in rows, for dense layers.
    pub(super) rows_x: Vec<f32>,
    pub(super) rows_g: Vec<f32>,
    /// The labels of each unit, and the rows of the last layer that belong to them.
    pub(super) labels: Vec<[u16; LANES]>,
    pub(super) own: Vec<f32>,
    /// The logits of the centre of the last layer's input; then what each margin may differ from theirs, and its size.
    pub(super) logits: Vec<f32>,
    pub(super) spread: Vec<f32>,
    pub(super) size: Vec<f32>,
}

impl Worker {
    pub(crate) fn new(isa: Isa, stages: &[Stage], units: usize, parameters: usize) -> Self {
        let pair = |n: usize| -> Pair { [vec![0.0; n * LANES], vec![0.0; n * LANES]] };
        let (first, last) = (stages.first().map_or(0, |s| s.input), stages.last());
        let (last_in, outputs) = last.map_or((0, 0), |s| (s.input, s.output));
        let largest = stages.iter().map(|s| s.input.max(s.output)).max().unwrap_or(0);
        let (mut rows_x, mut rows_g, mut full) = (0, 0, 0);
        for stage in stages {
            match stage.kind {
                Kind::Dense { n, k, .. } => {
                    (rows_x, rows_g) = (rows_x.max(dense::stride(k)), rows_g.max(dense::stride(n)));
                }
                Kind::Conv { shape, .. } => full = full.max(unpooled(shape).size()),
                _ => {}
            }
        }
        let centred = |s: &Stage| match s.kind {
            Kind::Conv { .. } | Kind::Dense { .. } => pair(units * s.input),
            _ => pair(0),
        };
        let winners = |s: &Stage| {
            let n = match s.kind {
                Kind::Conv { pool: true, .. } | Kind::Pool { .. } => units * s.output * LANES,
                _ => 0,
            };
            [vec![0; n], vec![0; n]]
        };
        let sparse_shape = |s: &Stage| match s.kind {
            Kind::Conv { shape, pool, .. } if sparse(shape, pool) => Some(shape),
            _ => None,
        };
        let channels_last_grad =
            |s: &Stage| pair(sparse_shape(s).map_or(0, |s| s.cout * s.k * pooled_grad::kernel_vectors(s)));
        let most_images =
            stages.iter().filter_map(sparse_shape).map(|s| channels_last::stride(s.h * s.w, s.cin)).max().unwrap_or(0);
        let bordered = |s: &Stage| match s.kind {
            Kind::Conv { shape, pool, .. } if !sparse(shape, pool) => {
                let t = shape.transposed();
                vec![0.0; t.cin * t.h * t.w * LANES]
            }
            _ => Vec::new(),
        };
        Self {
            isa,
            x: vec![0.0; units * first * LANES],
            ends: std::iter::once(first).chain(stages.iter().map(|s| s.output)).map(|n| pair(units * n)).collect(),
            centred: stages.iter().map(centred).collect(),
            winners: stages.iter().map(winners).collect(),
            g: pair(units * largest),
            next: pair(units * largest),
            full: pair(full),
            bordered: stages.iter().map(bordered).collect(),
            channels_last_grad: stages.iter().map(channels_last_grad).collect(),
            terms: stages
                .iter()
                .map(|s| sparse_shape(s).map_or_else(Default::default, |s| [Terms::new(s, 2), Terms::new(s, 1)]))
                .collect(),
            channels_last: vec![0.0; LANES * most_images],
            d_absolute: vec![0.0; parameters],
            rows_x: vec![0.0; units * LANES * rows_x],
            rows_g: vec![0.0; units * LANES * rows_g],
            labels: vec![[0; LANES]; units],
            own: vec![0.0; units * last_in * LANES],
            logits: vec![0.0; units * outputs * LANES],
            spread: vec![0.0; units * outputs * LANES],
            size: vec![0.0; units * outputs * LANES],
        }
    }

    /// Bounds from the box in `ends[0]` to the logits, and the margins' spread for `labels`.
    pub(super) fn forward(&mut self, net: &Net<'_>) {
        for (i, stage) in net.stages.iter().enumerate() {
            let size = net.units * stage.output * LANES;
            match &stage.kind {
                Kind::Conv { act, .. } => {
                    self.conv_forward(net, i);
                    self.activate(i, *act, size);
                }
                Kind::Dense { act, .. } => {
                    self.dense_forward(net, i);
                    self.activate(i, *act, size);
                }
                Kind::Pool { shape, side } => {
                    let (before, after) = self.ends.split_at_mut(i + 1);
                    let (n_in, n_out) = (stage.input * LANES, stage.output * LANES);
                    for e in 0..2 {
                        for u in 0..net.units {
                            self.isa.run(pool::Forward {
                                out: &mut after[0][e][u * n_out..(u + 1) * n_out],
                                winners: &mut self.winners[i][e][u * n_out..(u + 1) * n_out],
                                x: &before[i][e][u * n_in..(u + 1) * n_in],
                                side: *side,
                                shape: *shape,
                            });
                        }
                    }
                }
                Kind::Act(act) => {
                    let (before, after) = self.ends.split_at_mut(i + 1);
                    for e in 0..2 {
                        after[0][e][..size].copy_from_slice(&before[i][e][..size]);
                    }
                    self.activate(i, *act, size);
                }
            }
        }
        self.spread(net);
    }

    fn activate(&mut self, i: usize, act: Activation, size: usize) {
        if act != Activation::Identity {
            for x in &mut self.ends[i + 1] {
                self.isa.run(activation::Forward { x: &mut x[..size], act });
            }
        }
    }

    /// Centre and radius of a stage's input.
    fn centre(&mut self, net: &Net<'_>, i: usize) {
        let size = net.units * net.stages[i].input * LANES;
        let ([centre, radius], [lo, hi]) = (&mut self.centred[i], &self.ends[i]);
        let (centre, radius) = (&mut centre[..size], &mut radius[..size]);
        self.isa.run(Centre { centre, radius, lo: &lo[..size], hi: &hi[..size] });
    }

    fn conv_forward(&mut self, net: &Net<'_>, i: usize) {
        let Kind::Conv { shape, pool, bias, .. } = &net.stages[i].kind else { return };
        self.centre(net, i);
        let (n_in, n_out) = (net.stages[i].input * LANES, net.stages[i].output * LANES);
        let size = unpooled(*shape).size() * LANES;
        for u in 0..net.units {
            for e in 0..2 {
                self.isa.run(conv::Forward {
                    out: &mut self.full[e][..size],
                    winners: &mut [],
                    x: &self.centred[i][e][u * n_in..(u + 1) * n_in],
                    weights: &net.weights.forward[i][e],
                    bias: if e == 0 { &net.weights.flat[0][bias.clone()] } else { &[] },
                    pool: false,
                    act: Activation::Identity,
                    shape: *shape,
                });
            }
            let [a, b] = &mut self.full;
            self.isa.run(ToEnds { a: &mut a[..size], b: &mut b[..size], scale: 1.0 });
            let at = u * n_out..(u + 1) * n_out;
            for e in 0..2 {
                let (out, x) = (&mut self.ends[i + 1][e][at.clone()], &self.full[e][..size]);
                if *pool {
                    let winners = &mut self.winners[i][e][at.clone()];
                    self.isa.run(pool::Forward { out, winners, x, side: 2, shape: unpooled(*shape) });
                } else {
                    out.copy_from_slice(x);
                }
            }
        }
    }

    fn dense_forward(&mut self, net: &Net<'_>, i: usize) {
        let Kind::Dense { n, k, weight, bias, .. } = &net.stages[i].kind else { return };
        self.centre(net, i);
        let (size, size_in) = (net.units * n * LANES, net.units * k * LANES);
        let [a, b] = &mut self.ends[i + 1];
        let (a, b) = (&mut a[..size], &mut b[..size]);
        for (e, out) in [&mut *a, &mut *b].into_iter().enumerate() {
            self.isa.run(dense::Linear {
                out,
                x: &self.centred[i][e][..size_in],
                weights: &net.weights.flat[e][weight.clone()],
                bias: if e == 0 { &net.weights.flat[0][bias.clone()] } else { &[] },
                act: Activation::Identity,
                packed: false,
                n: *n,
                k: *k,
            });
        }
        if i + 1 == net.stages.len() {
            self.logits[..size].copy_from_slice(a);
        }
        self.isa.run(ToEnds { a, b, scale: 1.0 });
    }

    /// What the margins of the last layer may differ from those of its centre.
    fn spread(&mut self, net: &Net<'_>) {
        let last = net.stages.len() - 1;
        let Kind::Dense { n, k, weight, .. } = &net.stages[last].kind else { return };
        let weights = &net.weights.flat[0][weight.clone()];
        let [centre, radius] = &self.centred[last];
        for u in 0..net.units {
            let (at, at_in) = (u * n * LANES..(u + 1) * n * LANES, u * k * LANES..(u + 1) * k * LANES);
            let own = &mut self.own[at_in.clone()];
            let rows = self.labels[u].map(|y| &weights[usize::from(y) * k..(usize::from(y) + 1) * k]);
            self.isa.run(transpose::ToLanes { out: own, rows: &rows });
            self.isa.run(Spread {
                spread: &mut self.spread[at.clone()],
                size: &mut self.size[at],
                centre: &centre[at_in.clone()],
                radius: &radius[at_in],
                own,
                weights,
            });
        }
    }
}

/// What a convolution gives before pooling.
pub(super) fn unpooled(s: ConvShape) -> Shape {
    Shape::new(s.cout, s.ho(), s.wo())
}
