// Copies in, out and within a device.
#include <algorithm>

#include "conformance/checked/operations.hpp"

namespace hemera::conformance::checked {

void Table::copies() {
  const RnsBase& q = plans.base;
  operations.push_back({"upload",
                        {{"output", q, batch, 2, any}},
                        [this](const auto& v, const Plans&, Workspace&) {
                          backend().upload(queue(), v[0], words, Form::coefficient);
                        },
                        false});
  operations.push_back({"download",
                        {{"input", q, batch, 2, any}},
                        [this](const auto& v, const Plans&, Workspace&) {
                          backend().download(queue(), words, v[0], Form::coefficient);
                          queue().synchronize();
                        },
                        false});
  operations.push_back({"upload_rows",
                        {{"output", q, batch, 2, wrong_degree | word}},
                        [this](const auto& v, const Plans&, Workspace&) {
                          backend().upload_rows(queue(), v[0], Form::coefficient,
                                                [](std::size_t, std::span<std::uint64_t> rows) {
                                                  std::fill(rows.begin(), rows.end(), 0);
                                                });
                        },
                        false});
  operations.push_back({"download_rows",
                        {{"input", q, batch, 2, wrong_degree | word}},
                        [this](const auto& v, const Plans&, Workspace&) {
                          backend().download_rows(queue(), v[0], Form::coefficient,
                                                  [](std::size_t, std::span<const std::uint64_t>) {});
                        },
                        false});
  operations.push_back(
      {"upload_values",
       {},
       [this](const auto&, const Plans&, Workspace&) {
         backend().upload_values(queue(), bytes(64), std::as_bytes(std::span(words).first(8)));
       },
       false,
       {{"other sizes", [this](const auto&, Workspace&) {
           backend().upload_values(queue(), bytes(64), std::as_bytes(std::span(words).first(9)));
         }}}});
  operations.push_back(
      {"download_values",
       {},
       [this](const auto&, const Plans&, Workspace&) {
         backend().download_values(queue(), std::as_writable_bytes(std::span(words).first(8)), bytes(64));
         queue().synchronize();
       },
       false,
       {{"other sizes", [this](const auto&, Workspace&) {
           backend().download_values(queue(), std::as_writable_bytes(std::span(words).first(8)), bytes(72));
         }}}});
  operations.push_back({"download_pieces",
                        {},
                        [this](const auto&, const Plans&, Workspace&) {
                          backend().download_pieces(
                              queue(), bytes(64),
                              {.bytes = 8, .make = [](std::size_t) {}, .take = [](std::size_t, auto) {}});
                        },
                        false});
  operations.push_back(
      {"copy",
       {{"output", q, batch, 2, of_stored}, {"input", q, batch, 2, of_stored}},
       [this](const auto& v, const Plans&, Workspace&) { backend().copy(queue(), v[0], v[1]); },
       false});
  operations.push_back({"copy_from",
                        {{"output", q, batch, 2, any}, {"input", q, batch, 2, any}},
                        [this](const auto& v, const Plans&, Workspace&) {
                          backend().copy_from(queue(), v[0], backend(), queue(), v[1], Form::evaluation);
                        },
                        false});
  operations.push_back(
      {"fill_zero",
       {{"output", q, batch, 2, wrong_degree | word | fewer_entries}},
       [this](const auto& v, const Plans&, Workspace&) { backend().fill_zero(queue(), v[0]); },
       false});
}

}  // namespace hemera::conformance::checked
