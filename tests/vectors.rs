//! Vectors from the real runtime: one-operation models with inputs and outputs.

use crate::support::{Case, Tolerance, check_case, each, files, project, unpack};

/// Cases that record what the real runtime does where the document says something else, or where
/// it says nothing; each stands in `docs/deviations.md`.
const DEVIATIONS: &[(&str, &str)] = &[
    ("Convert-1", "f32-to-nf4"),
    ("RandomUniform-8", "pytorch-bf16-range"),
    ("ErfInv-17", "f32-inexact"),
    ("Gelu-2", "ends"),
    ("ConvolutionBackpropData-1", "explicit-output-shape"),
    ("ConvolutionBackpropData-1", "valid-output-shape"),
    ("DeformableConvolution-8", "nearest"),
    ("GroupConvolutionBackpropData-1", "explicit-output-shape"),
    ("GroupConvolutionBackpropData-1", "valid-output-shape"),
    ("MaxPool-1", "only-infinities"),
    ("MaxPool-1", "padding-alone"),
    ("MaxPool-8", "only-infinities"),
    ("MaxPool-8", "padding-alone"),
    ("MaxPool-14", "only-infinities"),
    ("MaxPool-14", "padding-alone"),
    ("LRN-1", "even-size"),
    ("ROIAlign-3", "max-negative"),
    ("ROIAlign-9", "max-negative"),
    ("MatrixNms-8", "class"),
    ("NonMaxSuppression-1", "filled-up"),
    ("NonMaxSuppression-3", "filled-up"),
    ("NonMaxSuppression-4", "filled-up"),
    ("NonMaxSuppression-5", "soft-above-threshold"),
    ("NonMaxSuppression-9", "no-thresholds"),
    ("PriorBox-1", "fixed-two-ratios"),
    ("PriorBox-1", "relative-with-max"),
    ("ReduceSum-1", "f32-duplicate-axes*"),
    ("ScatterElementsUpdate-3", "f32-none-negative-index"),
    ("ScaledDotProductAttention-13", "row-hidden"),
];

fn deviates(operation: &str, case: &str) -> bool {
    DEVIATIONS.iter().any(|&(o, pattern)| {
        o == operation
            && match pattern.split_once('*') {
                Some((start, end)) => case.starts_with(start) && case.ends_with(end),
                None => case == pattern,
            }
    })
}

/// Operations whose last bits depend on the order of a sum, or on how a function is computed, and
/// how far off they may be: in units in the last place, and relative to the tensor's largest element.
const ROUNDED: &[(&str, f64, f64)] = &[
    ("CTCLoss", 2.0, 0.0),
    ("DFT", 1.0, 5e-7),
    ("Divide", 1.0, 0.0),
    ("ExperimentalDetectronDetectionOutput", 2.0, 2e-7),
    (
        "ExperimentalDetectronGenerateProposalsSingleImage",
        2.0,
        2e-7,
    ),
    ("GenerateProposals", 2.0, 2e-7),
    ("Power", 1.0, 0.0),
    ("Acos", 2.0, 0.0),
    ("Acosh", 2.0, 0.0),
    ("Asin", 2.0, 0.0),
    ("Asinh", 2.0, 0.0),
    ("Atan", 2.0, 0.0),
    ("Atanh", 2.0, 0.0),
    ("Cos", 2.0, 0.0),
    ("Cosh", 2.0, 0.0),
    ("Elu", 2.0, 1e-7),
    ("Erf", 2.0, 0.0),
    ("ErfInv", 16.0, 0.0),
    ("Exp", 2.0, 0.0),
    ("FakeConvert", 2.0, 0.0),
    ("FakeQuantize", 2.0, 0.0),
    ("Gelu", 2.0, 1e-7),
    ("HSigmoid", 2.0, 0.0),
    ("HSwish", 2.0, 0.0),
    ("HardSigmoid", 2.0, 0.0),
    ("Log", 2.0, 0.0),
    ("Mish", 2.0, 1e-7),
    ("Selu", 2.0, 1e-7),
    ("Sigmoid", 2.0, 1e-7),
    ("Sin", 2.0, 0.0),
    ("Sinh", 2.0, 0.0),
    ("SoftPlus", 2.0, 1e-7),
    ("SoftSign", 2.0, 0.0),
    ("Sqrt", 2.0, 0.0),
    ("Swish", 2.0, 1e-7),
    ("Tan", 2.0, 0.0),
    ("Tanh", 2.0, 0.0),
    ("GRUCell", 1.0, 3e-7),
    ("GRUSequence", 1.0, 3e-7),
    ("IDFT", 1.0, 5e-7),
    ("IRDFT", 1.0, 5e-7),
    ("ISTFT", 1.0, 3e-7),
    ("LSTMCell", 1.0, 1e-6),
    ("LSTMSequence", 1.0, 1e-6),
    ("RDFT", 1.0, 5e-7),
    ("RNNCell", 1.0, 3e-7),
    ("RNNSequence", 1.0, 3e-7),
    ("STFT", 1.0, 3e-7),
    ("BatchNormInference", 4.0, 1e-6),
    ("DeformablePSROIPooling", 4.0, 1e-6),
    ("Divide", 1.0, 0.0),
    ("GRN", 4.0, 1e-6),
    ("GridSample", 4.0, 1e-6),
    ("GroupNormalization", 4.0, 1e-6),
    ("Interpolate", 4.0, 1e-6),
    ("LRN", 4.0, 1e-6),
    ("MVN", 4.0, 1e-6),
    ("NormalizeL2", 4.0, 1e-6),
    ("PSROIPooling", 4.0, 1e-6),
    ("ROIAlign", 4.0, 1e-6),
    ("ROIAlignRotated", 4.0, 1e-6),
    ("ROIPooling", 4.0, 1e-6),
    ("DetectionOutput", 0.0, 2e-7),
    ("Divide", 1.0, 0.0),
    ("Proposal", 0.0, 2e-7),
    ("ReduceSum", 1.0, 0.0),
    ("RegionYolo", 4.0, 0.0),
    ("Inverse", 4.0, 1e-6),
    ("LogSoftmax", 4.0, 2e-7),
    ("ReduceSum", 1.0, 0.0),
    ("ScaledDotProductAttention", 4.0, 4e-7),
    ("ScatterElementsUpdate", 1.0, 0.0),
    ("SoftMax", 4.0, 2e-7),
];

fn check(files: &Case, operation: &str) {
    let name = operation.split('-').next().unwrap_or_default();
    let rounded = ROUNDED.iter().find(|(operation, ..)| *operation == name);
    let (_, ulps, of_scale) = rounded.copied().unwrap_or_default();
    let tolerance = Tolerance {
        ulps,
        of_scale,
        signed_zero: operation.starts_with("Convert-"),
    };
    check_case(files, "model.xml", tolerance);
}

#[test]
fn agree_with_the_real_runtime() {
    let mut cases = Vec::new();
    for archive in files(&project("tests/vectors"), "zip") {
        let operation = archive
            .file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        if operation.ends_with("-extension") && !cfg!(feature = "tokenizers") {
            continue;
        }
        for (case, folder) in unpack(&archive) {
            cases.push((
                format!("{operation}/{case}"),
                (operation.clone(), case, folder),
            ));
        }
    }
    each(cases, |(operation, case, folder)| {
        if !deviates(&operation, &case) {
            check(&folder, &operation);
            return;
        }
        // A deviation that is none any more must leave the list.
        let agrees = std::panic::catch_unwind(|| check(&folder, &operation)).is_ok();
        assert!(
            !agrees,
            "{operation}/{case} agrees, though it is listed as a deviation"
        );
    });
}
