//! The operators of a network as a table.

use standoff_nn::model::onnx::OnnxModel;
use standoff_train::number::count;

use crate::table::Table;

/// The operators of a network with the shapes of their outputs, parameters and products, and the totals.
pub fn operators(model: &OnnxModel, width: usize) -> Result<String, standoff_nn::Error> {
    let (operators, graph) = model.operators()?;
    let mut table = Table::new("", "name", ["operator", "shape", "parameters", "products"]);
    let whole = |n: usize| count(n as u64);
    let shape = |dims: &[usize]| dims.iter().map(usize::to_string).collect::<Vec<_>>().join("x");
    table.row("input", ["input", &shape(graph.input_dims()), "", ""]);
    let (mut parameters, mut products) = (0, 0);
    for row in operators {
        let counts = [row.parameters, row.products].map(|n| if n == 0 { String::new() } else { whole(n) });
        (parameters, products) = (parameters + row.parameters, products + row.products);
        let [own, cost] = counts;
        table.row(row.name, [row.kind, shape(&row.dims), own, cost]);
    }
    let (inputs, outputs) = (whole(graph.inputs()), graph.outputs());
    let (parameters, products) = (whole(parameters), whole(products));
    let total = format!("{inputs} inputs, {outputs} outputs, {parameters} parameters, {products} products per input");
    Ok(format!("{}\n{total}\n", table.terminal(width).trim_end()))
}
