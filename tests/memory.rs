//! Memory: the allocator of the tests, which counts and refuses, and that running out of it is an
//! error.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

use ovir::graph::Builder;
use ovir::io::{self, IoErrorKind, npy, npz, raw, safetensors};
use ovir::tensor::{ElementType, Shape, SharedBytes, Tensor, TensorError};
use ovir::{Kind, Limits, Model};

thread_local! {
    /// How often a thread allocated.
    pub(crate) static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
    /// More bytes at once than this are refused to a thread.
    static LARGEST: Cell<usize> = const { Cell::new(usize::MAX) };
    /// How many allocations of so many bytes or more are granted to a thread before one is refused.
    static GRANTED: Cell<Option<(usize, usize)>> = const { Cell::new(None) };
}

/// Whether the one allocation is this one that is to be refused.
fn refuses(size: usize) -> bool {
    let Some((count, smallest)) = GRANTED.try_with(Cell::get).ok().flatten() else {
        return false;
    };
    if size < smallest {
        return false;
    }
    GRANTED.set(count.checked_sub(1).map(|count| (count, smallest)));
    count == 0
}

/// Counts what each thread allocates.
struct Counting;

#[allow(unsafe_code)]
// SAFETY: everything is passed on to the system's allocator as it comes, or refused.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        if LARGEST.try_with(|most| layout.size() > most.get()) == Ok(true) {
            return std::ptr::null_mut();
        }
        if refuses(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller keeps the promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the promises.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Calls `f` while no more than `largest` bytes are to be had at once.
fn short_of_memory<R>(largest: usize, f: impl FnOnce() -> R) -> R {
    struct Restore;
    impl Drop for Restore {
        fn drop(&mut self) {
            LARGEST.set(usize::MAX);
        }
    }
    let _restore = Restore;
    LARGEST.set(largest);
    f()
}

/// Calls `f` while one allocation of at least `smallest` bytes is refused, the one after `count` others.
/// Tells whether there was one.
pub(crate) fn refusing<R>(count: usize, smallest: usize, f: impl FnOnce() -> R) -> (R, bool) {
    struct Restore;
    impl Drop for Restore {
        fn drop(&mut self) {
            GRANTED.set(None);
        }
    }
    let _restore = Restore;
    GRANTED.set(Some((count, smallest)));
    let result = f();
    (result, GRANTED.get().is_none())
}

/// So many bytes are granted, and twice as many asked for, which is less than what comes in large pages
/// and not from the allocator.
const PART: usize = 1 << 19;

/// Evaluates one operation on inputs that are there already.
fn kind_of(
    largest: usize,
    (type_name, opset): (&str, &str),
    attributes: &[(&str, &str)],
    inputs: &[Tensor],
) -> Result<(), Kind> {
    let mut graph = Builder::new();
    let parameters: Vec<_> = inputs
        .iter()
        .enumerate()
        .map(|(i, t)| graph.parameter(&format!("x{i}"), t.element_type(), t.shape().into()))
        .collect();
    let made = graph.add("op", type_name, opset, attributes, &parameters);
    graph.result("y", made.expect("fits"));
    let model: Model = graph.build("m").expect("fits");
    let given = || inputs.iter().cloned().enumerate();
    model.evaluate(given()).expect("there is memory");
    // What another thread allocates is not refused.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let pool = pool.expect("a thread");
    let result = pool.install(|| short_of_memory(largest, || model.evaluate(given())));
    result.map(drop).map_err(|error| error.kind())
}

#[test]
fn evaluation_tells_that_memory_ran_out() {
    let floats = Tensor::zeros(ElementType::F32, [PART / 2]).expect("memory");
    let inputs = [floats.clone(), floats];
    let add = ("Add", "opset1");
    assert_eq!(kind_of(PART, add, &[], &inputs), Err(Kind::Limit));
    assert_eq!(kind_of(3 * PART, add, &[], &inputs), Ok(()));
    // Codes, one a byte, take twice the memory of the elements.
    let codes = Tensor::zeros(ElementType::U4, [512, 3 * 1024]).expect("memory");
    let order = Tensor::vector(&[1i64, 0]);
    let transpose = ("Transpose", "opset1");
    let inputs = [codes, order];
    assert_eq!(kind_of(2 * PART, transpose, &[], &inputs), Err(Kind::Limit));
    assert_eq!(kind_of(4 * PART, transpose, &[], &inputs), Ok(()));
}

#[test]
fn copies_for_writing_tell_that_memory_ran_out() {
    let original = Tensor::zeros(ElementType::F32, [PART / 2]).expect("memory");
    let bytes = SharedBytes::new(Arc::new(vec![0u8; 2 * PART]));
    let shared = Tensor::from_bytes(ElementType::U8, [2 * PART], bytes).expect("memory");
    let texts = Tensor::zeros(ElementType::String, [PART]).expect("memory");
    short_of_memory(PART, || {
        let refused = Err(TensorError::OutOfMemory(2 * PART));
        let mut copy = original.clone();
        assert_eq!(copy.as_mut_slice::<f32>().map(drop), refused);
        let mut copy = shared.clone();
        assert_eq!(copy.as_mut_slice::<u8>().map(drop), refused);
        let mut copy = texts.clone();
        let error = copy.as_mut_strings().map(drop);
        assert!(matches!(error, Err(TensorError::OutOfMemory(_))));
        let zeros = Tensor::zeros(ElementType::F32, [PART / 2]);
        assert!(matches!(zeros, Err(TensorError::OutOfMemory(_))));
    });
    let mut copy = original.clone();
    copy.as_mut_slice::<f32>().expect("memory")[0] = 1.0;
    assert_ne!(copy, original);
}

#[test]
fn files_tell_that_memory_ran_out() {
    let home = tempfile::tempdir().expect("a folder");
    let at = |name: &str| home.path().join(name);
    let tensor = Tensor::zeros(ElementType::F32, [256, 1024]).expect("memory");
    npy::write(&at("x.npy"), &tensor).expect("written");
    npz::write(&at("x.npz"), [("x", &tensor)]).expect("written");
    safetensors::write(&at("x.safetensors"), [("x", &tensor)]).expect("written");
    raw::write(&at("x.bin"), &tensor).expect("written");
    let limits = Limits::default();
    let shape = Shape::from([256, 1024]);
    let read_raw = || raw::read(&at("x.bin"), ElementType::F32, &shape, &limits);
    short_of_memory(PART, || {
        for name in ["x.npy", "x.npz", "x.safetensors"] {
            let error = io::read_all(&at(name), &limits).expect_err(name);
            assert_eq!(error.kind(), IoErrorKind::Limit, "{error}");
        }
        let error = read_raw().expect_err("no memory");
        assert_eq!(error.kind(), IoErrorKind::Limit, "{error}");
    });
    assert_eq!(read_raw().expect("memory"), tensor);
    // Other orders are copies.
    let text = |descr: &str, fortran: &str| {
        let header =
            format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': (256, 1024)}}");
        let mut file = b"\x93NUMPY\x01\0".to_vec();
        file.extend((header.len() as u16).to_le_bytes());
        file.extend(header.as_bytes());
        file.resize(file.len() + 2 * PART, 0);
        SharedBytes::new(Arc::new(file))
    };
    for (descr, fortran) in [
        (">f4", "False"),
        ("<f4", "True"),
        ("|S4", "False"),
        ("<U1", "False"),
    ] {
        let file = text(descr, fortran);
        let error = short_of_memory(PART, || npy::parse(file.clone(), &limits));
        let error = error.expect_err(descr);
        assert_eq!(error.kind(), IoErrorKind::Limit, "{error}");
        assert!(npy::parse(file, &limits).is_ok());
    }
    // The bytes of constants.
    let document = r#"<net name="m" version="11"><layers>
<layer id="0" name="w" type="Const" version="opset1"><data element_type="f32" shape="262144" offset="0" size="1048576"/>
<output><port id="0" precision="FP32"><dim>262144</dim></port></output></layer>
<layer id="1" name="out" type="Result" version="opset1"><input><port id="0" precision="FP32"><dim>262144</dim></port></input></layer>
</layers><edges><edge from-layer="0" from-port="0" to-layer="1" to-port="0"/></edges></net>"#;
    std::fs::write(at("x.xml"), document).expect("written");
    let model = Model::read_with(at("x.xml"), &Limits::untrusted()).expect("read");
    let none: [(usize, Tensor); 0] = [];
    let error = short_of_memory(PART, || model.evaluate(none)).expect_err("no memory");
    assert_eq!(error.kind(), Kind::Limit, "{error}");
}
