// What kernels that multiply digits with keys are given, and what they read of a switch's input. They do not
// read it through the same caches, so the reads themselves are theirs.
#pragma once

#include <algorithm>

#include "poly/cuda/fused/key_products.cuh"
#include "poly/cuda/fused/passes.hpp"
#include "poly/cuda/fused/row_ends.cuh"

namespace hemera::poly::cuda {

/// One key, and what belongs to it.
struct KeyPart {
  DeviceView out;
  ConstDeviceView key;
  ConstDeviceView delta;
  unsigned inverse_element;  // of the automorphism's Galois element, modulo 2N; 1: none
};

/// The fields of every such kernel, for some limbs of the extended base.
template <class A>
struct SwitchPass {
  ConstDeviceView in;
  ConstDeviceView addend;
  ConstDeviceView left;
  ConstDeviceView right;
  KeyPart keys[keys_per_launch];
  unsigned key_count;
  unsigned digit_count;
  unsigned addend_components;
  std::uint16_t key_digits[max_fused_digits];
  const std::uint32_t* key_limbs;
  const std::uint32_t* own_digits;
  LimbModuli limbs;
  LimbFactors inverses;  // of the division
  const arith::Modulus* ring_moduli;
  const typename A::Modulus* moduli;
  const typename A::Twiddle* forward;
};

/// Sets all of it but the deltas and the limbs. Without `down` the switches do not end here.
template <class A, class Tables>
void set_switches(SwitchPass<A>& pass, const Launcher& launcher, const Part& part, const SwitchInput& input,
                  std::span<const SwitchRows> switches, const Tables& up, const Division* down) {
  pass.in = device_view(part.batches_of(input.in));
  pass.left = device_view(part.batches_of(input.left));
  pass.right = device_view(part.batches_of(input.right));
  for (std::size_t i = 0; i < switches.size(); ++i) {
    pass.keys[i].out = device_view(part.of(switches[i].out));
    pass.keys[i].key = device_view(switches[i].key);
    pass.keys[i].inverse_element = static_cast<unsigned>(
        arith::inverse(switches[i].galois_element, 2 * std::uint64_t{launcher.degree()}));
  }
  if (input.addend.data != nullptr) {
    pass.addend = device_view(part.batches_of(input.addend));
    pass.addend_components = static_cast<unsigned>(input.addend.shape.components);
  }
  if (down != nullptr) set_inverses<A>(pass.inverses, *down, part);
  pass.key_count = static_cast<unsigned>(switches.size());
  pass.digit_count = static_cast<unsigned>(up.key_digits.size());
  std::copy(up.key_digits.begin(), up.key_digits.end(), pass.key_digits);
  pass.key_limbs = up.key_limbs.data();
  pass.own_digits = up.own_digits.data();
  const TransformTables<A>& tables = launcher.tables->transforms<A>();
  pass.ring_moduli = launcher.tables->moduli();
  pass.moduli = tables.moduli.data();
  pass.forward = tables.forward.data();
}

/// A value of a digit's own limb, of the input or of a `product`: 2^64 of it in M64. read(view, component)
/// gives a word of the limb.
template <class A, bool product, typename Read>
__device__ __forceinline__ typename A::Value own_digit(const SwitchPass<A>& pass, const Read& read,
                                                       const arith::Modulus& q,
                                                       const typename A::Modulus& m) {
  typename A::Value value;
  if constexpr (product) {
    value = lazy_product<A>(read(pass.left, 1), read(pass.right, 1), q, m);
    if constexpr (std::is_same_v<A, M64>) value = M64::raise(value, m);
  } else {
    value = A::load(read(pass.in, 0), m);
  }
  if constexpr (std::is_same_v<A, M64>) value = M64::raise(value, m);
  return value;
}

/// The addends of two neighbours of a component where a switch ends: words of the addend (a0), or factors of
/// a component of the tensor product.
template <class A, bool product>
struct Added {
  ulonglong2 a0{}, a1{}, b0{}, b1{};

  /// pair(view, component, limb) gives two words of a limb of the level's base.
  template <typename Pair>
  __device__ __forceinline__ void read(const SwitchPass<A>& pass, unsigned component, unsigned limb,
                                       const Pair& pair) {
    if constexpr (product) {
      a0 = pair(pass.left, 0, limb);
      b0 = pair(pass.right, 0, limb);
      if (component != 0) {
        a1 = pair(pass.left, 1, limb);
        b1 = pair(pass.right, 1, limb);
      }
    } else if (component < pass.addend_components) {
      a0 = pair(pass.addend, component, limb);
    }
  }
  /// As end_division takes it.
  __device__ __forceinline__ void values(typename A::Value (&x)[2], unsigned component,
                                         const arith::Modulus& q, const typename A::Modulus& m) const {
    if constexpr (product) {
      x[0] = product_component<A>(component, a0.x, a1.x, b0.x, b1.x, q, m);
      x[1] = product_component<A>(component, a0.y, a1.y, b0.y, b1.y, q, m);
    } else {
      x[0] = A::load(a0.x, m);
      x[1] = A::load(a0.y, m);
    }
  }
};

}  // namespace hemera::poly::cuda
