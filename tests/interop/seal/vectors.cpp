#include "interop/seal/vectors.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/property_tree/json_parser.hpp>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "hemera/schemes/any_scheme.hpp"
#include "hemera/schemes/ckks.hpp"
#include "hemera/schemes/integer/encoder.hpp"
#include "test_device.hpp"

namespace hemera::interop::seal::test {

using boost::property_tree::ptree;

std::filesystem::path root() {
  const char* all = std::getenv("HEMERA_SEAL_VECTORS");
  return all == nullptr ? HEMERA_TEST_VECTORS "/seal" : all;
}

Vectors::Vectors(const std::string& scheme) : scheme_(scheme), folder_(root() / scheme) {
  boost::property_tree::read_json((folder_ / "values.json").string(), values_);
  session_ = std::make_unique<Session>(file(names("parms.").front()), hemera::tests::device(), options());
  secret_ = session_->load_secret_key(file("secret_key.seal"));
}

Options Vectors::options() const { return {.scale = is_ckks() ? values_.get<double>("initial_scale") : 0}; }

std::vector<std::byte> Vectors::file(const std::string& name) const {
  const Source source(folder_ / name);
  return {source.bytes().begin(), source.bytes().end()};
}

std::vector<std::string> Vectors::names(const std::string& begin) const {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind(begin, 0) == 0 && entry.path().extension() == ".seal") found.push_back(name);
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string Vectors::first_of(const std::vector<std::string>& names) const {
  for (const std::string& name : names) {
    if (std::filesystem::exists(folder_ / name)) return name;
  }
  return "";
}

rlwe::Ciphertext Vectors::ciphertext(const std::string& begin) const {
  return session_->load_ciphertext(file(names(begin).front()));
}

const ptree& Vectors::entry(const std::string& name) const {
  return values_.get_child("ciphertexts").find(name)->second;
}

void Vectors::load_keys() {
  const auto source = [&](const std::string& begin) {
    const auto found = names(begin);
    return found.empty() ? std::nullopt : std::optional(file(found.front()));
  };
  const KeyFiles files{source("public_key."), source("relin_keys."), source("galois_keys.")};
  session_->load_keys(files.sources());
  if (files.galois) return;
  const rlwe::EvaluationKeys generated = rlwe::generate_keys(
      secret_, {.public_key = false, .relinearization = false, .rotations = {1, -2}, .conjugation = true});
  session_->load_keys(session_->dump_keys(generated).sources());
}

void Vectors::expect(const rlwe::Ciphertext& ciphertext, const std::string& name) const {
  SCOPED_TRACE(scheme_ + "/" + name);
  const ptree& entry = this->entry(name);
  const Metadata found = session_->metadata(ciphertext);
  EXPECT_EQ(found.parms_id, parms_id(entry.get_child("parms_id_words")));
  EXPECT_EQ(found.size, entry.get<std::size_t>("size"));
  EXPECT_EQ(found.is_ntt_form, entry.get<bool>("is_ntt_form"));
  EXPECT_EQ(found.coeff_modulus_count, entry.get<std::size_t>("coeff_modulus_count"));
  const double scale = std::strtod(entry.get<std::string>("scale_hex").c_str(), nullptr);
  EXPECT_LE(std::abs(found.scale / scale - 1), 1e-14);
  EXPECT_EQ(found.correction_factor, entry.get<std::uint64_t>("correction_factor"));
  expect_values(any_scheme::decrypt(ciphertext, secret_), entry.get_child("expected"),
                is_ckks() ? entry.get<double>("tolerance") : 0);
  if (!is_ckks()) {
    EXPECT_EQ(ciphertext.meta.noise_log2, rlwe::unknown_noise);
    EXPECT_EQ(any_scheme::guaranteed_noise_budget(ciphertext), 0);
  }
}

void Vectors::expect_values(const rlwe::Plaintext& plaintext, const ptree& expected, double tolerance) const {
  const std::size_t slots = values_.get<std::size_t>("slots.count");
  if (is_ckks()) {
    const auto number = [](const ptree& node) {
      return std::complex(node.front().second.get_value<double>(), node.back().second.get_value<double>());
    };
    std::vector<std::complex<double>> wanted(slots);
    std::size_t slot = 0;
    for (const auto& item : expected.get_child("first_64_slots")) wanted[slot++] = number(item.second);
    for (const auto& item : expected.get_child("nonzero_after_64")) {
      wanted[std::stoul(item.first)] = number(item.second);
    }
    const auto found = ckks::Encoder(session_->context()).decode(plaintext);
    ASSERT_EQ(found.size(), slots);
    double error = 0;
    for (std::size_t i = 0; i < slots; ++i) error = std::max(error, std::abs(found[i] - wanted[i]));
    EXPECT_LE(error, tolerance);
    return;
  }
  std::vector<std::int64_t> wanted(slots);
  std::size_t slot = 0;
  for (const auto& item : expected.get_child("first_64_slots")) {
    wanted[slot++] = item.second.get_value<std::int64_t>();
  }
  for (const auto& item : expected.get_child("nonzero_after_64")) {
    wanted[std::stoul(item.first)] = item.second.get_value<std::int64_t>();
  }
  EXPECT_EQ(integer::Encoder(session_->context()).decode(plaintext, false), wanted);
}

std::string parms_id(const ptree& words) {
  std::string id;
  for (const auto& word : words) {
    const auto digits = word.second.get_value<std::string>();
    for (std::size_t i = digits.size(); i > 0; i -= 2) id += digits.substr(i - 2, 2);
  }
  return id;
}

}  // namespace hemera::interop::seal::test
