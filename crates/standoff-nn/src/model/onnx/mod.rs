//! Networks in ONNX files: read as a graph of elementary operations, checked byte by byte.

mod convert;
mod elementwise;
mod layers;
mod proto;
mod recover;
mod shapes;
mod summary;
mod tensor;
mod windows;
mod wire;
mod write;

pub use proto::{OnnxAttribute, OnnxModel, OnnxNode, OnnxValue};
pub use summary::OperatorSummary;
pub(crate) use tensor::entries;
pub use tensor::{ConstTensor, TensorNumbers};

use crate::Error;
use crate::verify::OpGraph;

impl OnnxModel {
    /// Reads the bytes of a file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        proto::model(bytes).map_err(Error::Onnx)
    }

    /// The graph of elementary operations, with constants folded.
    pub fn graph(&self) -> Result<OpGraph, Error> {
        convert::read(self).map(|(graph, _)| graph)
    }
}
