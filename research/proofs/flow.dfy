// What two flows get that always have work: the bound of fair queueing by service.
//
// Go: Flows.Charge, Correct, Refund, SetActive and Least of package kit/flow, whose clock package fair has between its pools.
// Theorem: "Guarantees" in the comment of package kit/flow, all three lines, and with them "Fair by service" in the comment of
// package fair.
//
// Tags are in units of 1/(w_i w_j), so that all numbers are whole: a is the greatest cost of i times w_j, b that of j times w_i.
// N is how many charges below the parent may be out at a time. K is the credit, here in the same units for each of the two.

// What was charged to a flow: by charges whose work has ended, as it cost, and by those that are out, as was expected.
datatype Flow = Flow(ended: int, out: seq<int>)

function Sum(s: seq<int>): int { if |s| == 0 then 0 else s[0] + Sum(s[1..]) }

function Tag(f: Flow): int { f.ended + Sum(f.out) }

predicate AtMost(f: Flow, c: int) { forall i :: 0 <= i < |f.out| ==> 0 <= f.out[i] <= c }

lemma SumBounds(s: seq<int>, c: int)
  requires forall i :: 0 <= i < |s| ==> 0 <= s[i] <= c
  ensures 0 <= Sum(s) <= |s| * c
{ if |s| > 0 { SumBounds(s[1..], c); assert |s| * c == c + (|s| - 1) * c; } }

function Charged(f: Flow, expected: int): Flow { Flow(f.ended, [expected] + f.out) }

// Done is the flow after charge k has ended. A Refund is a charge that has cost nothing.
function Done(f: Flow, k: nat, actual: int): Flow
  requires k < |f.out|
{ Flow(f.ended + actual, f.out[..k] + f.out[k+1..]) }

function Lifted(f: Flow, to: int): Flow { Flow(f.ended + (if Tag(f) < to then to - Tag(f) else 0), f.out) }

// A state is the two flows and virtual time.
datatype State = State(i: Flow, j: Flow, v: int)

function Max(x: int, y: int): int { if x < y then y else x }

// The steps while both are active. Least is followed, so that who is charged has no greater tag than any other active flow; then
// virtual time is at least what has ended of it, and a part of what is out: which part does not matter. Other flows may come and go, and be charged.
datatype Step = ChargeI(expected: int, part: int) | ChargeJ(expected: int, part: int) | ChargeOther(tag: int) | EndI(k: nat, actual: int) | EndJ(k: nat, actual: int)

predicate May(s: State, st: Step, a: int, b: int, n: int) {
  match st
    case ChargeI(x, p) => 0 <= x <= a && 0 <= p <= Sum(s.i.out) && Tag(s.i) <= Tag(s.j) && |s.i.out| + |s.j.out| < n
    case ChargeJ(x, p) => 0 <= x <= b && 0 <= p <= Sum(s.j.out) && Tag(s.j) <= Tag(s.i) && |s.i.out| + |s.j.out| < n
    case ChargeOther(t) => t <= Tag(s.i) && t <= Tag(s.j)
    case EndI(k, x) => k < |s.i.out| && 0 <= x <= a
    case EndJ(k, x) => k < |s.j.out| && 0 <= x <= b
}

function After(s: State, st: Step, a: int, b: int, n: int): State
  requires May(s, st, a, b, n)
{
  match st
    case ChargeI(x, p) => State(Charged(s.i, x), s.j, Max(s.v, s.i.ended + p))
    case ChargeJ(x, p) => State(s.i, Charged(s.j, x), Max(s.v, s.j.ended + p))
    case ChargeOther(t) => State(s.i, s.j, Max(s.v, t))
    case EndI(k, x) => State(Done(s.i, k, x), s.j, s.v)
    case EndJ(k, x) => State(s.i, Done(s.j, k, x), s.v)
}

predicate Sound(s: State, a: int, b: int, n: int) {
  0 <= a && 0 <= b && AtMost(s.i, a) && AtMost(s.j, b) && |s.i.out| + |s.j.out| <= n
}

// First line: what has ended of i, and all that may still be charged for what is out, is not far ahead of what has ended of j.
predicate Level(s: State, a: int, b: int, n: int) {
  s.i.ended + |s.i.out| * a <= s.j.ended + a + (n - 1) * Max(a, b)
}

lemma LevelStays(s: State, st: Step, a: int, b: int, n: int)
  requires Sound(s, a, b, n) && n >= 1
  requires May(s, st, a, b, n)
  requires Level(s, a, b, n) // needed
  ensures Sound(After(s, st, a, b, n), a, b, n) && Level(After(s, st, a, b, n), a, b, n)
{
  SumBounds(s.i.out, a);
  SumBounds(s.j.out, b);
  match st {
    case ChargeI(x, p) =>
      // Before it T_i <= T_j, and at most n-1 charges are out.
      var r, q, m := |s.i.out|, |s.j.out|, Max(a, b);
      Times(r, a, m); Times(q, b, m);
      assert s.i.ended <= s.j.ended + q * b;
      assert (r + 1) * a == r * a + a;
      assert r * m + q * m == (r + q) * m;
      TimesLess(r + q, n - 1, m);
    case ChargeJ(x, p) =>
    case ChargeOther(t) =>
    case EndI(k, x) => assert |s.i.out| * a == (|s.i.out| - 1) * a + a;
    case EndJ(k, x) =>
  }
}

lemma Times(r: int, a: int, m: int)
  requires 0 <= r && a <= m
  ensures r * a <= r * m
{ if r > 0 { Times(r - 1, a, m); assert r * a == (r - 1) * a + a; assert r * m == (r - 1) * m + m; } }

lemma TimesLess(r: int, n: int, m: int)
  requires r <= n && 0 <= m
  ensures r * m <= n * m
  decreases n - r
{ if r < n { TimesLess(r + 1, n, m); assert (r + 1) * m == r * m + m; } }

// Run is the state after steps, each of which may be made.
predicate MayRun(s: State, steps: seq<Step>, a: int, b: int, n: int)
  decreases |steps|
{ |steps| == 0 || (May(s, steps[0], a, b, n) && MayRun(After(s, steps[0], a, b, n), steps[1..], a, b, n)) }

function Run(s: State, steps: seq<Step>, a: int, b: int, n: int): State
  requires MayRun(s, steps, a, b, n)
  decreases |steps|
{ if |steps| == 0 then s else Run(After(s, steps[0], a, b, n), steps[1..], a, b, n) }

// First line: since both were level, W_i/w_i - W_j/w_j <= c_i/w_i + (N-1) max(c_i/w_i, c_j/w_j).
lemma SinceLevel(s: State, steps: seq<Step>, a: int, b: int, n: int)
  requires n >= 1 && 0 <= a && 0 <= b && MayRun(s, steps, a, b, n)
  requires s.i.out == [] && s.j.out == []
  requires s.i.ended == s.j.ended // needed
  ensures Run(s, steps, a, b, n).i.ended - Run(s, steps, a, b, n).j.ended <= a + (n - 1) * Max(a, b)
{
  assert 0 <= (n - 1) * Max(a, b);
  RunLevel(s, steps, a, b, n);
}

lemma RunLevel(s: State, steps: seq<Step>, a: int, b: int, n: int)
  requires n >= 1 && Sound(s, a, b, n) && Level(s, a, b, n) && MayRun(s, steps, a, b, n)
  ensures Run(s, steps, a, b, n).i.ended - Run(s, steps, a, b, n).j.ended <= a + (n - 1) * Max(a, b)
  decreases |steps|
{
  if |steps| == 0 { assert 0 <= |s.i.out| * a; } else {
    LevelStays(s, steps[0], a, b, n);
    RunLevel(After(s, steps[0], a, b, n), steps[1..], a, b, n);
  }
}

// Third line: if costs are known at the start, what has started of i is at most c_i/w_i ahead.
lemma KnownCosts(s: State, st: Step, a: int, b: int, n: int)
  requires Sound(s, a, b, n) && May(s, st, a, b, n)
  requires Tag(s.i) <= Tag(s.j) + a // needed
  requires st.EndI? ==> st.actual == s.i.out[st.k]
  requires st.EndJ? ==> st.actual == s.j.out[st.k]
  ensures Tag(After(s, st, a, b, n).i) <= Tag(After(s, st, a, b, n).j) + a
{
  match st {
    case ChargeI(x, p) =>
    case ChargeJ(x, p) =>
    case ChargeOther(t) =>
    case EndI(k, x) => SumWithout(s.i.out, k);
    case EndJ(k, x) => SumWithout(s.j.out, k);
  }
}

lemma SumWithout(s: seq<int>, k: nat)
  requires k < |s|
  ensures Sum(s[..k] + s[k+1..]) == Sum(s) - s[k]
{
  if k == 0 { assert s[..0] + s[1..] == s[1..]; } else {
    SumWithout(s[1..], k - 1);
    assert s[..k][1..] == s[1..][..k-1];
    assert s[k+1..] == s[1..][k..];
    assert (s[..k] + s[k+1..])[1..] == s[1..][..k-1] + s[1..][k..];
  }
}

// Second line: virtual time holds both together.
predicate Held(s: State, a: int, b: int, n: int, credit: int) {
  s.i.ended + |s.i.out| * a <= s.v + n * a && s.v <= s.i.ended + n * a + credit &&
  s.j.ended + |s.j.out| * b <= s.v + n * b && s.v <= s.j.ended + n * b + credit
}

lemma HeldStays(s: State, st: Step, a: int, b: int, n: int, credit: int)
  requires Sound(s, a, b, n) && May(s, st, a, b, n) && 0 <= credit
  requires Held(s, a, b, n, credit) // needed
  ensures Sound(After(s, st, a, b, n), a, b, n) && Held(After(s, st, a, b, n), a, b, n, credit)
{
  SumBounds(s.i.out, a);
  SumBounds(s.j.out, b);
  TimesLess(|s.i.out|, n, a);
  TimesLess(|s.j.out|, n, b);
  match st {
    case ChargeI(x, p) => TimesLess(|s.i.out| + 1, n, a);
    case ChargeJ(x, p) => TimesLess(|s.j.out| + 1, n, b);
    case ChargeOther(t) =>
    case EndI(k, x) => assert |s.i.out| * a == (|s.i.out| - 1) * a + a;
    case EndJ(k, x) => assert |s.j.out| * b == (|s.j.out| - 1) * b + b;
  }
}

// A flow that becomes active is lifted to v - K, and then it is held as well, if it had no more than what is out beyond v.
lemma LiftedIsHeld(f: Flow, v: int, c: int, n: int, credit: int)
  requires 0 <= c && 0 <= credit && |f.out| <= n && AtMost(f, c)
  requires f.ended + |f.out| * c <= v + n * c // needed
  ensures var g := Lifted(f, v - credit); g.ended + |g.out| * c <= v + n * c && v <= g.ended + n * c + credit
{
  SumBounds(f.out, c);
  TimesLess(|f.out|, n, c);
}

// Second line: over any interval the difference changes by at most 2 N (c_i/w_i + c_j/w_j) and twice the credit.
lemma OverAnyInterval(s: State, t: State, a: int, b: int, n: int, credit: int)
  requires 0 <= a && 0 <= b
  requires Held(s, a, b, n, credit) // needed
  requires Held(t, a, b, n, credit)
  requires |s.i.out| * a >= 0 && |s.j.out| * b >= 0 && |t.i.out| * a >= 0 && |t.j.out| * b >= 0
  ensures (t.i.ended - t.j.ended) - (s.i.ended - s.j.ended) <= 2 * n * (a + b) + 2 * credit
{ assert 2 * n * (a + b) == 2 * (n * a) + 2 * (n * b); }
