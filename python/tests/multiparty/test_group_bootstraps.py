"""Bootstraps under a group's keys: messages by the formulas, keys by phases, and programs without end."""

import math

import numpy as np
import pytest

import hemera as hm
from hemera import _core, errors
from hemera.multiparty.bounds import Bounds, message_bytes

from ..refusals import raises
from .bootstrap_oracle import WEIGHT, EphemeralMessages
from .federation_oracle import ternary, uniform
from .federation_setting import nonce
from .group_files import Residues, sections
from .group_oracle import GroupMessages, Opened, prf, ring_of
from .group_setting import Members, rows_of
from .houses import TERMS, Houses

T = 12289
SCHEMES = ["bfv", "bgv"]


def params_of(scheme, openings, plain_modulus=T):
    kind = getattr(hm, scheme).Parameters
    return kind.for_bootstrapping("bfv11-test", plain_modulus=plain_modulus, openings=openings)


class Bootstrapping(Members):
    """Members whose parameters have a bootstrap, N = 2^11, without security."""

    def __init__(self, scheme, members=3, threshold=2, plain_modulus=T, **plan):
        self.access = _core.FederationAccess(members, threshold)
        self.openings = _core.Openings(self.access.pieces, 20, 40)
        self.params = params_of(scheme, self.openings, plain_modulus)
        self.context = hm.Context(self.params)
        self.id, self.count = nonce("group", scheme), members
        self.terms = _core.GroupTerms(self.access, self.openings, self.id)
        self.seeds = [nonce("piece", T) for T in range(self.access.pieces)]
        self.opened = [set() for _ in range(members)]
        self.openers = [self.opener(m) for m in range(members)]
        plan = plan or {"budget": self.openings.budget(2048)}
        self.plan = hm.circuits.IntegerBootstrap(self.params, **plan)

    def some(self, *kinds):
        """A key of each kind that a bootstrap needs."""
        return [next(each for each in self.plan.needed_keys if each.kind == kind) for kind in kinds]


@pytest.fixture(scope="module", params=SCHEMES)
def members(request):
    return Bootstrapping(request.param)


@pytest.mark.parametrize("members", ["bgv"], indirect=True)
def test_messages_of_ephemeral_keys_are_those_of_the_formulas(members):
    attempt = nonce("attempt")
    needs = members.some("from ephemeral", "to ephemeral")
    oracle = EphemeralMessages(members.id, attempt, members.params, needs)
    of = [members.messages(m, attempt, needs) for m in range(members.count)]
    assert of[0].rounds == 1
    sent = members.round(of, 1)
    whole, made = members.oracle(attempt), [hm.Keys(each.keys(), members.context).to_bytes() for each in of]
    assert len(set(made)) == 1
    whole.public = ring_of(whole.n, tuple(public_primes(made[0])))
    for key in members.seeds:
        assert np.count_nonzero(oracle.secret(key)) == WEIGHT
    piece, key = 1, members.seeds[1]
    parts = [whole.packed(whole.public, whole.public_key(key))]
    for need in needs:
        ring = oracle.ring(need)
        parts += [whole.packed(ring, rows) for rows in oracle.message(need, key, whole.secret(key))]
    assert sent[piece] == whole.envelope(1, piece, b"".join(parts))


def public_primes(keys):
    """The primes of the public key: those of the user's levels, and a special one."""
    return Residues(next(content for tag, content in sections(keys) if tag == b"RESI")).moduli


def test_keys_have_the_phases_of_the_sum(members):
    """b + a s_to = w s_from + e under the sums of the pieces, w P or 0 modulo each prime, with errors of C
    terms; of products those of two rounds. None of these errors is a multiple of t."""
    attempt, pieces = nonce("attempt"), members.access.pieces
    kinds = "relinearization", "from ephemeral", "to ephemeral", "galois"
    needs = members.some(*kinds)
    keys = hm.Keys(members.run(attempt, needs)[0].keys(), members.context)
    whole = sections(keys.to_bytes())
    parts = [Residues(content) for tag, content in whole if tag == b"RESI"][1:]
    facts = [content for tag, content in whole if tag == b"KEYM"][1:]
    oracle = EphemeralMessages(members.id, attempt, members.params, needs)
    s = members.secret()
    sparse = sum(oracle.secret(key) for key in members.seeds)
    image = np.array(s)
    g = needs[3].galois_element
    n = len(s)
    to = np.arange(n) * pow(g, -1, 2 * n) % (2 * n)
    image[to % n] = np.where(to < n, s, -s)
    ends = {"relinearization": (s, None), "from ephemeral": (s, sparse), "to ephemeral": (sparse, s)}
    ends["galois"] = (image, s)
    for need, found, fact in zip(needs, parts, facts, strict=True):
        p, end = math.prod(need.special_primes), len(need.primes)
        used = [0, end - 1, end]  # the ends of the base, and a special prime
        seen = 0
        for limb in used:
            ring = ring_of(n, (found.moduli[limb],))
            target, start = ends[need.kind]
            to_values = ring.values(target)
            from_values = (
                GroupMessages.times(ring, to_values, to_values) if start is None else ring.values(start)
            )
            scaled = GroupMessages.scaled(ring, from_values, [p % found.moduli[limb]])
            for digit in range(need.digits):
                b, a = halves(fact, found, digit, limb)
                phase = GroupMessages.sum(ring, b, GroupMessages.times(ring, a, to_values))
                errors_of = [phase, GroupMessages.sum(ring, phase, GroupMessages.negative(ring, scaled))]
                both = [ring.centred(ring.coefficients(each)).astype(float) for each in errors_of]
                has_term = np.std(both[1]) < np.std(both[0])
                seen += has_term and limb < end
                if limb == end:
                    assert not has_term
                error = min(both, key=np.std)
                model = 3.19 * math.sqrt(pieces)
                if need.kind == "relinearization":
                    model *= math.sqrt(2 * pieces * 2 * n / 3)
                assert 0.9 < np.std(error) / model < 1.1
                assert np.any(error % T)
        assert seen == 2  # each prime of the base has one digit


def halves(fact, found, digit, limb):
    """A digit of a key modulo one prime. A seed stands for the second half: the last of KEYM
    (docs/file-format.md)."""
    rows = found.rows[digit]
    if len(rows) == 2:
        return [rows[0, limb]], [rows[1, limb]]
    return [rows[0, limb]], uniform(fact[-32:], digit, found.moduli, found.n)[limb : limb + 1]


@pytest.mark.parametrize(("count", "scheme", "t"), [(2, "bgv", T), (3, "bfv", 257)])
def test_noise_after_a_bootstrap_is_below_its_bound(count, scheme, t):
    """All coefficients and slots alone, by a sum of two ephemeral secrets and of three."""
    encoding = "slots" if t == 257 else "coefficients"
    some = Bootstrapping(scheme, count, 2, t, passes=1, encoding=encoding)
    needs = [*some.plan.needed_keys, *some.needs()]
    keys = hm.Keys(some.run(nonce("noise"), needs)[0].keys(), some.context)
    values = np.random.default_rng(1).integers(0, t, some.params.max_slots)
    x = some.context.bind(keys, bootstrap=some.plan).encrypt(values)
    square, secret = x * x, some.secret_key()
    result = square.bootstrap()
    assert np.array_equal(some.context.decrypt(result, secret) % t, values**2 % t)
    left = some.context.noise_budget(result, secret)
    assert result.guaranteed_noise_budget == pytest.approx(some.plan.budget_left)
    assert 0 < left - some.plan.budget_left < 4


def test_another_ephemeral_message_is_noticed(members):
    """Whoever else holds a piece sees that its ephemeral secret is another attempt's."""
    needs, piece = members.some("from ephemeral", "to ephemeral"), 1
    of = [members.messages(m, nonce("false"), needs) for m in range(members.count)]
    (holder,) = (m for m in members.access.holders(piece) if m != members.sender(piece))
    sender = members.messages(members.sender(piece), nonce("another"), needs)
    false = {piece: sender.digest(1, piece)}
    for number in range(members.access.pieces):
        digest = of[members.sender(number)].digest(1, number)
        of[holder].accept_digest(1, number, false.get(number, digest))
    assert of[holder].false_digests(1) == [piece]


def test_what_has_no_plan_is_refused():
    """One piece more than a sine covers, or a preset has levels for, and openings that have no room."""
    assert _core.integer_bootstrap_preset("bfv11-test", 32).sine_range == 128
    raises(errors.ParameterError, "largest sum has 32", _core.integer_bootstrap_preset, "bfv11-test", 33)
    kind = hm.bfv.Parameters.for_bootstrapping
    text = "'bfv15-22' has no bootstrap for a group of 2 pieces, at most for one of 1"
    two = _core.Openings(2, 20, 40)
    raises(errors.ParameterError, text, kind, "bfv15-22", plain_modulus=257, openings=two)
    text = r"openings take 54.9 bits .* hold 1 passes at most, which leave 39\.\d bits"
    for count, is_refused in ((2**20, True), (1, False)):
        openings = _core.Openings(3, count, 64 if is_refused else 40)
        given = {"plain_modulus": 2**45, "openings": openings}
        if is_refused:
            raises(errors.ParameterError, text, kind, "bfv11-test", **given)
        else:
            assert kind("bfv11-test", **given)._native.secret_terms == 3


def test_a_secure_plan_of_three_pieces():
    """N = 2^16: each key by its own modulus, that to the ephemeral secret by the weight of one piece."""
    openings = _core.Openings(3, 1000, 40)
    params = hm.bfv.Parameters.for_bootstrapping("bfv16-32", plain_modulus=786433, openings=openings)
    assert params.security_bits >= 128
    plan = hm.circuits.IntegerBootstrap(params, passes=1)
    limits = {"to ephemeral": _core.max_log_modulus(2**16, 128, WEIGHT)}
    for need in plan.needed_keys:
        bits = sum(map(math.log2, (*need.primes, *need.special_primes)))
        assert bits <= limits.get(need.kind, _core.max_log_modulus(2**16, 128, 0))
    assert limits["to ephemeral"] == 126
    assert "integers are below 36 (of one below 16), takes 2 levels more" in plan.report()
    assert message_bytes(2**16, plan.needed_keys) < 4e9
    again = hm.bfv.Parameters.load(params.to_bytes())
    assert again == params
    assert hm.circuits.IntegerBootstrap(again, passes=1).needed_budget == plan.needed_budget


def test_sizes_of_messages_are_those_that_are_told(members):
    needs = members.some("relinearization", "to ephemeral", "from ephemeral", "galois")
    of = [members.messages(m, nonce("sizes"), needs) for m in range(members.count)]
    sent = [members.round(of, number)[0] for number in (1, 2)]
    head, public = 4 + 1 + 32 + 32 + 4, public_primes(hm.Keys(of[0].keys(), members.context).to_bytes())
    envelopes = 2 * head + sum((q - 1).bit_length() for q in public) * members.params.degree // 8
    assert sum(map(len, sent)) == envelopes + message_bytes(members.params.degree, needs)


# --- Programs.
ROUNDS = 3
SPEC = hm.ArraySpec((64,), range=(0, 1), dtype=int)


def automaton(a, b, c):
    """Two products one after the other in each round, and sums."""
    for _ in range(ROUNDS):
        total = a + b + c
        a, b, c = np.choose(total, [0, 1, 1, 0]), np.choose(total, [1, 0, 1, 0]), np.roll(a, 1)
    return a + 2 * b + 4 * c


def program_of(scheme, pieces=3):
    openings = _core.Openings(pieces, TERMS["openings"], 40)
    params = params_of(scheme, openings)
    return hm.compile(
        automaton, SPEC, SPEC, SPEC, scheme=scheme, params=params, openings=openings, security=None
    )


class Automata(Houses):
    """Houses whose rows are bits."""

    def __init__(self, folder, program, **options):
        super().__init__(folder, program, **options)
        self.rows = {n: np.random.default_rng(k).integers(0, 2, 64) for k, n in enumerate(self.names)}

    def expected(self):
        return automaton(*self.rows.values())


@pytest.fixture(scope="module", params=SCHEMES)
def automata(request, tmp_path_factory):
    found = Automata(tmp_path_factory.mktemp(request.param), program_of(request.param))
    found.keys()
    found.put()
    return found


def test_two_of_three_open_more_products_than_levels_hold(automata):
    program = automata.program
    (words,) = [line for line in program.report().splitlines() if "a run fails" in line]
    count = int(words.split(" ")[0])
    assert count >= 3
    request = automata.groups["b"].request(program, to="members")
    for name in ("a", "c"):
        automata.groups[name].requests()[0].approve(program)
    assert np.array_equal(request.open(program, wait=0), automata.expected())
    # 2^-40 of each bootstrap's bound; integers beyond the range come on top, far below.
    assert f"2^{math.log2(count) - 40:.1f}" in words


def test_an_opening_after_bootstraps_is_the_phase_and_the_floodings(automata):
    """The noise that is hidden is below its bound, with the key that nobody has."""
    group = automata.groups["a"]
    study = group._study()
    (bound,), inputs = Bounds.of(automata.program.package).noise, group.inputs()
    (x,) = automata.program.package.prepare(study.context).run(study.keys, inputs)
    assert x.noise_bits == bound
    keys = {each.number: each for name in "abc" for each in automata.groups[name]._study().pieces}
    seeds = [bytes(keys[piece].key_for_holder()) for piece in range(3)]
    oracle = Opened(group._id, automata.program.params, x.level, group.openings)
    ring, c0, c1 = oracle.ring, rows_of(x, 0), rows_of(x, 1)
    log2 = oracle.flooding_log2(bound)
    s = sum(ternary(prf(seed, "ternary"), oracle.n) for seed in seeds)
    phase = ring.coefficients(GroupMessages.sum(ring, c0, GroupMessages.times(ring, c1, ring.values(s))))
    answers = [oracle.answer(seed, c1, log2) for seed in seeds]
    opened = ring.coefficients(GroupMessages.sum(ring, c0, *answers))
    floodings = sum(oracle.flooding(seed, c1, log2) for seed in seeds)
    assert np.array_equal(opened, (phase + floodings) % ring.modulus)
    t = T if automata.program.params.scheme == "bfv" else 1
    noise = max(abs(int(v)) for v in ring.centred(t * phase)) / t
    assert bound - 4 < math.log2(noise) < bound


def test_programs_of_ckks_with_bootstraps_are_refused_by_numbers(automata):
    params = hm.ckks.Parameters.for_bootstrapping("test-40")
    package = hm.serving.export(lambda x: x.bootstrap(), inputs=8, name="approximate", params=params)
    # sqrt(12 R N C) 2^(s / 2), of 20 openings at N = 2^11.
    bits = math.log2(math.sqrt(12 * 20 * 2048 * 3) * 2**20)
    text = f"takes {bits:.1f} bits of precision at N = 2048, and a bootstrap leaves 23 to 31"
    raises(errors.ParameterError, text, automata.join("a").make_keys, package, wait=0)


def test_openings_are_those_of_the_parameters():
    openings = _core.Openings(3, 20, 40)
    options = {"openings": openings, "security": None}
    one = hm.bfv.Parameters.for_bootstrapping("bfv11-test", plain_modulus=T)
    text = "openings are those of 3 pieces, and the parameters' secret has 1"
    specs = SPEC, SPEC, SPEC
    raises(errors.MismatchError, text, hm.compile, automaton, *specs, scheme="bfv", params=one, **options)
    raises(errors.ParameterError, "params= of", hm.compile, lambda x: x + x, SPEC, **options)
