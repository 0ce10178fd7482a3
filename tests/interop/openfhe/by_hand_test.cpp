// Files made by hand: what OpenFHE never writes is refused, and what it may write is read.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <variant>

#include "hemera/interop/openfhe.hpp"
#include "hemera/rlwe/encryption.hpp"
#include "hemera/rlwe/keys.hpp"
#include "hemera/runtime/error.hpp"
#include "interop/openfhe/clients.hpp"
#include "interop/openfhe/file.hpp"
#include "interop/openfhe/vectors.hpp"
#include "test_device.hpp"

namespace hemera::interop::openfhe {
namespace {

using Bytes = std::vector<std::byte>;
using Json = nlohmann::json;

constexpr std::array formats = {Format::binary, Format::json};

Bytes bytes_of(const Json& json) {
  const std::string text = json.dump();
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// A file of each kind, of one client.
std::vector<std::pair<std::string, Bytes>> files_of_all_kinds() {
  const std::string folder = "ckks-flexibleauto";
  std::vector<std::pair<std::string, Bytes>> files;
  for (const char* const name :
       {"cryptocontext", "ct_a", "secret_key", "eval_mult_key", "eval_automorphism_keys"}) {
    files.emplace_back(name, test::get(folder, std::string(name) + ".bin"));
  }
  Session session(test::get(folder, "secret_key.bin"), tests::device());
  rlwe::EvaluationKeys keys{.context = session.context(), .public_key = nullptr, .switching = {}};
  keys.public_key = std::make_shared<const rlwe::PublicKey>(
      rlwe::generate_public_key(session.load_secret_key(test::get(folder, "secret_key.bin"))));
  files.emplace_back("public_key", *session.dump_keys(keys).public_key);
  return files;
}

// The bytes that a file is written as that is read with its kind unknown.
Bytes rewritten(const Bytes& file, Format format) {
  AnyFile any = read_any_file(file);
  return std::visit([&](auto& object) { return write_file(object, format); }, any);
}

// Reads a file as the kind of `like`.
void read_as(const AnyFile& like, const Bytes& file) {
  std::visit([&](const auto& sample) { read_file<std::decay_t<decltype(sample)>>(file); }, like);
}

TEST(OpenFheByHand, BytesAfterAnObjectAreRefused) {
  auto files = files_of_all_kinds();
  files.emplace_back("bootstraps", test::get("ckks-bootstrap-context", "cryptocontext.bin"));
  files.emplace_back("bootstraps of 1.4", test::get_of_version("1.4.2/bootstrap", "cryptocontext.bin"));
  for (const auto& [name, file] : files) {
    const AnyFile kind = read_any_file(file);
    for (const std::size_t count : {1U, 2U, 3U, 4U, 5U, 7U, 8U, 9U}) {
      for (const std::byte byte : {std::byte{0}, std::byte{1}, std::byte{255}}) {
        Bytes longer = file;
        longer.insert(longer.end(), count, byte);
        EXPECT_THROW(static_cast<void>(read_any_file(longer)), FormatError) << name << " " << count;
        EXPECT_THROW(read_as(kind, longer), FormatError) << name << " " << count;
      }
    }
    // White space is nothing in JSON; all else is.
    Bytes text = rewritten(file, Format::json);
    text.push_back(std::byte{'\n'});
    EXPECT_EQ(rewritten(text, Format::binary), rewritten(file, Format::binary)) << name;
    for (const char end : {'}', ',', '0', '\0', '{'}) {
      Bytes longer = text;
      longer.push_back(static_cast<std::byte>(end));
      EXPECT_THROW(read_as(kind, longer), FormatError) << name << " " << end;
    }
    Json more = test::parsed(text);
    more["value1"] = 0;
    EXPECT_THROW(read_as(kind, bytes_of(more)), FormatError) << name;
  }
}

// A kind is found by trying all: what was tried before must leave nothing behind, in JSON as in binary.
TEST(OpenFheByHand, SessionsKeepTheContextOfEveryKindOfFile) {
  const Bytes context = test::get("ckks-flexibleauto", "cryptocontext.bin");
  ASSERT_FALSE(test::context_of("ckks-flexibleauto")->parameters->elements->modulus.words.empty());
  for (const auto& [name, file] : files_of_all_kinds()) {
    for (const Format format : formats) {
      const Bytes source = rewritten(file, format);
      EXPECT_TRUE(rewritten(source, Format::binary) == file) << name;
      const Session session(source, tests::device());
      EXPECT_EQ(session.dump_context(), context) << name;
      EXPECT_EQ(session.dump_context(Format::json), rewritten(context, Format::json)) << name;
    }
  }
}

// --- Texts. ---

struct Tagged {
  const char* name;
  Json::json_pointer place;  // of the tag in JSON
  std::function<Bytes(const std::string&, Format)> write;
  std::function<std::string(const Bytes&)> read;
};

std::vector<Tagged> tagged_files() {
  const ContextPointer context = test::context_of("bgv");
  const auto header = [=](const std::string& tag) { return CryptoObject{context, tag}; };
  const auto single = [=](const auto& kind) {
    using Pointer = std::decay_t<decltype(kind)>;
    return std::pair(
        [=](const std::string& tag, Format format) {
          auto object = std::make_shared<typename Pointer::element_type>();
          object->header = header(tag);
          if constexpr (std::is_same_v<Pointer, PrivatePointer>) {
            object->polynomial = read_file<PrivatePointer>(test::get("bgv", "secret_key.bin"))->polynomial;
          }
          return write_file(object, format);
        },
        [](const Bytes& file) { return read_file<Pointer>(file)->header.tag; });
  };
  const auto ciphertext = single(CiphertextPointer{});
  const auto public_key = single(PublicPointer{});
  const auto secret = single(PrivatePointer{});
  const Json::json_pointer of_key("/value0/ptr_wrapper/data/value0/value0/kt");
  return {
      {"ciphertext", Json::json_pointer("/value0/ptr_wrapper/data/value0/kt"), ciphertext.first,
       ciphertext.second},
      {"public key", of_key, public_key.first, public_key.second},
      {"secret key", of_key, secret.first, secret.second},
      {"relinearization keys", Json::json_pointer("/value0/0/key"),
       [](const std::string& tag, Format format) {
         MultiplicationKeys keys;
         keys.entries.push_back({tag, {}});
         return write_file(keys, format);
       },
       [](const Bytes& file) { return read_file<MultiplicationKeys>(file).entries.at(0).tag; }},
      {"Galois keys", Json::json_pointer("/value0/0/key"),
       [](const std::string& tag, Format format) {
         AutomorphismKeys keys;
         keys.entries.push_back({tag, std::make_shared<AutomorphismKeys::Keys>()});
         return write_file(keys, format);
       },
       [](const Bytes& file) { return read_file<AutomorphismKeys>(file).entries.at(0).tag; }},
  };
}

TEST(OpenFheByHand, TagsOfAllCharactersAreKept) {
  std::vector<std::string> tags = {"",        "\"", "\\",      "a\\\"b",
                                   "\\u0041", "\n", "\"},{\"", "key \xC3\xA9\xE2\x82\xAC"};
  std::string all;
  for (int code = 0; code < 128; ++code) all.push_back(static_cast<char>(code));
  tags.push_back(all);
  tags.emplace_back(1024, 'x');
  for (const Tagged& tested : tagged_files()) {
    for (const std::string& tag : tags) {
      for (const Format format : formats)
        EXPECT_EQ(tested.read(tested.write(tag, format)), tag) << tested.name;
      // As another reader of JSON has it.
      EXPECT_EQ(test::parsed(tested.write(tag, Format::json)).at(tested.place).get<std::string>(), tag)
          << tested.name;
    }
    const std::string longer(1025, 'x');
    for (const Format format : formats) {
      EXPECT_THROW(static_cast<void>(tested.read(tested.write(longer, format))), FormatError) << tested.name;
    }
    // Bytes that are no text.
    for (const char* const bytes : {"\xFF", "a\xC3", "\x80z"}) {
      EXPECT_EQ(tested.read(tested.write(bytes, Format::binary)), bytes) << tested.name;
      EXPECT_THROW(static_cast<void>(tested.write(bytes, Format::json)), MismatchError) << tested.name;
    }
  }
}

// --- Numbers of JSON. ---

TEST(OpenFheByHand, NumbersOfJsonAreReadOrRefusedWhole) {
  const Json original =
      test::parsed(test::written(read_file<CiphertextPointer>(test::get("bgv", "ct_a.bin")), Format::json));
  const auto load = [&](const char* field, const char* number) {
    Json changed = original;
    changed.at("value0").at("ptr_wrapper").at("data").at(field) = Json::parse(number);
    return read_file<CiphertextPointer>(bytes_of(changed));
  };
  // 32 bits with a sign. 18446744073709551615 is no -1.
  for (const char* const number :
       {"18446744073709551615", "18446744071562067968", "9223372036854775808", "9223372036854775807",
        "4294967295", "4294967296", "2147483648", "-2147483649", "-4294967295", "-9223372036854775808", "2.0",
        "true", "\"2\"", "[2]", "{}", "[]"}) {
    EXPECT_THROW(static_cast<void>(load("e", number)), FormatError) << number;
  }
  for (const std::int64_t number : {2147483647L, -2147483648L, 0L, -1L, 1L}) {
    EXPECT_EQ(static_cast<std::int64_t>(load("e", std::to_string(number).c_str())->encoding), number);
  }
  // 32 bits without.
  for (const char* const number : {"4294967296", "18446744073709551615", "-1", "1.0", "false", "\"1\""}) {
    for (const char* const field : {"sl", "l", "t", "d"}) {
      EXPECT_THROW(static_cast<void>(load(field, number)), FormatError) << field << number;
    }
  }
  EXPECT_EQ(load("sl", "4294967295")->slots, 4294967295U);
  EXPECT_EQ(load("t", "4294967295")->hop_level, 4294967295U);
  EXPECT_EQ(load("d", "0")->noise_scale_degree, 0U);
  // Doubles, which may be written as integers.
  EXPECT_EQ(load("s", "3")->scaling_factor, 3.0);
  EXPECT_EQ(load("s", "-3")->scaling_factor, -3.0);
  EXPECT_EQ(load("s", "18446744073709551615")->scaling_factor, 0x1p64);
  EXPECT_EQ(load("s", "1.5e300")->scaling_factor, 1.5e300);
  for (const char* const number : {"true", "\"1\"", "[]", "{}"}) {
    EXPECT_THROW(static_cast<void>(load("s", number)), FormatError) << number;
  }
  // Texts.
  Json numbered = original;
  numbered.at("value0").at("ptr_wrapper").at("data").at("value0").at("kt") = 7;
  EXPECT_THROW(static_cast<void>(read_file<CiphertextPointer>(bytes_of(numbered))), FormatError);
}

// --- Pointers. ---

TEST(OpenFheByHand, PointersToNothingAreRefused) {
  const auto expect_refused = [](const char* what, const auto& object) {
    for (const Format format : formats) {
      const Bytes file = test::written(object, format);
      EXPECT_THROW(static_cast<void>(read_file<std::decay_t<decltype(object)>>(file)), FormatError) << what;
      EXPECT_THROW(static_cast<void>(read_any_file(file)), FormatError) << what;
    }
  };
  const std::vector<std::pair<const char*, std::function<void(CryptoContext&)>>> in_contexts = {
      {"parameters", [](CryptoContext& c) { c.parameters.reset(); }},
      {"scheme", [](CryptoContext& c) { c.scheme.reset(); }},
      {"elements", [](CryptoContext& c) { c.parameters->elements.reset(); }},
      {"encoding", [](CryptoContext& c) { c.parameters->encoding.reset(); }},
  };
  const auto ciphertext = [] { return read_file<CiphertextPointer>(test::get("bgv", "a_mod_reduced.bin")); };
  for (const auto& [name, change] : in_contexts) {
    const ContextPointer context = test::copy_of(*test::context_of("bgv"));
    change(*context);
    expect_refused(name, context);
    auto object = ciphertext();
    object->header.context = context;
    expect_refused(name, object);
  }
  auto object = ciphertext();
  object->header.context.reset();
  expect_refused("a ciphertext's context", object);
  for (const std::size_t component : {0U, 1U}) {
    object = ciphertext();
    object->components[component].parameters.reset();
    expect_refused("a base", object);
    for (std::size_t limb = 0; limb < object->components[component].limbs.size(); ++limb) {
      object = ciphertext();
      object->components[component].limbs[limb].parameters.reset();
      expect_refused("a limb's prime", object);
    }
  }
  auto public_key = std::make_shared<PublicKeyObject>();
  expect_refused("a public key's context", public_key);
  auto secret = read_file<PrivatePointer>(test::get("bgv", "secret_key.bin"));
  secret->header.context.reset();
  expect_refused("a secret key's context", secret);

  const CryptoObject header{test::context_of("bgv"), "tag"};
  const auto key = std::make_shared<EvaluationKeyObject>();
  key->header = header;
  const auto lost = std::make_shared<EvaluationKeyObject>();
  expect_refused("a key's context", MultiplicationKeys{{{"a", {key, lost}}}});
  const auto keys_of = [&](std::vector<AutomorphismKeys::Key> list) {
    return std::make_shared<AutomorphismKeys::Keys>(AutomorphismKeys::Keys{std::move(list)});
  };
  expect_refused("an automorphism's context", AutomorphismKeys{{{"a", keys_of({{5, lost}})}}});

  // Objects that the writers refuse, in texts, where they are added behind all objects that are referred to.
  const Json none = {{"polymorphic_id", 0}}, no_map = {{"ptr_wrapper", {{"id", 0}}}};
  const auto expect_none = [](const char* what, const auto& kind, const Json& json) {
    const Bytes file = bytes_of(json);
    EXPECT_THROW(static_cast<void>(read_file<std::decay_t<decltype(kind)>>(file)), FormatError) << what;
    EXPECT_THROW(static_cast<void>(read_any_file(file)), FormatError) << what;
    EXPECT_THROW(Session(file, tests::device()), FormatError) << what;
  };
  expect_none("a whole context", ContextPointer{}, {{"value0", none}});
  expect_none("a whole ciphertext", CiphertextPointer{}, {{"value0", none}});
  expect_none("a whole public key", PublicPointer{}, {{"value0", none}});
  expect_none("a whole secret key", PrivatePointer{}, {{"value0", none}});
  Json context = test::parsed(test::written(test::context_of("bgv"), Format::json));
  Json& primes = context.at(Json::json_pointer(
      "/value0/ptr_wrapper/data/cc/ptr_wrapper/data/value0/value0/value0/elp/ptr_wrapper/data/p"));
  ASSERT_EQ(primes.size(), 3U);
  primes.push_back(none);
  expect_none("a prime", ContextPointer{}, context);
  const auto entry = [](const char* tag, const Json& value) { return Json{{"key", tag}, {"value", value}}; };
  const Json powers = test::parsed(test::written(MultiplicationKeys{{{"a", {key}}}}, Format::json));
  const Json turns =
      test::parsed(test::written(AutomorphismKeys{{{"a", keys_of({{5, key}})}}}, Format::json));
  const auto with_entry = [](Json json, const Json& added) {
    json.at("value0").push_back(added);
    return json;
  };
  ASSERT_NO_THROW(static_cast<void>(
      read_file<MultiplicationKeys>(bytes_of(with_entry(powers, entry("b", Json::array()))))));
  expect_none("the first power", MultiplicationKeys{}, {{"value0", {entry("a", {none})}}});
  expect_none("a power of a second pair", MultiplicationKeys{}, with_entry(powers, entry("b", {none})));
  Json second = powers;
  second.at("value0").at(0).at("value").push_back(none);
  expect_none("a second power", MultiplicationKeys{}, second);
  expect_none("the first map", AutomorphismKeys{}, {{"value0", {entry("a", no_map)}}});
  expect_none("a second map", AutomorphismKeys{}, with_entry(turns, entry("b", no_map)));
  Json more = turns;
  more.at(Json::json_pointer("/value0/0/value/ptr_wrapper/data")).push_back({{"key", 25}, {"value", none}});
  expect_none("an automorphism", AutomorphismKeys{}, more);
  // A map with a tag of one letter and nothing else, in bytes.
  Bytes map = {std::byte{1}};
  for (const unsigned count : {1U, 1U}) {
    map.push_back(static_cast<std::byte>(count));
    map.insert(map.end(), 7, std::byte{0});
  }
  map.push_back(std::byte{'a'});
  map.insert(map.end(), 4, std::byte{0});
  EXPECT_THROW(static_cast<void>(read_file<AutomorphismKeys>(map)), FormatError);
  Session session(test::get("bgv", "cryptocontext.bin"), tests::device());
  EXPECT_THROW(session.load_keys({.galois = Source(map)}), FormatError);
}

// Schemes without bootstrapping and switching, and ciphertexts without metadata, have none of these.
TEST(OpenFheByHand, PointersThatMayBeNullAreKept) {
  const ContextPointer context = test::copy_of(*test::context_of("ckks-bootstrap"));
  context->scheme->fhe = std::make_shared<FheObject>(*context->scheme->fhe);
  ASSERT_EQ(context->scheme->switching, nullptr);
  ASSERT_FALSE(context->scheme->fhe->settings.empty());
  const std::uint32_t slots = context->scheme->fhe->settings[0].slots;
  context->scheme->fhe->settings.push_back({2 * slots, nullptr});
  for (const Format format : formats) {
    const Session session(test::written(context, format), tests::device());
    EXPECT_EQ(session.dump_context(), test::written(context));
    EXPECT_EQ(session.bootstrap_input_levels().size(), 1U);
    const auto again = read_file<ContextPointer>(session.dump_context());
    EXPECT_EQ(again->scheme->fhe->settings.at(1).slots, 2 * slots);
    EXPECT_EQ(again->scheme->fhe->settings.at(1).settings, nullptr);
    const rlwe::Ciphertext x = rlwe::encrypt_zero(
        rlwe::generate_secret_key(session.context()),
        {.level = 1, .scale = session.params().rescaling().scales[1].scale, .slots = 2 * slots});
    EXPECT_THROW(static_cast<void>(session.bootstrap(x)), ParameterError);
  }
  context->scheme->fhe.reset();
  const Session without(test::written(context), tests::device());
  EXPECT_TRUE(without.bootstrap_input_levels().empty());
  EXPECT_EQ(without.dump_context(), test::written(context));
  const Session session(test::get("bgv", "cryptocontext.bin"), tests::device());
  auto object = read_file<CiphertextPointer>(test::get("bgv", "ct_a.bin"));
  object->metadata.reset();
  for (const Format format : formats) {
    EXPECT_EQ(session.dump_ciphertext(session.load_ciphertext(test::written(object, format))),
              test::get("bgv", "ct_a.bin"));
  }
}

// --- Maps. ---

TEST(OpenFheByHand, MapsHaveEachKeyOnce) {
  const Bytes context = test::get("ckks-flexibleauto", "cryptocontext.bin");
  const auto powers = read_file<MultiplicationKeys>(test::get("ckks-flexibleauto", "eval_mult_key.bin"));
  const auto turns =
      read_file<AutomorphismKeys>(test::get("ckks-flexibleauto", "eval_automorphism_keys.bin"));
  const std::string tag = powers.entries.at(0).tag;
  const auto key = turns.entries.at(0).keys->list.at(0).key;
  using Keys = AutomorphismKeys::Keys;
  const auto keys_of = [&](std::vector<std::uint32_t> indices) {
    auto keys = std::make_shared<Keys>();
    for (const std::uint32_t index : indices) keys->list.push_back({index, key});
    return keys;
  };
  const auto load = [&](const auto& file, Format format) {
    Session session(context, tests::device());
    const Bytes bytes = test::written(file, format);
    const auto expect_empty = [&] {
      EXPECT_TRUE(session.keys().switching.empty());
      EXPECT_THROW(static_cast<void>(session.dump_keys({.context = session.context()})), MismatchError);
    };
    try {
      if constexpr (std::is_same_v<std::decay_t<decltype(file)>, MultiplicationKeys>) {
        session.load_keys({.relinearization = Source(bytes)});
      } else {
        session.load_keys({.galois = Source(bytes)});
      }
    } catch (const Error&) {
      expect_empty();
      throw;
    }
    return session.keys().switching.size();
  };
  for (const Format format : formats) {
    const auto shared = keys_of({5});
    // One object that two entries refer to, and two objects.
    for (const auto& second : {shared, keys_of({25}), keys_of({5}), keys_of({})}) {
      EXPECT_THROW(load(AutomorphismKeys{{{tag, shared}, {tag, second}}}, format), FormatError);
      EXPECT_THROW(load(AutomorphismKeys{{{tag, second}, {tag, shared}}}, format), FormatError);
      // Another pair's.
      EXPECT_THROW(load(AutomorphismKeys{{{tag, shared}, {tag + "x", second}}}, format), MismatchError);
      EXPECT_THROW(load(AutomorphismKeys{{{tag + "x", shared}, {tag, second}}}, format), MismatchError);
    }
    EXPECT_THROW(load(AutomorphismKeys{{{tag, shared}, {tag + "x", shared}, {tag, shared}}}, format),
                 FormatError);
    EXPECT_THROW(load(AutomorphismKeys{{{tag, keys_of({5, 5})}}}, format), FormatError);
    EXPECT_THROW(load(AutomorphismKeys{{{tag, keys_of({5, 25, 5})}}}, format), FormatError);
    EXPECT_THROW(load(AutomorphismKeys{{{tag, keys_of({25, 5, 5, 1})}}}, format), FormatError);
    // One key object for two indices is two keys, in any order of them.
    EXPECT_EQ(load(AutomorphismKeys{{{tag, keys_of({25, 5})}}}, format), 2U);
    EXPECT_EQ(load(AutomorphismKeys{{{tag, keys_of({5, 25, 125})}}}, format), 3U);

    const auto power = powers.entries[0].keys;
    EXPECT_THROW(load(MultiplicationKeys{{{tag, power}, {tag, power}}}, format), FormatError);
    EXPECT_THROW(load(MultiplicationKeys{{{tag, power}, {tag, {}}}}, format), FormatError);
    EXPECT_THROW(load(MultiplicationKeys{{{tag, power}, {tag + "x", power}}}, format), MismatchError);
    EXPECT_THROW(load(MultiplicationKeys{{{tag + "x", {}}, {tag, power}}}, format), MismatchError);
    EXPECT_EQ(load(MultiplicationKeys{{{tag, {power[0], power[0]}}}}, format), 2U);  // s^2 and s^3
  }
}

// --- Settings of bootstrapping. ---

TEST(OpenFheByHand, ContextsAreSetUpForManyNumbersOfSlots) {
  const auto with_settings = [](std::size_t count) {
    const ContextPointer context = test::copy_of(*test::context_of("ckks-bootstrap"));
    context->scheme->fhe = std::make_shared<FheObject>(*context->scheme->fhe);
    auto& list = context->scheme->fhe->settings;
    list.clear();
    for (std::uint32_t i = 0; i < count; ++i) {
      auto settings = std::make_shared<BootstrapSettings>();
      *settings = {.baby_steps_encode = 10 + i,
                   .baby_steps_decode = 20 + i,
                   .slots = 2 + i,
                   .budget_encode = 3 + i,
                   .budget_decode = 4 + i,
                   .encodes_slots = i % 3 == 0};
      list.push_back({2 + i, settings});
    }
    return context;
  };
  for (const std::size_t count : {0U, 1U, 2U, 3U, 4U, 9U, 63U, 64U}) {
    const ContextPointer context = with_settings(count);
    for (const Format format : formats) {
      const Session session(test::written(context, format), tests::device());
      EXPECT_EQ(session.dump_context(), test::written(context)) << count;
      const auto levels = session.bootstrap_input_levels();
      ASSERT_EQ(levels.size(), count);
      for (std::uint32_t i = 0; i < count; ++i) EXPECT_EQ(levels.at(2 + i), i % 3 == 0 ? 4 + i : 1) << i;
      const auto again = read_file<ContextPointer>(session.dump_context(format));
      ASSERT_EQ(again->scheme->fhe->settings.size(), count);
      for (std::uint32_t i = 0; i < count; ++i) {
        const BootstrapSettings& settings = *again->scheme->fhe->settings[i].settings;
        EXPECT_EQ(again->scheme->fhe->settings[i].slots, 2 + i);
        EXPECT_EQ(settings.baby_steps_encode, 10 + i);
        EXPECT_EQ(settings.baby_steps_decode, 20 + i);
        EXPECT_EQ(settings.slots, 2 + i);
        EXPECT_EQ(settings.budget_encode, 3 + i);
        EXPECT_EQ(settings.budget_decode, 4 + i);
        EXPECT_EQ(settings.encodes_slots, i % 3 == 0);
      }
      EXPECT_EQ(again->scheme->fhe->correction_factor, context->scheme->fhe->correction_factor);
    }
  }
  Json json = test::parsed(test::written(with_settings(63), Format::json));
  for (const std::uint32_t count : {64U, 65U}) {
    json.at(Json::json_pointer(
                "/value0/ptr_wrapper/data/kt/ptr_wrapper/data/value0/value0/fhe/ptr_wrapper/data/paramMap"))
        .push_back({{"key", 100 + count}, {"value", {{"polymorphic_id", 0}}}});
    if (count == 64) {
      EXPECT_EQ(read_file<ContextPointer>(bytes_of(json))->scheme->fhe->settings.size(), 64U);
    } else {
      EXPECT_THROW(static_cast<void>(read_file<ContextPointer>(bytes_of(json))), FormatError);
    }
  }
  // BGV has none.
  const ContextPointer bgv = test::copy_of(*test::context_of("bgv"));
  bgv->scheme->fhe = with_settings(3)->scheme->fhe;
  const Session session(test::written(bgv), tests::device());
  EXPECT_TRUE(session.bootstrap_input_levels().empty());
  rlwe::Ciphertext x = rlwe::encrypt_zero(rlwe::generate_secret_key(session.context()),
                                          {.level = 1, .slots = session.context()->degree()});
  x.meta.slots = 2;
  EXPECT_THROW(static_cast<void>(session.bootstrap(x)), ParameterError);
  // An entry whose settings are for other slots is none for either.
  const ContextPointer context = with_settings(3);
  context->scheme->fhe->settings[1].slots = 32;
  const auto levels = Session(test::written(context), tests::device()).bootstrap_input_levels();
  EXPECT_EQ(levels, (std::map<std::size_t, std::size_t>{{2, 4}, {4, 1}}));
}

}  // namespace
}  // namespace hemera::interop::openfhe
