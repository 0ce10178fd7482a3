// The time of a ciphertext to pass from OpenFHE's memory to a device and back: hemera_openfhe_crossings
// [DEVICE] prints a JSON list, a row each scheme, degree and number of limbs, in microseconds, medians.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "hemera/adapters/openfhe.hpp"

namespace {

namespace lib = lbcrypto;

constexpr std::size_t repetitions = 15;

struct Size {
  std::uint32_t degree;
  std::uint32_t depth;
};
constexpr Size sizes[] = {{8192, 3}, {16384, 7}, {32768, 14}, {65536, 29}};

template <typename Action>
double median_microseconds(const Action& action) {
  std::vector<double> times;
  for (std::size_t i = 0; i < repetitions; ++i) {
    const auto start = std::chrono::steady_clock::now();
    action();
    times.push_back(
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
  }
  std::nth_element(times.begin(), times.begin() + repetitions / 2, times.end());
  return times[repetitions / 2];
}

template <typename Parameters>
Parameters parameters_of(const Size& size) {
  Parameters parameters;
  parameters.SetSecurityLevel(lib::HEStd_NotSet);
  parameters.SetRingDim(size.degree);
  parameters.SetMultiplicativeDepth(size.depth);
  return parameters;
}

template <typename Parameters>
void measure(const char* scheme, const Parameters& parameters, const std::string& device, bool& first) {
  const auto cc = lib::GenCryptoContext(parameters);
  for (const auto feature : {lib::PKE, lib::KEYSWITCH, lib::LEVELEDSHE}) cc->Enable(feature);
  const auto keys = cc->KeyGen();
  const auto gpu = hemera::adapters::accelerate(cc, keys.secretKey->GetKeyTag(), device);
  const bool ckks = std::string(scheme) == "ckks";
  const auto plain =
      ckks ? cc->MakeCKKSPackedPlaintext(std::vector<double>{1, 2, 3}) : cc->MakePackedPlaintext({1, 2, 3});
  const auto x = cc->Encrypt(keys.publicKey, plain);
  const auto there = gpu->Upload(x);
  const double in = median_microseconds([&] { static_cast<void>(gpu->Upload(x)); });
  const double out = median_microseconds([&] { static_cast<void>(lib::Ciphertext<lib::DCRTPoly>(there)); });
  std::printf(
      "%s  {\"scheme\": \"%s\", \"n\": %u, \"limbs\": %zu, \"components\": 2, \"device\": \"%s\", "
      "\"in_us\": %.1f, \"out_us\": %.1f}",
      std::exchange(first, false) ? "" : ",\n", scheme, cc->GetRingDimension(),
      static_cast<std::size_t>(x->GetElements()[0].GetNumOfElements()), device.c_str(), in, out);
  std::fflush(stdout);
}

}  // namespace

int main(int count, char** arguments) {
  try {
    const std::string device = count > 1 ? arguments[1] : "cpu";
    bool first = true;
    std::printf("[\n");
    for (const Size& size : sizes) {
      auto ckks = parameters_of<lib::CCParams<lib::CryptoContextCKKSRNS>>(size);
      ckks.SetScalingModSize(40);
      ckks.SetFirstModSize(60);
      measure("ckks", ckks, device, first);
      auto bfv = parameters_of<lib::CCParams<lib::CryptoContextBFVRNS>>(size);
      bfv.SetPlaintextModulus(786433);
      measure("bfv", bfv, device, first);
    }
    std::printf("\n]\n");
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
