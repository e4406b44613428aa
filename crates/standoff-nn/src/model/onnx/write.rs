//! Writes ONNX files: the operators of [`OnnxModel`] as protobuf.

use super::proto::{OnnxAttribute, OnnxModel, OnnxNode, OnnxValue};
use super::tensor::{ConstTensor, TensorNumbers};

/// Bytes of a message that is being written.
#[derive(Default)]
struct Writer(Vec<u8>);

impl Writer {
    fn number(&mut self, mut x: u64) {
        while x >= 0x80 {
            self.0.push(x as u8 | 0x80);
            x >>= 7;
        }
        self.0.push(x as u8);
    }

    fn integer(&mut self, field: u64, x: i64) {
        self.number(field << 3);
        self.number(x as u64);
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.number(field << 3 | 2);
        self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn message(&mut self, field: u64, write: impl FnOnce(&mut Self)) {
        let mut inner = Self::default();
        write(&mut inner);
        self.bytes(field, &inner.0);
    }

    fn float(&mut self, field: u64, x: f64) {
        self.number(field << 3 | 5);
        self.0.extend_from_slice(&(x as f32).to_le_bytes());
    }
}

/// The bytes of a file of IR version 8.
pub(super) fn bytes(model: &OnnxModel) -> Vec<u8> {
    let mut out = Writer::default();
    out.integer(1, 8);
    out.bytes(2, b"standoff");
    out.message(7, |graph| {
        model.nodes.iter().for_each(|n| graph.message(1, |out| node(out, n)));
        graph.bytes(2, b"network");
        model.constants.iter().for_each(|(name, t)| graph.message(5, |out| tensor(out, name, t)));
        model.inputs.iter().for_each(|v| graph.message(11, |out| value(out, v)));
        model.outputs.iter().for_each(|v| graph.message(12, |out| value(out, v)));
    });
    out.message(8, |set| {
        set.bytes(1, b"");
        set.integer(2, model.opset);
    });
    out.0
}

fn node(out: &mut Writer, node: &OnnxNode) {
    node.inputs.iter().for_each(|name| out.bytes(1, name.as_bytes()));
    node.outputs.iter().for_each(|name| out.bytes(2, name.as_bytes()));
    out.bytes(3, node.name.as_bytes());
    out.bytes(4, node.op.as_bytes());
    node.attributes.iter().for_each(|(name, a)| out.message(5, |out| attribute(out, name, a)));
    if !node.domain.is_empty() {
        out.bytes(7, node.domain.as_bytes());
    }
}

fn attribute(out: &mut Writer, name: &str, attribute: &OnnxAttribute) {
    out.bytes(1, name.as_bytes());
    let kind = match attribute {
        OnnxAttribute::Float(x) => {
            out.float(2, *x);
            1
        }
        OnnxAttribute::Int(i) => {
            out.integer(3, *i);
            2
        }
        OnnxAttribute::Text(text) => {
            out.bytes(4, text.as_bytes());
            3
        }
        OnnxAttribute::Tensor(t) => {
            out.message(5, |out| tensor(out, "", t));
            4
        }
        OnnxAttribute::Floats(all) => {
            all.iter().for_each(|x| out.float(7, *x));
            6
        }
        OnnxAttribute::Ints(all) => {
            all.iter().for_each(|i| out.integer(8, *i));
            7
        }
        OnnxAttribute::Other => 0,
    };
    out.integer(20, kind);
}

fn tensor(out: &mut Writer, name: &str, tensor: &ConstTensor) {
    tensor.dims.iter().for_each(|d| out.integer(1, *d as i64));
    let (kind, bytes): (i64, Vec<u8>) = match &tensor.numbers {
        TensorNumbers::Floats(v) => (1, v.iter().flat_map(|x| (*x as f32).to_le_bytes()).collect()),
        TensorNumbers::Ints(v) => (7, v.iter().flat_map(|i| i.to_le_bytes()).collect()),
    };
    out.integer(2, kind);
    out.bytes(8, name.as_bytes());
    out.bytes(9, &bytes);
}

fn value(out: &mut Writer, value: &OnnxValue) {
    out.bytes(1, value.name.as_bytes());
    out.message(2, |out| {
        out.message(1, |out| {
            out.integer(1, 1);
            out.message(2, |out| {
                for d in &value.dims {
                    out.message(1, |out| match d {
                        Some(d) => out.integer(1, *d as i64),
                        None => out.bytes(2, b"batch"),
                    });
                }
            });
        });
    });
}
