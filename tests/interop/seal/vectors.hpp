// The files of tests/vectors/seal, and what values.json says of them.
#pragma once

#include <boost/property_tree/ptree.hpp>
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "hemera/interop/seal.hpp"

namespace hemera::interop::seal::test {

inline constexpr const char* schemes[] = {"bfv", "bgv", "ckks"};

/// tests/vectors/seal, or the folder that HEMERA_SEAL_VECTORS names.
std::filesystem::path root();

/// One folder of the vectors, opened as a session on the tests' device.
class Vectors {
 public:
  explicit Vectors(const std::string& scheme);

  [[nodiscard]] const Session& session() const { return *session_; }
  [[nodiscard]] Session& session() { return *session_; }
  [[nodiscard]] const rlwe::SecretKey& secret() const { return secret_; }
  [[nodiscard]] bool is_ckks() const { return scheme_ == "ckks"; }
  [[nodiscard]] const std::string& scheme() const { return scheme_; }
  [[nodiscard]] const boost::property_tree::ptree& values() const { return values_; }
  [[nodiscard]] Options options() const;

  [[nodiscard]] std::vector<std::byte> file(const std::string& name) const;
  /// The first of these files that is there; "" if none is.
  [[nodiscard]] std::string first_of(const std::vector<std::string>& names) const;
  /// The names of files that begin so.
  [[nodiscard]] std::vector<std::string> names(const std::string& begin = "") const;
  [[nodiscard]] rlwe::Ciphertext ciphertext(const std::string& begin) const;
  /// An operation's entry of values.json, by the file's name.
  [[nodiscard]] const boost::property_tree::ptree& entry(const std::string& name) const;

  /// All public, relinearization and Galois keys; those that there is no file of are generated.
  void load_keys();

  /// Expects the metadata and values of an entry.
  void expect(const rlwe::Ciphertext& ciphertext, const std::string& name) const;
  void expect_values(const rlwe::Plaintext& plaintext, const boost::property_tree::ptree& expected,
                     double tolerance) const;

 private:
  std::string scheme_;
  std::filesystem::path folder_;
  boost::property_tree::ptree values_;
  std::unique_ptr<Session> session_;
  rlwe::SecretKey secret_;
};

/// Four words in hexadecimal digits as the bytes in a file.
std::string parms_id(const boost::property_tree::ptree& words);

}  // namespace hemera::interop::seal::test
