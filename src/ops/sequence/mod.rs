//! Category `sequence` of the specification.

mod ctc_greedy_decoder;
mod ctc_loss;
mod gru;
mod head_attention;
mod lengths;
mod lstm;
mod one_hot;
mod paged_attention;
mod paged_call;
mod recurrent;
mod rnn;
mod scaled_dot_product_attention;

pub(crate) use head_attention::{HeadAttention, Order, Seen};
pub(crate) use scaled_dot_product_attention::default_scale;

use crate::op::{OpDef, def, def_with};

pub(super) const OPS: &[OpDef] = &[
    def::<ctc_greedy_decoder::CtcGreedyDecoder>("CTCGreedyDecoder", &[1]),
    def::<ctc_greedy_decoder::CtcGreedyDecoderSeqLen>("CTCGreedyDecoderSeqLen", &[6]),
    def::<ctc_loss::CtcLoss>("CTCLoss", &[4]),
    def::<gru::GruCell>("GRUCell", &[3]),
    def::<gru::GruSequence>("GRUSequence", &[5]),
    def::<lstm::LstmCell1>("LSTMCell", &[1]),
    def::<lstm::LstmCell>("LSTMCell", &[4]),
    def::<lstm::LstmSequence>("LSTMSequence", &[5]),
    def_with::<one_hot::OneHot>("OneHot", &[1], one_hot::read_1),
    def::<one_hot::OneHot>("OneHot", &[16]),
    def::<scaled_dot_product_attention::ScaledDotProductAttention>(
        "ScaledDotProductAttention",
        &[13],
    ),
    def::<paged_attention::PagedAttention>("PagedAttentionExtension", &[]).outside("extension"),
    def::<rnn::RnnCell>("RNNCell", &[1]),
    def::<rnn::RnnSequence>("RNNSequence", &[5]),
];
