// The only interface to the hardware: batched operations on residue polynomials.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hemera/poly/plans.hpp"
#include "hemera/poly/poly.hpp"
#include "hemera/poly/random.hpp"
#include "hemera/poly/ring.hpp"
#include "hemera/poly/views.hpp"
#include "hemera/runtime/queue.hpp"

namespace hemera::poly {

/// A backend works for one ring. Every operation
///  - takes and returns canonical residues in [0, q) and has one exact result, the same in every backend,
///  - acts on all polynomials and limbs of its views; extents of 1 in the batch or component of an input
///  broadcast,
///  - allows `out` to be one of its inputs (same view), unless it says otherwise; other overlaps are not
///  allowed,
///  - allocates nothing and does not wait: scratch comes from a Workspace, which may be one that measures or
///  makes room (hemera/runtime/queue.hpp).
/// The base argument names the modulus of each limb of the views. Rings, bases and shapes are checked here,
/// once for every backend: MismatchError, or ParameterError for numbers out of their range. Backends override
/// the virtual functions below, whose arguments are checked.
class Backend {
 public:
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  using Queue = runtime::Queue;
  using Workspace = runtime::Workspace;

  [[nodiscard]] const std::shared_ptr<const Ring>& ring() const { return ring_; }
  [[nodiscard]] runtime::Device device() const { return memory_->device(); }
  [[nodiscard]] const std::shared_ptr<runtime::Memory>& memory() const { return memory_; }
  /// Where switching keys are kept: memory(), or memory of the host that the device reads over its bus
  /// (CudaSettings::keys_on_host). Operations take views of both.
  [[nodiscard]] const std::shared_ptr<runtime::Memory>& key_memory() const { return key_memory_; }
  /// The backend in words: "cpu (avx512, 2 threads)".
  [[nodiscard]] const std::string& description() const { return facts_.description; }
  /// Whether uploads, downloads, copies and keys may have these words; u64 always.
  [[nodiscard]] bool stores(Word word) const {
    return word == Word::u64 || (word == Word::u50 && facts_.stores_u50);
  }
  /// A new queue: on CUDA, with a stream of its own. Several threads may use it.
  [[nodiscard]] std::unique_ptr<Queue> make_queue() const { return do_make_queue(QueueOrder::own); }
  /// A queue that runs in the calling thread's order: on CUDA, in that thread's stream. Contexts have one.
  [[nodiscard]] std::unique_ptr<Queue> make_thread_queue() const {
    return do_make_queue(QueueOrder::of_thread);
  }

  // --- Recording: a sequence of operations that is noted once and run many times. ---
  /// A recorded sequence. It uses the memory of its operations: contents may change between replays,
  /// addresses may not.
  class Recording {
   public:
    Recording() = default;
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;
    virtual ~Recording() = default;
    /// Runs as an operation of the calling thread on the queue. That thread must read its results.
    virtual void replay(Queue& queue) const = 0;
  };
  /// Whether this backend can record; otherwise `record` throws.
  [[nodiscard]] bool records() const { return facts_.records; }
  /// Calls `operations`, and notes the operations in it instead of running them. Throws DeviceError if one
  /// draws randomness, or copies from or to the host; the backend is then unchanged. Other threads go on;
  /// their recordings wait. Buffers made within belong to the recording for as long as it lives.
  [[nodiscard]] virtual std::unique_ptr<Recording> record(Queue& queue,
                                                          const std::function<void()>& operations) const;

  // --- Copies. Host arrays are contiguous [batch, component, limb, N] in standard order. What is uploaded
  // may be freed when the call returns, what is downloaded is there after the queue's synchronize(). Arrays
  // may be stored by fewer entries (PolyShape), in evaluation form, or in any word that the backend stores.
  // ---
  void upload(Queue& queue, const PolyView& out, std::span<const std::uint64_t> host, Form form) const;
  void download(Queue& queue, std::span<std::uint64_t> host, const ConstPolyView& in, Form form) const;
  /// The same for a host that makes, or takes, the residues row by row, N words each.
  /// - `fill` and `take` are called for consecutive rows of [batch, component, limb], from `first` on: once
  ///   for each row, in any order, from several threads at once.
  /// - All calls have ended when the function returns. It throws their exceptions, and then leaves an output
  ///   with any contents.
  using FillRows = std::function<void(std::size_t first, std::span<std::uint64_t> rows)>;
  using TakeRows = std::function<void(std::size_t first, std::span<const std::uint64_t> rows)>;
  void upload_rows(Queue& queue, const PolyView& out, Form form, const FillRows& fill) const;
  void download_rows(Queue& queue, const ConstPolyView& in, Form form, const TakeRows& take) const;
  /// Copies the bytes of a SlotView or an IntegerView unchanged; both sides have one size.
  void upload_values(Queue& queue, std::span<std::byte> out, std::span<const std::byte> host) const;
  void download_values(Queue& queue, std::span<std::byte> host, std::span<const std::byte> in) const;
  /// Bytes for a host that takes them piece by piece, while the device makes later ones.
  struct Pieces {
    /// Bytes of each piece, the last one aside: 1 to most_piece_bytes.
    std::size_t bytes;
    /// Gives the queue what makes all bytes before `end`, as far as earlier calls have not.
    std::function<void(std::size_t end)> make;
    /// Takes the piece from byte `first` on: once for each, in any order, from several threads at once.
    std::function<void(std::size_t first, std::span<const std::byte> piece)> take;
  };
  static constexpr std::size_t most_piece_bytes = std::size_t{1} << 20;
  /// Copies values that are no secrets: what passed is not zeroed. All calls have ended when the function
  /// returns; it throws their exceptions. Throws ParameterError for pieces of other sizes.
  void download_pieces(Queue& queue, std::span<const std::byte> in, const Pieces& pieces) const;
  /// For a download of fewer bytes: of each residue, without its lowest bits, as many bytes as are asked for.
  /// - `out`: `width` bytes (1 to 8, little-endian) a residue, [batch, component, limb, N], in the backend's
  ///   memory at a multiple of 8 bytes: the lowest ones of floor((x + 2^(dropped_bits - 1)) /
  ///   2^dropped_bits), and of x where `dropped_bits` (0 to 60) is 0.
  /// - `in`: coefficient form.
  void pack_rounded(Queue& queue, std::span<std::byte> out, const ConstPolyView& in, int dropped_bits,
                    int width) const;
  /// Copies between whole arrays and those stored by fewer entries: the first value of each run, or each
  /// value repeated.
  void copy(Queue& queue, const PolyView& out, const ConstPolyView& in) const;
  /// Copies `in` from another backend for a ring of the same degree, which may be on another device: directly
  /// between CUDA devices, otherwise through the host. The calling thread's operations in both backends wait
  /// for each other, before and after.
  void copy_from(Queue& queue, const PolyView& out, const Backend& source, Queue& source_queue,
                 const ConstPolyView& in, Form form) const;
  void fill_zero(Queue& queue, const PolyView& out) const;
  /// Runs `operations`, in which operations of the calling thread on `queue` may read views of another
  /// backend's memory. The calling thread's operations in both backends wait for each other, before and
  /// after. False, and nothing has run, if this backend can not read that memory: copy then. Throws
  /// DeviceError in a recording.
  [[nodiscard]] virtual bool read_from(Queue& queue, const Backend& source, Queue& source_queue,
                                       const std::function<void()>& operations) const;

  // --- Transforms. Negacyclic NTT. Throw ParameterError for a modulus without a root. ---
  void forward_transform(Queue& queue, const PolyView& out, const ConstPolyView& in,
                         const RnsBase& base) const;
  void inverse_transform(Queue& queue, const PolyView& out, const ConstPolyView& in,
                         const RnsBase& base) const;

  // --- Element by element. The b of two operands may be stored by fewer entries (PolyShape) where all are in
  // evaluation form. ---
  void add(Queue& queue, const PolyView& out, const ConstPolyView& a, const ConstPolyView& b,
           const RnsBase& base) const;
  void subtract(Queue& queue, const PolyView& out, const ConstPolyView& a, const ConstPolyView& b,
                const RnsBase& base) const;
  void negate(Queue& queue, const PolyView& out, const ConstPolyView& a, const RnsBase& base) const;
  void multiply(Queue& queue, const PolyView& out, const ConstPolyView& a, const ConstPolyView& b,
                const RnsBase& base) const;
  /// out += a * b.
  void multiply_add(Queue& queue, const PolyView& out, const ConstPolyView& a, const ConstPolyView& b,
                    const RnsBase& base) const;
  /// out = a * scalars[limb]; one residue a limb.
  void multiply_scalar(Queue& queue, const PolyView& out, const ConstPolyView& a,
                       std::span<const std::uint64_t> scalars, const RnsBase& base) const;
  /// out = a + the constant polynomial scalars[limb] (coefficient form: entry 0; evaluation form: all).
  void add_scalar(Queue& queue, const PolyView& out, const ConstPolyView& a,
                  std::span<const std::uint64_t> scalars, Form form, const RnsBase& base) const;

  /// out = sum over i of scalars[i][limb] a[i], in one pass, in any form; in evaluation form with `added`.
  /// - `a`: at least one.
  /// - `scalars`: one residue for each term and limb.
  /// - `added`: a constant [limb] for the first component, or empty.
  /// - `out`: may be a[0], and is no other a.
  void combine(Queue& queue, const PolyView& out, std::span<const ConstPolyView> a,
               std::span<const std::vector<std::uint64_t>> scalars, std::span<const std::uint64_t> added,
               const RnsBase& base, Workspace& workspace) const;

  // --- Matrices. Rows are a batch. ---
  /// out[r] = sum over j of w[r][j] in[j], for all components and limbs, in any form.
  /// - `w`: at least one row and one column, of 1 or 2 bytes an entry; ParameterError otherwise.
  /// - `out`: a batch of w.rows; not `in`.
  /// - `in`: a batch of w.columns.
  void multiply_matrix(Queue& queue, const PolyView& out, const ConstPolyView& in, const IntegerMatrixView& w,
                       const RnsBase& base, Workspace& workspace) const;
  /// For each entry a product of matrices of residues: out[r][c] = sum over j of a[r][j] b[j][c]; evaluation
  /// form.
  /// - `out`: [row, column, limb, N], at least one row and one column; neither input.
  /// - `a`: [row, term, limb, N], at least one term; may be stored by fewer entries (PolyShape).
  /// - `b`: [term, column, limb, N].
  void multiply_elements(Queue& queue, const PolyView& out, const ConstPolyView& a, const ConstPolyView& b,
                         const RnsBase& base, Workspace& workspace) const;

  /// Adds the product of a matrix and a vector, whose entries are coefficients: the sum over j of
  /// w[p N + i][j] times coefficient j of `in` to coefficient i of polynomial p of `out`.
  /// - `w`: entries of 1 byte; a multiple of 16 columns, up to N and 2^16; at least one row, and at most as
  ///   many as `out` has coefficients, of which those without a row stay as they are. ParameterError
  ///   otherwise.
  /// - `out`: [batch, 1, limb, N]; not `in`.
  /// - `in`: [1, 1, limb, N].
  void multiply_add_vector(Queue& queue, const PolyView& out, const IntegerMatrixView& w,
                           const ConstPolyView& in, const RnsBase& base) const;

  // --- Ring structure. ---
  /// The parts of polynomials: f(X) = sum over u < d of X^u f_u(X^d), in evaluation form.
  /// - `out`: [d * component, batch, limb, N / d], stored by fewer entries (PolyShape): polynomial [c d + u,
  /// b]
  ///   is part u of component c of in[b]. d is a power of two from 2 to N / min_entries.
  /// - `in`: [batch, component, limb, N].
  /// - `base`: of primes with N values; ParameterError otherwise.
  void split_parts(Queue& queue, const PolyView& out, const ConstPolyView& in, const RnsBase& base) const;
  /// Fourier transforms over the components of each element of a batch, entry by entry, in place: out[i] =
  /// sum over u < d of Z^(iu) in[u].
  /// - `values`: [batch, d, limb, N], d a power of two from 2. Natural order becomes reversed, and the
  /// reverse.
  /// - `roots`: Z^0, Z^1, ..., Z^(d/2 - 1): [1, d / 2, limb, N], of any Z with Z^(d/2) = -1.
  /// - `factors`: [1, d, limb, N], times the elements in natural order, before or after; or no data.
  void transform_components(Queue& queue, const PolyView& values, const ConstPolyView& roots,
                            const ConstPolyView& factors, ComponentOrder order, const RnsBase& base,
                            Workspace& workspace) const;
  /// The sum of the tensor products of a[i] and b[i], in one pass: out[c] = sum over i and over j + k = c of
  /// a[i][j] * b[i][k].
  /// - `a`, `b`: one size, at least 1. All a have the same number of components, and all b. A b of one
  ///   component may be stored by fewer entries (PolyShape).
  /// - `out`: components a + b - 1; none of the inputs.
  /// - `added`: a constant [limb] for all values of the first component, or none.
  void inner_product(Queue& queue, const PolyView& out, std::span<const ConstPolyView> a,
                     std::span<const ConstPolyView> b, const RnsBase& base,
                     std::span<const std::uint64_t> added = {}) const;
  /// Several such sums of the same a: out[r] of a and the r-th a.size() of `b`. The outputs have one shape.
  void inner_products(Queue& queue, std::span<const PolyView> out, std::span<const ConstPolyView> a,
                      std::span<const ConstPolyView> b, const RnsBase& base) const;
  /// X -> X^galois_element (odd, below 2N); out is not `in`.
  void automorphism(Queue& queue, const PolyView& out, const ConstPolyView& in, std::uint64_t galois_element,
                    Form form, const RnsBase& base) const;

  // --- Changes of base. ---
  /// Coefficient form; `in` over plan.source(), `out` over plan.target(); out is not `in`.
  /// - `doubtful`: null, or a row of N / coefficients_per_doubt flags for each polynomial, of an exact
  ///   conversion of one component. All flags become 0 if no coefficient of the polynomial exceeds a quarter
  ///   of the source's product; otherwise at least one becomes 1. Backends may differ in which flags are 1,
  ///   and in coefficients within 2^-40 of the product from that quarter.
  void convert(Queue& queue, const PolyView& out, const ConstPolyView& in, const BaseConversion& plan,
               const IntegerView* doubtful = nullptr) const;
  /// Coefficient form; `in` over plan.source(), `out` over plan.target(); out is not `in`. `doubtful` as for
  /// `convert`, for plans that divide by their whole source: a flag becomes 1 if rounding changes a
  /// coefficient by more than a quarter.
  void scale_and_round(Queue& queue, const PolyView& out, const ConstPolyView& in, const ScaleAndRound& plan,
                       const IntegerView* doubtful = nullptr) const;
  /// `in` over plan.source(), `out` over plan.target(), both in `form`; out is not `in`.
  void divide_and_round(Queue& queue, const PolyView& out, const ConstPolyView& in, const Division& plan,
                        Form form, Workspace& workspace) const;

  // --- Key-switching. Keys may be in any word that the backend stores, all of a call in the same. ---
  /// Digits of a one-component polynomial `in` over plan.base(), in `form`; out: [batch, digit, limb of
  /// plan.extended(), N], evaluation form. With `down`, from plan.extended() to plan.base(), `in` is over
  /// plan.extended(), and is divided first.
  void mod_up(Queue& queue, const PolyView& out, const ConstPolyView& in, const ModUp& plan, Form form,
              Workspace& workspace, const Division* down = nullptr) const;
  /// out[c] = sum over digits d of digits[d] * key[key_digit(d)][c]; evaluation form over plan.extended().
  /// digits: [batch, digit, limb, N]; key: [key digit, component, limb of the key's base, N].
  void key_inner_product(Queue& queue, const PolyView& out, const ConstPolyView& digits,
                         const ConstPolyView& key, const ModUp& plan) const;

  /// out[g] = sum over terms of factors[g] phi(sum_d digits[d] key[d] + addend), phi the automorphism
  /// X -> X^galois_element; evaluation form over plan.extended(). The outputs, of two components, have one
  /// shape, and are none of the inputs. `special`: P modulo the primes of plan.base(). All terms have
  /// factors, or none.
  void hoisted_products(Queue& queue, std::span<const PolyView> out, std::span<const HoistedTerm> terms,
                        const ModUp& plan, std::span<const std::uint64_t> special,
                        Workspace& workspace) const;

  /// Whole key switches of `in`, in evaluation form over up.base(), with each of several keys over
  /// up.key_base(), the digits extended once: mod_up, key_inner_product, plus P times `addend`,
  /// divide_and_round by `down` (null: the extended base is the level's base, and nothing is divided), and of
  /// all that the automorphism X -> X^galois_element. `down` goes from up.extended() to up.base(), which adds
  /// `addend` as it is, or to any other base: key switch and rescale with one rounding. An output has its
  /// key's components over the base that `down` goes to; the components that `addend` has, over up.base(), go
  /// to the first ones (no data: nothing is added). The outputs have one shape, and none is `in`; one may be
  /// `addend` if it is the only one, over up.base(), and its Galois element 1.
  void switch_keys(Queue& queue, std::span<const KeySwitch> switches, const ConstPolyView& in,
                   const ModUp& up, const Division* down, const ConstPolyView& addend,
                   Workspace& workspace) const;

  /// The relinearized product of a and b, of two components each: inner_product over up.base(), then
  /// switch_keys of its last component, with the others as `addend`. out is over the target of `down`, and is
  /// neither a nor b. `added`: a constant [limb of out] for the first component, or empty.
  void multiply_relinearize(Queue& queue, const PolyView& out, const ConstPolyView& a, const ConstPolyView& b,
                            const ConstPolyView& key, const ModUp& up, const Division* down,
                            Workspace& workspace, std::span<const std::uint64_t> added = {}) const;

  // --- Products of BFV. ---
  /// The three components of plan's product of two ciphertexts, in evaluation form over plan.base().
  /// - `a`, `b`: two components each. A view given twice is lifted once.
  /// - `out`: [batch, 3, limb, N]; neither input.
  void scaled_product(Queue& queue, const PolyView& out, const ConstPolyView& a, const ConstPolyView& b,
                      const ScaledProduct& plan, Workspace& workspace) const;
  /// The first half of scaled_product for one or more pairs, in evaluation form: each a over
  /// plan.auxiliary(), and t b' over plan.all(). Both outputs have the batches of the first pair, then those
  /// of the next. A factor's batch is its product's or 1.
  void lift_operands(Queue& queue, const PolyView& a_lifted, const PolyView& b_lifted,
                     std::span<const ConstPolyView> a, std::span<const ConstPolyView> b,
                     const ScaledProduct& plan, Workspace& workspace) const;

  // --- Samplers: the rule is in random.hpp. ---
  /// In evaluation form for Distribution::uniform, otherwise in coefficient form. The workspace has secrets.
  /// - `streams`: one of all polynomials of `out`, or one for each of the batch, whose components it numbers.
  void sample(Queue& queue, const PolyView& out, std::span<const RandomStream> streams,
              const Distribution& distribution, const RnsBase& base, Workspace& workspace) const;
  void sample(Queue& queue, const PolyView& out, const RandomStream& stream, const Distribution& distribution,
              const RnsBase& base, Workspace& workspace) const;

  /// A public-key encryption: key[c] u + factor e[c] in evaluation form over `base`.
  /// - `key`: two components.
  /// - u and e[c]: the draws of `sample` from `stream`, of the ternary and the error distribution.
  /// - `division`: from `base`, of the sum; or null.
  /// - `addend`: one component over the output's base, added to the first component; or no data.
  /// - `out`: not the key.
  /// - The workspace holds secrets.
  void encrypt_zero(Queue& queue, const PolyView& out, const ConstPolyView& key, const RandomStream& stream,
                    const ErrorDistribution& distribution, std::uint64_t factor, const RnsBase& base,
                    const Division* division, const ConstPolyView& addend, Workspace& workspace) const;

  /// The first step of a decryption, sum_c in[c] s^c.
  /// - `out`: [batch, 1, limb, N] in `form`; neither input.
  /// - `in`: [batch, component, limb, N], evaluation form.
  /// - `secret`: s, [1, 1, limb, N], evaluation form.
  void phase(Queue& queue, const PolyView& out, const ConstPolyView& in, const ConstPolyView& secret,
             Form form, const RnsBase& base) const;

  /// Pairs (b, a) with b = factor e - a s + `addend`, in evaluation form over `base`.
  /// - a and e: the draws of `sample`, of the uniform and the error distribution.
  /// - `out`: [batch, 2, limb, N].
  /// - `secret`: s, [1, 1, limb, N].
  /// - `addend`: [batch or 1, 1, limb, N], or no data. With `terms`, b gets only these terms of it, and its
  ///   batch is 1.
  /// - The workspace holds secrets.
  void sample_rlwe(Queue& queue, const PolyView& out, const ConstPolyView& secret, const RlweSampling& from,
                   const RnsBase& base, const ConstPolyView& addend, std::span<const GadgetTerm> terms,
                   Workspace& workspace) const;

  // --- CKKS embedding (docs/arithmetic.md, "CKKS embedding"). ---
  /// Slots (a power of two, 1 <= slots <= N/2) to the polynomial whose canonical embedding repeats them,
  /// times `scale`, to the nearest integers (ties to even); in `form` over `base`. Slots are numbered by the
  /// powers of the Galois generator g: slot j is the value at root^(g^j). Values are not checked here: they
  /// must be finite with |value * scale| < 2^1000 (callers check). `out` may be stored by fewer entries, two
  /// for each slot at least, in evaluation form.
  void embed(Queue& queue, const PolyView& out, const SlotView& slots, double scale, std::uint64_t generator,
             const RnsBase& base, Workspace& workspace, Form form = Form::coefficient) const;
  /// The inverse: residues in coefficient form over `base`, centred, rounded to doubles, divided by scale.
  /// `largest`: null, or one number for each row of slots, in the backend's memory, which becomes the largest
  /// magnitude of these quotients.
  void unembed(Queue& queue, const SlotView& slots, const ConstPolyView& in, double scale,
               std::uint64_t generator, const RnsBase& base, Workspace& workspace,
               double* largest = nullptr) const;
  /// Value i of a row becomes slot i, 1 <= values.count <= out.slots; the other slots are 0. Equal batches;
  /// out is not `values`.
  void place_slots(Queue& queue, const SlotView& out, const NumberView& values) const;
  /// The inverse: the first values.count slots of each row; of real numbers the real parts.
  void collect_slots(Queue& queue, const NumberView& values, const SlotView& in) const;

  /// exp(2 pi i t / q), modulo the one prime q of the base, of t = the coefficient of X^shift a at
  /// position(j), in row r = b rows() + u of the slots, for value j, block k and place v in slot j + values
  /// (k + blocks v); shift = stride (k length + u places + v). In block 0 plus the coefficient of the first
  /// component there. position(j) = (reversed(j mod row) + row floor(j / row)) N / (2 row). Slots of other
  /// places are 0.
  /// - `out`: the batch of `in` times layout.rows() rows, of at least values * blocks * places slots.
  /// - `in`: [batch, 2, 1, N], coefficient form: b, a. The prime has at most 58 bits; ParameterError
  /// otherwise.
  /// - All backends give the same bits, within 2^-51.
  void exponentials(Queue& queue, const SlotView& out, const ConstPolyView& in,
                    const ExponentialLayout& layout, const RnsBase& base) const;

  // --- Integers modulo t (BFV, BGV): polynomials of one component over a base of one modulus. ---
  /// Whether all of the host's values lie in (-bound, bound), 0 < bound < 2^62, without branches on them.
  [[nodiscard]] virtual bool all_within(std::span<const std::int64_t> values, std::uint64_t bound) const;
  /// Any 64-bit integers, taken modulo t. Value i of a row becomes coefficient i, or in evaluation form, with
  /// g = `generator`, the value at root^(g^i) for i < N/2 and at root^(-g^(i - N/2)) above. 1 <= values.count
  /// <= N; all other entries are 0. For a modulus of n < N values (RingModulus) the same with n for N.
  void place_integers(Queue& queue, const PolyView& out, const IntegerView& values, Form form,
                      std::uint64_t generator, const RnsBase& base) const;
  /// The inverse: the first values.count integers, in [-(t-1)/2, t/2] if `is_signed`, else in [0, t). Numbers
  /// may come along, so that one copy brings both to the host.
  void collect_integers(Queue& queue, const IntegerView& values, const ConstPolyView& in, Form form,
                        std::uint64_t generator, bool is_signed, const RnsBase& base,
                        const TakenAlong& along = {}) const;
  /// The centred representatives (Modulus::centered) of factor * in, modulo the one source modulus of `lift`,
  /// times scalars[limb] (none: 1), in evaluation form over its target: out and in have one component, the
  /// inputs are in coefficient form. factor is below t. One or more inputs have equally many batches: `out`
  /// has those of the first input, then those of the next. Plus `addend` (no data: nothing), which has the
  /// output's shape and may be the output.
  void lift_integers(Queue& queue, const PolyView& out, std::span<const ConstPolyView> in,
                     std::uint64_t factor, std::span<const std::uint64_t> scalars, const BaseConversion& lift,
                     Workspace& workspace, const ConstPolyView& addend = {}) const;

 protected:
  /// What a backend says of itself, by the public functions above.
  struct Facts {
    std::string description;
    bool stores_u50 = false;
    bool records = false;
  };
  /// `key_memory`: memory() where there is none.
  Backend(Facts facts, std::shared_ptr<const Ring> ring, std::shared_ptr<runtime::Memory> memory,
          std::shared_ptr<runtime::Memory> key_memory = nullptr)
      : facts_(std::move(facts)),
        ring_(std::move(ring)),
        memory_(std::move(memory)),
        key_memory_(key_memory == nullptr ? memory_ : std::move(key_memory)) {}

  /// Adds a constant [limb] to all values of the first component, if there is one.
  void add_constant(Queue& queue, const PolyView& out, std::span<const std::uint64_t> added,
                    const RnsBase& base) const {
    const PolyView first = out.components(0, 1);
    if (!added.empty()) add_scalar(queue, first, first, added, Form::evaluation, base);
  }

  // What backends implement, as the public functions say, with arguments that are checked. Functions with a
  // workspace take all of their scratch from it and, if it measures, do nothing else. What is not pure is
  // made of the others: a backend overrides it for speed, with the same bits.
  enum class Transfer : std::uint8_t { upload, download };
  /// Numbers become slots, or slots numbers.
  enum class Placement : std::uint8_t { place, collect };
  enum class QueueOrder : std::uint8_t { own, of_thread };

  [[nodiscard]] virtual std::unique_ptr<Queue> do_make_queue(QueueOrder order) const = 0;
  virtual void do_upload(Queue& queue, const PolyView& out, Form form, const FillRows& fill) const = 0;
  virtual void do_download(Queue& queue, const ConstPolyView& in, Form form, const TakeRows& take) const = 0;
  virtual void do_copy_values(Queue& queue, std::span<std::byte> out, std::span<const std::byte> in,
                              Transfer transfer) const = 0;
  virtual void do_download_pieces(Queue& queue, std::span<const std::byte> in,
                                  const Pieces& pieces) const = 0;
  virtual void do_pack_rounded(Queue& queue, std::span<std::byte> out, const ConstPolyView& in,
                               int dropped_bits, int width) const = 0;
  /// Writes zeros if `in` has no data.
  virtual void do_copy(Queue& queue, const PolyView& out, const ConstPolyView& in) const = 0;
  virtual void do_copy_from(Queue& queue, const PolyView& out, const Backend& source, Queue& source_queue,
                            const ConstPolyView& in, Form form) const;

  /// Transforms to this form, from the other one.
  virtual void do_transform(Queue& queue, const PolyView& out, const ConstPolyView& in, Form to,
                            const RnsBase& base) const = 0;

  virtual void do_binary(Queue& queue, Binary operation, const PolyView& out, const ConstPolyView& a,
                         const ConstPolyView& b, const RnsBase& base) const = 0;
  virtual void do_unary(Queue& queue, Unary operation, const PolyView& out, const ConstPolyView& a,
                        std::span<const std::uint64_t> scalars, const RnsBase& base) const = 0;

  virtual void do_combine(Queue& queue, const PolyView& out, std::span<const ConstPolyView> a,
                          std::span<const std::vector<std::uint64_t>> scalars,
                          std::span<const std::uint64_t> added, const RnsBase& base,
                          Workspace& workspace) const;

  virtual void do_multiply_matrix(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                  const IntegerMatrixView& w, const RnsBase& base,
                                  Workspace& workspace) const;
  virtual void do_multiply_elements(Queue& queue, const PolyView& out, const ConstPolyView& a,
                                    const ConstPolyView& b, const RnsBase& base, Workspace& workspace) const;

  virtual void do_multiply_add_vector(Queue& queue, const PolyView& out, const IntegerMatrixView& w,
                                      const ConstPolyView& in, const RnsBase& base) const = 0;

  virtual void do_split_parts(Queue& queue, const PolyView& out, const ConstPolyView& in,
                              const RnsBase& base) const = 0;
  virtual void do_transform_components(Queue& queue, const PolyView& values, const ConstPolyView& roots,
                                       const ConstPolyView& factors, ComponentOrder order,
                                       const RnsBase& base, Workspace& workspace) const;
  /// There is at least one output; all have the same shape, and take the same constant.
  virtual void do_inner_products(Queue& queue, std::span<const PolyView> out,
                                 std::span<const ConstPolyView> a, std::span<const ConstPolyView> b,
                                 std::span<const std::uint64_t> added, const RnsBase& base) const;
  virtual void do_automorphism(Queue& queue, const PolyView& out, const ConstPolyView& in,
                               std::uint64_t galois_element, Form form, const RnsBase& base) const = 0;

  /// Neither base of the plan is empty.
  virtual void do_convert(Queue& queue, const PolyView& out, const ConstPolyView& in,
                          const BaseConversion& plan, const IntegerView* doubtful) const = 0;
  virtual void do_scale_and_round(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                  const ScaleAndRound& plan, const IntegerView* doubtful) const = 0;
  virtual void do_divide_and_round(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                   const Division& plan, Form form, Workspace& workspace) const;
  /// The last step of do_divide_and_round: out_j = (E in_j - delta_j) / D, entry by entry in either form,
  /// with `in` over plan.source() (0 at added limbs) and `delta` over plan.target(); out may be delta.
  virtual void do_finish_division(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                  const ConstPolyView& delta, const Division& plan) const = 0;

  /// The default divides, if there is a division, and calls itself without.
  virtual void do_mod_up(Queue& queue, const PolyView& out, const ConstPolyView& in, const ModUp& plan,
                         Form form, const Division* down, Workspace& workspace) const;
  /// A window of a base-2^w gadget: floor(in / 2^shift) mod 2^width of the one limb of `in`, modulo each limb
  /// of `base`; coefficient form, out is not `in`.
  virtual void do_extract_window(Queue& queue, const PolyView& out, const ConstPolyView& in, int shift,
                                 int width, const RnsBase& base) const = 0;
  virtual void do_key_inner_product(Queue& queue, const PolyView& out, const ConstPolyView& digits,
                                    const ConstPolyView& key, const ModUp& plan) const;
  virtual void do_hoisted_products(Queue& queue, std::span<const PolyView> out,
                                   std::span<const HoistedTerm> terms, const ModUp& plan,
                                   std::span<const std::uint64_t> special, Workspace& workspace) const;
  /// mod_up from evaluation form and key_inner_product in one, for a switch with a single key: the extended
  /// digits need not exist as a whole.
  virtual void do_mod_up_inner_product(Queue& queue, const PolyView& out, const ConstPolyView& in,
                                       const ConstPolyView& key, const ModUp& plan,
                                       Workspace& workspace) const;
  /// There is at least one switch.
  virtual void do_switch_keys(Queue& queue, std::span<const KeySwitch> switches, const ConstPolyView& in,
                              const ModUp& up, const Division* down, const ConstPolyView& addend,
                              Workspace& workspace) const;
  virtual void do_multiply_relinearize(Queue& queue, const PolyView& out, const ConstPolyView& a,
                                       const ConstPolyView& b, const ConstPolyView& key, const ModUp& up,
                                       const Division* down, std::span<const std::uint64_t> added,
                                       Workspace& workspace) const;

  virtual void do_scaled_product(Queue& queue, const PolyView& out, const ConstPolyView& a,
                                 const ConstPolyView& b, const ScaledProduct& plan,
                                 Workspace& workspace) const;
  virtual void do_lift_operands(Queue& queue, const PolyView& a_lifted, const PolyView& b_lifted,
                                std::span<const ConstPolyView> a, std::span<const ConstPolyView> b,
                                const ScaledProduct& plan, Workspace& workspace) const;

  virtual void do_sample(Queue& queue, const PolyView& out, std::span<const RandomStream> streams,
                         const Distribution& distribution, const RnsBase& base,
                         Workspace& workspace) const = 0;
  virtual void do_encrypt_zero(Queue& queue, const PolyView& out, const ConstPolyView& key,
                               const RandomStream& stream, const ErrorDistribution& distribution,
                               std::uint64_t factor, const RnsBase& base, const Division* division,
                               const ConstPolyView& addend, Workspace& workspace) const;
  virtual void do_phase(Queue& queue, const PolyView& out, const ConstPolyView& in,
                        const ConstPolyView& secret, Form form, const RnsBase& base) const;
  virtual void do_sample_rlwe(Queue& queue, const PolyView& out, const ConstPolyView& secret,
                              const RlweSampling& from, const RnsBase& base, const ConstPolyView& addend,
                              std::span<const GadgetTerm> terms, Workspace& workspace) const;

  /// Backend's own makes evaluation form, whole or stored by fewer entries, of coefficients.
  virtual void do_embed(Queue& queue, const PolyView& out, const SlotView& slots, double scale,
                        std::uint64_t generator, const RnsBase& base, Workspace& workspace,
                        Form form) const = 0;
  virtual void do_unembed(Queue& queue, const SlotView& slots, const ConstPolyView& in, double scale,
                          std::uint64_t generator, const RnsBase& base, Workspace& workspace,
                          double* largest) const = 0;
  virtual void do_place_slots(Queue& queue, const SlotView& slots, const NumberView& values,
                              Placement placement) const = 0;

  virtual void do_exponentials(Queue& queue, const SlotView& out, const ConstPolyView& in,
                               const ExponentialLayout& layout, const RnsBase& base) const = 0;

  virtual void do_place_integers(Queue& queue, const PolyView& out, const IntegerView& values, Form form,
                                 std::uint64_t generator, const RnsBase& base) const = 0;
  virtual void do_collect_integers(Queue& queue, const IntegerView& values, const ConstPolyView& in,
                                   Form form, std::uint64_t generator, bool is_signed, const RnsBase& base,
                                   const TakenAlong& along) const = 0;
  virtual void do_lift_integers(Queue& queue, const PolyView& out, std::span<const ConstPolyView> in,
                                std::uint64_t factor, std::span<const std::uint64_t> scalars,
                                const BaseConversion& lift, Workspace& workspace,
                                const ConstPolyView& addend) const;

  /// Adds the terms of `addend`, of one polynomial, to `out`: for do_sample_rlwe.
  void add_terms(Queue& queue, const PolyView& out, const ConstPolyView& addend,
                 std::span<const GadgetTerm> terms, const RnsBase& base, Workspace& workspace) const;
  /// do_embed in evaluation form to an output that is stored by fewer entries, by way of whole polynomials.
  void embed_whole(Queue& queue, const PolyView& out, const SlotView& slots, double scale,
                   std::uint64_t generator, const RnsBase& base, Workspace& workspace) const;

 private:
  /// Throws MismatchError for a view in words that this backend does not store.
  void check_stored(const char* operation, const char* operand, const ConstPolyView& view) const;
  /// The limbs of `in` at these positions: a part of `in` if they follow each other, else copied to scratch.
  ConstPolyView gather(Queue& queue, const ConstPolyView& in, const std::vector<std::uint32_t>& positions,
                       const PolyView& scratch) const;
  /// The sums of a key switch to its output: ModDown, the addend, and the automorphism of both.
  void end_switch(Queue& queue, const PolyView& out, const PolyView& sum, const ModUp& up,
                  const Division* down, const ConstPolyView& addend, std::uint64_t galois_element,
                  Workspace& workspace) const;

  Facts facts_;
  std::shared_ptr<const Ring> ring_;
  std::shared_ptr<runtime::Memory> memory_;
  std::shared_ptr<runtime::Memory> key_memory_;
};

/// The CPU backend. `threads` 0: as many as the process may run on. The instruction set is the best that the
/// processor has, or what the environment variable HEMERA_ISA asks for: "scalar", "avx2" or "avx512";
/// DeviceError if that is unknown or the processor lacks it. `memory_limit`: bytes that may be taken, those
/// kept for reuse included; 0: as many as there are.
std::shared_ptr<const Backend> make_cpu_backend(std::shared_ptr<const Ring> ring, int threads = 0,
                                                std::size_t memory_limit = 0);

/// A CPU backend without tables: it measures scratch as that one does, and computes nothing.
std::shared_ptr<const Backend> make_measuring_backend(std::shared_ptr<const Ring> ring, int threads = 0);

struct CudaSettings {
  /// Index of the device.
  int device = 0;
  /// Bytes of device memory that may be taken, those kept for reuse included; 0: as many as there are.
  std::size_t memory_limit = 0;
  /// A cudaStream_t of that device as a number: all operations run in it, and it must outlive the backend.
  /// Without one each host thread, and each queue, has a stream of its own (docs/gpu.md).
  std::optional<std::uintptr_t> stream = std::nullopt;
  /// Threads of the host that copies from and to it may use; 0: as many as help.
  int threads = 0;
  /// Keeps switching keys in pinned memory of the host, which kernels read over the bus.
  bool keys_on_host = false;
};

/// The CUDA backend. What a thread gives runs in its order; what one thread made another may use, and waits
/// for it on the device. Throws DeviceError when there is no such device, and in a build without CUDA.
std::shared_ptr<const Backend> make_cuda_backend(std::shared_ptr<const Ring> ring,
                                                 const CudaSettings& settings = {});

}  // namespace hemera::poly
