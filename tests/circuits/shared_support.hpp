// What the tests of circuits over members share.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "circuits/matrix_support.hpp"
#include "hemera/rlwe/transfer.hpp"

namespace hemera::circuits {

/// A client, whose context is the first member, and further members, which copy its keys as they use them.
template <typename Plan, typename Prepared>
struct Members {
  Members(const Plan& plan, std::size_t count, bool relinearization)
      : session(plan.parameters(), plan, relinearization), own{session.client.context} {
    while (own.size() < count) own.push_back(tests::make_context(plan.parameters(), 1));
    for (const auto& context : own) {
      evaluators.push_back(
          std::make_unique<ckks::Evaluator>(context, rlwe::copied_on_use(context, session.evaluator.keys())));
      pointers.push_back(evaluators.back().get());
    }
  }

  MatrixSession<Plan, Prepared> session;
  std::vector<std::shared_ptr<const rlwe::Context>> own;
  std::vector<std::unique_ptr<ckks::Evaluator>> evaluators;
  std::vector<const ckks::Evaluator*> pointers;
};

}  // namespace hemera::circuits
