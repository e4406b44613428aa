//! Errors of the constructors: every message says what was given and what to do.

use standoff::sets::Matrix;
use standoff::{Error, Set};

fn refused<T>(set: Result<T, Error>, words: &[&str]) {
    let Err(Error::Set { set, problem }) = set.map(|_| ()) else { panic!("accepted: {words:?}") };
    let message = format!("{set}: {problem}");
    for word in words {
        assert!(message.contains(word), "`{message}` does not say `{word}`");
    }
}

fn matrix(rows: &[&[f64]]) -> Matrix {
    Matrix::from_rows(&rows.iter().map(|r| r.to_vec()).collect::<Vec<_>>()).unwrap()
}

#[test]
fn a_box_with_lower_above_upper_is_refused() {
    refused(Set::boxed(vec![0.0, 2.0], vec![1.0, 1.0]), &["coordinate 1", "lower = 2", "upper = 1"]);
}

#[test]
fn a_box_with_a_nan_bound_is_refused() {
    refused(Set::boxed(vec![f64::NAN], vec![1.0]), &["coordinate 0", "NaN"]);
    refused(Set::interval(0.0, f64::NAN), &["NaN"]);
}

#[test]
fn a_box_with_lower_bound_plus_infinity_is_refused() {
    refused(Set::interval(f64::INFINITY, f64::INFINITY), &["no number"]);
    refused(Set::interval(f64::NEG_INFINITY, f64::NEG_INFINITY), &["no number"]);
    assert!(Set::interval(f64::NEG_INFINITY, f64::INFINITY).is_ok());
}

#[test]
fn a_box_with_bounds_of_different_lengths_is_refused() {
    refused(Set::boxed(vec![0.0], vec![1.0, 1.0]), &["lower has 1", "upper has 2"]);
}

#[test]
fn sets_without_coordinates_are_refused() {
    refused(Set::<f64>::boxed(vec![], vec![]), &["box", "no coordinates"]);
    refused(Set::<f64>::ball(vec![], 1.0), &["ball", "no coordinates"]);
    refused(Set::<f64>::l1_ball(0, 1.0), &["l1 ball", "no coordinates"]);
    refused(Set::<f64>::simplex(0, 1.0), &["simplex", "no coordinates"]);
    refused(Set::<f64>::halfspace(vec![], 1.0), &["half-space", "no coordinates"]);
}

#[test]
fn a_ball_with_a_negative_or_infinite_radius_is_refused() {
    for radius in [-1.0, f64::NAN, f64::INFINITY] {
        refused(Set::ball(vec![0.0], radius), &["radius", &radius.to_string()]);
        refused(Set::<f64>::l1_ball(2, radius), &["radius", &radius.to_string()]);
    }
}

#[test]
fn a_ball_with_a_nan_centre_is_refused() {
    refused(Set::ball(vec![0.0, f64::NAN], 1.0), &["centre", "NaN", "index 1"]);
}

#[test]
fn a_radius_of_zero_is_a_single_point() {
    let mut z = [3.0, 4.0];
    Set::ball(vec![1.0, 2.0], 0.0).unwrap().project(&mut z);
    assert_eq!(z, [1.0, 2.0]);
    Set::l1_ball(2, 0.0).unwrap().project(&mut z);
    assert_eq!(z, [0.0, 0.0]);
}

#[test]
fn a_simplex_without_a_positive_scale_is_refused() {
    for scale in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        refused(Set::<f64>::simplex(3, scale), &["scale", &scale.to_string()]);
    }
}

#[test]
fn a_halfspace_without_a_normal_is_refused() {
    refused(Set::halfspace(vec![0.0, 0.0], -1.0), &["zero", "empty"]);
    refused(Set::halfspace(vec![0.0, 0.0], 1.0), &["zero", "everything", "free"]);
    refused(Set::halfspace(vec![1.0, f64::NAN], 1.0), &["normal", "NaN"]);
    refused(Set::halfspace(vec![1.0], f64::NAN), &["b is NaN"]);
}

#[test]
fn a_matrix_with_ragged_rows_or_bad_entries_is_refused() {
    refused(Matrix::from_rows(&[vec![1.0, 2.0], vec![1.0]]), &["row 1 has 1", "row 0 has 2"]);
    refused(Matrix::from_rows(&[]), &["no rows"]);
    refused(Matrix::from_rows(&[vec![]]), &["no entries"]);
    refused(Matrix::new(2, 2, vec![1.0; 3]), &["3 numbers", "2 rows of 2"]);
    refused(Matrix::new(1, 2, vec![1.0, f64::NAN]), &["[0][1]", "NaN"]);
    refused(Matrix::new(usize::MAX, usize::MAX, vec![1.0]), &["1 numbers"]);
}

#[test]
fn a_right_hand_side_of_the_wrong_length_is_refused() {
    refused(Set::<f64>::affine(matrix(&[&[1.0]]), &[1.0, 2.0]), &["affine", "A has 1 rows", "b has 2"]);
    refused(Set::<f64>::polyhedron(matrix(&[&[1.0]]), &[]), &["polyhedron", "A has 1 rows", "b has 0"]);
}

#[test]
fn a_right_hand_side_with_nan_is_refused() {
    refused(Set::<f64>::affine(matrix(&[&[1.0]]), &[f64::NAN]), &["b[0]", "NaN"]);
    refused(Set::<f64>::polyhedron(matrix(&[&[1.0]]), &[f64::INFINITY]), &["b[0]", "inf"]);
}

#[test]
fn equations_that_contradict_each_other_are_refused() {
    let a = || matrix(&[&[1.0, 1.0, 0.0], &[0.0, 1.0, 1.0], &[1.0, 2.0, 1.0]]);
    refused(Set::<f64>::affine(a(), &[1.0, 1.0, 2.1]), &["contradict", "empty"]);
    refused(Set::<f64>::affine(matrix(&[&[0.0, 0.0]]), &[1.0]), &["row 0", "zero", "empty"]);
    assert!(Set::<f64>::affine(a(), &[1.0, 1.0, 2.0]).unwrap().contains(&[1.0, 0.0, 1.0], 1e-12));
}

#[test]
fn inequalities_that_contradict_each_other_are_refused() {
    refused(Set::<f64>::polyhedron(matrix(&[&[1.0], &[-1.0]]), &[0.0, -1.0]), &["polyhedron", "no point"]);
    refused(Set::<f64>::polyhedron(matrix(&[&[1.0], &[-1.0]]), &[0.0, -1e-6]), &["no point"]);
    refused(Set::<f64>::polyhedron(matrix(&[&[0.0, 0.0]]), &[-1.0]), &["row 0", "zero", "empty"]);
    let triangle = matrix(&[&[1.0, 1.0], &[-1.0, 0.0], &[0.0, -1.0]]);
    refused(Set::<f64>::polyhedron(triangle, &[-1.0, 0.0, 0.0]), &["no point"]);
    assert!(Set::<f64>::polyhedron(matrix(&[&[1.0], &[-1.0]]), &[1.0, -1.0]).unwrap().contains(&[1.0], 1e-12));
}

#[test]
fn an_empty_product_is_refused() {
    refused(Set::<f64>::product(vec![]), &["product", "no parts"]);
}
