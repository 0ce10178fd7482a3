#include "circuits/rehearsal.hpp"

#include "hemera/circuits/counted_cost.hpp"

namespace hemera::circuits {

RehearsedRun rehearse(const rlwe::Parameters& parameters, const Rehearsal& rehearsal) {
  const auto context = rlwe::Context::make(parameters, runtime::Device::parse("ledger"), {.threads = 1});
  const std::size_t unbound = context->memory_used();
  const Rehearsal::Evaluation evaluation = rehearsal.bind(context);
  const std::size_t plaintext_bytes = context->memory_used() - unbound;

  std::vector<rlwe::Ciphertext> inputs;
  for (const rlwe::Metadata& meta : rehearsal.inputs) {
    inputs.push_back(rlwe::make_ciphertext(context, meta, 2));
  }
  std::vector<const rlwe::Ciphertext*> pointers;
  for (const rlwe::Ciphertext& input : inputs) pointers.push_back(&input);

  const rlwe::SecretKey secret = rlwe::generate_secret_key(context);
  const auto keys_for = [&](const std::vector<KeyNeed>& needs) {
    return ckks::Evaluator(context, generate_needed_keys(secret, needs));
  };
  // Constants of levels and of gadgets are made in the first run, and stay.
  RehearsedRun result;
  if (rehearsal.needs) {
    result.needs = *rehearsal.needs;
    evaluation(keys_for(result.needs), pointers);
  } else {
    rlwe::EvaluationKeys asking;
    asking.context = context;
    asking.asked = std::make_shared<rlwe::AskedKeys>(context, rehearsal.choice);
    evaluation(ckks::Evaluator(context, asking), pointers);
    result.needs = needs_of(*context, *asking.asked);
  }

  const ckks::Evaluator evaluator = keys_for(result.needs);
  context->ledger()->clear();
  const std::size_t before = context->memory_used();
  context->memory()->reset_peak();
  evaluation(evaluator, pointers);
  result.cost = counted_cost(*context, context->ledger()->entries());
  result.cost.plaintext_bytes = plaintext_bytes;
  result.cost.workspace_bytes = context->memory()->peak() - before;
  result.cost.key_bytes = key_bytes(parameters.degree(), result.needs);
  return result;
}

}  // namespace hemera::circuits
