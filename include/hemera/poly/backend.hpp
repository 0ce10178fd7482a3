// The only interface to the hardware: batched operations on residue polynomials.
#pragma once

#include <complex>
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

/// Coefficients in a row that share one of the numbers by which a rounding tells its doubts.
inline constexpr std::size_t coefficients_per_doubt = 64;

/// Numbers that collect_integers takes along: any[b] becomes the bitwise or of the b-th of as many parts of
/// `numbers` as there are rows of values, each of ceil(numbers / rows) but the last ones, which may be
/// shorter.
struct TakenAlong {
  std::span<const std::int64_t> numbers;
  std::int64_t* any = nullptr;

  [[nodiscard]] std::size_t part_size(std::size_t rows) const { return (numbers.size() + rows - 1) / rows; }
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

/// The operations of two inputs, entry by entry.
enum class Binary : std::uint8_t { add, subtract, multiply, multiply_add };

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
  /// What runs, for people: "cpu (avx512, 2 threads)".
  [[nodiscard]] virtual std::string description() const = 0;
  /// A queue of its own: on CUDA, with a stream of its own, which several threads may give to.
  [[nodiscard]] virtual std::unique_ptr<Queue> make_queue() const = 0;
  /// Whether upload, download, copies and keys may be of such words; u64 always.
  [[nodiscard]] virtual bool stores(Word word) const { return word == Word::u64; }
  /// The queue of whichever thread gives to it: on CUDA, with that thread's stream. Contexts have one.
  [[nodiscard]] virtual std::unique_ptr<Queue> make_thread_queue() const { return make_queue(); }

  // --- Recording: a sequence of operations that is noted once and run many times. ---
  /// What was recorded. It uses the memory that its operations were given: contents may change between
  /// replays, addresses may not.
  class Recording {
   public:
    Recording() = default;
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;
    virtual ~Recording() = default;
    /// As an operation that the calling thread gives to the queue. What it wrote is to be read by that
    /// thread.
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
  // may be freed when the call returns, what is downloaded is there after the queue's synchronize(). Arrays
  // may be stored by fewer entries (PolyShape), in evaluation form, or in any word that the backend stores.
  // ---
  void upload(Queue& queue, const PolyView& out, std::span<const std::uint64_t> host, Form form) const;
  void download(Queue& queue, std::span<std::uint64_t> host, const ConstPolyView& in, Form form) const;
  /// The same for a host that makes, or takes, the residues row by row, N words each: `fill` and `take` are
  /// called once for all rows of [batch, component, limb], for some that follow each other from `first` on at
  /// a time, in any order and from several threads at once. They have been when it returns; what they throw
  /// is thrown, and leaves an output with any contents.
  using FillRows = std::function<void(std::size_t first, std::span<std::uint64_t> rows)>;
  using TakeRows = std::function<void(std::size_t first, std::span<const std::uint64_t> rows)>;
  void upload_rows(Queue& queue, const PolyView& out, Form form, const FillRows& fill) const;
  void download_rows(Queue& queue, const ConstPolyView& in, Form form, const TakeRows& take) const;
  /// Values that are no residues, as they are: the bytes of a SlotView or an IntegerView, equally many on
  /// both sides.
  void upload_values(Queue& queue, std::span<std::byte> out, std::span<const std::byte> host) const;
  void download_values(Queue& queue, std::span<std::byte> host, std::span<const std::byte> in) const;
  /// Where one of the two is stored by fewer entries: the first value of each run, or each value repeated.
  void copy(Queue& queue, const PolyView& out, const ConstPolyView& in) const;
  /// `in`, of another backend for a ring of the same degree, which may be on another device: between CUDA
  /// devices without the host, otherwise by way of it. The calling thread's operations in both backends wait
  /// for each other, before and after.
  void copy_from(Queue& queue, const PolyView& out, const Backend& source, Queue& source_queue,
                 const ConstPolyView& in, Form form) const;
  void fill_zero(Queue& queue, const PolyView& out) const;

  // --- Transforms. Negacyclic NTT; ParameterError for a modulus without a root. ---
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
  /// out = a + the constant polynomial scalars[limb] (coefficient form: entry 0; evaluation form: all
  /// entries).
  void add_scalar(Queue& queue, const PolyView& out, const ConstPolyView& a,
                  std::span<const std::uint64_t> scalars, Form form, const RnsBase& base) const;

  /// out = sum over i of scalars[i][limb] a[i], plus the constant `added` [limb] in the first component, if
  /// there is one: in one pass. Evaluation form; at least one a, one residue a term and limb. out may be
  /// a[0], and is no other a.
  void combine(Queue& queue, const PolyView& out, std::span<const ConstPolyView> a,
               std::span<const std::vector<std::uint64_t>> scalars, std::span<const std::uint64_t> added,
               const RnsBase& base, Workspace& workspace) const;

  // --- Ring structure. ---
  /// The sum of the tensor products of a[i] and b[i], in one pass: out[c] = sum over i and over j + k = c of
  /// a[i][j] * b[i][k]. As many a as b, at least one; all a have the same number of components, and all b;
  /// out has components a + b - 1 and is none of the inputs. A b of one component may be stored by fewer
  /// entries (PolyShape).
  void inner_product(Queue& queue, const PolyView& out, std::span<const ConstPolyView> a,
                     std::span<const ConstPolyView> b, const RnsBase& base) const;
  /// X -> X^galois_element (odd, below 2N); out is not `in`.
  void automorphism(Queue& queue, const PolyView& out, const ConstPolyView& in, std::uint64_t galois_element,
                    Form form, const RnsBase& base) const;

  // --- Changes of base. ---
  /// Coefficient form; `in` over plan.source(), `out` over plan.target(); out is not `in`. Where `doubtful`
  /// is not null, the conversion is exact and of one component, and each polynomial has a row of
  /// N / coefficients_per_doubt numbers. They become 0 where no coefficient of the polynomial exceeds a
  /// quarter of the source's product; else some become 1, in which of them may differ. Within 2^-40 of that
  /// product of a quarter a coefficient counts either way.
  void convert(Queue& queue, const PolyView& out, const ConstPolyView& in, const BaseConversion& plan,
               const IntegerView* doubtful = nullptr) const;
  /// Coefficient form; `in` over plan.source(), `out` over plan.target(); out is not `in`. `doubtful` as for
  /// `convert`, where rounding changes a coefficient by more than a quarter: plans that divide by their whole
  /// source.
  void scale_and_round(Queue& queue, const PolyView& out, const ConstPolyView& in, const ScaleAndRound& plan,
                       const IntegerView* doubtful = nullptr) const;
  /// `in` over plan.source(), `out` over plan.target(), both in `form`; out is not `in`.
  void divide_and_round(Queue& queue, const PolyView& out, const ConstPolyView& in, const Division& plan,
                        Form form, Workspace& workspace) const;

  // --- Key-switching. Keys may be in any word that the backend stores, all of a call in the same. ---
  /// Digits of a one-component polynomial `in` over plan.base(), in `form`; out: [batch, digit, limb of
  /// plan.extended(), N], evaluation form.
  void mod_up(Queue& queue, const PolyView& out, const ConstPolyView& in, const ModUp& plan, Form form,
              Workspace& workspace) const;
  /// out[c] = sum over digits d of digits[d] * key[key_digit(d)][c]; evaluation form over plan.extended().
  /// digits: [batch, digit, limb, N]; key: [key digit, component, limb of the key's base, N].
  void key_inner_product(Queue& queue, const PolyView& out, const ConstPolyView& digits,
                         const ConstPolyView& key, const ModUp& plan) const;

  /// A term of hoisted_products.
  struct HoistedTerm {
    /// Digits that are switched by the key, as in key_inner_product; no data: nothing is switched.
    ConstPolyView digits = {};
    ConstPolyView key = {};
    /// Up to two components which are added to the switched ones: over the extended base, or over the
    /// level's, where they are multiplied by the special primes' product P. No data: nothing is added.
    ConstPolyView addend = {};
    std::uint64_t galois_element = 1;
    /// One for each output, of one component over the extended base, whole or stored by fewer entries
    /// (PolyShape); no data: the term is no part of that output. Empty: times one, for every output.
    std::vector<ConstPolyView> factors = {};
  };
  /// out[g] = sum over terms of factors[g] phi(sum_d digits[d] key[d] + addend), phi the automorphism
  /// X -> X^galois_element; evaluation form over plan.extended(). The outputs, of two components, have one
  /// shape, and are none of the inputs. `special`: P modulo the primes of plan.base(). All terms have
  /// factors, or none.
  void hoisted_products(Queue& queue, std::span<const PolyView> out, std::span<const HoistedTerm> terms,
                        const ModUp& plan, std::span<const std::uint64_t> special,
                        Workspace& workspace) const;

  /// One of several key switches of the same input.
  struct KeySwitch {
    PolyView out;
    ConstPolyView key;
    std::uint64_t galois_element = 1;
  };
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

  /// The product of a and b, of two components each, relinearized: inner_product over up.base(), whose last
  /// component switch_keys takes, with the others for `addend`. out, over the base that `down` goes to, is
  /// neither a nor b.
  void multiply_relinearize(Queue& queue, const PolyView& out, const ConstPolyView& a, const ConstPolyView& b,
                            const ConstPolyView& key, const ModUp& up, const Division* down,
                            Workspace& workspace) const;

  // --- Products of BFV. ---
  /// The three components of plan's product of two ciphertexts, all in evaluation form over plan.base(): out
  /// is [batch, 3, limb, N] and neither input; a and b have two components. The same view twice is lifted
  /// once.
  void scaled_product(Queue& queue, const PolyView& out, const ConstPolyView& a, const ConstPolyView& b,
                      const ScaledProduct& plan, Workspace& workspace) const;
  /// Its first half for one or more pairs, in evaluation form: each a over plan.auxiliary(), and t b' over
  /// plan.all(). Both outputs have the batches of the first pair, then those of the next; a factor's batch is
  /// that of its product or 1.
  void lift_operands(Queue& queue, const PolyView& a_lifted, const PolyView& b_lifted,
                     std::span<const ConstPolyView> a, std::span<const ConstPolyView> b,
                     const ScaledProduct& plan, Workspace& workspace) const;

  // --- Samplers: the rule is in random.hpp. ---
  /// In evaluation form for Distribution::uniform, else in coefficient form. The workspace holds secrets.
  void sample(Queue& queue, const PolyView& out, const RandomStream& stream, const Distribution& distribution,
              const RnsBase& base, Workspace& workspace) const;

  /// A public-key encryption: key[c] u + factor e[c] in evaluation form over `base`, for a key of two
  /// components; u is what `sample` draws from `stream` of the ternary distribution, and the e[c] of the
  /// error's. With a division, whose source is `base`, that is divided. `addend`, of one component over the
  /// output's base, is added to the first component (no data: nothing). out is not the key. The workspace
  /// holds secrets.
  void encrypt_zero(Queue& queue, const PolyView& out, const ConstPolyView& key, const RandomStream& stream,
                    const ErrorDistribution& distribution, std::uint64_t factor, const RnsBase& base,
                    const Division* division, const ConstPolyView& addend, Workspace& workspace) const;

  /// What a decryption begins with, sum_c in[c] s^c: out [batch, 1, limb, N] in the form that is asked for,
  /// in [batch, component, limb, N] and the secret s, [1, 1, limb, N], in evaluation form. out is neither.
  void phase(Queue& queue, const PolyView& out, const ConstPolyView& in, const ConstPolyView& secret,
             Form form, const RnsBase& base) const;

  /// Pairs (b, a) with b = factor e - a s in evaluation form over `base`: a is what `sample` draws of the
  /// uniform distribution, and e of the error's. out: [batch, 2, limb, N], the secret s: [1, 1, limb, N]. b
  /// also gets `addend`, [batch or 1, 1, limb, N] (no data: nothing), or where there are terms, these of it
  /// alone: then its batch is 1. The workspace holds secrets.
  void sample_rlwe(Queue& queue, const PolyView& out, const ConstPolyView& secret, const RlweSampling& from,
                   const RnsBase& base, const ConstPolyView& addend, std::span<const GadgetTerm> terms,
                   Workspace& workspace) const;

  // --- CKKS embedding (docs/arithmetic.md, "CKKS embedding"). ---
  /// Slots (a power of two, 1 <= slots <= N/2) to the polynomial whose canonical embedding repeats them,
  /// times `scale`, to the nearest integers (ties to even); in the form asked for over `base`. Slots are
  /// numbered by the powers of the Galois generator g: slot j is the value at root^(g^j). Throws nothing for
  /// values: they must be finite with |value * scale| < 2^1000 (checked above).
  void embed(Queue& queue, const PolyView& out, const SlotView& slots, double scale, std::uint64_t generator,
             const RnsBase& base, Workspace& workspace, Form form = Form::coefficient) const;
  /// The inverse: residues in coefficient form over `base`, centred, rounded to doubles, divided by scale.
  /// Where `largest` is not null, it gets one number for each row of slots, in the backend's memory: the
  /// largest magnitude of these quotients.
  void unembed(Queue& queue, const SlotView& slots, const ConstPolyView& in, double scale,
               std::uint64_t generator, const RnsBase& base, Workspace& workspace,
               double* largest = nullptr) const;
  /// Value i of a row becomes slot i, 1 <= values.count <= out.slots; the other slots are 0. Equal batches;
  /// out is not `values`.
  void place_slots(Queue& queue, const SlotView& out, const NumberView& values) const;
  /// The inverse: the first values.count slots of each row; of real numbers the real parts.
  void collect_slots(Queue& queue, const NumberView& values, const SlotView& in) const;

  // --- Integers modulo t (BFV, BGV): polynomials of one component over a base of one modulus. ---
  /// Whether all of the host's values lie in (-bound, bound), 0 < bound < 2^62, without branches on them.
  [[nodiscard]] virtual bool all_within(std::span<const std::int64_t> values, std::uint64_t bound) const;
  /// Any 64-bit integers, taken modulo t. Value i of a row becomes coefficient i, or in evaluation form, with
  /// g = `generator`, the value at root^(g^i) for i < N/2 and at root^(-g^(i - N/2)) above. 1 <= values.count
  /// <= N; all other entries are 0.
  void place_integers(Queue& queue, const PolyView& out, const IntegerView& values, Form form,
                      std::uint64_t generator, const RnsBase& base) const;
  /// The inverse: the first values.count integers, in [-(t-1)/2, t/2] if `is_signed`, else in [0, t). Numbers
  /// may come along, so that one copy brings both to the host.
  void collect_integers(Queue& queue, const IntegerView& values, const ConstPolyView& in, Form form,
                        std::uint64_t generator, bool is_signed, const RnsBase& base,
                        const TakenAlong& along = {}) const;
  /// The centred representatives (Modulus::centered) of factor * in, modulo the one source modulus of `lift`,
  /// times scalars[limb] (none: 1), in evaluation form over its target: out and in have one component, the
  /// inputs are in coefficient form. factor is below t. Of one or more inputs with equally many batches:
  /// `out` has those of the first input, then those of the next. Plus `addend` (no data: nothing), which has
  /// the output's shape and may be the output.
  void lift_integers(Queue& queue, const PolyView& out, std::span<const ConstPolyView> in,
                     std::uint64_t factor, std::span<const std::uint64_t> scalars, const BaseConversion& lift,
                     Workspace& workspace, const ConstPolyView& addend = {}) const;

 protected:
  Backend(std::shared_ptr<const Ring> ring, std::shared_ptr<runtime::Memory> memory)
      : ring_(std::move(ring)), memory_(std::move(memory)) {}

  // What backends implement, as the public functions say, with arguments that are checked. Those with a
  // workspace take all of their scratch from it and, if it measures, do nothing else. What is not pure is
  // made of the others: a backend overrides it for speed, with the same bits.
  enum class Transfer : std::uint8_t { upload, download };

  virtual void do_upload(Queue& queue, const PolyView& out, Form form, const FillRows& fill) const = 0;
  virtual void do_download(Queue& queue, const ConstPolyView& in, Form form, const TakeRows& take) const = 0;
  virtual void do_copy_values(Queue& queue, std::span<std::byte> out, std::span<const std::byte> in,
                              Transfer transfer) const = 0;
  virtual void do_copy(Queue& queue, const PolyView& out, const ConstPolyView& in) const = 0;
  virtual void do_copy_from(Queue& queue, const PolyView& out, const Backend& source, Queue& source_queue,
                            const ConstPolyView& in, Form form) const;
  virtual void do_fill_zero(Queue& queue, const PolyView& out) const = 0;

  /// To this form, from the other one.
  virtual void do_transform(Queue& queue, const PolyView& out, const ConstPolyView& in, Form to,
                            const RnsBase& base) const = 0;

  virtual void do_binary(Queue& queue, Binary operation, const PolyView& out, const ConstPolyView& a,
                         const ConstPolyView& b, const RnsBase& base) const = 0;
  virtual void do_negate(Queue& queue, const PolyView& out, const ConstPolyView& a,
                         const RnsBase& base) const = 0;
  virtual void do_multiply_scalar(Queue& queue, const PolyView& out, const ConstPolyView& a,
                                  std::span<const std::uint64_t> scalars, const RnsBase& base) const = 0;
  virtual void do_add_scalar(Queue& queue, const PolyView& out, const ConstPolyView& a,
                             std::span<const std::uint64_t> scalars, Form form,
                             const RnsBase& base) const = 0;

  virtual void do_combine(Queue& queue, const PolyView& out, std::span<const ConstPolyView> a,
                          std::span<const std::vector<std::uint64_t>> scalars,
                          std::span<const std::uint64_t> added, const RnsBase& base,
                          Workspace& workspace) const;

  virtual void do_inner_product(Queue& queue, const PolyView& out, std::span<const ConstPolyView> a,
                                std::span<const ConstPolyView> b, const RnsBase& base) const;
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

  virtual void do_mod_up(Queue& queue, const PolyView& out, const ConstPolyView& in, const ModUp& plan,
                         Form form, Workspace& workspace) const;
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
  /// At least one.
  virtual void do_switch_keys(Queue& queue, std::span<const KeySwitch> switches, const ConstPolyView& in,
                              const ModUp& up, const Division* down, const ConstPolyView& addend,
                              Workspace& workspace) const;
  virtual void do_multiply_relinearize(Queue& queue, const PolyView& out, const ConstPolyView& a,
                                       const ConstPolyView& b, const ConstPolyView& key, const ModUp& up,
                                       const Division* down, Workspace& workspace) const;

  virtual void do_scaled_product(Queue& queue, const PolyView& out, const ConstPolyView& a,
                                 const ConstPolyView& b, const ScaledProduct& plan,
                                 Workspace& workspace) const;
  virtual void do_lift_operands(Queue& queue, const PolyView& a_lifted, const PolyView& b_lifted,
                                std::span<const ConstPolyView> a, std::span<const ConstPolyView> b,
                                const ScaledProduct& plan, Workspace& workspace) const;

  virtual void do_sample(Queue& queue, const PolyView& out, const RandomStream& stream,
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

  virtual void do_embed(Queue& queue, const PolyView& out, const SlotView& slots, double scale,
                        std::uint64_t generator, const RnsBase& base, Workspace& workspace) const = 0;
  /// The same in evaluation form. By default do_embed and do_transform.
  virtual void do_embed_evaluations(Queue& queue, const PolyView& out, const SlotView& slots, double scale,
                                    std::uint64_t generator, const RnsBase& base, Workspace& workspace) const;
  virtual void do_unembed(Queue& queue, const SlotView& slots, const ConstPolyView& in, double scale,
                          std::uint64_t generator, const RnsBase& base, Workspace& workspace,
                          double* largest) const = 0;
  virtual void do_place_slots(Queue& queue, const SlotView& out, const NumberView& values) const = 0;
  virtual void do_collect_slots(Queue& queue, const NumberView& values, const SlotView& in) const = 0;

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

 private:
  /// Throws MismatchError for a view in words that this backend does not store.
  void check_stored(const char* operation, const char* operand, const ConstPolyView& view) const;
  /// The limbs of `in` at these positions: a part of `in` when they follow each other, else copied to
  /// scratch.
  ConstPolyView gather(Queue& queue, const ConstPolyView& in, const std::vector<std::uint32_t>& positions,
                       const PolyView& scratch) const;
  /// The sums of a key switch to its output: ModDown, the addend, and the automorphism of both.
  void end_switch(Queue& queue, const PolyView& out, const PolyView& sum, const ModUp& up,
                  const Division* down, const ConstPolyView& addend, std::uint64_t galois_element,
                  Workspace& workspace) const;

  std::shared_ptr<const Ring> ring_;
  std::shared_ptr<runtime::Memory> memory_;
};

/// The CPU backend. `threads` 0: as many as the process may run on. The instruction set is the best that the
/// processor has, or what the environment variable HEMERA_ISA asks for: "scalar", "avx2" or "avx512";
/// DeviceError if that is unknown or the processor lacks it. `memory_limit`: bytes that may be taken, those
/// kept for reuse included; 0: as many as there are.
std::shared_ptr<const Backend> make_cpu_backend(std::shared_ptr<const Ring> ring, int threads = 0,
                                                std::size_t memory_limit = 0);

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
};

/// The CUDA backend. What a thread gives runs in its order; what one thread made another may use, and waits
/// for it on the device. Throws DeviceError when there is no such device, and in a build without CUDA.
std::shared_ptr<const Backend> make_cuda_backend(std::shared_ptr<const Ring> ring,
                                                 const CudaSettings& settings = {});

}  // namespace hemera::poly
