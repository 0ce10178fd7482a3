// The only interface to the hardware: batched operations on residue polynomials.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "hemera/poly/plans.hpp"
#include "hemera/poly/poly.hpp"
#include "hemera/poly/random.hpp"
#include "hemera/poly/ring.hpp"
#include "hemera/runtime/queue.hpp"

namespace hemera::poly {

/// Complex slot values in a backend's memory, [batch, slot]; each batch row is contiguous.
struct SlotView {
  std::complex<double>* data = nullptr;
  std::size_t batch = 1;
  std::size_t slots = 0;

  [[nodiscard]] std::span<std::byte> bytes() const {
    return std::as_writable_bytes(std::span(data, batch * slots));
  }
};

/// Real or complex numbers in a backend's memory, [batch, number]; each batch row is contiguous, a complex
/// number is two doubles.
struct NumberView {
  double* data = nullptr;
  bool is_complex = false;
  std::size_t batch = 1;
  std::size_t count = 0;
};

/// Integers in a backend's memory, [batch, value]; each batch row is contiguous.
struct IntegerView {
  std::int64_t* data = nullptr;
  std::size_t batch = 1;
  std::size_t count = 0;

  [[nodiscard]] std::span<std::byte> bytes() const {
    return std::as_writable_bytes(std::span(data, batch * count));
  }
};

/// What the pairs of Backend::sample_rlwe are drawn from.
struct RlweSampling {
  const RandomStream& errors;   ///< secret
  const RandomStream& uniform;  ///< public
  const ErrorDistribution& distribution;
  std::uint64_t factor = 1;  ///< of the errors
};

/// `factor` times a limb of a polynomial, which is added to that limb of one polynomial of a batch.
struct GadgetTerm {
  std::size_t batch;
  std::size_t limb;
  std::uint64_t factor;
};

/// A backend works for one ring. Every operation
///  - takes and returns canonical residues in [0, q) and has one exact result, the same in every backend,
///  - acts on all polynomials and limbs of its views; extents of 1 in the batch or component of an input
///  broadcast,
///  - allows `out` to be one of its inputs (same view), unless it says otherwise; other overlaps are not
///  allowed,
///  - allocates nothing and does not wait: scratch comes from a Workspace of at least `..._workspace` bytes.
/// The base argument names the modulus of each limb of the views. Shapes are checked: MismatchError.
class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  using Queue = runtime::Queue;
  using Workspace = runtime::Workspace;

  [[nodiscard]] virtual const std::shared_ptr<const Ring>& ring() const = 0;
  [[nodiscard]] virtual runtime::Device device() const = 0;
  [[nodiscard]] virtual const std::shared_ptr<runtime::Memory>& memory() const = 0;
  /// What runs, for people: "cpu (avx512, 2 threads)".
  [[nodiscard]] virtual std::string description() const = 0;
  [[nodiscard]] virtual std::unique_ptr<Queue> make_queue() const = 0;

  // --- Recording: a sequence of operations that is noted once and run many times. ---
  /// What was recorded. It uses the memory that its operations were given: contents may change between
  /// replays, addresses may not.
  class Recording {
   public:
    Recording() = default;
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;
    virtual ~Recording() = default;
    /// As an operation that the calling thread gives. What it wrote is to be read by that thread.
    virtual void replay(Queue& queue) const = 0;
  };
  /// Whether `record` does anything but throw.
  [[nodiscard]] virtual bool records() const { return false; }
  /// Runs `operations`, whose operations are noted instead of run. They may not draw randomness, nor copy
  /// from or to the host: DeviceError, after which the backend is as before. Other threads go
  /// on; their recordings wait. Buffers made within are the recording's own for as long as it lives.
  [[nodiscard]] virtual std::unique_ptr<Recording> record(Queue& queue,
                                                          const std::function<void()>& operations) const;

  // --- Copies. Host arrays are contiguous [batch, component, limb, N] in standard order. What is uploaded
  // may be freed when the call returns, what is downloaded is there after the queue's synchronize(). ---
  virtual void upload(Queue& queue, const PolyView& out, std::span<const std::uint64_t> host,
                      Form form) const = 0;
  virtual void download(Queue& queue, std::span<std::uint64_t> host, const ConstPolyView& in,
                        Form form) const = 0;
  /// Values that are no residues, as they are: the bytes of a SlotView or an IntegerView, equally many on
  /// both sides.
  virtual void upload_values(Queue& queue, std::span<std::byte> out,
                             std::span<const std::byte> host) const = 0;
  virtual void download_values(Queue& queue, std::span<std::byte> host,
                               std::span<const std::byte> in) const = 0;
  virtual void copy(Queue& queue, const PolyView& out, const ConstPolyView& in) const = 0;
  /// `in`, of another backend for a ring of the same degree, which may be on another device: between CUDA
  /// devices without the host, otherwise by way of it. The calling thread's operations in both backends wait
  /// for each other, before and after.
  virtual void copy_from(Queue& queue, const PolyView& out, const Backend& source, Queue& source_queue,
                         const ConstPolyView& in, Form form) const;
  virtual void fill_zero(Queue& queue, const PolyView& out) const = 0;

  // --- Transforms. Negacyclic NTT; throws ParameterError for a modulus without a root. ---
  virtual void forward_transform(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                 const RnsBase& base) const = 0;
  virtual void inverse_transform(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                 const RnsBase& base) const = 0;

  // --- Element by element. ---
  virtual void add(Queue& queue, const PolyView& out, const ConstPolyView& a, const ConstPolyView& b,
                   const RnsBase& base) const = 0;
  virtual void subtract(Queue& queue, const PolyView& out, const ConstPolyView& a, const ConstPolyView& b,
                        const RnsBase& base) const = 0;
  virtual void negate(Queue& queue, const PolyView& out, const ConstPolyView& a,
                      const RnsBase& base) const = 0;
  virtual void multiply(Queue& queue, const PolyView& out, const ConstPolyView& a, const ConstPolyView& b,
                        const RnsBase& base) const = 0;
  /// out += a * b.
  virtual void multiply_add(Queue& queue, const PolyView& out, const ConstPolyView& a, const ConstPolyView& b,
                            const RnsBase& base) const = 0;
  /// out = a * scalars[limb]; one residue a limb.
  virtual void multiply_scalar(Queue& queue, const PolyView& out, const ConstPolyView& a,
                               std::span<const std::uint64_t> scalars, const RnsBase& base) const = 0;
  /// out = a + the constant polynomial scalars[limb] (coefficient form: entry 0; evaluation form: all
  /// entries).
  virtual void add_scalar(Queue& queue, const PolyView& out, const ConstPolyView& a,
                          std::span<const std::uint64_t> scalars, Form form, const RnsBase& base) const = 0;

  // --- Ring structure. ---
  /// out[c] = sum over i + j = c of a[i] * b[j]; out has components a + b - 1 and is neither input.
  virtual void tensor_product(Queue& queue, const PolyView& out, const ConstPolyView& a,
                              const ConstPolyView& b, const RnsBase& base) const = 0;
  /// The sum of the tensor products of a[i] and b[i], in one pass: out[c] = sum over i and over j + k = c of
  /// a[i][j] * b[i][k]. As many a as b, at least one; all a have the same number of components, and all b;
  /// out has components a + b - 1 and is none of the inputs.
  virtual void inner_product(Queue& queue, const PolyView& out, std::span<const ConstPolyView> a,
                             std::span<const ConstPolyView> b, const RnsBase& base) const;
  /// X -> X^galois_element (odd, below 2N); out is not `in`.
  virtual void automorphism(Queue& queue, const PolyView& out, const ConstPolyView& in,
                            std::uint64_t galois_element, Form form, const RnsBase& base) const = 0;

  // --- Changes of base. ---
  /// Coefficient form; `in` over plan.source(), `out` over plan.target(); out is not `in`.
  virtual void convert(Queue& queue, const PolyView& out, const ConstPolyView& in,
                       const BaseConversion& plan) const = 0;
  /// Coefficient form; `in` over plan.source(), `out` over plan.target(); out is not `in`.
  virtual void scale_and_round(Queue& queue, const PolyView& out, const ConstPolyView& in,
                               const ScaleAndRound& plan) const = 0;
  /// `in` over plan.source(), `out` over plan.target(), both in `form`; out is not `in`.
  virtual void divide_and_round(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                const Division& plan, Form form, Workspace& workspace) const;
  [[nodiscard]] virtual std::size_t divide_and_round_workspace(const PolyShape& in,
                                                               const Division& plan) const;
  /// The last step of divide_and_round: out_j = (E in_j - delta_j) / D, entry by entry in either form, with
  /// `in` over plan.source() (0 at added limbs) and `delta` over plan.target(); out may be delta.
  virtual void finish_division(Queue& queue, const PolyView& out, const ConstPolyView& in,
                               const ConstPolyView& delta, const Division& plan) const = 0;

  // --- Key-switching. ---
  /// Digits of a one-component polynomial `in` over plan.base(), in `form`; out: [batch, digit, limb of
  /// plan.extended(), N], evaluation form.
  virtual void mod_up(Queue& queue, const PolyView& out, const ConstPolyView& in, const ModUp& plan,
                      Form form, Workspace& workspace) const;
  [[nodiscard]] virtual std::size_t mod_up_workspace(const PolyShape& in, const ModUp& plan) const;
  /// A window of a base-2^w gadget: floor(in / 2^shift) mod 2^width of the one limb of `in`, modulo each limb
  /// of `base`; coefficient form, out is not `in`.
  virtual void extract_window(Queue& queue, const PolyView& out, const ConstPolyView& in, int shift,
                              int width, const RnsBase& base) const = 0;
  /// out[c] = sum over digits d of digits[d] * key[key_digit(d)][c]; evaluation form over plan.extended().
  /// digits: [batch, digit, limb, N]; key: [key digit, component, limb of the key's base, N].
  virtual void key_inner_product(Queue& queue, const PolyView& out, const ConstPolyView& digits,
                                 const ConstPolyView& key, const ModUp& plan) const;
  /// mod_up and key_inner_product in one: the extended digits need not exist as a whole.
  virtual void mod_up_inner_product(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                    const ConstPolyView& key, const ModUp& plan, Form form,
                                    Workspace& workspace) const;
  [[nodiscard]] virtual std::size_t mod_up_inner_product_workspace(const PolyShape& in,
                                                                   const ModUp& plan) const;

  /// A whole key switch: mod_up_inner_product of `in` in evaluation form, divide_and_round by `down` (null:
  /// the extended base is the level's base, and nothing is divided), plus `addend`, and of all that the
  /// automorphism X -> X^galois_element: out has the key's components over up.base(), and the components that
  /// `addend` has are added to the first ones (no data: nothing is added). `down` goes from up.extended() to
  /// up.base(). out is not `in`; it may be `addend` if the Galois element is 1.
  virtual void switch_key(Queue& queue, const PolyView& out, const ConstPolyView& in,
                          const ConstPolyView& key, const ModUp& up, const Division* down,
                          const ConstPolyView& addend, std::uint64_t galois_element,
                          Workspace& workspace) const;
  [[nodiscard]] virtual std::size_t switch_key_workspace(const PolyShape& in, const ModUp& up,
                                                         const Division* down) const;

  /// One of several key switches of the same input: as switch_key's arguments.
  struct KeySwitch {
    PolyView out;
    ConstPolyView key;
    std::uint64_t galois_element = 1;
  };
  /// switch_key of `in` with each of several keys over up.key_base(), the digits extended once. No output is
  /// `in` or `addend`; the outputs have one shape.
  virtual void switch_keys(Queue& queue, std::span<const KeySwitch> switches, const ConstPolyView& in,
                           const ModUp& up, const Division* down, const ConstPolyView& addend,
                           Workspace& workspace) const;
  [[nodiscard]] virtual std::size_t switch_keys_workspace(std::size_t count, const PolyShape& in,
                                                          const ModUp& up, const Division* down) const;

  /// The product of a and b, of two components each, relinearized: tensor_product, whose last component
  /// switch_key takes and whose others are added to that. out is neither a nor b.
  virtual void multiply_relinearize(Queue& queue, const PolyView& out, const ConstPolyView& a,
                                    const ConstPolyView& b, const ConstPolyView& key, const ModUp& up,
                                    const Division* down, Workspace& workspace) const;
  [[nodiscard]] virtual std::size_t multiply_relinearize_workspace(const PolyShape& out, const ModUp& up,
                                                                   const Division* down) const;

  // --- Products of BFV. ---
  /// The three components of plan's product of two ciphertexts, all in evaluation form over plan.base(): out
  /// is [batch, 3, limb, N] and neither input; a and b have two components. The same view twice is lifted
  /// once.
  virtual void scaled_product(Queue& queue, const PolyView& out, const ConstPolyView& a,
                              const ConstPolyView& b, const ScaledProduct& plan, Workspace& workspace) const;
  [[nodiscard]] virtual std::size_t scaled_product_workspace(const PolyShape& out,
                                                             const ScaledProduct& plan) const;
  /// Its first half, evaluation form: a over plan.auxiliary(), and t b' over plan.all().
  virtual void lift_operands(Queue& queue, const PolyView& a_lifted, const PolyView& b_lifted,
                             const ConstPolyView& a, const ConstPolyView& b, const ScaledProduct& plan,
                             Workspace& workspace) const;
  /// For operands of at most this batch.
  [[nodiscard]] virtual std::size_t lift_operands_workspace(const PolyShape& out,
                                                            const ScaledProduct& plan) const;

  // --- Samplers: the rule is in random.hpp. Coefficient form for all but `uniform`. ---
  /// Evaluation form: the stream's coefficient i is entry i in standard order, wherever the backend stores
  /// it.
  virtual void sample_uniform(Queue& queue, const PolyView& out, const RandomStream& stream,
                              const RnsBase& base) const = 0;
  virtual void sample_ternary(Queue& queue, const PolyView& out, const RandomStream& stream,
                              const RnsBase& base) const = 0;
  /// weight non-zero coefficients, 1 <= weight <= N.
  virtual void sample_fixed_weight(Queue& queue, const PolyView& out, const RandomStream& stream,
                                   std::size_t weight, const RnsBase& base, Workspace& workspace) const = 0;
  [[nodiscard]] virtual std::size_t sample_fixed_weight_workspace() const = 0;
  virtual void sample_error(Queue& queue, const PolyView& out, const RandomStream& stream,
                            const ErrorDistribution& distribution, const RnsBase& base) const = 0;
  /// Uniform integers of `bits` bits, 1 <= bits <= 120.
  virtual void sample_flooding(Queue& queue, const PolyView& out, const RandomStream& stream, int bits,
                               const RnsBase& base) const = 0;

  /// A public-key encryption: key[c] u + factor e[c] in evaluation form over `base`, for a key of two
  /// components; u is what sample_ternary, and the e[c] what sample_error draws from `stream`. With a
  /// division, whose source is `base`, that is divided. `addend`, of one component over the output's base, is
  /// added to the first component (no data: nothing). out is not the key. The workspace holds secrets.
  virtual void encrypt_zero(Queue& queue, const PolyView& out, const ConstPolyView& key,
                            const RandomStream& stream, const ErrorDistribution& distribution,
                            std::uint64_t factor, const RnsBase& base, const Division* division,
                            const ConstPolyView& addend, Workspace& workspace) const;
  [[nodiscard]] virtual std::size_t encrypt_zero_workspace(const PolyShape& out, const RnsBase& base,
                                                           const Division* division) const;

  /// Pairs (b, a) with b = factor e - a s in evaluation form over `base`: a is what sample_uniform, and e
  /// what sample_error draws. out: [batch, 2, limb, N], the secret s: [1, 1, limb, N]. b also gets `addend`,
  /// [batch or 1, 1, limb, N] (no data: nothing), or where there are terms, these of it alone: then its batch
  /// is 1. The workspace holds secrets.
  virtual void sample_rlwe(Queue& queue, const PolyView& out, const ConstPolyView& secret,
                           const RlweSampling& from, const RnsBase& base, const ConstPolyView& addend,
                           std::span<const GadgetTerm> terms, Workspace& workspace) const;
  [[nodiscard]] virtual std::size_t sample_rlwe_workspace(const PolyShape& out) const;

  // --- CKKS embedding (docs/arithmetic.md, "CKKS embedding"); galois generator 5. ---
  /// Slots (a power of two, 1 <= slots <= N/2) to the polynomial whose canonical embedding repeats them,
  /// times `scale`, to the nearest integers (ties to even); coefficient form over `base`. Throws nothing:
  /// values must be finite with |value * scale| < 2^1000 (checked above).
  virtual void embed(Queue& queue, const PolyView& out, const SlotView& slots, double scale,
                     const RnsBase& base, Workspace& workspace) const = 0;
  /// The inverse: residues in coefficient form over `base`, centred, rounded to doubles, divided by scale.
  /// Where `largest` is not null, it gets one number for each row of slots, in the backend's memory: the
  /// largest magnitude of these quotients.
  virtual void unembed(Queue& queue, const SlotView& slots, const ConstPolyView& in, double scale,
                       const RnsBase& base, Workspace& workspace, double* largest = nullptr) const = 0;
  [[nodiscard]] virtual std::size_t embed_workspace(std::size_t batch, std::size_t slots,
                                                    const RnsBase& base) const = 0;
  /// Value i of a row becomes slot i, 1 <= values.count <= out.slots; the other slots are 0. Equal batches;
  /// out is not `values`.
  virtual void place_slots(Queue& queue, const SlotView& out, const NumberView& values) const = 0;
  /// The inverse: the first values.count slots of each row; of real numbers the real parts.
  virtual void collect_slots(Queue& queue, const NumberView& values, const SlotView& in) const = 0;
  /// Slots numbered by the powers of `generator` (slot j is the value at root^(g^j)) to the powers of 5, as
  /// embed takes them: g^j is a power of 5, or minus one, whose slot gets the conjugate. in.slots divides
  /// N/2, and the slots repeat; `out` has all N/2. out is not `in`.
  virtual void slots_to_embedding(Queue& queue, const SlotView& out, const SlotView& in,
                                  std::uint64_t generator) const = 0;
  /// The inverse: the first out.slots slots, from all N/2 of `in`.
  virtual void slots_from_embedding(Queue& queue, const SlotView& out, const SlotView& in,
                                    std::uint64_t generator) const = 0;

  // --- Integers modulo t (BFV, BGV): polynomials of one component over a base of one modulus. ---
  /// Any 64-bit integers, taken modulo t. Value i of a row becomes coefficient i, or in evaluation form, with
  /// g = `generator`, the value at root^(g^i) for i < N/2 and at root^(-g^(i - N/2)) above. 1 <= values.count
  /// <= N; all other entries are 0.
  virtual void place_integers(Queue& queue, const PolyView& out, const IntegerView& values, Form form,
                              std::uint64_t generator, const RnsBase& base) const = 0;
  /// The inverse: the first values.count integers, in [-(t-1)/2, t/2] if `is_signed`, else in [0, t).
  virtual void collect_integers(Queue& queue, const IntegerView& values, const ConstPolyView& in, Form form,
                                std::uint64_t generator, bool is_signed, const RnsBase& base) const = 0;
  /// The centred representatives (Modulus::centered) of factor * in, modulo the one source modulus of `lift`,
  /// times scalars[limb] (none: 1), in evaluation form over its target: out and in have one component, `in`
  /// is in coefficient form. factor is below t.
  virtual void lift_integers(Queue& queue, const PolyView& out, const ConstPolyView& in, std::uint64_t factor,
                             std::span<const std::uint64_t> scalars, const BaseConversion& lift,
                             Workspace& workspace) const;
  [[nodiscard]] virtual std::size_t lift_integers_workspace(const PolyShape& in) const;

 protected:
  /// Adds the terms of `addend`, of one polynomial, to `out`; workspace: that of sample_rlwe.
  void add_terms(Queue& queue, const PolyView& out, const ConstPolyView& addend,
                 std::span<const GadgetTerm> terms, const RnsBase& base, Workspace& workspace) const;
};

/// The CPU backend. `threads` 0: as many as the process may run on. The instruction set is the best that the
/// processor has, or what the environment variable HEMERA_ISA asks for: "scalar", "avx2" or "avx512";
/// DeviceError if that is unknown or the processor lacks it.
std::shared_ptr<const Backend> make_cpu_backend(std::shared_ptr<const Ring> ring, int threads = 0);

struct CudaSettings {
  /// Index of the device.
  int device = 0;
  /// Bytes of device memory that may be taken, those kept for reuse included; 0: as many as there are.
  std::size_t memory_limit = 0;
  /// A cudaStream_t of that device as a number: all operations run in it, and it must outlive the backend.
  /// Without one each host thread has a stream of its own (docs/gpu.md).
  std::optional<std::uintptr_t> stream = std::nullopt;
};

/// The CUDA backend. What a thread gives runs in its order; what one thread made another may use, and waits
/// for it on the device. Throws DeviceError when there is no such device, and in a build without CUDA.
std::shared_ptr<const Backend> make_cuda_backend(std::shared_ptr<const Ring> ring,
                                                 const CudaSettings& settings = {});

}  // namespace hemera::poly
