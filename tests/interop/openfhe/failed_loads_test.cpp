// A call that fails leaves the session as it was: whatever comes next is as if it had not been.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>

#include "hemera/arith/modulus.hpp"
#include "hemera/interop/openfhe.hpp"
#include "hemera/runtime/error.hpp"
#include "hemera/schemes/ckks.hpp"
#include "interop/openfhe/ciphertexts.hpp"
#include "interop/openfhe/clients.hpp"
#include "interop/openfhe/file.hpp"
#include "interop/openfhe/keys.hpp"
#include "interop/openfhe/vectors.hpp"
#include "test_device.hpp"

namespace hemera::interop::openfhe {
namespace {

using Bytes = std::vector<std::byte>;

// Files of a key pair, and what becomes of one by a change.
struct Files {
  Bytes public_key, relinearization, galois, secret, ciphertext;

  template <typename T, typename Change>
  static Bytes changed(const Bytes& file, const Change& change) {
    auto object = read_file<T>(file);
    change(object);
    return write_file(object, Format::binary);
  }
  [[nodiscard]] Bytes with_public_key(const std::function<void(PublicKeyObject&)>& change) const {
    return changed<PublicPointer>(public_key, [&](const PublicPointer& object) { change(*object); });
  }
  [[nodiscard]] Bytes with_powers(const std::function<void(MultiplicationKeys&)>& change) const {
    return changed<MultiplicationKeys>(relinearization, change);
  }
  [[nodiscard]] Bytes with_turns(const std::function<void(AutomorphismKeys&)>& change) const {
    return changed<AutomorphismKeys>(galois, change);
  }
  [[nodiscard]] Bytes with_secret(const std::function<void(PrivateKeyObject&)>& change) const {
    return changed<PrivatePointer>(secret, [&](const PrivatePointer& object) { change(*object); });
  }
  [[nodiscard]] Bytes with_ciphertext(const std::function<void(CiphertextObject&)>& change) const {
    return changed<CiphertextPointer>(ciphertext, [&](const CiphertextPointer& object) { change(*object); });
  }
  // The same objects of a pair with this tag.
  [[nodiscard]] Files tagged(const std::string& tag) const {
    return {.public_key = with_public_key([&](auto& object) { object.header.tag = tag; }),
            .relinearization = with_powers([&](auto& file) { file.entries[0].tag = tag; }),
            .galois = with_turns([&](auto& file) { file.entries[0].tag = tag; }),
            .secret = with_secret([&](auto& object) { object.header.tag = tag; }),
            .ciphertext = with_ciphertext([&](auto& object) { object.header.tag = tag; })};
  }
};

// The polynomial with one limb's root another.
void change_root(DcrtPolynomial& polynomial, std::size_t limb) {
  polynomial.parameters = std::make_shared<DcrtParameters>(*polynomial.parameters);
  auto prime = std::make_shared<NativeParameters>(*polynomial.parameters->primes.at(limb));
  prime->root = arith::Modulus(prime->modulus).power(prime->root, 3);
  polynomial.parameters->primes[limb] = polynomial.limbs[limb].parameters = prime;
}

void drop_limb(DcrtPolynomial& polynomial) {
  polynomial.parameters = std::make_shared<DcrtParameters>(*polynomial.parameters);
  polynomial.parameters->primes.pop_back();
  polynomial.limbs.pop_back();
}

struct Fault {
  std::string name;
  std::function<void(Session&)> call;
};

class OpenFheFailedLoads : public testing::Test {
 protected:
  OpenFheFailedLoads()
      : good{client.public_key, client.relinearization, client.galois, client.secret, client.ciphertext},
        stranger(good.tagged("another pair")) {}

  // All of these files are well-formed but one; each call fails at another place.
  [[nodiscard]] static std::vector<Fault> faults(const Files& files) {
    std::vector<Fault> list;
    const auto add_ciphertext = [&](const std::string& name,
                                    const std::function<void(CiphertextObject&)>& change) {
      const Bytes bad = files.with_ciphertext(change);
      list.push_back(
          {"load_ciphertext: " + name, [=](Session& session) { return session.load_ciphertext(bad); }});
      for (const bool is_first : {false, true}) {
        list.push_back(
            {"load_ciphertexts: " + name + (is_first ? ", first" : ", last"), [=](Session& session) {
               const Bytes& good = files.ciphertext;
               const auto sources =
                   is_first ? std::vector<Source>{bad, good, good} : std::vector<Source>{good, good, bad};
               static_cast<void>(session.load_ciphertexts(sources));
             }});
      }
      list.push_back({"import_ciphertext: " + name, [=](Session& session) {
                        const auto object = read_file<CiphertextPointer>(bad);
                        static_cast<void>(session.import_ciphertext(view_of(*object)));
                      }});
    };
    add_ciphertext("encoding", [](auto& object) { object.encoding = EncodingType::coefficients; });
    add_ciphertext("slots", [](auto& object) { object.slots = 3; });
    add_ciphertext("scale", [](auto& object) { object.scaling_factor = 0; });
    add_ciphertext("degree", [](auto& object) { object.noise_scale_degree = 256; });
    add_ciphertext("no components", [](auto& object) { object.components.clear(); });
    add_ciphertext("one component", [](auto& object) { object.components.resize(1); });
    add_ciphertext("other levels", [](auto& object) { drop_limb(object.components.back()); });
    add_ciphertext("a root of the first limb", [](auto& object) { change_root(object.components[0], 0); });
    add_ciphertext("a root of the last limb", [](auto& object) {
      change_root(object.components.back(), object.components.back().limbs.size() - 1);
    });
    list.push_back(
        {"load_ciphertexts: another pair's last", [=](Session& session) {
           const Bytes other =
               files.with_ciphertext([](auto& object) { object.header.tag += "'s neighbour"; });
           static_cast<void>(session.load_ciphertexts(std::vector<Source>{files.ciphertext, other}));
         }});
    list.push_back(
        {"load_ciphertexts: another level's last", [=](Session& session) {
           const Bytes other = files.with_ciphertext([](auto& object) {
             for (DcrtPolynomial& component : object.components) drop_limb(component);
           });
           static_cast<void>(session.load_ciphertexts(std::vector<Source>{files.ciphertext, other}));
         }});
    list.push_back({"import_ciphertext: a residue", [=](Session& session) {
                      const auto object = read_file<CiphertextPointer>(files.ciphertext);
                      NativePolynomial& limb = object->components.back().limbs.back();
                      limb.words.back() = limb.modulus;
                      static_cast<void>(session.import_ciphertext(view_of(*object)));
                    }});

    const auto add_secret = [&](const std::string& name,
                                const std::function<void(PrivateKeyObject&)>& change) {
      const Bytes bad = files.with_secret(change);
      list.push_back(
          {"load_secret_key: " + name, [=](Session& session) { return session.load_secret_key(bad); }});
    };
    add_secret("two secrets", [](auto& object) { object.polynomial.limbs.back().words.back() ^= 1; });
    add_secret("few limbs", [](auto& object) { drop_limb(object.polynomial); });
    add_secret("large values", [](auto& object) {
      for (NativePolynomial& limb : object.polynomial.limbs) limb.words.assign(limb.words.size(), 128);
    });
    add_secret("a root", [](auto& object) { change_root(object.polynomial, 0); });

    // Each kind of key by itself, and beside good ones of the other kinds.
    const auto add_keys = [&](const std::string& name, const Bytes* public_key, const Bytes* powers,
                              const Bytes* turns) {
      const auto sources = [=](const auto& chosen, const Bytes& good) {
        return Source(chosen ? *chosen : good);
      };
      const std::optional<Bytes> bad_public =
          public_key != nullptr ? std::optional(*public_key) : std::nullopt;
      const std::optional<Bytes> bad_powers = powers != nullptr ? std::optional(*powers) : std::nullopt;
      const std::optional<Bytes> bad_turns = turns != nullptr ? std::optional(*turns) : std::nullopt;
      list.push_back({"load_keys, all: " + name, [=](Session& session) {
                        session.load_keys({.public_key = sources(bad_public, files.public_key),
                                           .relinearization = sources(bad_powers, files.relinearization),
                                           .galois = sources(bad_turns, files.galois)});
                      }});
      list.push_back({"load_keys, alone: " + name, [=](Session& session) {
                        KeySources alone;
                        if (bad_public) alone.public_key = Source(*bad_public);
                        if (bad_powers) alone.relinearization = Source(*bad_powers);
                        if (bad_turns) alone.galois = Source(*bad_turns);
                        session.load_keys(alone);
                      }});
    };
    const auto add_public_key = [&](const std::string& name, const auto& change) {
      const Bytes bad = files.with_public_key(change);
      add_keys("public key, " + name, &bad, nullptr, nullptr);
    };
    add_public_key("halves", [](auto& object) { object.polynomials.pop_back(); });
    add_public_key("limbs", [](auto& object) { drop_limb(object.polynomials.back()); });
    add_public_key("a root", [](auto& object) { change_root(object.polynomials.back(), 1); });
    const auto add_powers = [&](const std::string& name, const auto& change) {
      const Bytes bad = files.with_powers(change);
      add_keys("powers, " + name, nullptr, &bad, nullptr);
    };
    add_powers("halves", [](auto& file) { file.entries[0].keys.back()->b.pop_back(); });
    add_powers("no digits", [](auto& file) {
      file.entries[0].keys.back()->a.clear();
      file.entries[0].keys.back()->b.clear();
    });
    add_powers("a root", [](auto& file) { change_root(file.entries[0].keys.back()->b.back(), 0); });
    add_powers("the second", [](auto& file) {
      auto second = std::make_shared<EvaluationKeyObject>(*file.entries[0].keys[0]);
      second->a.pop_back();
      file.entries[0].keys.push_back(second);
    });
    add_powers("another context's second", [](auto& file) {
      auto second = std::make_shared<EvaluationKeyObject>(*file.entries[0].keys[0]);
      second->header.context = test::copy_of(*second->header.context);
      ++second->header.context->parameters->digits;
      file.entries[0].keys.push_back(second);
    });
    add_powers("another pair's second", [](auto& file) { file.entries.push_back({"yet another", {}}); });
    const auto add_turns = [&](const std::string& name, const auto& change) {
      const Bytes bad = files.with_turns(change);
      add_keys("turns, " + name, nullptr, nullptr, &bad);
    };
    add_turns("index", [](auto& file) { file.entries[0].keys->list.back().index = 4; });
    add_turns("halves", [](auto& file) { file.entries[0].keys->list.back().key->a.pop_back(); });
    add_turns("a root", [](auto& file) { change_root(file.entries[0].keys->list.back().key->a[0], 0); });
    add_turns("another context's last", [](auto& file) {
      auto& header = file.entries[0].keys->list.back().key->header;
      header.context = test::copy_of(*header.context);
      ++header.context->parameters->digits;
    });
    add_turns("another pair's second", [](auto& file) {
      file.entries.push_back({"yet another", std::make_shared<AutomorphismKeys::Keys>()});
    });
    // Well-formed files of several pairs, and of another kind.
    const Bytes other_public = files.with_public_key([](auto& object) { object.header.tag += "x"; });
    const Bytes other_powers = files.with_powers([](auto& file) { file.entries[0].tag += "x"; });
    const Bytes other_turns = files.with_turns([](auto& file) { file.entries[0].tag += "x"; });
    const auto add_mixed = [&](const std::string& name, const KeySources& sources,
                               const std::vector<std::shared_ptr<Bytes>>& kept) {
      list.push_back({"load_keys: " + name, [=](Session& session) {
                        static_cast<void>(kept);
                        session.load_keys(sources);
                      }});
    };
    const auto keep = [](const Bytes& file) { return std::make_shared<Bytes>(file); };
    const std::vector<std::shared_ptr<Bytes>> kept = {keep(files.public_key), keep(files.relinearization),
                                                      keep(files.galois),     keep(other_public),
                                                      keep(other_powers),     keep(other_turns)};
    add_mixed("two pairs, the first's public key",
              {.public_key = Source(*kept[0]), .relinearization = Source(*kept[4])}, kept);
    add_mixed(
        "two pairs, the first's public key and powers",
        {.public_key = Source(*kept[0]), .relinearization = Source(*kept[1]), .galois = Source(*kept[5])},
        kept);
    add_mixed(
        "two pairs, the second's powers",
        {.public_key = Source(*kept[0]), .relinearization = Source(*kept[4]), .galois = Source(*kept[2])},
        kept);
    add_mixed("kinds, public key", {.public_key = Source(*kept[1]), .galois = Source(*kept[2])}, kept);
    add_mixed("kinds, powers", {.public_key = Source(*kept[0]), .relinearization = Source(*kept[2])}, kept);
    add_mixed(
        "kinds, turns",
        {.public_key = Source(*kept[0]), .relinearization = Source(*kept[1]), .galois = Source(*kept[1])},
        kept);
    return list;
  }

  test::OtherClient client = test::newer_client();
  Files good, stranger;
};

// A new session knows no pair and has not settled its special primes: a failed call of another pair's, whose
// keys tell of the same primes, tells it nothing.
TEST_F(OpenFheFailedLoads, TellANewSessionNothing) {
  const Bytes file = write_file(client.context, Format::binary);
  const rlwe::SecretKey any = Session(client.galois, tests::device()).load_secret_key(client.secret);
  for (const Fault& fault : faults(stranger)) {
    SCOPED_TRACE(fault.name);
    Session session(file, tests::device());
    const auto context = session.context();
    EXPECT_THROW(fault.call(session), Error);
    EXPECT_EQ(session.context(), context);
    EXPECT_EQ(session.keys().public_key, nullptr);
    EXPECT_TRUE(session.keys().switching.empty());
    EXPECT_THROW(static_cast<void>(session.dump_keys(session.keys())), MismatchError);  // without a tag
    session.load_keys({.public_key = Source(good.public_key),
                       .relinearization = Source(good.relinearization),
                       .galois = Source(good.galois)});
    EXPECT_EQ(session.params().literal().special_primes, client.special);
    EXPECT_EQ(session.keys().switching.size(), 4U);
    ASSERT_NE(session.keys().public_key, nullptr);
    EXPECT_EQ(session.dump_keys(session.keys()).public_key, good.public_key);
    EXPECT_EQ(session.dump_ciphertext(session.load_ciphertext(good.ciphertext)), good.ciphertext);
    EXPECT_EQ(session.dump_secret_key(session.load_secret_key(good.secret)), good.secret);
  }
  static_cast<void>(any);
}

TEST_F(OpenFheFailedLoads, LeaveTheKeysOfASession) {
  Session session(write_file(client.context, Format::binary), tests::device());
  session.load_keys({.public_key = Source(good.public_key),
                     .relinearization = Source(good.relinearization),
                     .galois = Source(good.galois)});
  const auto context = session.context();
  const rlwe::EvaluationKeys before = session.keys();
  std::vector<Fault> calls = faults(good);
  for (Fault& fault : faults(stranger)) calls.push_back(std::move(fault));
  // Without a fault, but another pair's.
  const Files& files = stranger;
  calls.push_back({"public key", [&](Session& s) { s.load_keys({.public_key = Source(files.public_key)}); }});
  calls.push_back(
      {"powers", [&](Session& s) { s.load_keys({.relinearization = Source(files.relinearization)}); }});
  calls.push_back({"turns", [&](Session& s) { s.load_keys({.galois = Source(files.galois)}); }});
  calls.push_back({"ciphertext", [&](Session& s) { return s.load_ciphertext(files.ciphertext); }});
  calls.push_back({"secret", [&](Session& s) { return s.load_secret_key(files.secret); }});
  for (const Fault& fault : calls) {
    SCOPED_TRACE(fault.name);
    EXPECT_THROW(fault.call(session), Error);
    EXPECT_EQ(session.context(), context);
    EXPECT_EQ(session.keys().public_key, before.public_key);
    EXPECT_TRUE(session.keys().switching == before.switching);
  }
  EXPECT_EQ(session.dump_ciphertext(session.load_ciphertext(good.ciphertext)), good.ciphertext);
  EXPECT_EQ(session.dump_keys(session.keys()).public_key, good.public_key);
}

// Keys from memory: all or none, wherever the fault is.
TEST_F(OpenFheFailedLoads, OfKeysInMemoryAddNone) {
  Session session(client.galois, tests::device());
  const auto powers = read_file<MultiplicationKeys>(good.relinearization);
  const auto turns = read_file<AutomorphismKeys>(good.galois);
  const auto usual = [&]() -> EvaluationKeyObject& { return *powers.entries[0].keys[0]; };
  const SwitchingKeyView view = view_of(usual());
  SwitchingKeyView uneven = view;
  uneven.b.pop_back();
  for (const auto& views : {std::vector{uneven}, std::vector{uneven, view}, std::vector{view, uneven},
                            std::vector{view, uneven, view}, std::vector{view, SwitchingKeyView{}}}) {
    EXPECT_THROW(session.import_relinearization(views), FormatError);
    EXPECT_TRUE(session.keys().switching.empty());
  }
  for (const auto& [first, second] : {std::pair{view, uneven}, std::pair{uneven, view}}) {
    EXPECT_THROW(session.import_galois({{5, first}, {25, second}}), FormatError);
    EXPECT_TRUE(session.keys().switching.empty());
  }
  EXPECT_THROW(session.import_galois({{5, view}, {24, view}}), FormatError);
  EXPECT_THROW(session.import_galois({{5, view}, {8193, view}}), FormatError);
  EXPECT_TRUE(session.keys().switching.empty());
  // One residue, or one root, of any digit, half and limb.
  for (const bool is_residue : {true, false}) {
    for (auto* const half : {&usual().a, &usual().b}) {
      for (DcrtPolynomial& digit : *half) {
        for (std::size_t limb = 0; limb < digit.limbs.size(); ++limb) {
          const DcrtPolynomial before = digit;
          if (is_residue) {
            digit.limbs[limb].words.back() = digit.limbs[limb].modulus;
          } else {
            change_root(digit, limb);
          }
          const SwitchingKeyView bad = view_of(usual());
          const auto import_powers = [&] { session.import_relinearization(std::vector{view_of(usual())}); };
          const auto import_turns = [&] { session.import_galois({{25, bad}}); };
          if (is_residue) {
            EXPECT_THROW(import_powers(), FormatError) << limb;
            EXPECT_THROW(import_turns(), FormatError) << limb;
          } else {
            EXPECT_THROW(import_powers(), MismatchError) << limb;
            EXPECT_THROW(import_turns(), MismatchError) << limb;
          }
          EXPECT_TRUE(session.keys().switching.empty());
          digit = before;
        }
      }
    }
  }
  const SwitchingKeyView again = view_of(usual());
  session.import_relinearization(std::span(&again, 1));
  session.import_galois({{25, again}});
  EXPECT_EQ(session.keys().switching.size(), 2U);
}

}  // namespace
}  // namespace hemera::interop::openfhe
