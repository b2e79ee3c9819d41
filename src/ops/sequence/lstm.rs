//! LSTMCell-1, LSTMCell-4, LSTMSequence-5: long short-term memory, one step and along sequences.
//!
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/sequence/lstm-cell-1.html>,
//! <https://docs.openvino.ai/2026/documentation/openvino-ir-format/operation-sets/operation-specs/sequence/lstm-sequence-5.html>
//!
//! Files know more of version 1 than its page: the order of the gates, peepholes as a seventh
//! input, and an input gate that is `1 - f`.

use serde::{Deserialize, Serialize};

use super::recurrent::{Direction, Function, Recurrent, functions, recurrent};
use crate::kernel::recurrent::{Activation, Kind};
use crate::op::OpError;

/// The order of the gates in weights and biases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum WeightsFormat {
    /// What the page says, without an attribute.
    #[default]
    Fico,
    Icof,
    Ifco,
    Ifoc,
    Iofc,
}

impl WeightsFormat {
    /// Where gates f, i, c and o are.
    fn order(self) -> [usize; 4] {
        match self {
            Self::Fico => [0, 1, 2, 3],
            Self::Icof => [3, 0, 1, 2],
            Self::Ifco => [1, 0, 2, 3],
            Self::Ifoc => [1, 0, 3, 2],
            Self::Iofc => [2, 0, 3, 1],
        }
    }
}

/// What the functions are if nothing else is said.
const FUNCTIONS: [Activation; 3] = [Activation::Sigmoid, Activation::Tanh, Activation::Tanh];

/// The gates, in the order that pages give.
fn kind(activations: &[Function]) -> Result<Kind, OpError> {
    Ok(Kind::Lstm {
        functions: functions(activations, FUNCTIONS)?,
        order: WeightsFormat::Fico.order(),
        input_forget: false,
    })
}

recurrent! {
    /// One step of version 1.
    LstmCell1 { weights_format: WeightsFormat, input_forget: bool }
}

impl LstmCell1 {
    fn recurrent(&self) -> Result<Recurrent, OpError> {
        let kind = Kind::Lstm {
            functions: functions(&self.activations, FUNCTIONS)?,
            order: self.weights_format.order(),
            input_forget: self.input_forget,
        };
        let cell = self.with(kind, None);
        Ok(Recurrent {
            peepholes: true,
            ..cell
        })
    }
}

recurrent! {
    /// One step.
    LstmCell {}
}

impl LstmCell {
    fn recurrent(&self) -> Result<Recurrent, OpError> {
        Ok(self.with(kind(&self.activations)?, None))
    }
}

recurrent! {
    /// All steps of sequences.
    LstmSequence { direction: Direction }
}

impl LstmSequence {
    fn recurrent(&self) -> Result<Recurrent, OpError> {
        Ok(self.with(kind(&self.activations)?, Some(self.direction)))
    }
}
