//! Category `movement` of the specification.

mod batch_to_space;
mod blocks;
mod broadcast;
mod col2im;
mod concat;
mod depth_to_space;
mod extract_image_patches;
mod gather;
mod gather_elements;
mod gather_nd;
mod gather_tree;
mod indices;
mod pad;
mod reverse;
mod reverse_sequence;
mod roll;
mod scatter_elements_update;
mod scatter_nd_update;
mod scatter_update;
mod shuffle_channels;
mod slice;
mod slice_scatter;
mod slicing;
mod space_to_batch;
mod space_to_depth;
mod split;
mod strided_slice;
mod tile;
mod transpose;
mod unique;
mod variadic_split;

use crate::op::{OpDef, def, def_with, fixed};

use scatter_elements_update::ScatterElementsUpdate;
use scatter_nd_update::ScatterNDUpdate;

pub(super) const OPS: &[OpDef] = &[
    def::<batch_to_space::BatchToSpace>("BatchToSpace", &[2]),
    def_with::<broadcast::Broadcast>("Broadcast", &[1], broadcast::read_1),
    def::<broadcast::Broadcast>("Broadcast", &[3]),
    def::<col2im::Col2Im>("Col2Im", &[15]),
    def::<concat::Concat>("Concat", &[1]),
    def::<depth_to_space::DepthToSpace>("DepthToSpace", &[1]),
    def::<extract_image_patches::ExtractImagePatches>("ExtractImagePatches", &[3]),
    fixed("Gather", &[1], || Box::new(gather::Gather::version_1())),
    def_with::<gather::Gather>("Gather", &[7], gather::read_7),
    def::<gather::Gather>("Gather", &[8]),
    def::<gather_elements::GatherElements>("GatherElements", &[6]),
    def_with::<gather_nd::GatherND>("GatherND", &[5], gather_nd::read_5),
    def::<gather_nd::GatherND>("GatherND", &[8]),
    def::<gather_tree::GatherTree>("GatherTree", &[1]),
    def_with::<pad::Pad>("Pad", &[1], pad::read_1),
    def::<pad::Pad>("Pad", &[12]),
    def::<reverse::Reverse>("Reverse", &[1]),
    def::<reverse_sequence::ReverseSequence>("ReverseSequence", &[1]),
    def::<roll::Roll>("Roll", &[7]),
    fixed("ScatterElementsUpdate", &[3], || {
        Box::new(ScatterElementsUpdate::version_3())
    }),
    def::<ScatterElementsUpdate>("ScatterElementsUpdate", &[12]),
    fixed("ScatterNDUpdate", &[4], || {
        Box::new(ScatterNDUpdate::version_4())
    }),
    def::<ScatterNDUpdate>("ScatterNDUpdate", &[15]),
    def::<scatter_update::ScatterUpdate>("ScatterUpdate", &[3]),
    def::<shuffle_channels::ShuffleChannels>("ShuffleChannels", &[1]),
    def::<slice::Slice>("Slice", &[8]),
    def::<slice_scatter::SliceScatter>("SliceScatter", &[15]),
    def::<space_to_batch::SpaceToBatch>("SpaceToBatch", &[2]),
    def::<space_to_depth::SpaceToDepth>("SpaceToDepth", &[1]),
    def::<split::Split>("Split", &[1]),
    def::<strided_slice::StridedSlice>("StridedSlice", &[1]),
    def::<tile::Tile>("Tile", &[1]),
    def::<transpose::Transpose>("Transpose", &[1]),
    def::<unique::Unique>("Unique", &[10]),
    def::<variadic_split::VariadicSplit>("VariadicSplit", &[1]),
];
