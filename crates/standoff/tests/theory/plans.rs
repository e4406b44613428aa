//! Golden numbers of the plans, computed by hand from the formulas (the comments show the arithmetic).
//!
//! With `ln2 = 0.693147`, `ln3 = 1.098612`, `ln5 = 1.609438`, `ln10 = 2.302585`, `ln65 = 4.174387`.

use standoff::plan::{OuterStep, Plan, Statement, algorithm1, algorithm2};
use standoff::{Constants, Error};

use OuterStep::{FrankWolfe, Projected};
use Statement::{Corrected, Printed, Tightened};

/// `(T, K, N, lambda, step_x, step_y, tolerance, gradients in y)`; the gradients in x are T.
type Golden = (f64, f64, f64, f64, f64, f64, f64, f64);

fn check(label: &str, plan: Result<Plan, Error>, golden: Golden) {
    let p = plan.expect("the constants are complete");
    let (t, k, n, lambda, step_x, step_y, tolerance, in_y) = golden;
    // Counts are whole numbers and must be equal. The others are quotients of small numbers.
    let counts = [p.outer, p.inner, p.restart, p.grad_x(), p.grad_y()];
    assert_eq!(counts, [t, k, n, t, in_y], "{label}: T, K, N, gradients in x and y");
    let near = |a: f64, b: f64| a == b || (a - b).abs() <= 1e-14 * b.abs();
    for (name, got, want) in [
        ("lambda", p.lambda, lambda),
        ("step_x", p.step_x, step_x),
        ("step_y", p.step_y, step_y),
        ("tolerance", p.tolerance, tolerance),
    ] {
        assert!(near(got, want), "{label}: {name} is {got}, by hand {want}");
    }
}

/// A game with kappa = L22/mu = 4, Y smaller than X; eps = 1/8.
pub(super) const FIRST: Constants = Constants {
    l11: 1.0,
    l12: 2.0,
    l22: 4.0,
    mu: 1.0,
    delta_g: Some(3.0),
    delta: Some(2.0),
    g_max: Some(5.0),
    radius_x: Some(2.0),
    radius_y: Some(0.5),
    estimated: false,
};

#[test]
fn algorithm_1_on_the_first_game() {
    // Printed: L = 1 + 4/2 = 3. T = 32*3*(5 + 3*2)^2 / (3/64) = 32*121*64 = 247808.
    // Lbar = max(2, 4, 3, 5, 1) = 5, Rbar = max(2, 1/2, 1) = 2, log(1/rho) = ln(4/3) = 0.287682.
    // K = [4 ln 8 + ln(2^15 10^6 2/(9*1))] / 0.287682 = (28 ln2 + 6 ln10 - 2 ln3)/0.287682 = 31.026407/0.287682 = 107.85: 108.
    // Tolerance = min(eps/4, mu (eps/12)/L12) = min(1/32, 1/192). Gradients in y: 247808*108 = 26763264.
    let printed = (247_808.0, 108.0, 0.0, 0.0, 1.0 / 3.0, 0.25, 1.0 / 192.0, 26_763_264.0);
    // Corrected: L = 1 + 4 = 5. T = 32*3*(5 + 5*2)^2 / (5/64) = 96*225*64/5 = 276480.
    // K = (12 ln2 + 17 ln2 + 6 ln10 + ln2 - 2 ln5)/0.287682 = 31.391050/0.287682 = 109.12: 110. (2^15 would give 104.30.)
    // Gradients in y: 276480*110 = 30412800.
    let corrected = (276_480.0, 110.0, 0.0, 0.0, 0.2, 0.25, 1.0 / 192.0, 30_412_800.0);
    // Tightened: T = 64*5*3*64 = 61440. K = ln(2*4*2*192^2)/0.287682 = ln(2^16 9)/0.287682 = 13.287579/0.287682 = 46.19: 47.
    // Gradients in y: 61440*47 = 2887680.
    let tightened = (61_440.0, 47.0, 0.0, 0.0, 0.2, 0.25, 1.0 / 192.0, 2_887_680.0);
    for (statement, golden) in [(Printed, printed), (Corrected, corrected), (Tightened, tightened)] {
        check(statement.name(), algorithm1(&FIRST, 0.125, statement), golden);
    }
}

#[test]
fn algorithm_2_on_the_first_game() {
    // Printed: lambda = (1/8)/(4/2) = 1/16, N = floor(sqrt(8*4*16)) = floor(22.63) = 22, L = 1 + 4*16 = 65.
    // T = 32*3*(5 + 65*2)^2/(65/64) = 96*18225*64/65 = 1722683.08: 1722684. Frank-Wolfe: 8*65*3*64 = 99840.
    // Lbar = 65, Rbar = 2. K = sqrt(8*64)/ln2 * [4 ln 8 + ln(2^17 130^6 2*16/65^2)] = 32.644462*(40 ln2 + 4 ln65)
    //   = 32.644462*44.423436 = 1450.18: 1451. Epochs: floor(1451/22) + 1 = 66, so 66*22 = 1452 steps.
    // Tolerance = min(1/32, (1/16)(1/96)/2) = 1/3072.
    // Gradients in y: 1722684*1452 = 2501337168 and 99840*1452 = 144967680.
    let (lambda, tol) = (1.0 / 16.0, 1.0 / 3072.0);
    let printed = (1_722_684.0, 1451.0, 22.0, lambda, 1.0 / 65.0, 0.25, tol, 2_501_337_168.0);
    check("printed", algorithm2(&FIRST, 0.125, Printed, Projected), printed);
    let printed = (99_840.0, 1451.0, 22.0, lambda, 1.0 / 65.0, 0.25, tol, 144_967_680.0);
    check("printed, Frank-Wolfe", algorithm2(&FIRST, 0.125, Printed, FrankWolfe), printed);
    // Corrected: L22 + lambda = 65/16, N = ceil(sqrt(8*65)) = ceil(22.80) = 23. Delta_g + lambda D^2/2 = 3 + 1/128 = 385/128.
    // T = 32*(385/128)*18225*64/65 = 112266000/65 = 1727169.23: 1727170. Frank-Wolfe: 8*65*(385/128)*64 = 100100.
    // K = sqrt(520)/ln2 * 44.423436 = 32.898509*44.423436 = 1461.46: 1462. Epochs: floor(1462/23) + 1 = 64, 1472 steps.
    // Gradients in y: 1727170*1472 = 2542394240 and 100100*1472 = 147347200.
    let corrected = (1_727_170.0, 1462.0, 23.0, lambda, 1.0 / 65.0, 16.0 / 65.0, tol, 2_542_394_240.0);
    check("corrected", algorithm2(&FIRST, 0.125, Corrected, Projected), corrected);
    let corrected = (100_100.0, 1462.0, 23.0, lambda, 1.0 / 65.0, 16.0 / 65.0, tol, 147_347_200.0);
    check("corrected, Frank-Wolfe", algorithm2(&FIRST, 0.125, Corrected, FrankWolfe), corrected);
    // Tightened: lambda = (1/8)/(2/2) = 1/8, L22 + lambda = 33/8, N = ceil(sqrt(8*33)) = ceil(16.25) = 17, L = 1 + 4*8 = 33.
    // Delta_g + lambda D^2/2 = 3 + 1/64 = 193/64. T = 64*33*(193/64)*64 = 407616.
    // Frank-Wolfe: 12*(193/64)*33*64/5 = 76428/5 = 15285.6: 15286.
    // Tolerance = min(1/32, (1/8)(1/96)/2) = 1/1536. Epochs = log2(8*(33/8)*2*1536^2) = log2(594*2^18) = 27.21: 28, K = 28*17 = 476.
    // Algorithm 3 makes floor(476/17) + 1 = 29 epochs, 493 steps: 407616*493 = 200954688 and 15286*493 = 7535998.
    let tightened = (407_616.0, 476.0, 17.0, 0.125, 1.0 / 33.0, 8.0 / 33.0, 1.0 / 1536.0, 200_954_688.0);
    check("tightened", algorithm2(&FIRST, 0.125, Tightened, Projected), tightened);
    let tightened = (15_286.0, 476.0, 17.0, 0.125, 1.0 / 33.0, 8.0 / 33.0, 1.0 / 1536.0, 7_535_998.0);
    check("tightened, Frank-Wolfe", algorithm2(&FIRST, 0.125, Tightened, FrankWolfe), tightened);
}

/// kappa = 1, Y larger than X, g_max below 1 (the theorems take 1); eps = 1/2.
const SECOND: Constants = Constants {
    l11: 0.0,
    l12: 0.5,
    l22: 2.0,
    mu: 2.0,
    delta_g: Some(0.25),
    delta: Some(3.0),
    g_max: Some(0.5),
    radius_x: Some(0.25),
    radius_y: Some(8.0),
    estimated: false,
};

#[test]
fn algorithm_1_on_the_second_game() {
    // kappa = 1: the first step of 1/L22 is exact, K = 1. Tolerance = min(1/8, 2*(1/24)/(1/2)) = min(1/8, 1/6) = 1/8.
    // Printed: L = (1/4)/4 = 1/16, T = 32*(1/4)*(1 + 1/64)^2/((1/16)/4) = 512*4225/4096 = 528.1: 529.
    let printed = (529.0, 1.0, 0.0, 0.0, 16.0, 0.5, 0.125, 529.0);
    // Corrected: L = 1/8, T = 8*(1 + 1/32)^2*32 = 256*1089/1024 = 272.25: 273.
    let corrected = (273.0, 1.0, 0.0, 0.0, 8.0, 0.5, 0.125, 273.0);
    // Tightened: T = 64*(1/8)*(1/4)*4 = 8.
    let tightened = (8.0, 1.0, 0.0, 0.0, 8.0, 0.5, 0.125, 8.0);
    for (statement, golden) in [(Printed, printed), (Corrected, corrected), (Tightened, tightened)] {
        check(statement.name(), algorithm1(&SECOND, 0.5, statement), golden);
    }
}

#[test]
fn algorithm_2_on_the_second_game() {
    // Printed: lambda = (1/2)/32 = 1/64, N = sqrt(8*2*64) = 32, L = (1/4)*64 = 16.
    // T = 32*(1/4)*(1 + 16/4)^2/(16/4) = 50. Frank-Wolfe: 8*16*(1/4)*4 = 128.
    // Lbar = 16, Rbar = 8. K = (32/ln2) [4 ln2 + ln(2^17 128^6 3*64/256)] = 32*(4 + 17 + 42 - 2 + log2 3) = 32*62.584963
    //   = 2002.72: 2003. Epochs: floor(2003/32) + 1 = 63, 2016 steps. Gradients in y: 50*2016 = 100800, 128*2016 = 258048.
    // Tolerance = min(1/8, (1/64)(1/24)*2) = 1/768.
    let (lambda, tol) = (1.0 / 64.0, 1.0 / 768.0);
    let printed = (50.0, 2003.0, 32.0, lambda, 1.0 / 16.0, 0.5, tol, 100_800.0);
    check("printed", algorithm2(&SECOND, 0.5, Printed, Projected), printed);
    let printed = (128.0, 2003.0, 32.0, lambda, 1.0 / 16.0, 0.5, tol, 258_048.0);
    check("printed, Frank-Wolfe", algorithm2(&SECOND, 0.5, Printed, FrankWolfe), printed);
    // Corrected: L22 + lambda = 129/64, N = ceil(sqrt(1032)) = ceil(32.12) = 33. Delta_g + lambda D^2/2 = 1/4 + 1/2 = 3/4.
    // T = 32*(3/4)*25/4 = 150. Frank-Wolfe: 8*16*(3/4)*4 = 384.
    // K = 32.124757*62.584963 = 2010.53: 2011. Epochs: floor(2011/33) + 1 = 61, 2013 steps: 150*2013 = 301950, 384*2013 = 772992.
    let corrected = (150.0, 2011.0, 33.0, lambda, 1.0 / 16.0, 64.0 / 129.0, tol, 301_950.0);
    check("corrected", algorithm2(&SECOND, 0.5, Corrected, Projected), corrected);
    let corrected = (384.0, 2011.0, 33.0, lambda, 1.0 / 16.0, 64.0 / 129.0, tol, 772_992.0);
    check("corrected, Frank-Wolfe", algorithm2(&SECOND, 0.5, Corrected, FrankWolfe), corrected);
    // Tightened: lambda = (1/2)/16 = 1/32, L22 + lambda = 65/32, N = ceil(sqrt(520)) = 23, L = 8, Delta_g + 1 = 5/4.
    // T = 64*8*(5/4)*4 = 2560. Frank-Wolfe: 12*(5/4)*8*4/5 = 96. Tolerance = min(1/8, (1/32)(1/24)*2) = 1/384.
    // Epochs = log2(8*(65/32)*3*384^2) = log2(7188480) = 22.78: 23, K = 529, and 24*23 = 552 steps: 2560*552 = 1413120, 96*552 = 52992.
    let tightened = (2560.0, 529.0, 23.0, 1.0 / 32.0, 0.125, 32.0 / 65.0, 1.0 / 384.0, 1_413_120.0);
    check("tightened", algorithm2(&SECOND, 0.5, Tightened, Projected), tightened);
    let tightened = (96.0, 529.0, 23.0, 1.0 / 32.0, 0.125, 32.0 / 65.0, 1.0 / 384.0, 52_992.0);
    check("tightened, Frank-Wolfe", algorithm2(&SECOND, 0.5, Tightened, FrankWolfe), tightened);
}

/// f linear in y on a tiny Y: L is below eps, and 1 is the largest of L, L12 and g_max; eps = 1/2.
const THIRD: Constants = Constants {
    l11: 0.25,
    l12: 0.25,
    l22: 0.0,
    mu: 0.0,
    delta_g: Some(1.0),
    delta: Some(1.0),
    g_max: Some(0.5),
    radius_x: Some(1.0),
    radius_y: Some(1.0 / 64.0),
    estimated: false,
};

#[test]
fn frank_wolfe_on_a_flat_game_linear_in_y() {
    // Printed: lambda = (1/2)/(4/64) = 8, L22 = 0: N = 0, K = 0 (kappa = 0), step 1/0. T = 8*1*1*4 = 32, step 1/1.
    // Tolerance = min(1/8, 8*(1/24)*4) = 1/8.
    let printed = (32.0, 0.0, 0.0, 8.0, 1.0, f64::INFINITY, 0.125, 0.0);
    check("printed", algorithm2(&THIRD, 0.5, Printed, FrankWolfe), printed);
    // Corrected: N = ceil(sqrt(8)) = 3, L = 1/4 + 1/128 = 33/128. T = 8*(1 + 8/8192)*4 = 32.03: 33.
    // K = (sqrt(8)/ln2) [4 ln2 + ln(2^17/((33/128)^2 8))] = 2.828427*(4 + 17 - 3 + 14 - 2 log2 33) = 2.828427*21.911212 = 61.97: 62.
    // Epochs: floor(62/3) + 1 = 21, 63 steps: 33*63 = 2079.
    let corrected = (33.0, 62.0, 3.0, 8.0, 1.0, 0.125, 0.125, 2079.0);
    check("corrected", algorithm2(&THIRD, 0.5, Corrected, FrankWolfe), corrected);
    // Tightened: lambda = (1/2)/(2/64) = 16, L = 1/4 + 1/256 = 65/256 < eps. Delta_g + 16/8192 = 513/512.
    // T = 12*(513/512)*(1/2)*4/5 = 4.81: 5. (Without the max of L and eps: 2.44.) N = 3.
    // Epochs = log2(8*16*1*64) = 13, K = 39; 14*3 = 42 steps: 5*42 = 210.
    let tightened = (5.0, 39.0, 3.0, 16.0, 256.0 / 65.0, 1.0 / 16.0, 0.125, 210.0);
    check("tightened", algorithm2(&THIRD, 0.5, Tightened, FrankWolfe), tightened);
    // Projected: T = 64*(65/256)*(513/512)*4 = 65.13: 66; 66*42 = 2772.
    let projected = (66.0, 39.0, 3.0, 16.0, 256.0 / 65.0, 1.0 / 16.0, 0.125, 2772.0);
    check("tightened, projected", algorithm2(&THIRD, 0.5, Tightened, Projected), projected);
}

#[test]
fn l12_or_g_max_may_be_the_largest_constant_of_a_frank_wolfe_step() {
    // lambda = 8 as above. L12 = 3/2: L = 1/4 + (9/4)/8 = 17/32, max = 3/2. g_max = 7: max = 7.
    let of = |l12, g_max| algorithm2(&Constants { l12, g_max, ..THIRD }, 0.5, Corrected, FrankWolfe).unwrap();
    assert_eq!((of(1.5, Some(0.5)).step_x, of(1.5, Some(7.0)).step_x), (1.0 / 1.5, 1.0 / 7.0));
    // Without coupling any y is good enough: the tolerance is y's share alone, eps/4.
    assert_eq!(of(0.0, Some(0.5)).tolerance, 0.125);
}

#[test]
fn statements_have_the_names_of_the_columns_in_the_tables() {
    assert_eq!(Statement::ALL.map(Statement::name), ["printed", "corrected", "tightened"]);
}

#[test]
fn every_plan_names_its_missing_constant_and_needs_no_other() {
    let full = FIRST;
    let lacks = |c: Constants| {
        [
            algorithm1(&c, 0.125, Corrected),
            algorithm2(&c, 0.125, Corrected, Projected),
            algorithm2(&c, 0.125, Tightened, Projected),
        ]
        .map(|p| p.err().map(|e| e.to_string()))
    };
    let named = |found: &Option<String>, name: &str| found.as_ref().is_some_and(|e| e.contains(name));
    let mu = lacks(Constants { mu: 0.0, ..full });
    assert!(named(&mu[0], "mu") && mu[1].is_none() && mu[2].is_none(), "{mu:?}");
    let delta_g = lacks(Constants { delta_g: None, ..full });
    assert!(delta_g.iter().all(|e| named(e, "delta_g")), "{delta_g:?}");
    let delta = lacks(Constants { delta: None, ..full });
    assert!(delta.iter().all(|e| named(e, "delta")), "{delta:?}");
    let radius_y = lacks(Constants { radius_y: None, ..full });
    assert!(
        radius_y[0].is_none() && named(&radius_y[1], "radius_y") && named(&radius_y[2], "radius_y"),
        "{radius_y:?}"
    );
    for (name, c) in [("g_max", Constants { g_max: None, ..full }), ("radius_x", Constants { radius_x: None, ..full })]
    {
        let found = lacks(c);
        assert!(named(&found[0], name) && named(&found[1], name) && found[2].is_none(), "{name}: {found:?}");
    }
}
