// Who opens together: any t of n members, by pieces of a secret that several members hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hemera::multiparty {

/// Replicated pieces (R. Bendlin, I. Damgard, TCC 2010): a secret is the sum of one piece for each set of t -
/// 1 members, and all members outside of the set hold the piece. So any t members have all pieces, and t - 1
/// members miss one. Pieces are numbered in the lexicographic order of their sets. No member's part depends
/// on who else answers: there are no Lagrange factors, and an answer is the same for all who are active.
class Access {
 public:
  static constexpr std::size_t most_members = 9;
  static constexpr std::size_t most_pieces = 128;

  /// Throws ParameterError unless 1 <= threshold <= members <= most_members.
  Access(std::size_t members, std::size_t threshold);

  [[nodiscard]] std::size_t members() const { return members_; }
  [[nodiscard]] std::size_t threshold() const { return threshold_; }
  /// Binomial(n, t - 1): at most 126.
  [[nodiscard]] std::size_t pieces() const { return lacking_.size(); }
  /// Throw ParameterError for a member or a piece that there is not.
  [[nodiscard]] bool holds(std::size_t member, std::size_t piece) const;
  [[nodiscard]] std::vector<std::size_t> held_by(std::size_t member) const;
  /// Ascending; n - t + 1 members.
  [[nodiscard]] std::vector<std::size_t> holders(std::size_t piece) const;

  friend bool operator==(const Access&, const Access&) = default;

 private:
  std::size_t members_;
  std::size_t threshold_;
  std::vector<std::uint32_t> lacking_;  // bit m: member m lacks the piece
};

}  // namespace hemera::multiparty
